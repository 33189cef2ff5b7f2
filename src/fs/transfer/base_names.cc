#include "fs/transfer/base_names.h"

#include <fmt/format.h>

namespace dedupfs::transfer {

Result<void> BaseNames::add(const std::string& name) {
  if (names_.insert(name).second) bytes_ += name.size() + kBytesBesideName;
  if (bytes_ <= kMostBytes) return {};
  return Error{ErrorCode::kTooLarge,
               fmt::format("the names of the sender's root folder take more than {} MiB of memory: "
                           "receive with --into a folder",
                           kMostBytes >> 20)};
}

}  // namespace dedupfs::transfer
