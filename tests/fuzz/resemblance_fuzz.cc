// Every instruction set finds the same features in the same chunk, and reads no byte outside it.
#include <cstdint>
#include <vector>

#include "base/check.h"
#include "base/isa.h"
#include "delta/resemblance.h"

namespace {

// The bytes `repeats` times over: long chunks of few bytes of input, for kernels that leave short ones to plain code.
std::vector<std::uint8_t> repeated(const std::uint8_t* data, std::size_t size, std::size_t repeats) {
  std::vector<std::uint8_t> bytes;
  bytes.reserve(size * repeats);
  for (std::size_t i = 0; i < repeats; ++i) bytes.insert(bytes.end(), data, data + size);
  return bytes;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  // Of exactly this size, so that AddressSanitizer sees each byte read outside.
  const std::vector<std::uint8_t> chunk = repeated(data + 1, size - 1, std::size_t{1} + data[0] % 64);

  for (const dedupfs::ResemblanceMethodInfo& method : dedupfs::resemblance_method_infos()) {
    const auto definition = *dedupfs::make_resemblance_detector(method.name, dedupfs::Isa::kScalar);
    const dedupfs::Features expected = definition->features(chunk);
    for (const dedupfs::Isa isa : dedupfs::available_isas()) {
      const auto detector = *dedupfs::make_resemblance_detector(method.name, isa);
      if (detector->isa() != definition->isa()) DEDUPFS_CHECK(detector->features(chunk) == expected);
    }
  }
  return 0;
}
