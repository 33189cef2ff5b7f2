#include "replica/store_patience.h"

#include <fmt/format.h>

#include <charconv>
#include <cstdlib>
#include <string_view>

namespace dedupfs {

Result<std::chrono::seconds> store_patience() {
  const char* const value = std::getenv(kStorePatienceVariable);  // NOLINT(concurrency-mt-unsafe): nobody sets one
  const std::string_view text = value == nullptr ? "" : value;
  if (text.empty()) return kStorePatience;
  std::chrono::seconds::rep seconds = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), seconds);
  if (error != std::errc() || end != text.data() + text.size() || seconds < 1 ||
      seconds > kLongestStorePatience.count())
    return Error{ErrorCode::kInvalidArgument, fmt::format("{} is '{}': give seconds, from 1 to {}",
                                                          kStorePatienceVariable, text, kLongestStorePatience.count())};
  return std::chrono::seconds(seconds);
}

}  // namespace dedupfs
