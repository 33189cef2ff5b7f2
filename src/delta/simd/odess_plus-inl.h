// The features of odess+ over a vector. Included by each kernels_ISA.cc, behind the header of its vector.
//
// SWPR (sub-window parallel rolling, see reference/odess_plus.h) makes four neighbouring fingerprints by one shift and one
// addition in lanes of 32 bits, given the four big-endian words that end with their windows, which are one shuffle. To
// fill wider registers, and to have independent work where the chain of fingerprints waits for itself, the chunk is cut
// into four segments, each warmed up by the bytes before it.
//
// A sample is taken without a branch: at a rate of 1/128 every second mask of 64 windows has one, which no predictor
// foresees. The mask's two lowest bits are always written to a list, which grows by as many as there are; what a third bit
// needs is rare enough to branch for. The fingerprints of the list are computed anew from their windows: that costs less
// than to keep those of 128 times as many.
//
// A vector, SwprRegister, is one or several blocks of 128 bits, one a segment:
//   kSegments                      how many
//   load(p, at)                    the 16 bytes at p[s] + at of each segment s
//   straddle(before, now)          the last three bytes of `before`, then the first 13 of `now`
//   words<First>(bytes)            four numbers: the big-endian bytes [First + k, First + k + 4) for k = 0 to 3
//   rolled(fingerprints, words)    shifted left by four bits, plus the words
//   sampled(quads)                 bit 16 * s + 4 * q + k: whether number k of segment s in quads[q] is >= kBoundary
//   max(a, b), largest(a)          of all numbers, unsigned
// and with it come fingerprint(window), of 32 bytes, and SmallestLanes, the like of reference::SmallestTransforms.
#pragma once

#include "delta/feature_definition.h"
#include "delta/reference/odess_plus.h"

namespace dedupfs::resemblance {
namespace {

// 1 or 0. Of `mask != 0` compilers make the branch that this is to avoid.
inline std::size_t not_zero(std::uint64_t mask) {
  return (mask | (0 - mask)) >> 63;
}

constexpr std::size_t kSwprSegments = 4;
constexpr std::size_t kSwprStep = 16;  // windows of each segment at a time

// Where each segment's windows end: from ends[s] on, `length` of them, a multiple of kSwprStep. They cover all windows of
// the chunk; neighbours overlap where the chunk is not as long as that. (A window seen twice changes nothing.)
struct SwprSegments {
  SwprSegments(const std::uint8_t* p, std::size_t n) {
    const std::size_t windows = n - kOdessPlusWindowBytes + 1;
    length = (windows + kSwprSegments * kSwprStep - 1) / (kSwprSegments * kSwprStep) * kSwprStep;
    for (std::size_t s = 0; s < kSwprSegments; ++s) {
      const std::size_t first = s * length < windows - length ? s * length : windows - length;
      ends[s] = p + kOdessPlusWindowBytes - 1 + first;
    }
  }

