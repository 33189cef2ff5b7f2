#include "chunkers/registry.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>

#include "by_spec.h"

namespace dedupfs {
namespace {

// Sets DEDUPFS_ISA for a scope.
class IsaInEnvironment {
 public:
  explicit IsaInEnvironment(const char* value) {
    if (const char* before = std::getenv("DEDUPFS_ISA")) before_ = before;
    ::setenv("DEDUPFS_ISA", value, 1);
  }
  ~IsaInEnvironment() {
    if (before_)
      ::setenv("DEDUPFS_ISA", before_->c_str(), 1);
    else
      ::unsetenv("DEDUPFS_ISA");
  }

 private:
  std::optional<std::string> before_;
};

TEST(Registry, MakesEveryChunkerThatItLists) {
  for (const ChunkerInfo& info : chunker_infos()) EXPECT_TRUE(make_chunker(info.name)) << info.name;
}

TEST(Registry, MakesTheDefault) {
  const auto chunker = make_chunker(kDefaultChunkerSpec);

  ASSERT_TRUE(chunker);
  EXPECT_EQ((*chunker)->spec(), "fastcdc:min=8k,avg=32k,max=128k,norm=2");
}

TEST(Registry, SpecNamesEveryParameter) {
  const std::pair<const char*, const char*> cases[] = {
      {"gear", "gear:min=4k,avg=16k,max=64k,norm=0"},
      {"gear16:avg=8k", "gear16:min=2k,avg=8k,max=32k,norm=2"},
      {"gear32", "gear32:min=4k,avg=16k,max=64k,norm=2"},
      {"fastcdc:avg=8k", "fastcdc:min=2k,avg=8k,max=32k,norm=2"},
      {"crc:avg=8k", "crc:min=2k,avg=8k,max=32k"},
      {"rabin:avg=8k", "rabin:min=2k,avg=8k,max=32k"},
      {"tttd:avg=8k", "tttd:min=2k,avg=8k,max=32k"},
      {"toga:avg=8k", "toga:min=2k,avg=8k,max=32k,limit=24"},
      {"ae-max:avg=8448", "ae-max:min=8k,avg=8448,max=33k,window=8k"},
      {"vae-min:avg=8k", "ae-min:min=7936,avg=8k,max=32k,window=7936"},
      {"maxp:avg=8k", "maxp:min=887,avg=8k,max=32k,window=887"},
      {"seqcdc:avg=8k", "seqcdc:min=4k,avg=8k,max=16k,mode=inc,length=5,trigger=50,skip=256"},
      {"seqcdc:mode=dec", "seqcdc:min=8k,avg=16k,max=32k,mode=dec,length=5,trigger=50,skip=512"},
      {"seqcdc:avg=64", "seqcdc:min=64,avg=64,max=128,mode=inc,length=5,trigger=50,skip=128"},
      {"gear16:avg=64k", "gear16:min=16k,avg=64k,max=256k,norm=0"},
      {"gear:norm=1", "gear:min=4k,avg=16k,max=64k,norm=1"},
      {"vram:avg=8k,min=2k,max=32k", "ram:min=2k,avg=8k,max=32k,window=7936"},
      {"vram:avg=8448,max=32k", "ram:min=8k,avg=8448,max=32k,window=8k"},
      {"vram:window=1000", "ram:min=1000,avg=16k,max=64k,window=1000"},
      {"fixed", "fixed:size=16k"},
      {"fixed:avg=8k", "fixed:size=8k"},
      {"fixed:size=1000", "fixed:size=1000"},
  };
  for (const auto& [given, canonical] : cases) {
    const auto chunker = make_chunker(given);
    ASSERT_TRUE(chunker) << given;
    EXPECT_EQ((*chunker)->spec(), canonical);
    const auto again = make_chunker((*chunker)->spec());
    ASSERT_TRUE(again) << canonical;
    EXPECT_EQ((*again)->spec(), canonical);
  }
}

TEST(Registry, UnknownNameListsTheKnown) {
  EXPECT_EQ(refusal_of("rabbit:avg=8k"),
            "unknown chunker 'rabbit' (known: gear16, gear32, gear, fastcdc, crc, rabin, tttd, toga, ae-max, ae-min, "
            "ram, maxp, seqcdc, fixed)");
}

TEST(Registry, RefusesParametersOutOfRange) {
  EXPECT_EQ(refusal_of("gear:avg=12k"), "chunker gear: avg=12k is not allowed (powers of two from 64 to 1m)");
  EXPECT_EQ(refusal_of("gear16:avg=128k,max=256k"),
            "chunker gear16: avg=128k is not allowed (powers of two from 64 to 64k)");
  EXPECT_EQ(refusal_of("gear:window=64"), "chunker gear has no parameter 'window' (allowed: min, avg, max, norm)");
  EXPECT_EQ(refusal_of("gear16:norm=3"), "chunker gear16: norm=3 is not allowed with avg=16k (0 to 2)");
  EXPECT_EQ(refusal_of("gear16:avg=32k,norm=2"), "chunker gear16: norm=2 is not allowed with avg=32k (0 to 1)");
}

TEST(Registry, ForcedIsaIsUsed) {
  for (const Isa isa : available_isas()) {
    const auto chunker = make_chunker(isa == Isa::kAvx512Gather ? "gear" : "ram", isa);
    ASSERT_TRUE(chunker) << name_of(isa);
    EXPECT_EQ((*chunker)->isa(), name_of(isa));
  }
}

TEST(Registry, IsaThatTheCpuLacksIsUnsupported) {
  const auto available = available_isas();
  for (const Isa isa : {Isa::kSse41, Isa::kAvx2, Isa::kAvx512, Isa::kNeon, Isa::kVsx}) {
    if (std::find(available.begin(), available.end(), isa) != available.end()) continue;
    const auto chunker = make_chunker("vram", isa);
    ASSERT_FALSE(chunker) << name_of(isa);
    EXPECT_EQ(chunker.error().code(), ErrorCode::kUnsupported);
    EXPECT_NE(chunker.error().message().find("(available: scalar"), std::string::npos) << chunker.error().message();
  }
}

TEST(Registry, EnvironmentChoosesTheIsaUnlessForced) {
  const IsaInEnvironment environment("scalar");
  const Isa widest = widest_isa();

  EXPECT_EQ((*make_chunker("gear"))->isa(), "scalar");
  EXPECT_EQ((*make_chunker("ram", widest))->isa(), name_of(widest));
}

TEST(Registry, KernelsForStudyAreNeverChosenUnasked) {
  for (const ChunkerInfo& info : chunker_infos()) EXPECT_NE((*make_chunker(info.name))->isa(), "avx512-gather");
}

TEST(Registry, WrongEnvironmentIsAnError) {
  const IsaInEnvironment environment("fast");

  EXPECT_EQ(
      refusal_of("gear"),
      "DEDUPFS_ISA: unknown instruction set 'fast' (known: scalar, sse4.1, avx2, avx512, avx512-gather, neon, vsx)");
}

}  // namespace
}  // namespace dedupfs
