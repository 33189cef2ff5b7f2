// What holds for every chunker on every instruction set: the cuts are those of the definition, however the data comes.
#include "chunkers/chunker.h"

#include <gtest/gtest.h>

#include <functional>

#include "chunkers/registry.h"
#include "test_data.h"

namespace dedupfs {
namespace {

using Definition = std::function<Ends(const ChunkSizes&, ByteSpan)>;

struct Algorithm {
  const char* spec;
  std::size_t longest_fixed_part;  // of a chunk: minimum, window or block, where lengths get interesting
  Definition definition;

  friend void PrintTo(const Algorithm& algorithm, std::ostream* out) { *out << algorithm.spec; }
};

Definition gear_cuts(int norm) {
  return [norm](const ChunkSizes& sizes, ByteSpan data) {
    return defined_cuts(data, sizes.max_bytes, [&](auto* b, std::size_t n) { return gear_length(sizes, norm, b, n); });
  };
}
Definition gear16_cuts(int norm) {
  return [norm](const ChunkSizes& sizes, ByteSpan data) {
    return defined_cuts(data, sizes.max_bytes,
                        [&](auto* b, std::size_t n) { return gear16_length(sizes, norm, b, n); });
  };
}
Definition vram_cuts(std::size_t window) {
  return [window](const ChunkSizes& sizes, ByteSpan data) {
    return defined_cuts(data, sizes.max_bytes, [&](auto* b, std::size_t n) { return vram_length(window, b, n); });
  };
}
Ends fixed_cuts(const ChunkSizes& sizes, ByteSpan data) {
  return defined_cuts(data, sizes.max_bytes, [&](auto*, std::size_t n) { return n; });
}

const Algorithm kAlgorithms[] = {
    {"fixed:size=1000", 1000, fixed_cuts},
    {"fixed:size=64", 64, fixed_cuts},
    {"vram:window=64,min=64,avg=320,max=512", 64, vram_cuts(64)},
    {"vram:window=65,avg=320,max=65k", 65, vram_cuts(65)},
    {"vram:avg=1k", 768, vram_cuts(768)},
    {"vram:window=1000,max=1000,avg=1000", 1000, vram_cuts(1000)},
    {"vram:avg=8k,min=2k,max=32k", 7936, vram_cuts(7936)},
    {"gear:avg=64", 64, gear_cuts(0)},
    {"gear:min=64,avg=128,max=130", 64, gear_cuts(0)},
    {"gear:min=64,avg=256,max=1m", 64, gear_cuts(0)},
    {"gear:min=512,avg=512,max=512", 512, gear_cuts(0)},
    {"gear:avg=4k", 1024, gear_cuts(0)},
    {"gear:avg=16k", 4096, gear_cuts(0)},
    {"gear:min=64,avg=64,max=4k,norm=1", 64, gear_cuts(1)},
    {"gear:min=64,avg=128,max=4k,norm=2", 64, gear_cuts(2)},
    {"gear:avg=4k,norm=2", 1024, gear_cuts(2)},
    {"gear16:avg=64,norm=0", 64, gear16_cuts(0)},
    {"gear16:min=64,avg=64,max=4k,norm=2", 64, gear16_cuts(2)},
    {"gear16:min=64,avg=128,max=130", 64, gear16_cuts(2)},
    {"gear16:min=64,avg=256,max=1m", 64, gear16_cuts(2)},
    {"gear16:min=512,avg=512,max=512", 512, gear16_cuts(2)},
    {"gear16:avg=4k,norm=1", 1024, gear16_cuts(1)},
    {"gear16:avg=16k", 4096, gear16_cuts(2)},
    {"gear16:min=64,avg=64k,max=64k", 64, gear16_cuts(0)},
};

class EveryChunker : public testing::TestWithParam<std::tuple<Algorithm, Isa>> {
 protected:
  EveryChunker() : chunker_(*make_chunker(algorithm().spec, std::get<1>(GetParam()))) {}

  const Algorithm& algorithm() const { return std::get<0>(GetParam()); }
  Ends definition(ByteSpan data) const { return algorithm().definition(chunker_->sizes(), data); }

