// The parameters that the papers' programs are compared under, by the names of the golden lists: "seq_8kb" makes the chunker
// whose cuts on known inputs are in tests/golden/chunkers/cuts.json.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace dedupfs {

struct ParameterSet {
  std::string_view name;
  std::string_view spec;            // for make_chunker()
  std::uint32_t compared_at_bytes;  // the chunk size in the name; some algorithms want another number for their avg
};

std::span<const ParameterSet> parameter_sets();

const ParameterSet* find_parameter_set(std::string_view name);  // null if there is none

}  // namespace dedupfs
