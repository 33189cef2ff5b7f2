#include "mount/reports/statistics_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "base/size.h"
#include "mount/reports/reclaim_report.h"
#include "mount/reports/scrub_report.h"

namespace dedupfs {

namespace {

nlohmann::json table_bytes_json(const Statistics& statistics) {
  nlohmann::json bytes;
  for (std::size_t i = 0; i < kFamilyCount; ++i)
    bytes[std::string(name_of(static_cast<Family>(i)))] = statistics.index_table_bytes[i];
  return bytes;
}

// "chunks 2.00 MiB, inodes 1.00 MiB, log 64.00 KiB": the largest first, those that are next to nothing left out.
std::string index_shares(const nlohmann::json& json) {
  std::uint64_t rest = json.at("index_bytes").get<std::uint64_t>();
  const std::uint64_t least = rest / 100;
  std::vector<std::pair<std::uint64_t, std::string>> shares;
  for (const auto& [family, bytes] : json.at("index_table_bytes").items()) {
    shares.emplace_back(bytes.get<std::uint64_t>(), family);
    rest -= std::min(rest, shares.back().first);
  }
  shares.emplace_back(rest, "log");
  std::ranges::sort(shares, std::greater());
  std::string text;
  for (const auto& [bytes, name] : shares)
    if (bytes > least) text += fmt::format("{}{} {}", text.empty() ? "" : ", ", name, human_size(bytes));
  return text;
}

// With what to do about it, where it is worth it.
std::string garbage_meaning(const nlohmann::json& json) {
  constexpr double kMuchGarbage = 0.1;
  const auto bytes = [&](const char* key) { return json.at(key).get<std::uint64_t>(); };
  const double share =
      static_cast<double>(bytes("garbage_bytes")) / std::max<double>(1, static_cast<double>(bytes("disk_bytes")));
  std::string meaning = "in containers, of no use to any file";
  if (share >= kMuchGarbage) meaning += fmt::format(": {:.0f} % of the disk, run dedupfs-gc", 100 * share);
  return meaning;
}

}  // namespace

nlohmann::json statistics_json(const Statistics& statistics, const Superblock& superblock, const ScrubStatus& scrub,
                               const std::optional<ReclaimStatus>& reclaim, bool mounted) {
  return {
      {"logical_bytes", statistics.logical_bytes},
      {"hole_bytes", statistics.hole_bytes},
      {"inline_bytes", statistics.inline_bytes},
      {"unique_bytes", statistics.unique_bytes},
      {"delta_raw_bytes", statistics.delta_raw_bytes},
      {"delta_bytes", statistics.delta_bytes},
      {"after_delta_bytes", statistics.after_delta_bytes},
      {"stored_bytes", statistics.stored_bytes},
      {"snapshot_only_bytes", statistics.snapshot_only_bytes},
      {"base_only_bytes", statistics.base_only_bytes},
      {"garbage_bytes", statistics.garbage_bytes},
      {"freed_bytes", reclaim ? reclaim->freed_bytes : 0},
      {"index_bytes", statistics.index_bytes},
      {"index_table_bytes", table_bytes_json(statistics)},
      {"index_filter_bytes", statistics.index_filters.filter_bytes},
      {"index_memory_bytes", statistics.index_filters.memory_bytes},
      {"index_memory_wanted_bytes", statistics.index_filters.wanted_bytes},
      {"other_bytes", statistics.other_bytes},
      {"disk_bytes", statistics.disk_bytes},
      {"files", statistics.files},
      {"directories", statistics.directories},
      {"symlinks", statistics.symlinks},
      {"special_files", statistics.special_files},
      {"chunks", statistics.chunks},
      {"unique_chunks", statistics.unique_chunks},
      {"duplicate_chunks", statistics.duplicate_chunks},
      {"delta_chunks", statistics.delta_chunks},
      {"snapshots", statistics.snapshots},
      {"snapshot_only_chunks", statistics.snapshot_only_chunks},
      {"base_only_chunks", statistics.base_only_chunks},
      {"damaged_chunks", statistics.damaged_chunks},
      {"healed_chunks", statistics.healed_chunks},
      {"mean_delta_bytes", statistics.mean_delta_bytes()},
      {"similar_chunk_ratio", statistics.similar_chunk_ratio()},
      {"delta_compression_efficiency", statistics.delta_compression_efficiency()},
      {"delta_compression_ratio", statistics.delta_compression_ratio()},
      {"local_compression_ratio", statistics.local_compression_ratio()},
      {"savings_percent", statistics.savings_percent()},
      {"dedup_ratio", statistics.dedup_ratio()},
      {"compression_ratio", statistics.compression_ratio()},
      {"total_ratio", statistics.total_ratio()},
      {"chunker", superblock.chunker},
      {"fingerprint", superblock.fingerprint},
      {"delta", format_delta_settings(superblock.delta)},
      {"compression", format_compression(superblock.compression)},
      {"uuid", superblock.uuid},
      {"label", superblock.label},
      {"format_version", superblock.format_version},
      {"mounted", mounted},
      {"scrub", scrub_json(scrub)},
      {"reclaim", reclaim ? reclaim_json(*reclaim) : nlohmann::json(nullptr)},
  };
}

// exports(5) reads three octal digits behind a backslash as one character; blanks and '#' would end the path, and quotes surround one.
std::string nfs_export_line(const Path& mountpoint, std::string_view uuid) {
  std::string path;
  for (const char c : mountpoint.string()) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte <= ' ' || c == '"' || c == '#' || c == '\\' || byte == 0x7f)
      path += fmt::format("\\{:03o}", byte);
    else
      path += c;
  }
  return fmt::format("{} *(rw,no_subtree_check,fsid={})", path, uuid);
}

