// Each kernel against a plain loop, at all small lengths, in front of and behind pages that must not be touched.
#include "chunkers/simd/kernels.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include "../test_data.h"
#include "chunkers/simd/dispatch.h"

namespace dedupfs {
namespace {

// Memory between two pages whose touch ends the program.
class GuardedBytes {
 public:
  GuardedBytes() : page_(static_cast<std::size_t>(::sysconf(_SC_PAGESIZE))) {
    void* mapped = ::mmap(nullptr, 4 * page_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    EXPECT_NE(mapped, MAP_FAILED);
    base_ = static_cast<std::uint8_t*>(mapped);
    EXPECT_EQ(::mprotect(begin(), size(), PROT_READ | PROT_WRITE), 0);
  }
  GuardedBytes(const GuardedBytes&) = delete;
  GuardedBytes& operator=(const GuardedBytes&) = delete;
  ~GuardedBytes() { ::munmap(base_, 4 * page_); }

  std::uint8_t* begin() const { return base_ + page_; }
  std::uint8_t* end() const { return begin() + size(); }
  std::size_t size() const { return 2 * page_; }
  void fill(const ByteBuffer& bytes) const { std::copy_n(bytes.begin(), size(), begin()); }

 private:
  std::size_t page_;
  std::uint8_t* base_;
};

class EveryKernel : public testing::TestWithParam<Isa> {
 protected:
  const simd::Kernels& kernels_ = simd::kernels_of(GetParam());
  GuardedBytes memory_;
};

TEST_P(EveryKernel, FindsTheLargestByte) {
  for (const auto& [name, data] : patterns(memory_.size(), 1)) {
    memory_.fill(data);
    for (std::size_t n = 1; n <= 600; ++n)
      for (const std::uint8_t* p : {memory_.begin(), memory_.begin() + 1, memory_.end() - n})
        ASSERT_EQ(kernels_.max_byte(p, n), *std::max_element(p, p + n)) << name << ", n = " << n;
  }
}

TEST_P(EveryKernel, FindsTheLargestByteWhereverItIs) {
  for (std::size_t n = 1; n <= 520; n += n < 140 ? 1 : 19) {
    ByteBuffer data(n, 3);
    for (std::size_t i = 0; i < n; ++i) {
      data[i] = 200;
      ASSERT_EQ(kernels_.max_byte(data.data(), n), 200) << i << " of " << n;
      data[i] = 3;
    }
  }
}

TEST_P(EveryKernel, FindsTheFirstByteThatIsLargeEnough) {
  constexpr std::uint8_t kLimits[] = {0, 1, 20, 127, 128, 200, 254, 255};
  for (const auto& [name, data] : patterns(memory_.size(), 2)) {
    memory_.fill(data);
    for (const std::uint8_t limit : kLimits)
      for (std::size_t n = 0; n <= 300; ++n)
        for (const std::uint8_t* p : {memory_.begin(), memory_.begin() + 1, memory_.end() - n}) {
          const auto found = static_cast<std::size_t>(std::find_if(p, p + n, [&](auto b) { return b >= limit; }) - p);
          ASSERT_EQ(kernels_.first_at_least(p, n, limit), found) << name << ", n = " << n << ", limit = " << +limit;
        }
  }
}

TEST_P(EveryKernel, MarksTheCandidatesOfGear) {
  constexpr std::size_t kBefore = simd::kGearLookBackBytes;
  const std::uint64_t masks[] = {
      0xff00000000000000, 0xfff8000000000000, 0x8000000000000001, 0x0000100000010000, 0xff00, 0xfffc, 0x0101, 1};
  for (const auto& [name, data] : patterns(memory_.size(), 3)) {
    memory_.fill(data);
    std::vector<std::uint64_t> hashes(data.size());
    for (std::size_t i = 0; i < data.size(); ++i) hashes[i] = (i ? 2 * hashes[i - 1] : 0) + gear_entry(data[i]);

    for (const std::uint64_t mask : masks)
      for (std::size_t n = 0; n <= 5000; n += n < 200 ? 1 : n < 700 ? 37 : 311)
        for (const std::size_t at : {kBefore, kBefore + 1, data.size() - n}) {
          std::vector<std::uint64_t> expected((n + 63) / 64), bits((n + 63) / 64 + 1, 0x5a5a5a5a5a5a5a5a);
          for (std::size_t i = 0; i < n; ++i)
            if ((hashes[at + i] & mask) == 0) expected[i / 64] |= std::uint64_t{1} << (i % 64);

          kernels_.gear_candidates(memory_.begin() + at, n, mask, bits.data());

          ASSERT_EQ(bits.back(), 0x5a5a5a5a5a5a5a5a) << "written past the end, n = " << n;
          bits.pop_back();
          ASSERT_EQ(bits, expected) << name << ", n = " << n << ", mask " << mask;
        }
  }
}

INSTANTIATE_TEST_SUITE_P(Kernels, EveryKernel, testing::ValuesIn(available_isas()), [](const auto& test) {
  return test.param == Isa::kSse41 ? std::string("sse41") : std::string(name_of(test.param));
});

}  // namespace
}  // namespace dedupfs
