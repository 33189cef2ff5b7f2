// The features of odess+ over a vector. Included by each kernels_ISA.cc, behind the header of its vector.
//
// SWPR (sub-window parallel rolling, see reference/odess_plus.h) makes four neighbouring fingerprints at once, in lanes
// of 32 bits. It shifts the four before them, and adds the four big-endian words that end with their windows. One
// shuffle makes these words. The chunk is cut into segments, for two reasons. They fill wider registers. And each
// fingerprint waits for the one before it in its segment, while other segments give independent work. Each segment is
// warmed up by the bytes before it.
//
// Samples are taken without branches. At a rate of 1/128, every second mask of 64 windows has a sample, and the CPU
// cannot predict which. First a block of masks is made. Then the masks with a bit are listed: a counter grows for each
// of them. Then the lowest bit of each mask in the list is taken. Masks that have another bit make the next list. The
// fingerprint of a sample is computed again from its window. That costs less than to keep the fingerprints of all
// windows, which are 128 times as many.
//
// A vector (SwprRegister16, 32 or 64) has one or several blocks of 128 bits, one for each segment:
//   kSegments, kRegisters          how many, and in how many registers at a time; kSegments * kRegisters is a multiple of 4
//   load(p, length)                the 16 bytes at p + s * length of each segment s
//   straddle(before, now)          the last three bytes of `before`, then the first 13 of `now`
//   words<First>(bytes)            four numbers: the big-endian bytes [First + k, First + k + 4) for k = 0 to 3
//   rolled(fingerprints, words)    the fingerprints shifted left by four bits, plus the words
//   store_sampled(quads, out)      16 bits for each segment, one for each window. Number k of segment s in quads[q] belongs
//                                  to window 4 q + k. The bit says whether this number is >= kBoundary
//   bit_of(segment, window)        the place of this bit among the 64 bits of four segments
//   max(a, b), largest(a)          of all numbers, unsigned
// and perhaps
//   list_not_zero(words, n, list)  as below. It may clear up to eight words behind the n words, and may write up to eight
//                                  entries behind its list
// Its header also has
//   fingerprint(window)            of 32 bytes, in the form that SmallestLanes takes
//   SmallestLanes                  does the same as reference::SmallestTransforms
#pragma once

#include "delta/reference/feature_definition.h"
#include "delta/reference/odess_plus.h"

namespace dedupfs::resemblance {
namespace {

constexpr std::size_t kSwprStep = 16;  // windows of each segment at a time

// Where the windows of the segments end. Segment s of register r has `length` windows. The first one ends at ends[r] +
// s * length, the next one a byte behind it. `length` is a multiple of kSwprStep. Registers overlap if the chunk is
// shorter than all of them together. A window that is seen twice changes nothing.
template <class Vec>
struct SwprSegments {
  static constexpr std::size_t kCount = Vec::kSegments * Vec::kRegisters;
  static constexpr std::size_t kMinWindows = kCount * kSwprStep;

  SwprSegments(const std::uint8_t* p, std::size_t n) {
    const std::size_t windows = n - kOdessPlusWindowBytes + 1;
    length = (windows + kMinWindows - 1) / kMinWindows * kSwprStep;
    const std::size_t register_windows = Vec::kSegments * length, last = windows - register_windows;
    for (std::size_t r = 0; r < Vec::kRegisters; ++r) {
      const std::size_t first = r * register_windows < last ? r * register_windows : last;
      ends[r] = p + kOdessPlusWindowBytes - 1 + first;
    }
  }

  const std::uint8_t* ends[Vec::kRegisters];
  std::size_t length;
};

// The fingerprints of all segments, kSwprStep of each at a time.
template <class Vec>
class SwprRolling {
 public:
  explicit SwprRolling(const SwprSegments<Vec>& segments) : length_(segments.length) {
#pragma GCC unroll 4
    for (std::size_t r = 0; r < Vec::kRegisters; ++r) {
      const std::uint8_t* p = next_[r] = segments.ends[r];
      // The seven sub-windows that the first window of each segment begins with.
      const Vec first = Vec::load(p - 31, length_), second = Vec::load(p - 19, length_);
      before_[r] = Vec::load(p - 16, length_);
      Vec fingerprints = first.template words<0>();
      fingerprints = rolled(fingerprints, first.template words<4>());
      fingerprints = rolled(fingerprints, first.template words<8>());
      fingerprints = rolled(fingerprints, second.template words<0>());
      fingerprints = rolled(fingerprints, second.template words<4>());
      fingerprints = rolled(fingerprints, second.template words<8>());
      last_[r] = rolled(fingerprints, before_[r].template words<9>());
    }
  }

  // Calls visit(r, quads) for each register. quads[0] has the next four fingerprints of each of its segments. quads[1]
  // has the four after them, and so on.
  template <class Visit>
  [[gnu::always_inline]] void step(Visit visit) {
#pragma GCC unroll 4  // or else GCC keeps the arrays in memory
    for (std::size_t r = 0; r < Vec::kRegisters; ++r) {
      const Vec now = Vec::load(next_[r], length_);
      const Vec straddling = straddle(before_[r], now);
      Vec quads[4];
      quads[0] = rolled(last_[r], straddling.template words<0>());
      quads[1] = rolled(quads[0], straddling.template words<4>());
      quads[2] = rolled(quads[1], straddling.template words<8>());
      quads[3] = rolled(quads[2], now.template words<9>());
      visit(r, quads);
      next_[r] += kSwprStep;
      last_[r] = quads[3];
      before_[r] = now;
    }
  }

