#include "store/format/types.h"

#include <fmt/format.h>

#include <iterator>

namespace dedupfs {

std::string Fingerprint::hex() const {
  std::string text;
  for (const std::uint8_t byte : bytes) fmt::format_to(std::back_inserter(text), "{:02x}", byte);
  return text;
}

}  // namespace dedupfs
