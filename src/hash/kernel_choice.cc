#include "hash/kernel_choice.h"

#include <algorithm>

#include "base/bytes.h"
#include "hash/openssl_kernel.h"
#include "hash/simd/instruction_kernels.h"

namespace dedupfs::sha256 {
namespace {

constexpr std::size_t kAllLengthsTo = 300;  // more than four blocks, with and without a second block of padding
constexpr std::size_t kGreaterLengths[] = {1000, 4095, 4096, 8200, 16'383, 65'541};
constexpr std::size_t kPlaces = 32;  // messages begin at different ones of a cache line

ByteBuffer make_noise() {
  ByteBuffer noise(*std::ranges::max_element(kGreaterLengths) + kPlaces);
  std::uint64_t state = 0x9E3779B97F4A7C15;
  for (std::uint8_t& byte : noise) {
    state = state * 6364136223846793005 + 1442695040888963407;
    byte = static_cast<std::uint8_t>(state >> 56);
  }
  return noise;
}

std::vector<Message> make_messages(const ByteBuffer& noise) {
  std::vector<Message> messages;
  const auto add = [&](std::size_t size) { messages.push_back({noise.data() + messages.size() % kPlaces, size}); };
  for (std::size_t size = 0; size <= kAllLengthsTo; ++size) {
    add(size);
    if (size % 50 == 0) add(kGreaterLengths[size / 50 % std::size(kGreaterLengths)]);  // so that lanes end far apart
  }
  return messages;
}

ByteBuffer digests_by(HashMessages* kernel, std::span<const Message> messages) {
  ByteBuffer digests(messages.size() * kDigestBytes);
  kernel(messages.data(), messages.size(), digests.data());
  return digests;
}

}  // namespace

const Kernels& kernels_of(Isa isa) {
  return isa == Isa::kScalar ? kOpensslKernels : instruction_kernels(isa);
}

bool agrees(HashMessages* kernel) {
  static const ByteBuffer noise = make_noise();
  std::vector<Message> messages = make_messages(noise);
  const auto agrees_on = [kernel](std::span<const Message> list) {
    return digests_by(kernel, list) == digests_by(kOpensslKernels.hash_messages, list);
  };
  if (!agrees_on(messages)) return false;
  std::ranges::reverse(messages);
  if (!agrees_on(messages)) return false;
  for (std::size_t count = 0; count < 5; ++count)
    if (!agrees_on(std::span(messages).subspan(count * count, count))) return false;
  return true;
}

bool passes_self_test(Isa isa) {
  return passes_once(&Kernels::hash_messages, isa, [isa] { return agrees(kernels_of(isa).hash_messages); });
}

Choice choose(Isa widest) {
  return choose_kernel(&Kernels::hash_messages, widest, kernels_of, passes_self_test);
}

const Choice& default_choice() {
  static const Choice kChoice = choose(default_isa().value_or(Isa::kScalar));
  return kChoice;
}

}  // namespace dedupfs::sha256
