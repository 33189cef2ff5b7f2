#include "estimate_sample.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/size.h"

namespace dedupfs::tools {
namespace {

std::uint64_t whole(double bytes) {
  return static_cast<std::uint64_t>(std::max(0.0, std::round(bytes)));
}

nlohmann::json bounds(const Extrapolation& found) {
  return {{"low", whole(found.value - found.margin)}, {"high", whole(found.value + found.margin)}};
}

}  // namespace

Result<double> parse_share(std::string_view text) {
  double percent = 0;
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, percent);
  if (error == std::errc() && rest + 1 == end && *rest == '%' && percent > 0 && percent <= 100) return percent / 100;
  return invalid_argument(fmt::format("'{}' is no share of the data: write it as 5%", text));
}

std::string sample_screen(const SampledEstimate& found) {
  const SourceTotals& totals = found.totals;
  const std::string disk = human_size(whole(found.disk_bytes.value));
  std::string text = fmt::format(
      "{}{} in {} would take {} once settled, {:.2f} : 1,\n"
      "of which deduplication {:.2f}, deltas {:.2f}, compression {:.2f}.\n",
      found.complete ? "" : "The first ", human_size(totals.logical_bytes),
      totals.files == 1 ? "1 file" : fmt::format("{} files", totals.files),
      found.is_sample_all ? disk
                          : fmt::format("about {} ± {} (95 %)", disk, human_size(whole(found.disk_bytes.margin))),
      found.total_ratio(), found.dedup_ratio(), found.delta_compression_ratio, found.local_compression_ratio);
  if (found.is_sample_all) return text + fmt::format("Sample: all was stored, in {:.0f} s.\n", found.seconds);
  return text + fmt::format("Sample: {} were stored, and the chunks of {} were counted, in {:.0f} s.\n",
                            human_size(found.sampled_bytes),
                            found.whole_scan ? "all files" : human_size(found.scanned_bytes), found.seconds);
}

nlohmann::json sample_json(const SampledEstimate& found) {
  const SourceTotals& totals = found.totals;
  return {{"complete", found.complete},
          {"unreadable_files", found.problems.unreadable},
          {"changed_files", found.problems.changed},
          {"files", totals.files},
          {"directories", totals.directories},
          {"symlinks", totals.symlinks},
          {"special_files", totals.special_files},
          {"logical_bytes", totals.logical_bytes},
          {"disk_bytes", whole(found.disk_bytes.value)},
          {"unique_bytes", whole(found.distinct_bytes.value)},
          {"total_ratio", found.total_ratio()},
          {"dedup_ratio", found.dedup_ratio()},
          {"delta_compression_ratio", found.delta_compression_ratio},
          {"local_compression_ratio", found.local_compression_ratio},
          {"margins", {{"disk_bytes", bounds(found.disk_bytes)}, {"unique_bytes", bounds(found.distinct_bytes)}}},
          {"sample",
           {{"stored_bytes", found.sampled_bytes},
            {"counted_bytes", found.scanned_bytes},
            {"parts", found.columns},
            {"seconds", found.seconds}}}};
}

}  // namespace dedupfs::tools