  std::unique_ptr<Chunker> chunker_;
};

TEST_P(EveryChunker, CutsAsDefined) {
  for (const auto& [name, data] : patterns(300'000, 1)) EXPECT_EQ(cuts(*chunker_, data), definition(data)) << name;
}

TEST_P(EveryChunker, CutsAsDefinedAtAllLengthsAroundItsParts) {
  for (const auto& [name, data] : patterns(algorithm().longest_fixed_part + 400, 2))
    for (std::size_t n = 0; n <= data.size(); n += n + 70 < algorithm().longest_fixed_part && n > 260 ? 61u : 1u)
      ASSERT_EQ(cuts(*chunker_, ByteSpan(data).first(n)), definition(ByteSpan(data).first(n))) << name << ", n = " << n;
}

TEST_P(EveryChunker, CutsAsDefinedAtEveryAlignment) {
  const ByteBuffer data = random_bytes(40'000, 3);
  for (std::size_t offset = 0; offset < 65; ++offset) {
    const ByteSpan shifted = ByteSpan(data).subspan(offset);
    ASSERT_EQ(cuts(*chunker_, shifted), definition(shifted)) << "offset " << offset;
  }
}

TEST_P(EveryChunker, CutsDoNotDependOnHowTheDataComes) {
  for (const auto& [name, data] : patterns(70'000, 4)) {
    const Ends whole = cuts(*chunker_, data);
    for (std::uint64_t seed = 1; seed <= 4; ++seed) {
      std::uint64_t state = seed;
      const std::size_t largest = std::size_t{4} << (5 * seed % 17);  // from a few bytes to more than all
      const Ends pieces = cuts_in_pieces(*chunker_, data, [&](std::size_t rest) {
        return std::min<std::size_t>(rest, 300 * (seed % 2) + splitmix64(state) % largest);
      });
      ASSERT_EQ(pieces, whole) << name << ", seed " << seed;
    }
  }
}

TEST_P(EveryChunker, MoreThanTheMaximumAlwaysYieldsAChunk) {
  for (const auto& [name, data] : patterns(chunker_->sizes().max_bytes + 1, 5)) {
    Ends ends;
    EXPECT_GT(chunker_->split(data, false, ends), 0u) << name;
    EXPECT_FALSE(ends.empty()) << name;
  }
}

TEST_P(EveryChunker, ChunksKeepTheLimits) {
  const ChunkSizes sizes = chunker_->sizes();
  for (const auto& [name, data] : patterns(300'000, 6)) {
    const Ends ends = cuts(*chunker_, data);
    std::size_t start = 0;
    for (const std::size_t end : ends) {
      EXPECT_LE(end - start, sizes.max_bytes) << name;
      EXPECT_TRUE(end - start >= sizes.min_bytes || end == data.size()) << name << ' ' << end - start;
      start = end;
    }
    EXPECT_EQ(start, data.size()) << name;
  }
}

TEST_P(EveryChunker, AppendsToTheEndsThatAreThere) {
  const ByteBuffer data = random_bytes(10, 7);
  Ends ends = {42};

  EXPECT_EQ(chunker_->split(data, true, ends), 10u);

  EXPECT_EQ(ends, (Ends{42, 10}));
}

TEST_P(EveryChunker, NothingHasNoChunks) {
  for (const bool last : {false, true}) {
    Ends ends;
    EXPECT_EQ(chunker_->split({}, last, ends), 0u);
    EXPECT_TRUE(ends.empty());
  }
}

std::string test_name(const testing::TestParamInfo<std::tuple<Algorithm, Isa>>& test) {
  std::string name = std::string(std::get<0>(test.param).spec) + "_" + std::string(name_of(std::get<1>(test.param)));
  for (char& c : name)
    if (!std::isalnum(static_cast<unsigned char>(c))) c = '_';
  return name;
}

INSTANTIATE_TEST_SUITE_P(Chunkers, EveryChunker,
                         testing::Combine(testing::ValuesIn(kAlgorithms), testing::ValuesIn(available_isas())),
                         test_name);

TEST(ContentDefinedChunkers, CutsFallInAgainAfterAnInsertion) {
  const ByteBuffer data = random_bytes(2'000'000, 8);
  ByteBuffer changed = random_bytes(100, 9);
  changed.insert(changed.end(), data.begin(), data.end());

  for (const char* spec : {"vram:avg=4k", "gear:avg=4k", "gear16:avg=4k"}) {
    const auto chunker = *make_chunker(spec);
    const Ends before = cuts(*chunker, data);
    Ends after = cuts(*chunker, changed);

    for (auto& end : after) end -= std::min<std::size_t>(end, 100);
    Ends common;
    std::set_intersection(before.begin(), before.end(), after.begin(), after.end(), std::back_inserter(common));
    EXPECT_GT(common.size(), before.size() * 9 / 10) << spec;
  }
}

}  // namespace
}  // namespace dedupfs
