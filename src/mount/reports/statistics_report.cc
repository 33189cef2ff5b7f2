#include "mount/reports/statistics_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <vector>

#include "base/size.h"
#include "json/document.h"
#include "mount/reports/reclaim_report.h"
#include "mount/reports/scrub_report.h"
#include "store/seal/sealed_folder.h"

namespace dedupfs {
namespace {

nlohmann::json table_bytes_json(const Statistics& statistics) {
  nlohmann::json bytes;
  for (std::size_t i = 0; i < kFamilyCount; ++i)
    bytes[std::string(name_of(static_cast<Family>(i)))] = statistics.index_table_bytes[i];
  return bytes;
}

}  // namespace

nlohmann::json statistics_json(const Statistics& statistics, const Superblock& superblock, const ScrubStatus& scrub,
                               const std::optional<ReclaimStatus>& reclaim, bool mounted) {
  nlohmann::json json = {
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
      {"landed_bytes", statistics.landed_bytes},
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
      {"compression", format_compression(superblock.compression.settled)},
      {"landing", format_compression(superblock.compression.landing)},
      {"uuid", superblock.uuid},
      {"label", superblock.label},
      {"format_version", superblock.format_version},
      {"mounted", mounted},
      {"scrub", scrub_json(scrub)},
      {"reclaim", reclaim_json(reclaim)},
      {"performance", nullptr},
      {"quotas", nullptr},
      {"encryption", nullptr},
      {"remote", nullptr},
      {"kernel", nullptr},
  };
  put_time(json, "last_snapshot", statistics.last_snapshot_unix_seconds);
  return json;
}

nlohmann::json encryption_json(const BackingFolder& volume) {
  const auto generation = generation_of(volume);
  if (!generation) return nullptr;
  return with_time({{"generation", generation->number}}, "unmounted", generation->unmounted_unix_seconds);
}

// exports(5) reads a backslash and three octal digits as one character. Blanks and '#' would end the path; quotes surround one.
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

namespace {

double data_bytes_of(const FileStatistics& file) {
  return static_cast<double>(file.logical_bytes - std::min(file.logical_bytes, file.hole_bytes));
}

double per_gb(std::uint64_t count, const FileStatistics& file) {
  return data_bytes_of(file) == 0 ? 0 : static_cast<double>(count) * 1e9 / data_bytes_of(file);
}

// Null for a file without data.
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
