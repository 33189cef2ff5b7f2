#include "mount/reports/statistics_screen.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>
#include <vector>

#include "base/size.h"
#include "fs/format/local_time.h"
#include "mount/reports/connection_report.h"
#include "mount/reports/quota_report.h"
#include "mount/reports/reclaim_report.h"
#include "mount/reports/replication_report.h"
#include "mount/reports/scrub_report.h"

namespace dedupfs {
namespace {

std::string counted(std::uint64_t count, std::string_view noun) {
  return fmt::format("{} {}{}", count, noun, count == 1 ? "" : "s");
}

// Reads one statistics object, and makes lines of it.
class Screen {
 public:
  explicit Screen(const nlohmann::json& statistics) : json_(statistics) {}

  std::string shown(ScreenDetail detail) {
    out_ = holds_line() + takes_line() + health_line() + '\n';
    if (detail == ScreenDetail::kFull) {
      settings();
      chain();
    } else {
      shares();
    }
    out_ += quotas_screen(json_.value("quotas", nlohmann::json::array()));
    replication();
    warnings();
    jobs();
    if (detail == ScreenDetail::kFull) {
      kernel();
      nfs_export();
    }
    return std::move(out_);
  }

 private:
  std::uint64_t count(const char* key) const { return json_.at(key).get<std::uint64_t>(); }
  double number(const char* key) const { return json_.at(key).get<double>(); }
  std::string text(const char* key) const { return json_.at(key).get<std::string>(); }
  std::string bytes(const char* key) const { return human_size(count(key)); }
  void row(std::string_view name, const std::string& value, const std::string& meaning) {
    out_ += fmt::format("{:<12}{:>12}  {}\n", name, value, meaning);
  }

  // ------------------------------------------------------------ the first three lines

  std::string holds_line() const {
    const std::uint64_t snapshots = count("snapshots");
    return fmt::format("Holds   {}, {} in total{}\n", counted(count("files"), "file"), bytes("logical_bytes"),
                       snapshots == 0 ? "" : " (and " + counted(snapshots, "snapshot") + ")");
  }

  std::string takes_line() const {
    const double saved = number("savings_percent");
    return fmt::format("Takes   {} on disk{}\n", bytes("disk_bytes"),
                       saved <= 0 ? "" : fmt::format(": {:.1f} % saved", saved));
  }

  std::string health_line() const { return "Health  " + damage_text() + "; " + scrub_text() + "\n"; }

  std::string damage_text() const {
    if (const std::uint64_t chunks = count("damaged_chunks"); chunks != 0)
      return fmt::format("DAMAGED: {} cannot be read (fsck.dedupfs names the files)", counted(chunks, "chunk"));
    const nlohmann::json& last = json_.at("scrub").at("last");
    if (!last.is_null() && last.at("other_damage") != 0)
      return fmt::format("DAMAGED: the last scrub found {} (see the log, run fsck.dedupfs)",
                         counted(last.at("other_damage").get<std::uint64_t>(), "error"));
    return "no damage known";
  }

  std::string scrub_text() const {
    const nlohmann::json& scrub = json_.at("scrub");
    if (scrub.at("running").get<bool>()) return "a scrub is running";
    const nlohmann::json& last = scrub.at("last");
    if (last.is_null()) return "never scrubbed: run dedupfs-scrub";
    if (!last.at("complete").get<bool>()) return "the last scrub was stopped: run dedupfs-scrub";
    return "last scrubbed " + minute_text(last.at("ended_unix_seconds").get<std::int64_t>());
  }

  // ------------------------------------------------------------ where the disk space goes

  void landed() {
    const auto landed = json_.value("landed_bytes", std::uint64_t{0});  // not of a daemon of before it
    if (landed == 0) return;
    row("Landed", human_size(landed),
        "not settled yet: it gets smaller by dedupfs-gc --settle, or while a mount is idle, from 64 MiB on");
  }

  void shares() {
    row("Files", human_size(count("stored_bytes") + count("base_only_bytes")),
        "their content, deduplicated and compressed");
    row("Snapshots", bytes("snapshot_only_bytes"), "content that only snapshots have");
    row("Garbage", bytes("garbage_bytes"), garbage_meaning());
    row("Index", bytes("index_bytes"), "names, attributes, and the places of all content");
    row("Other", bytes("other_bytes"), "superblock, checkpoints, folders, room kept for deletions");
    landed();
  }

  // What settling has moved is garbage at its old place, until it removes the container.
  bool is_settling() const {
    const nlohmann::json reclaim = json_.value("reclaim", nlohmann::json());
    return !reclaim.is_null() && reclaim.at("running").get<bool>() &&
           reclaim.at("current").value("goal", std::string()) == "settle";
  }

  // Names the remedy where it is worth it.
  std::string garbage_meaning() const {
    if (is_settling()) return "deleted content, and what the settling that runs has moved";
    constexpr double kMuchGarbage = 0.1;
    const double share =
        static_cast<double>(count("garbage_bytes")) / std::max<double>(1, static_cast<double>(count("disk_bytes")));
    if (share < kMuchGarbage) return "deleted content";
    return fmt::format("deleted content: {:.0f} % of the disk space, run dedupfs-gc", 100 * share);
  }

  // ------------------------------------------------------------ each step

  void settings() {
    out_ += fmt::format("Volume {}{}, format {}, {}\n", text("uuid"),
                        text("label").empty() ? "" : " \"" + text("label") + "\"", count("format_version"),
                        json_.at("mounted").get<bool>() ? "mounted" : "not mounted");
    encryption();
    out_ += fmt::format("Chunker {}, fingerprint {}, delta {}, compression {} ({} at first)\n\n", text("chunker"),
                        text("fingerprint"), text("delta"), text("compression"),
                        json_.value("landing", text("compression")));
  }