  const std::uint8_t* ends[kSwprSegments];
  std::size_t length;
};

// Calls visit.quads(r, quads) for each register r of a step, quads[q] being the fingerprints of its segments' windows that
// end with bytes i + 4q to i + 4q + 3 after ends[s]; then visit.step(i).
template <class Vec, class Visit>
void roll(const SwprSegments& segments, Visit& visit) {
  constexpr std::size_t kRegisters = kSwprSegments / Vec::kSegments;
  Vec last[kRegisters], before[kRegisters];
  for (std::size_t r = 0; r < kRegisters; ++r) {  // seven sub-windows before the first window's last
    const std::uint8_t* const* ends = segments.ends + r * Vec::kSegments;
    const Vec first = Vec::load(ends, -31), second = Vec::load(ends, -19);
    before[r] = Vec::load(ends, -16);
    last[r] = first.template words<0>();
    last[r] = rolled(last[r], first.template words<4>());
    last[r] = rolled(last[r], first.template words<8>());
    last[r] = rolled(last[r], second.template words<0>());
    last[r] = rolled(last[r], second.template words<4>());
    last[r] = rolled(last[r], second.template words<8>());
    last[r] = rolled(last[r], before[r].template words<9>());
  }
  for (std::size_t i = 0; i < segments.length; i += kSwprStep) {
    for (std::size_t r = 0; r < kRegisters; ++r) {
      const Vec now = Vec::load(segments.ends + r * Vec::kSegments, static_cast<std::ptrdiff_t>(i));
      const Vec straddling = straddle(before[r], now);
      Vec quads[4];
      quads[0] = rolled(last[r], straddling.template words<0>());
      quads[1] = rolled(quads[0], straddling.template words<4>());
      quads[2] = rolled(quads[1], straddling.template words<8>());
      quads[3] = rolled(quads[2], now.template words<9>());
      visit.quads(r, quads);
      last[r] = quads[3];
      before[r] = now;
    }
    visit.step(i);
  }
}

template <class Vec, class SmallestLanes>
class SwprSampler {
 public:
  explicit SwprSampler(const SwprSegments& segments) : segments_(segments) {}

  [[gnu::always_inline]] void quads(std::size_t r, const Vec (&quads)[4]) {
    mask_ |= sampled(quads) << (r * Vec::kSegments * kSwprStep);
  }

  [[gnu::always_inline]] void step(std::size_t i) {
    const std::size_t base = kSwprSegments * i;
    const std::uint64_t more = mask_ & (mask_ - 1);
    list_[count_] = base + lowest_bit(mask_);
    count_ += not_zero(mask_);
    list_[count_] = base + lowest_bit(more);
    count_ += not_zero(more);
    for (std::uint64_t rest = more & (more - 1); rest != 0; rest &= rest - 1)
      [[unlikely]] list_[count_++] = base + lowest_bit(rest);
    if (count_ > kCapacity - kSwprSegments * kSwprStep) [[unlikely]]
      flush();
    mask_ = 0;
  }

  // Whether there were samples; if so, writes the features.
  bool finish(std::uint64_t* features) {
    flush();
    if (!any_) return false;
    smallest_.write(features);
    return true;
  }

 private:
  static constexpr std::size_t kCapacity = 1024;

  void flush() {
    for (std::size_t k = 0; k < count_; ++k) {
      const std::size_t bit = list_[k] % 64;
      const std::uint8_t* end = segments_.ends[bit / kSwprStep] + list_[k] / 64 * kSwprStep + bit % kSwprStep;
      smallest_.add(fingerprint(end - (kOdessPlusWindowBytes - 1)));
    }
    any_ |= count_ != 0;
    count_ = 0;
  }

  const SwprSegments& segments_;
  SmallestLanes smallest_;
  std::uint64_t mask_ = 0;
  std::size_t count_ = 0;
  bool any_ = false;
  std::size_t list_[kCapacity + 1];  // 64 * step + bit; one more, for what is written and not kept
};

template <class Vec>
struct SwprLargest {
  void quads(std::size_t, const Vec (&quads)[4]) {
    for (const Vec& quad : quads) largest = max(largest, quad);
  }
  void step(std::size_t) {}

  Vec largest = Vec::zero();
};

template <class Vec, class SmallestLanes>
void odess_plus(const std::uint8_t* p, std::size_t n, std::uint64_t* features) {
  if (n < kOdessPlusWindowBytes - 1 + kSwprStep) return reference::odess_plus(p, n, features);
  const SwprSegments segments(p, n);
  SwprSampler<Vec, SmallestLanes> sampler(segments);
  roll<Vec>(segments, sampler);
  if (sampler.finish(features)) return;

  SwprLargest<Vec> visit;
  roll<Vec>(segments, visit);
  reference::SmallestTransforms only;
  only.add(visit.largest.largest());
  only.write(features);
}

}  // namespace
}  // namespace dedupfs::resemblance
