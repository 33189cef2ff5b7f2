#include "bench/measure.h"

#include <gtest/gtest.h>

#include <set>

#include "bench/read_sum.h"
#include "chunkers/registry.h"
#include "loaded_input.h"

namespace dedupfs::bench {
namespace {

TEST(Measure, CutsInWindowsAndOnThreadsAsInOnePiece) {
  const Input input = loaded("random:5m");
  for (const char* spec : {"gear:avg=8k", "ram:avg=4k", "seqcdc:avg=16k", "rabin:avg=64k,max=1m", "fixed:size=1000"}) {
    const auto chunker = make_chunker(spec);
    ASSERT_TRUE(chunker) << spec;
    Cuts whole(1), in_windows, on_threads, of_files;
    (*chunker)->split(input.bytes, true, whole[0]);
    ThreadPool pool(2, "test");

    cut(**chunker, input.files, nullptr, in_windows);
    cut(**chunker, input.files, &pool, on_threads);
    cut(**chunker, {input.bytes, input.bytes}, &pool, of_files);

    EXPECT_EQ(in_windows, whole) << spec;
    EXPECT_EQ(on_threads, whole) << spec;
    EXPECT_EQ(of_files, (Cuts{whole[0], whole[0]})) << spec;
  }
}

TEST(Measure, HasOneRecordForEachInstructionSetThatServes) {
  const Input input = loaded("random:256k");

  const auto records = measure(input, {"ram", "ram:avg=8k", 8192, available_isas()}, {.threads = 1, .repeat = 1});

  ASSERT_TRUE(records) << records.error().message();
  std::set<std::string> wanted, found;
  for (const Isa isa : available_isas()) wanted.emplace((*make_chunker("ram:avg=8k", isa))->isa());
  for (const Record& record : *records) EXPECT_TRUE(found.insert(record.isa).second) << record.isa;
  EXPECT_EQ(found, wanted);
}

TEST(Measure, TheScalarFormIsMeasuredButNotReportedUnlessWanted) {
  const Input input = loaded("random:256k");
  const Isa widest = widest_isa();
  if (widest == Isa::kScalar) GTEST_SKIP() << "this CPU has scalar code only";

  const auto records = measure(input, {"ram", "ram:avg=8k", 8192, {widest}}, {.threads = 1, .repeat = 3});

  ASSERT_TRUE(records) << records.error().message();
  ASSERT_EQ(records->size(), 1u);
  EXPECT_NE(records->front().isa, "scalar");
  EXPECT_GT(records->front().scalar_seconds, 0);
  EXPECT_LE(records->front().seconds_min, records->front().seconds);
  EXPECT_LE(records->front().seconds, records->front().seconds_max);
}

TEST(Measure, ScalarCodeIsAsFastAsItself) {
  const Input input = loaded("zeros:64k");

  const auto records = measure(input, {"gear", "gear:avg=8k", 8192, {Isa::kScalar}}, {.threads = 2, .repeat = 2});

  ASSERT_TRUE(records) << records.error().message();
  ASSERT_EQ(records->size(), 1u);
  EXPECT_EQ(records->front().isa, "scalar");
  EXPECT_DOUBLE_EQ(records->front().speedup_over_scalar(), 1);
  EXPECT_EQ(records->front().chunks.chunks, 2u);  // zeros are cut at the maximum
}

TEST(ReadSum, ThreadsReadTheSameAsOne) {
  ByteBuffer ones(4096 * 3, 1);  // shares of three threads are whole vectors

  EXPECT_EQ(read_sum(ones, 1), read_sum(ones, 3));
  ones[5000] = 2;
  EXPECT_NE(read_sum(ones, 1), read_sum(ByteBuffer(4096 * 3, 1), 1));
  EXPECT_EQ(read_sum(ByteBuffer{1, 2, 3}, 8), 6u);
}

}  // namespace
}  // namespace dedupfs::bench
