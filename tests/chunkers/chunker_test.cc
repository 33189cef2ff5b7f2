// What holds for every chunker on every instruction set: the cuts are those of the definition, however the data comes.
#include "chunkers/chunker.h"

#include <gtest/gtest.h>

#include <functional>

#include "chunkers/registry.h"
#include "definitions.h"
#include "support/sanitized.h"

namespace dedupfs {
namespace {

using Definition = std::function<Ends(const ChunkSizes&, ByteSpan)>;

struct Algorithm {
  const char* spec;
  std::size_t longest_fixed_part;  // of a chunk: minimum, window or block, where lengths get interesting
  Definition definition;

  friend void PrintTo(const Algorithm& algorithm, std::ostream* out) { *out << algorithm.spec; }
};

// The cuts by length(sizes, b, n).
Definition by(auto length) {
  return [length](const ChunkSizes& sizes, ByteSpan data) {
    return defined_cuts(data, sizes.max_bytes, [&](auto* b, std::size_t n) { return length(sizes, b, n); });
  };
}
Definition gear(int norm) {
  return by([norm](auto& sizes, auto* b, std::size_t n) { return gear_length(sizes, norm, b, n); });
}
Definition gear16(int norm) {
  return by([norm](auto& sizes, auto* b, std::size_t n) { return narrow_gear_length(sizes, 16, norm, b, n); });
}
Definition gear32(int norm) {
  return by([norm](auto& sizes, auto* b, std::size_t n) { return narrow_gear_length(sizes, 32, norm, b, n); });
}
Definition fastcdc(int norm) {
  return by([norm](auto& sizes, auto* b, std::size_t n) { return fastcdc_length(sizes, norm, b, n); });
}
Definition toga(unsigned limit) {
  return by([limit](auto& sizes, auto* b, std::size_t n) { return toga_length(sizes, limit, b, n); });
}
Definition ae_max(std::size_t window) {
  return by([window](auto&, auto* b, std::size_t n) { return ae_length(window, b, n, std::greater<>()); });
}
Definition ae_min(std::size_t window) {
  return by([window](auto&, auto* b, std::size_t n) { return ae_length(window, b, n, std::less<>()); });
}
Definition ram(std::size_t window) {
  return by([window](auto&, auto* b, std::size_t n) { return ram_length(window, b, n); });
}
Definition maxp(std::size_t window) {
  return by([window](auto&, auto* b, std::size_t n) { return maxp_length(window, b, n); });
}
Definition seqcdc(const SequenceRule& rule) {
  return by([rule](auto& sizes, auto* b, std::size_t n) { return seqcdc_length(sizes, rule, b, n); });
}
const Definition kFixed = by([](auto&, auto*, std::size_t n) { return n; });
const Definition kCrc = by(crc_length);
const Definition kRabin = by(rabin_length);
const Definition kTttd = by(tttd_length);

const Algorithm kAlgorithms[] = {
    {"fixed:size=1000", 1000, kFixed},
    {"fixed:size=64", 64, kFixed},
    {"ram:window=64,min=64,avg=320,max=512", 64, ram(64)},
    {"ram:window=65,avg=320,max=65k", 65, ram(65)},
    {"ram:avg=1k", 768, ram(768)},
    {"ram:window=1000,max=1000,avg=1000", 1000, ram(1000)},
    {"ram:avg=8k,min=2k,max=32k", 7936, ram(7936)},
    {"ae-max:window=64,avg=320,max=512", 64, ae_max(64)},
    {"ae-max:window=65,avg=320,max=65k", 65, ae_max(65)},
    {"ae-max:avg=1k", 768, ae_max(768)},
    {"ae-max:window=1000,max=1000,avg=1000", 1000, ae_max(1000)},
    {"ae-max:avg=8k", 7936, ae_max(7936)},
    {"ae-min:window=64,avg=320,max=512", 64, ae_min(64)},
    {"ae-min:window=200,avg=320,max=65k", 200, ae_min(200)},
    {"ae-min:avg=8k", 7936, ae_min(7936)},
    {"maxp:window=64,avg=320,max=512", 64, maxp(64)},
    {"maxp:window=65,avg=320,max=65k", 65, maxp(65)},
    {"maxp:window=300,max=601,avg=512", 300, maxp(300)},
    {"maxp:window=300,max=602,avg=512", 300, maxp(300)},
    {"maxp:window=960,avg=8k", 960, maxp(960)},
    {"seqcdc:min=64,avg=128,max=256", 64, seqcdc({5, 50, 256})},
    {"seqcdc:min=65,avg=128,max=4k,length=3,trigger=2,skip=1", 65, seqcdc({3, 2, 1})},
    {"seqcdc:avg=1k,length=6,trigger=20,skip=100,mode=dec", 512, seqcdc({6, 20, 100, true})},
    {"seqcdc:min=64,avg=128,max=64k,length=9,trigger=1,skip=0", 64, seqcdc({9, 1, 0})},
    {"seqcdc:avg=8k", 4096, seqcdc({5, 50, 256})},
    {"gear:avg=64", 64, gear(0)},
    {"gear:min=64,avg=128,max=130", 64, gear(0)},
    {"gear:min=64,avg=256,max=1m", 64, gear(0)},
    {"gear:min=512,avg=512,max=512", 512, gear(0)},
    {"gear:avg=16k", 4096, gear(0)},
    {"gear:min=64,avg=64,max=4k,norm=1", 64, gear(1)},
    {"gear:min=64,avg=128,max=4k,norm=2", 64, gear(2)},
    {"gear:avg=4k,norm=2", 1024, gear(2)},
    {"gear32:avg=64,norm=0", 64, gear32(0)},
    {"gear32:min=64,avg=128,max=4k,norm=1", 64, gear32(1)},
    {"gear32:min=64,avg=256,max=1m", 64, gear32(2)},
    {"gear32:avg=8k", 2048, gear32(2)},
    {"gear16:avg=64,norm=0", 64, gear16(0)},
    {"gear16:min=64,avg=64,max=4k,norm=2", 64, gear16(2)},
    {"gear16:min=64,avg=128,max=130", 64, gear16(2)},
    {"gear16:min=64,avg=256,max=1m", 64, gear16(2)},
    {"gear16:min=512,avg=512,max=512", 512, gear16(2)},
    {"gear16:avg=4k,norm=1", 1024, gear16(1)},
    {"gear16:avg=16k", 4096, gear16(2)},
    {"gear16:min=64,avg=64k,max=64k", 64, gear16(0)},
    {"fastcdc:avg=64,norm=0", 64, fastcdc(0)},
    {"fastcdc:min=64,avg=64,max=4k,norm=2", 64, fastcdc(2)},
    {"fastcdc:min=64,avg=128,max=130", 64, fastcdc(2)},
    {"fastcdc:min=64,avg=256,max=1m,norm=1", 64, fastcdc(1)},
    {"fastcdc:avg=8k", 2048, fastcdc(2)},
    {"fastcdc:min=64,avg=1m,max=1m", 64, fastcdc(2)},
    {"crc:min=256,avg=256,max=300", 256, kCrc},
    {"crc:min=256,avg=512,max=64k", 256, kCrc},
    {"crc:min=1000,avg=4k", 1000, kCrc},
    {"rabin:min=64,avg=64,max=70", 64, kRabin},
    {"rabin:min=64,avg=128,max=64k", 64, kRabin},
    {"rabin:avg=4k", 1024, kRabin},
    {"tttd:min=64,avg=64,max=70", 64, kTttd},
    {"tttd:min=64,avg=256,max=300", 64, kTttd},
    {"tttd:min=100,avg=1k,max=2k", 100, kTttd},
    {"toga:min=512,avg=512,max=600,limit=1", 512, toga(1)},
    {"toga:min=512,avg=600,max=64k,limit=10", 512, toga(10)},
    {"toga:avg=8k", 2048, toga(24)},
};

class EveryChunker : public testing::TestWithParam<Algorithm> {
 protected:
  EveryChunker() {
    for (const Isa isa : available_isas()) chunkers_.push_back(*make_chunker(GetParam().spec, isa));
  }

