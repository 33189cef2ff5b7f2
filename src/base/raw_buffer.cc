#include "base/raw_buffer.h"

template class std::vector<std::uint8_t, dedupfs::UninitializedAllocator<std::uint8_t>>;
