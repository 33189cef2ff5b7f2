// The delta codec, of which the first byte chooses a part:
// - any bytes as a delta: decoding succeeds or is kCorruption, within bounds;
// - a delta whose sections and their lengths agree, so that its instructions are reached, whatever they say;
// - any source and target: what is encoded is decoded again, and after a few changes to the delta it does no harm.
#include <fuzzer/FuzzedDataProvider.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>

#include "base/check.h"
#include "delta/xdelta3_codec.h"

namespace {

using dedupfs::ByteBuffer;
using dedupfs::ByteSpan;
using dedupfs::Xdelta3Codec;

constexpr std::size_t kMaxBytes = 4096;

// Memory of its own for each, so that the sanitizer sees every byte that is read or written beyond it.
ByteBuffer copy_of(ByteSpan bytes) {
  return {bytes.begin(), bytes.end()};
}

void decode(ByteSpan source, ByteSpan delta, std::size_t target_size) {
  ByteBuffer target(target_size);
  const auto decoded = Xdelta3Codec::decode(source, delta, target);
  DEDUPFS_CHECK(decoded || decoded.error().code() == dedupfs::ErrorCode::kCorruption);
}

// Content that repeats itself, as far as the input has no more.
ByteBuffer source_of(FuzzedDataProvider& input) {
  const auto size = input.ConsumeIntegralInRange<std::size_t>(1, kMaxBytes);
  const auto seed = input.ConsumeBytes<std::uint8_t>(input.ConsumeIntegralInRange<std::size_t>(0, 64));
  ByteBuffer bytes(size);
  for (std::size_t i = 0; i < size; ++i)
    bytes[i] = static_cast<std::uint8_t>(i < seed.size() ? seed[i]
                                         : seed.empty()  ? i * i >> 3
                                                         : bytes[i - seed.size()] + (i % 97 == 0));
  return bytes;
}

void append_integer(ByteBuffer& bytes, std::uint64_t value) {
  ByteBuffer digits = {static_cast<std::uint8_t>(value & 0x7f)};
  while ((value >>= 7) != 0) digits.insert(digits.begin(), static_cast<std::uint8_t>(0x80 | (value & 0x7f)));
  bytes.insert(bytes.end(), digits.begin(), digits.end());
}

// A small number mostly, or any.
std::uint64_t integer_of(FuzzedDataProvider& input) {
  return input.ConsumeBool() ? input.ConsumeIntegralInRange<std::uint64_t>(0, 2 * kMaxBytes)
                             : input.ConsumeIntegral<std::uint64_t>();
}

void decode_assembled(FuzzedDataProvider& input) {
  const ByteBuffer source = source_of(input);
  const auto target_size = input.ConsumeIntegralInRange<std::size_t>(1, kMaxBytes);
  const auto window = input.ConsumeIntegralInRange<std::uint8_t>(0, 8);
  ByteBuffer delta = {0xd6, 0xc3, 0xc4, 0, 0, window};
  if (window != 0) {
    const auto begin =
        input.ConsumeBool() ? input.ConsumeIntegralInRange<std::uint64_t>(0, source.size() - 1) : integer_of(input);
    append_integer(delta, input.ConsumeBool() ? source.size() - begin : integer_of(input));
    append_integer(delta, begin);
  }
  ByteBuffer body;
  append_integer(body, input.ConsumeBool() ? target_size : integer_of(input));
  body.push_back(input.ConsumeIntegralInRange<std::uint8_t>(0, 7) == 7);
  ByteBuffer sections[3];
  for (ByteBuffer& section : sections) {
    section = input.ConsumeBytes<std::uint8_t>(input.ConsumeIntegralInRange<std::size_t>(0, 256));
    append_integer(body, section.size());
  }
  for (const ByteBuffer& section : sections) body.insert(body.end(), section.begin(), section.end());
  append_integer(delta, body.size());
  delta.insert(delta.end(), body.begin(), body.end());
  decode(source, copy_of(delta), target_size);
}

void round_trip(FuzzedDataProvider& input) {
  const ByteBuffer source = source_of(input);
  // Parts of the source, and other bytes between them.
  ByteBuffer target;
  while (input.remaining_bytes() > 8 && target.size() < 4 * kMaxBytes) {
    const auto begin = input.ConsumeIntegralInRange<std::size_t>(0, source.size() - 1);
    const auto size = input.ConsumeIntegralInRange<std::size_t>(0, source.size() - begin);
    const auto part = ByteSpan(source).subspan(begin, size);
    target.insert(target.end(), part.begin(), part.end());
    const auto other = input.ConsumeBytes<std::uint8_t>(input.ConsumeIntegralInRange<std::size_t>(0, 40));
    target.insert(target.end(), other.begin(), other.end());
  }
  if (target.empty()) target = source;
  target = copy_of(target);
  const auto likely_offset = input.ConsumeIntegralInRange<std::size_t>(0, source.size() - 1);

  ByteBuffer delta(input.ConsumeBool() ? target.size() / 2 : 2 * target.size() + 64);
  const auto delta_bytes = Xdelta3Codec::encode(source, target, delta, likely_offset);
  DEDUPFS_CHECK(delta_bytes.has_value());
  if (!*delta_bytes) return;
  delta = copy_of(ByteSpan(delta).first(**delta_bytes));
  ByteBuffer restored(target.size());
  DEDUPFS_CHECK(Xdelta3Codec::decode(source, delta, restored));
  DEDUPFS_CHECK(std::ranges::equal(restored, target));

  while (input.remaining_bytes() > 0) {
    delta[input.ConsumeIntegralInRange<std::size_t>(0, delta.size() - 1)] = input.ConsumeIntegral<std::uint8_t>();
    decode(source, delta, target.size());
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  FuzzedDataProvider input(data, size);
  switch (input.ConsumeIntegralInRange<int>(0, 2)) {
    case 0: {
      const ByteBuffer source = source_of(input);
      const auto target_size = input.ConsumeIntegralInRange<std::size_t>(1, kMaxBytes);
      decode(source, input.ConsumeRemainingBytes<std::uint8_t>(), target_size);
      break;
    }
    case 1: decode_assembled(input); break;
    default: round_trip(input);
  }
  return 0;
}