  ChunkSizes sizes() const { return chunkers_.front()->sizes(); }
  Ends definition(ByteSpan data) const { return GetParam().definition(sizes(), data); }

  void expect_defined_cuts(ByteSpan data, const std::string& what) const {
    const Ends defined = definition(data);
    for (const auto& chunker : chunkers_) ASSERT_EQ(cuts(*chunker, data), defined) << what << ", " << chunker->isa();
  }

  std::vector<std::unique_ptr<Chunker>> chunkers_;  // one for each instruction set
};

TEST_P(EveryChunker, CutsAsDefined) {
  for (const auto& [name, data] : patterns(kSanitized ? 80'000 : 300'000, 1)) expect_defined_cuts(data, name);
}

TEST_P(EveryChunker, CutsAsDefinedAtAllLengthsAroundItsParts) {
  for (const auto& [name, data] : patterns(GetParam().longest_fixed_part + 400, 2))
    for (std::size_t n = 0; n <= data.size(); n += n + 70 < GetParam().longest_fixed_part && n > 260 ? 61u : 1u)
      expect_defined_cuts(ByteSpan(data).first(n), name + ", n = " + std::to_string(n));
}

TEST_P(EveryChunker, CutsAsDefinedAtEveryAlignment) {
  const ByteBuffer data = random_bytes(kSanitized ? 10'000 : 40'000, 3);
  for (std::size_t offset = 0; offset < 65; ++offset)
    expect_defined_cuts(ByteSpan(data).subspan(offset), "offset " + std::to_string(offset));
}

TEST_P(EveryChunker, CutsDoNotDependOnHowTheDataComes) {
  for (const auto& chunker : chunkers_)
    for (const auto& [name, data] : patterns(70'000, 4)) {
      const Ends whole = cuts(*chunker, data);
      for (std::uint64_t seed = 1; seed <= 4; ++seed) {
        std::uint64_t state = seed;
        const std::size_t largest = std::size_t{64} << (5 * seed % 13);  // from few bytes to more than all
        const Ends pieces = cuts_in_pieces(*chunker, data, [&](std::size_t rest) {
          return std::min<std::size_t>(rest, sizes().max_bytes / 64 * (seed % 2) + splitmix64(state) % largest);
        });
        ASSERT_EQ(pieces, whole) << name << ", seed " << seed << ", " << chunker->isa();
      }
    }
}

TEST_P(EveryChunker, MoreThanTheMaximumAlwaysYieldsAChunk) {
  for (const auto& chunker : chunkers_)
    for (const auto& [name, data] : patterns(sizes().max_bytes + 1, 5)) {
      Ends ends;
      EXPECT_GT(chunker->split(data, false, ends), 0u) << name;
      EXPECT_FALSE(ends.empty()) << name;
    }
}

TEST_P(EveryChunker, ChunksKeepTheLimits) {
  for (const auto& [name, data] : patterns(300'000, 6)) {
    const Ends ends = cuts(*chunkers_.back(), data);
    std::size_t start = 0;
    for (const std::size_t end : ends) {
      EXPECT_LE(end - start, sizes().max_bytes) << name;
      EXPECT_TRUE(end - start >= sizes().min_bytes || end == data.size()) << name << ' ' << end - start;
      start = end;
    }
    EXPECT_EQ(start, data.size()) << name;
  }
}

TEST_P(EveryChunker, AppendsToTheEndsThatAreThere) {
  const ByteBuffer data = random_bytes(10, 7);
  for (const auto& chunker : chunkers_) {
    Ends ends = {42};

    EXPECT_EQ(chunker->split(data, true, ends), 10u);

    EXPECT_EQ(ends, (Ends{42, 10}));
  }
}

TEST_P(EveryChunker, NothingHasNoChunks) {
  for (const auto& chunker : chunkers_)
    for (const bool last : {false, true}) {
      Ends ends;
      EXPECT_EQ(chunker->split({}, last, ends), 0u);
      EXPECT_TRUE(ends.empty());
    }
}

INSTANTIATE_TEST_SUITE_P(Chunkers, EveryChunker, testing::ValuesIn(kAlgorithms),
                         [](const auto& test) { return identifier(test.param.spec); });

TEST(ContentDefinedChunkers, CutsFallInAgainAfterAnInsertion) {
  const ByteBuffer data = random_bytes(2'000'000, 8);
  ByteBuffer changed = random_bytes(100, 9);
  changed.insert(changed.end(), data.begin(), data.end());

  for (const ChunkerInfo& info : chunker_infos()) {
    if (info.name == "fixed") continue;
    const std::string spec = info.name + ":avg=4k";
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