std::string statistics_screen(const nlohmann::json& json) {
  const auto bytes = [&](const char* key) { return human_size(json.at(key).get<std::uint64_t>()); };
  const auto count = [&](const char* key) { return json.at(key).get<std::uint64_t>(); };
  const auto number = [&](const char* key) { return json.at(key).get<double>(); };
  const std::uint64_t in_chunks = count("logical_bytes") - count("hole_bytes") - count("inline_bytes");

  std::string out;
  const auto line = [&](std::string_view name, const std::string& value, const std::string& meaning) {
    out += fmt::format("{:<12}{:>12}  {}\n", name, value, meaning);
  };
  out +=
      fmt::format("Volume {}{}, format {}, {}\n", json.at("uuid").get<std::string>(),
                  json.at("label").get<std::string>().empty() ? "" : " \"" + json.at("label").get<std::string>() + "\"",
                  count("format_version"), json.at("mounted").get<bool>() ? "mounted" : "not mounted");
  out += fmt::format("Chunker {}, fingerprint {}, delta {}, compression {}\n\n", json.at("chunker").get<std::string>(),
                     json.at("fingerprint").get<std::string>(), json.at("delta").get<std::string>(),
                     json.at("compression").get<std::string>());

  line("Logical", bytes("logical_bytes"),
       fmt::format("size of {} files (in {} directories)", count("files"), count("directories")));
  line("- holes", bytes("hole_bytes"), "zeros that take no space");
  line("- inline", bytes("inline_bytes"), "tiny files, kept in the index");
  line("= data", human_size(in_chunks), fmt::format("in {} chunks", count("chunks")));
  line("Unique", bytes("unique_bytes"),
       fmt::format("after deduplication, {:.2f} : 1 ({} chunks, {} duplicates)", number("dedup_ratio"),
                   count("unique_chunks"), count("duplicate_chunks")));
  line("After delta", bytes("after_delta_bytes"),
       fmt::format("near-duplicates as deltas, DCR {:.2f} : 1 ({} deltas of {} on average, SCR {:.1f} %, DCE {:.1f} %)",
                   number("delta_compression_ratio"), count("delta_chunks"),
                   human_size(static_cast<std::uint64_t>(number("mean_delta_bytes"))),
                   100 * number("similar_chunk_ratio"), 100 * number("delta_compression_efficiency")));
  line("Stored", bytes("stored_bytes"),
       fmt::format("after compression, {:.2f} : 1", number("local_compression_ratio")));
  line("+ snapshots", bytes("snapshot_only_bytes"),
       fmt::format("{} chunks that only the {} snapshots have", count("snapshot_only_chunks"), count("snapshots")));
  line("+ bases", bytes("base_only_bytes"),
       fmt::format("{} chunks that no file refers to, but deltas do", count("base_only_chunks")));
  line("+ garbage", bytes("garbage_bytes"), garbage_meaning(json));
  line("+ index", bytes("index_bytes"), index_shares(json));
  line("+ other", bytes("other_bytes"), "superblock, checkpoints, folders");
  line("= disk", bytes("disk_bytes"),
       fmt::format("{:.2f} : 1 in total, {:.1f} % saved", number("total_ratio"), number("savings_percent")));
  if (const std::uint64_t wanted = count("index_memory_wanted_bytes"); wanted != 0)
    out += fmt::format(
        "\nIndex: its filters take {}, more than fits into its memory of {}: storing is slow; mount with -o "
        "index_mem={}m\n",
        bytes("index_filter_bytes"), bytes("index_memory_bytes"), wanted >> 20);
  if (count("damaged_chunks") != 0 || count("healed_chunks") != 0)
    out +=
        fmt::format("\nDamage: {} chunks cannot be read, {} were written again since the mount (see fsck.dedupfs(8))\n",
                    count("damaged_chunks"), count("healed_chunks"));
  out += "\n" + scrub_screen(json.at("scrub"));
  if (const nlohmann::json& reclaim = json.at("reclaim"); !reclaim.is_null()) out += reclaim_screen(reclaim);
  if (const auto line_of_exports = json.find("nfs_export");
      line_of_exports != json.end() && line_of_exports->is_string())
    out += fmt::format("\nTo export it by NFS, a line of /etc/exports: {}\n", line_of_exports->get<std::string>());
  return out;
}

