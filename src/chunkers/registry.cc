#include "chunkers/registry.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdlib>

#include "chunkers/algorithms.h"
#include "chunkers/spec.h"

namespace dedupfs {
namespace {

struct Entry {
  ChunkerInfo info;
  Result<std::unique_ptr<Chunker>> (*make)(const ChunkerSpec&, Isa);
};

const std::array<Entry, 4>& entries() {
  static const std::array<Entry, 4> kEntries = {{
      {{"gear", "content-defined, Gear hash of the last 64 bytes (SS-CDC)",
        "avg=16k (a power of two), min=avg/4, max=4*avg, norm=0 (0 to 2: how firmly sizes are kept near avg)"},
       make_gear},
      {{"gear16", "content-defined, Gear hash of the last 16 bytes (several times faster with AVX-512)",
        "avg=16k (a power of two up to 64k), min=avg/4, max=4*avg, norm=2 (as far as avg * 2^norm <= 64k)"},
       make_gear16},
      {{"vram", "content-defined, hashless: next byte not below the maximum of a window (VectorCDC's RAM)",
        "avg=16k, max=4*avg, window=avg-256, min=window (a smaller min changes nothing)"},
       make_vram},
      {{"fixed", "blocks of one size", "size=16k (avg is accepted for size)"}, make_fixed},
  }};
  return kEntries;
}

Result<Isa> choose_isa(std::optional<Isa> forced) {
  const std::vector<Isa> available = available_isas();
  if (!forced) {
    const char* environment = std::getenv("DEDUPFS_ISA");
    if (environment == nullptr) return available.back();
    auto parsed = parse_isa(environment);
    if (!parsed) return parsed.error().with("DEDUPFS_ISA");
    forced = *parsed;
  }
  if (std::find(available.begin(), available.end(), *forced) == available.end())
    return Error{ErrorCode::kUnsupported, fmt::format("this CPU has no {}", name_of(*forced))};
  return *forced;
}

}  // namespace

const std::vector<ChunkerInfo>& chunker_infos() {
  static const std::vector<ChunkerInfo> kInfos = [] {
    std::vector<ChunkerInfo> infos;
    for (const Entry& entry : entries()) infos.push_back(entry.info);
    return infos;
  }();
  return kInfos;
}

Result<std::unique_ptr<Chunker>> make_chunker(std::string_view spec, std::optional<Isa> isa) {
  DEDUPFS_ASSIGN(const ChunkerSpec parsed, parse_chunker_spec(spec));
  DEDUPFS_ASSIGN(const Isa chosen, choose_isa(isa));
  std::vector<std::string_view> known;
  for (const Entry& entry : entries()) {
    if (entry.info.name == parsed.name) return entry.make(parsed, chosen);
    known.push_back(entry.info.name);
  }
  return Error{ErrorCode::kInvalidArgument,
               fmt::format("unknown chunker '{}' (known: {})", parsed.name, comma_separated(known))};
}

}  // namespace dedupfs
