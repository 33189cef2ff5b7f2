#include "chunkers/registry.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

#include "chunkers/algorithms.h"
#include "chunkers/spec.h"

namespace dedupfs {
namespace {

struct Entry {
  ChunkerInfo info;
  std::string_view alias;  // the paper's name for the vectorised form, of which ours is always one
  Result<std::unique_ptr<Chunker>> (*make)(const Spec&, Isa);
};

constexpr auto kPlainSizes = "avg=16k (a power of two), min=avg/4, max=4*avg";

const std::vector<Entry>& entries() {
  static const std::vector<Entry> kEntries = {
      {{"gear16", "Gear hash of the last 16 bytes",
        "avg=16k (a power of two up to 64k), min=avg/4, max=4*avg, norm=2 (0 to 2: how firmly sizes are kept near avg, "
        "as far as avg * 2^norm <= 64k)"},
       "",
       make_gear16},
      {{"gear32", "Gear hash of the last 32 bytes", std::string(kPlainSizes) + ", norm=2"}, "", make_gear32},
      {{"gear", "Gear hash of the last 64 bytes, as in SS-CDC", std::string(kPlainSizes) + ", norm=0"},
       "ss-gear",
       make_gear},
      {{"fastcdc", "Gear hash with normalised chunking, as in DedupBench", std::string(kPlainSizes) + ", norm=2"},
       "",
       make_fastcdc},
      {{"crc", "CRC-32 of the last 256 bytes, as in SS-CDC", kPlainSizes}, "ss-crc", make_crc},
      {{"rabin", "Rabin fingerprint of the last 48 bytes, as in LBFS", kPlainSizes}, "", make_rabin},
      {{"tttd", "Rabin fingerprint with a second, easier divisor", kPlainSizes}, "", make_tttd},
      {{"toga", "64 hashes in a row that are large enough",
        "avg=16k, min=avg/4 (512 at least), max=4*avg, limit (by avg)"},
       "",
       make_toga},
      {{"ae-max", "no larger byte within a window behind the largest so far",
        "avg=16k, max=4*avg, window=avg-256, min=window (a smaller min changes nothing)"},
       "vae-max",
       make_ae_max},
      {{"ae-min", "no smaller byte within a window behind the smallest so far", "as ae-max"}, "vae-min", make_ae_min},
      {{"ram", "next byte not below the largest of a window", "as ae-max"}, "vram", make_ram},
      {{"maxp", "a byte larger than a window on each side", "avg=16k, max=4*avg, window (by avg), min=window"},
       "vmaxp",
       make_maxp},
      {{"seqcdc", "a run of rising bytes, skipping where they fall",
        "avg=16k, min=avg/2, max=2*avg, mode=inc (or dec), length=5, trigger=50, skip=256 (512 from 16k on)"},
       "",
       make_seqcdc},
      {{"fixed", "blocks of one size", "size=16k (avg is accepted for size)"}, "", make_fixed},
  };
  return kEntries;
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
  DEDUPFS_ASSIGN(Spec parsed, parse_spec("chunker", spec));
  DEDUPFS_ASSIGN(const Isa chosen, isa ? if_available(*isa) : default_isa());
  std::vector<std::string_view> known;
  for (const Entry& entry : entries()) {
    if (parsed.name == entry.info.name || (!entry.alias.empty() && parsed.name == entry.alias)) {
      parsed.name = entry.info.name;
      return entry.make(parsed, chosen);
    }
    known.push_back(entry.info.name);
  }
  return Error{ErrorCode::kInvalidArgument,
               fmt::format("unknown chunker '{}' (known: {})", parsed.name, comma_separated(known))};
}

}  // namespace dedupfs
