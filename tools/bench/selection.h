// What the options --algorithm, --avg and --isa ask to be measured.
#pragma once

#include <cstdint>
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
// every name of the registry. Commas separate them; what has a '=' and no ':' goes on with the spec in front of it. A key
// isa= in a spec stands for `isas` of that spec. `isas`: names, "all" that this CPU has, or "best", which chunkers take when
// they are not told. kInvalidArgument or kUnsupported, with a message that says what is allowed.
Result<std::vector<Selected>> select(std::string_view algorithms, std::string_view avgs, std::string_view isas);

// Names, "all" or "best", as above; each once, in order of vector width.
Result<std::vector<Isa>> parse_isas(std::string_view text);

// The items of `algorithms`, put together by the rule above.
Result<std::vector<std::string>> split_algorithms(std::string_view text);

// "a,b,c", taken apart; without empty items.
Result<std::vector<std::string>> split_list(std::string_view option, std::string_view text);

}  // namespace dedupfs::bench