  // For a person who remembers them: an older state of the whole volume looks like the volume.
  void encryption() {
    const nlohmann::json found = json_.value("encryption", nlohmann::json());  // not of a daemon of before it
    if (found.is_null()) return;
    const nlohmann::json& unmounted = found.at("unmounted_unix_seconds");
    out_ += fmt::format("Encrypted, generation {}, {}\n", found.at("generation").get<std::uint64_t>(),
                        unmounted.is_null() ? std::string("which was not closed in good order")
                        : json_.at("mounted").get<bool>()
                            ? "before this mount unmounted " + minute_text(unmounted.get<std::int64_t>())
                            : "unmounted " + minute_text(unmounted.get<std::int64_t>()));
  }

  void chain() {
    files_to_unique();
    unique_to_stored();
    row("+ snapshots", bytes("snapshot_only_bytes"),
        fmt::format("{} chunks that only the {} snapshots have", count("snapshot_only_chunks"), count("snapshots")));
    row("+ bases", bytes("base_only_bytes"),
        fmt::format("{} chunks that no file has, but deltas need", count("base_only_chunks")));
    row("+ garbage", bytes("garbage_bytes"), garbage_meaning());
    row("+ index", bytes("index_bytes"), index_shares());
    row("+ other", bytes("other_bytes"), "superblock, checkpoints, folders, room kept for deletions");
    row("= disk", bytes("disk_bytes"),
        fmt::format("{:.2f} : 1 in total, {:.1f} % saved", number("total_ratio"), number("savings_percent")));
    landed();
  }

  void files_to_unique() {
    const std::uint64_t in_chunks = count("logical_bytes") - count("hole_bytes") - count("inline_bytes");
    row("Logical", bytes("logical_bytes"),
        fmt::format("size of {} files in {} directories", count("files"), count("directories")));
    row("- holes", bytes("hole_bytes"), "zeros that take no space");
    row("- inline", bytes("inline_bytes"), "tiny files, kept in the index");
    row("= data", human_size(in_chunks), fmt::format("in {} chunks", count("chunks")));
    row("Unique", bytes("unique_bytes"),
        fmt::format("after deduplication, {:.2f} : 1 ({} chunks, {} duplicates)", number("dedup_ratio"),
                    count("unique_chunks"), count("duplicate_chunks")));
  }

  void unique_to_stored() {
    row("After delta", bytes("after_delta_bytes"),
        fmt::format("after delta encoding, DCR {:.2f} : 1 ({} deltas of {} on average, SCR {:.1f} %, DCE {:.1f} %)",
                    number("delta_compression_ratio"), count("delta_chunks"),
                    human_size(static_cast<std::uint64_t>(number("mean_delta_bytes"))),
                    100 * number("similar_chunk_ratio"), 100 * number("delta_compression_efficiency")));
    row("Stored", bytes("stored_bytes"),
        fmt::format("after compression, {:.2f} : 1", number("local_compression_ratio")));
  }

  // "chunks 2.00 MiB, inodes 1.00 MiB, log 64.00 KiB": the largest first. A share of less than 1 % is left out.
  std::string index_shares() const {
    std::uint64_t rest = count("index_bytes");
    const std::uint64_t least = rest / 100;
    std::vector<std::pair<std::uint64_t, std::string>> shares;
    for (const auto& [family, family_bytes] : json_.at("index_table_bytes").items()) {
      shares.emplace_back(family_bytes.get<std::uint64_t>(), family);
      rest -= std::min(rest, shares.back().first);
    }
    shares.emplace_back(rest, "log");
    std::ranges::sort(shares, std::greater());
    std::string list;
    for (const auto& [share, name] : shares)
      if (share > least) list += fmt::format("{}{} {}", list.empty() ? "" : ", ", name, human_size(share));
    return list;
  }

  // ------------------------------------------------------------ what else there is to say

  void replication() {
    const nlohmann::json remote = json_.value("remote", nlohmann::json());  // not of a daemon of before it
    if (!remote.is_null()) out_ += "\n" + replication_screen(remote);
  }

  void warnings() {
    if (const std::uint64_t wanted = count("index_memory_wanted_bytes"); wanted != 0)
      out_ += fmt::format(
          "\nIndex: its filters need {}, but its memory is {}: writing is slow. Mount with -o index_mem={}m\n",
          bytes("index_filter_bytes"), bytes("index_memory_bytes"), wanted >> 20);
    if (count("damaged_chunks") != 0 || count("healed_chunks") != 0)
      out_ += fmt::format(
          "\nDamage: {} cannot be read; {} healed since the mount, because their content was written again\n",
          counted(count("damaged_chunks"), "chunk"), count("healed_chunks"));
  }

  void jobs() {
    out_ += "\n" + scrub_screen(json_.at("scrub"));
    if (const nlohmann::json& reclaim = json_.at("reclaim"); !reclaim.is_null()) out_ += reclaim_screen(reclaim);
  }

  void kernel() {
    const nlohmann::json connection = json_.value("kernel", nlohmann::json());  // not of a daemon of before it
    if (connection.is_null()) return;
    out_ += "\nThe kernel and the daemon:\n";
    for (const std::string& fact : connection_facts(connection)) out_ += "  " + fact + "\n";
  }

  void nfs_export() {
    const auto line = json_.find("nfs_export");
    if (line == json_.end() || !line->is_string()) return;
    out_ += fmt::format("\nTo export it by NFS, add this line to /etc/exports: {}\n", line->get<std::string>());
  }

  const nlohmann::json& json_;
  std::string out_;
};

}  // namespace

std::string statistics_screen(const nlohmann::json& statistics, ScreenDetail detail) {
  return Screen(statistics).shown(detail);
}

}  // namespace dedupfs
