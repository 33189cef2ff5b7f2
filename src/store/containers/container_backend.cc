#include "store/containers/container_backend.h"

namespace dedupfs {

Result<void> ContainerBackend::read(std::uint32_t number, std::uint64_t offset, MutableByteSpan out) {
  DEDUPFS_ASSIGN(const std::size_t filled, read_up_to(number, offset, out));
  if (filled == out.size()) return {};
  return corruption(name_of(number) + " ends at " + std::to_string(offset + filled) + ", " +
                    std::to_string(out.size() - filled) + " bytes are missing");
}

}  // namespace dedupfs