 private:
  std::size_t length_;
  const std::uint8_t* next_[Vec::kRegisters];
  Vec last_[Vec::kRegisters], before_[Vec::kRegisters];
};

// 1 or 0. Compilers would turn `word != 0` into a branch.
inline std::size_t not_zero(std::uint64_t word) {
  return (word | (0 - word)) >> 63;
}

// Lists the indices of the words that are not zero, and returns how many. The list has room for n + 1 entries. Those
// behind the returned number have no meaning.
inline std::size_t list_not_zero(const std::uint64_t* words, std::size_t n, std::uint32_t* list) {
  std::size_t count = 0;
  for (std::size_t i = 0; i < n; ++i) {
    list[count] = static_cast<std::uint32_t>(i);
    count += not_zero(words[i]);
  }
  return count;
}

template <class Vec, class SmallestLanes>
class SwprSampler {
 public:
  explicit SwprSampler(const SwprSegments<Vec>& segments) : segments_(segments) {
    for (std::size_t segment = 0; segment < SwprSegments<Vec>::kCount; ++segment) {
      const std::uint8_t* ends = segments.ends[segment / Vec::kSegments] + segment % Vec::kSegments * segments.length;
      for (std::size_t window = 0; window < kSwprStep; ++window)
        windows_[segment / 4 * 64 + Vec::bit_of(segment % 4, window)] = ends + window - (kOdessPlusWindowBytes - 1);
    }
  }

  // Whether there was a sample; if so, writes the features.
  bool run(std::uint64_t* features) {
    SwprRolling<Vec> rolling(segments_);
    // Each segment is a stream that is too short for the hardware to foresee. So fetch the bytes behind the chunk,
    // which are most likely the next chunk. From DRAM on Zen 4 in AVX-512: 6.7 GB/s without, 10.7 with, as much as from
    // L2.
    const std::uint8_t* ahead = segments_.ends[0] + SwprSegments<Vec>::kCount * segments_.length;
    for (std::size_t first = 0; first < segments_.length; first += kBlockWords / kStepWords * kSwprStep) {
      const std::size_t words_left = (segments_.length - first) / kSwprStep * kStepWords;
      const std::size_t words = words_left < kBlockWords ? words_left : kBlockWords;
      for (std::size_t word = 0; word < words; word += kStepWords) {
        for (std::size_t i = 0; i < kStepWords; ++i, ahead += 64) __builtin_prefetch(ahead);
        rolling.step([this, word](std::size_t r, const Vec(&quads)[4]) {
          store_sampled(quads, reinterpret_cast<std::uint8_t*>(masks_ + word) + r * (2 * Vec::kSegments));
        });
      }
      transform(first, words);
    }
    if (any_) smallest_.write(features);
    return any_;
  }

 private:
  static constexpr std::size_t kStepWords = SwprSegments<Vec>::kCount / 4;
  static constexpr std::size_t kBlockWords = 256;  // one block for a chunk of up to 16 KB

  // Adds the samples of some steps, which masks_ names. `first`: how many windows of each segment come before these
  // steps.
  void transform(std::size_t first, std::size_t words) {
    std::size_t count = 0;
    if constexpr (requires { Vec::list_not_zero(masks_, words, list_); }) {
      count = Vec::list_not_zero(masks_, words, list_);
    } else {
      count = list_not_zero(masks_, words, list_);
    }
    any_ |= count != 0;
    while (count != 0) {
      std::size_t left = 0;
      for (std::size_t k = 0; k < count; ++k) {
        const std::size_t word = list_[k];
        const std::uint64_t mask = masks_[word], rest = mask & (mask - 1);
        const std::size_t bit = static_cast<std::size_t>(__builtin_ctzll(mask));
        const std::uint8_t* window = windows_[word % kStepWords * 64 + bit] + first + word / kStepWords * kSwprStep;
        smallest_.add(fingerprint(window));
        masks_[word] = rest;
        list_[left] = static_cast<std::uint32_t>(word);
        left += not_zero(rest);
      }
      count = left;
    }
  }

  const SwprSegments<Vec>& segments_;
  SmallestLanes smallest_;
  bool any_ = false;
  std::uint64_t masks_[kBlockWords + 8];
  const std::uint8_t* windows_[64 * kStepWords];  // the windows of the first step, by the bits of its masks
  std::uint32_t list_[kBlockWords + 8];           // the words of masks_ with bits that are left
};

template <class Vec>
std::uint32_t largest_fingerprint(const SwprSegments<Vec>& segments) {
  SwprRolling<Vec> rolling(segments);
  Vec largest = Vec::zero();
  for (std::size_t i = 0; i < segments.length; i += kSwprStep)
    rolling.step([&largest](std::size_t, const Vec(&quads)[4]) {
      largest = max(largest, max(max(quads[0], quads[1]), max(quads[2], quads[3])));
    });
  return largest.largest();
}

template <class Vec, class SmallestLanes>
void odess_plus(const std::uint8_t* p, std::size_t n, std::uint64_t* features) {
  if (n < kOdessPlusWindowBytes - 1 + SwprSegments<Vec>::kMinWindows) return reference::odess_plus(p, n, features);
  const SwprSegments<Vec> segments(p, n);
  SwprSampler<Vec, SmallestLanes> sampler(segments);
  if (sampler.run(features)) return;
  reference::SmallestTransforms only;
  only.add(largest_fingerprint(segments));
  only.write(features);
}

}  // namespace
}  // namespace dedupfs::resemblance
