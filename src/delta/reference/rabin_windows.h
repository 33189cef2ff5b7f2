// The Rabin fingerprints of one window after the other (Rabin: "Fingerprinting by random polynomials", 1981).
#pragma once

#include <cstddef>
#include <cstdint>

#include "chunkers/kernels/rabin_table.h"
#include "delta/reference/feature_definition.h"

namespace dedupfs::resemblance::reference {
namespace {

static_assert(kRabinFeatureWindowBytes == kRabinWindowBytes);

class RabinWindows {
 public:
  // The first window begins at p.
  explicit RabinWindows(const std::uint8_t* p) : next_(p) {
    for (std::size_t i = 1; i < kRabinWindowBytes; ++i) digest_ = rabin_step(digest_, *next_++);
  }

  std::uint64_t next() {
    const std::uint64_t fingerprint = rabin_step(digest_, *next_) ^ kRabinTables.out[leaving_];
    leaving_ = *(next_ - (kRabinWindowBytes - 1));
    ++next_;
    digest_ = fingerprint;
    return fingerprint;
  }

 private:
  const std::uint8_t* next_;
  std::uint64_t digest_ = 0;
  std::uint8_t leaving_ = 0;  // nothing yet: the entry of a zero byte is zero
};

}  // namespace
}  // namespace dedupfs::resemblance::reference
