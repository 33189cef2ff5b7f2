// Chunkers by name: "vram:avg=8k,min=2k,max=32k" makes a Chunker.
//
// A spec is NAME or NAME:KEY=VALUE,KEY=VALUE... Keys that are left out get the algorithm's defaults, derived from avg.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/isa.h"
#include "base/result.h"
#include "chunkers/chunker.h"

namespace dedupfs {

struct ChunkerInfo {
  std::string name;
  std::string summary;     // one line for --help
  std::string parameters;  // "min, avg, max" with defaults, for --help and error messages
};

// The names that make_chunker() knows, in the order in which --help lists them.
const std::vector<ChunkerInfo>& chunker_infos();

// kInvalidArgument with a message that lists the allowed values: unknown name or key, value out of range, min > avg > max.
// `isa` forces an instruction set (kUnsupported if this CPU lacks it); by default DEDUPFS_ISA, then the fastest that
// the CPU has.
Result<std::unique_ptr<Chunker>> make_chunker(std::string_view spec, std::optional<Isa> isa = std::nullopt);

// The default of mkfs.
inline constexpr std::string_view kDefaultChunkerSpec = "fastcdc:avg=32k";

}  // namespace dedupfs
