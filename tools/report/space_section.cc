#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <vector>

#include "base/size.h"
#include "report/html.h"
#include "report/sections.h"

namespace dedupfs::tools {
namespace {

// One bar of the waterfall, from `begin` to `end` bytes.
struct Step {
  const char* css_class;  // "total", "saved", "added"
  const char* name;
  const char* meaning;
  std::uint64_t begin;
  std::uint64_t end;
};

// The bars follow each other: what a step saves lies between the totals beside it.
std::vector<Step> steps_of(const nlohmann::json& statistics) {
  const auto count = [&](const char* key) { return statistics.at(key).get<std::uint64_t>(); };
  const std::uint64_t logical = count("logical_bytes");
  const std::uint64_t no_chunks = std::min(logical, count("hole_bytes") + count("inline_bytes"));
  const std::uint64_t in_chunks = logical - no_chunks;
  const std::uint64_t unique = std::min(in_chunks, count("unique_bytes"));
  const std::uint64_t after_delta = std::min(unique, count("after_delta_bytes"));
  const std::uint64_t stored = std::min(after_delta, count("stored_bytes"));
  std::vector<Step> steps{{"total", "Files", "the sizes of all files", 0, logical},
                          {"saved", "− holes, tiny files",
                           "zeros that take no space, and tiny files, which the index holds", in_chunks, logical},
                          {"saved", "− duplicates", "content that is there already", unique, in_chunks},
                          {"saved", "− deltas", "content that resembles other content", after_delta, unique},
                          {"saved", "− compression", "regions of chunks, compressed together", stored, after_delta},
                          {"total", "= stored", "the content of the files in containers", 0, stored}};
  std::uint64_t end = stored;
  const auto add = [&](const char* name, const char* meaning, std::uint64_t bytes) {
    steps.push_back({"added", name, meaning, end, end + bytes});
    end += bytes;
  };
  add("+ snapshots", "content that only snapshots have", count("snapshot_only_bytes"));
  add("+ bases", "content that only deltas need", count("base_only_bytes"));
  add("+ garbage", "deleted content, until a reclaim", count("garbage_bytes"));
  add("+ index", "names, attributes, and the places of all content", count("index_bytes"));
  add("+ other", "superblock, checkpoints, folders, room kept for deletions", count("other_bytes"));
  steps.push_back({"total", "= on disk", "all of the volume", 0, count("disk_bytes")});
  return steps;
}

std::string waterfall(const std::vector<Step>& steps) {
  std::uint64_t most = 1;
  for (const Step& step : steps) most = std::max(most, step.end);
  std::string rows;
  for (const Step& step : steps) {
    const auto percent = [&](std::uint64_t bytes) {
      return 100 * static_cast<double>(bytes) / static_cast<double>(most);
    };
    const std::string bar = step.begin == step.end
                                ? ""
                                : fmt::format("<i style=\"left:{:.2f}%;width:{:.2f}%\"></i>",
                                              std::min(99.5, percent(step.begin)), percent(step.end - step.begin));
    const char* const weight = std::string_view(step.css_class) == "total" ? "strong" : "value";
    rows += fmt::format(
        "<span title=\"{1}\">{0}</span><div class=\"track {2}\" title=\"{1}\">{3}</div><span "
        "class=\"{4}\">{5}</span>\n",
        step.name, step.meaning, step.css_class, bar, weight, human_size(step.end - step.begin));
  }
  return "<div class=\"steps\">\n" + rows + "</div>\n";
}

struct Part {
  const char* css_class;
  const char* name;
  const char* key;
};
constexpr std::array<Part, 6> kParts{{{"files", "files", "stored_bytes"},
                                      {"snapshots", "snapshots only", "snapshot_only_bytes"},
                                      {"bases", "bases of deltas", "base_only_bytes"},
                                      {"garbage", "garbage", "garbage_bytes"},
                                      {"index", "index", "index_bytes"},
                                      {"other", "other", "other_bytes"}}};

std::string disk_parts(const nlohmann::json& statistics) {
  const auto disk = statistics.at("disk_bytes").get<double>();
  std::string bar, legend;
  for (const Part& part : kParts) {
    const auto bytes = statistics.at(part.key).get<std::uint64_t>();
    if (bytes == 0) continue;
    const std::string share = percent_text(static_cast<double>(bytes), disk);
    bar += fmt::format("<i class=\"{}\" style=\"flex:{} 0 0\" title=\"{}: {}, {}\"></i>", part.css_class, bytes,
                       part.name, human_size(bytes), share);
    legend += fmt::format("<span><i class=\"part {}\"></i>{} {} ({})</span> ", part.css_class, part.name,
                          human_size(bytes), share);
  }
  return "<h3>What the disk holds</h3>\n<div class=\"parts\">" + bar + "</div>\n<p class=\"legend\">" + legend +
         "</p>\n";
}

}  // namespace

std::string space_section(const ReportFacts& facts) {
  const nlohmann::json& statistics = facts.statistics;
  return fmt::format(
      "<section>\n<h2>Where the space goes</h2>\n"
      "<p class=\"quiet\">Deduplication {:.2f} : 1, deltas {:.2f} : 1, compression {:.2f} : 1; in total {:.2f} : "
      "1.</p>\n"
      "{}{}</section>\n",
      statistics.at("dedup_ratio").get<double>(), statistics.at("delta_compression_ratio").get<double>(),
      statistics.at("local_compression_ratio").get<double>(), statistics.at("total_ratio").get<double>(),
      waterfall(steps_of(statistics)), disk_parts(statistics));
}

}  // namespace dedupfs::tools