namespace {

double data_bytes_of(const FileStatistics& file) {
  return static_cast<double>(file.logical_bytes - std::min(file.logical_bytes, file.hole_bytes));
}

double per_gb(std::uint64_t count, const FileStatistics& file) {
  return data_bytes_of(file) == 0 ? 0 : static_cast<double>(count) * 1e9 / data_bytes_of(file);
}

// Null where nothing is read.
nlohmann::json speed_of(const FileStatistics& file, double seconds) {
  return seconds == 0 ? nlohmann::json() : nlohmann::json(data_bytes_of(file) / seconds);
}

}  // namespace

nlohmann::json file_statistics_json(const std::vector<FileStatistics>& files) {
  nlohmann::json objects = nlohmann::json::array();
  for (const FileStatistics& file : files) {
    objects.push_back({
        {"logical_bytes", file.logical_bytes},
        {"hole_bytes", file.hole_bytes},
        {"inline_bytes", file.inline_bytes},
        {"unique_bytes", file.unique_bytes},
        {"stored_bytes", file.stored_bytes},
        {"own_bytes", file.own_bytes},
        {"chunks", file.chunks},
        {"unique_chunks", file.unique_chunks},
        {"shared_chunks", file.shared_chunks},
        {"delta_chunks", file.delta_chunks},
        {"base_chunks", file.base_chunks},
        {"containers", file.containers},
        {"containers_per_gb", per_gb(file.containers, file)},
        {"regions_read", file.regions_read},
        {"jumps", file.jumps},
        {"read_bytes", file.read_bytes},
        {"hard_disk_bytes_per_second", speed_of(file, file.hard_disk_seconds)},
        {"ssd_bytes_per_second", speed_of(file, file.ssd_seconds)},
    });
  }
  return objects;
}

std::string file_statistics_screen(const nlohmann::json& files) {
  constexpr std::string_view kRow = "{:>12}{:>12}{:>12}{:>9}{:>9}{:>9}{:>9}{:>12}{:>8}{:>9}{:>11}  {}\n";
  std::string out = fmt::format(kRow, "Logical", "Stored", "Own", "Chunks", "Shared", "Delta", "Bases", "Containers",
                                "per GB", "Regions", "HDD MB/s", "File");
  for (const nlohmann::json& file : files) {
    const auto bytes = [&](const char* key) { return human_size(file.at(key).get<std::uint64_t>()); };
    const auto count = [&](const char* key) { return file.at(key).get<std::uint64_t>(); };
    const auto megabytes = [](const nlohmann::json& speed) {
      return speed.is_null() ? std::string("-") : fmt::format("{:.1f}", speed.get<double>() / 1e6);
    };
    out += fmt::format(kRow, bytes("logical_bytes"), bytes("stored_bytes"), bytes("own_bytes"), count("chunks"),
                       count("shared_chunks"), count("delta_chunks"), count("base_chunks"), count("containers"),
                       fmt::format("{:.1f}", file.at("containers_per_gb").get<double>()), count("regions_read"),
                       megabytes(file.at("hard_disk_bytes_per_second")), file.at("path").get<std::string>());
  }
  return out;
}

}  // namespace dedupfs
