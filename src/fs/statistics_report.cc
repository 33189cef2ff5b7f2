// How statistics are shown: as JSON, and as a screen made from that JSON.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/size.h"
#include "fs/statistics.h"

namespace dedupfs {

nlohmann::json statistics_json(const Statistics& statistics, const Superblock& superblock, bool mounted) {
  return {
      {"logical_bytes", statistics.logical_bytes},
      {"hole_bytes", statistics.hole_bytes},
      {"inline_bytes", statistics.inline_bytes},
      {"unique_bytes", statistics.unique_bytes},
      {"stored_bytes", statistics.stored_bytes},
      {"garbage_bytes", statistics.garbage_bytes},
      {"index_bytes", statistics.index_bytes},
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
      {"savings_percent", statistics.savings_percent()},
      {"dedup_ratio", statistics.dedup_ratio()},
      {"compression_ratio", statistics.compression_ratio()},
      {"total_ratio", statistics.total_ratio()},
      {"chunker", superblock.chunker},
      {"fingerprint", superblock.fingerprint},
      {"compression", format_compression(superblock.compression)},
      {"uuid", superblock.uuid},
      {"label", superblock.label},
      {"format_version", superblock.format_version},
      {"mounted", mounted},
  };
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
  out += fmt::format("Chunker {}, fingerprint {}, compression {}\n\n", json.at("chunker").get<std::string>(),
                     json.at("fingerprint").get<std::string>(), json.at("compression").get<std::string>());

  line("Logical", bytes("logical_bytes"),
       fmt::format("size of {} files (in {} directories)", count("files"), count("directories")));
  line("- holes", bytes("hole_bytes"), "zeros that take no space");
  line("- inline", bytes("inline_bytes"), "tiny files, kept in the index");
  line("= data", human_size(in_chunks), fmt::format("in {} chunks", count("chunks")));
  line("Unique", bytes("unique_bytes"),
       fmt::format("after deduplication, {:.2f} : 1 ({} chunks, {} duplicates)", number("dedup_ratio"),
                   count("unique_chunks"), count("duplicate_chunks")));
  line("Stored", bytes("stored_bytes"), fmt::format("after compression, {:.2f} : 1", number("compression_ratio")));
  line("+ garbage", bytes("garbage_bytes"), "in containers, of no use to any file");
  line("+ index", bytes("index_bytes"), "names, recipes and the chunk index");
  line("+ other", bytes("other_bytes"), "superblock, folders");
  line("= disk", bytes("disk_bytes"),
       fmt::format("{:.2f} : 1 in total, {:.1f} % saved", number("total_ratio"), number("savings_percent")));
  return out;
}

}  // namespace dedupfs
