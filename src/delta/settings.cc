#include "delta/settings.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "base/size.h"
#include "base/spec.h"
#include "delta/resemblance.h"

namespace dedupfs {
namespace {

constexpr std::string_view kNone = "none";
constexpr std::uint64_t kMinIndexBytes = std::uint64_t{1} << 20;
constexpr std::uint64_t kMaxIndexBytes = std::uint64_t{1} << 50;

}  // namespace

Result<DeltaSettings> parse_delta_settings(std::string_view text) {
  DeltaSettings settings;
  if (text == kNone) return settings;
  DEDUPFS_ASSIGN(const Spec spec, parse_spec("delta", text));
  std::vector<std::string_view> known = {kNone};
  for (const ResemblanceMethodInfo& info : resemblance_method_infos()) known.push_back(info.name);
  if (spec.name == kNone || std::ranges::find(known, spec.name) == known.end())
    return Error{ErrorCode::kInvalidArgument,
                 fmt::format("unknown delta encoding '{}' (known: {})", text, comma_separated(known))};
  DEDUPFS_TRY(allow_only(spec, {"depth", "neighbours", "index"}));
  settings.method = spec.name;
  DEDUPFS_ASSIGN(const std::uint64_t depth, number_from(spec, "depth", settings.depth, 1, DeltaSettings::kDeepest));
  DEDUPFS_ASSIGN(const std::uint64_t neighbours,
                 number_from(spec, "neighbours", settings.neighbours, 0, DeltaSettings::kMaxNeighbours));
  DEDUPFS_ASSIGN(settings.index_bytes,
                 number_from(spec, "index", settings.index_bytes, kMinIndexBytes, kMaxIndexBytes));
  settings.depth = static_cast<std::uint8_t>(depth);
  settings.neighbours = static_cast<std::uint8_t>(neighbours);
  return settings;
}

std::string format_delta_settings(const DeltaSettings& settings) {
  if (!settings.enabled()) return std::string(kNone);
  return fmt::format("{}:depth={},neighbours={},index={}", settings.method, settings.depth, settings.neighbours,
                     format_size(settings.index_bytes));
}

}  // namespace dedupfs
