#include "store/types.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace dedupfs {

std::string Fingerprint::hex() const {
  return fmt::format("{:02x}", fmt::join(bytes, ""));
}

}  // namespace dedupfs
