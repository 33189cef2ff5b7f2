// The chunkers and instruction sets that --algorithm, --avg and --isa select.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/isa.h"
#include "base/result.h"

namespace dedupfs::bench {

struct Selected {
  std::string label;        // for people: the name or spec as it was given
  std::string spec;         // for make_chunker()
  std::uint32_t avg_bytes;  // under which it is compared with others
  std::vector<Isa> isas;    // never empty
};

// `algorithms`: names of the registry, each combined with each of `avgs`; specs; names of parameter sets; or "all", which is
// every name of the registry. Commas separate them. An item with '=' and without ':' belongs to the spec in front of it. The key
// isa= in a spec replaces `isas` for that spec. `isas`: names, "all" that this CPU has, or "best", the default of chunkers.
// `leave_out` is called for each name that "all" stands for and that cannot have one of `avgs`.
// Failure: kInvalidArgument or kUnsupported, with a message that lists the allowed values.
Result<std::vector<Selected>> select(std::string_view algorithms, std::string_view avgs, std::string_view isas,
                                     const std::function<void(const Error&)>& leave_out = {});

// Names, "all" or "best", as above; each once, in order of vector width.
Result<std::vector<Isa>> parse_isas(std::string_view text);

// The items of `algorithms`, split by the rule above.
Result<std::vector<std::string>> split_algorithms(std::string_view text);

// The items of "a,b,c". An empty item is an error.
Result<std::vector<std::string>> split_list(std::string_view option, std::string_view text);

}  // namespace dedupfs::bench
