// "Chunking invariability" (SS-CDC): the cuts of several threads are those of one.
#include "chunkers/parallel.h"

#include <gtest/gtest.h>

#include <future>

#include "chunkers/registry.h"
#include "chunkers/two_stage.h"
#include "test_data.h"

namespace dedupfs {
namespace {

constexpr const char* kTwoStageSpecs[] = {"gear:avg=256",
                                          "gear:avg=4k",
                                          "gear:min=64,avg=64,max=100",
                                          "gear32:avg=1k",
                                          "gear16:avg=64",
                                          "gear16:avg=4k",
                                          "gear:min=64,avg=1m,max=1m",
                                          "fastcdc:avg=1k",
                                          "crc:min=256,avg=1k",
                                          "crc:avg=16k",
                                          "rabin:avg=256",
                                          "rabin:avg=16k",
                                          "tttd:avg=1k",
                                          "tttd:avg=16k",
                                          "toga:avg=4k"};

class EveryTwoStageChunker : public testing::TestWithParam<const char*> {
 protected:
  std::unique_ptr<Chunker> chunker_ = *make_chunker(GetParam());
};

TEST_P(EveryTwoStageChunker, CutsTheSameOnAnyNumberOfThreads) {
  ASSERT_NE(dynamic_cast<const TwoStageChunker*>(chunker_.get()), nullptr);
  for (const auto& [name, data] : patterns(150'001, 1)) {
    const Ends expected = cuts(*chunker_, data);
    for (std::size_t threads = 1; threads <= 5; ++threads) {
      ThreadPool pool(threads - 1, "test");
      for (const std::size_t segment_bytes : {1000u, 4096u, 70'001u})
        ASSERT_EQ(cut_with_threads(*chunker_, data, pool, segment_bytes), expected)
            << name << ", " << threads << " threads, segments of " << segment_bytes;
    }
  }
}

TEST_P(EveryTwoStageChunker, CutsTheSameInSegmentsOfAnySize) {
  ThreadPool pool(2, "test");
  const ByteBuffer data = random_bytes(30'000, 2);
  const Ends expected = cuts(*chunker_, data);
  for (const std::size_t segment_bytes : {0u, 1u, 64u, 65u, 129u, 511u, 512u, 513u, 9999u, 29'999u, 30'000u, 40'000u})
    ASSERT_EQ(cut_with_threads(*chunker_, data, pool, segment_bytes), expected) << "segments of " << segment_bytes;
}

TEST_P(EveryTwoStageChunker, CutsTheSameAtSmallLengths) {
  ThreadPool pool(1, "test");
  for (const auto& [name, data] : patterns(1400, 3))
    for (std::size_t n = 0; n <= data.size(); n += n < 140 ? 1 : 63)
      ASSERT_EQ(cut_with_threads(*chunker_, ByteSpan(data).first(n), pool, 64),
                cuts(*chunker_, ByteSpan(data).first(n)))
          << name << ", n = " << n;
}

INSTANTIATE_TEST_SUITE_P(Parallel, EveryTwoStageChunker, testing::ValuesIn(kTwoStageSpecs),
                         [](const auto& test) { return identifier(test.param); });

TEST(CutWithThreads, TakesChunkersWithoutTwoStages) {
  ThreadPool pool(2, "test");
  const ByteBuffer data = random_bytes(100'000, 4);
  for (const ChunkerInfo& info : chunker_infos()) {
    const auto chunker = *make_chunker(info.name);
    EXPECT_EQ(cut_with_threads(*chunker, data, pool, 4096), cuts(*chunker, data)) << info.name;
  }
}

TEST(CutWithThreads, CutsLongDataInItsOwnSegments) {
  ThreadPool pool(3, "test");
  const ByteBuffer data = random_bytes(20'000'000, 5);
  for (const char* spec : {"gear", "gear16", "crc"}) {
    const auto chunker = *make_chunker(spec);
    EXPECT_EQ(cut_with_threads(*chunker, data, pool), cuts(*chunker, data)) << spec;
  }
}

TEST(CutMany, CutsEveryFileByItself) {
  std::vector<ByteBuffer> contents;
  for (std::size_t i = 0; i < 60; ++i) contents.push_back(random_bytes(i % 7 * 9'001, i));
  const std::vector<ByteSpan> files(contents.begin(), contents.end());
  for (const ChunkerInfo& info : chunker_infos()) {
    const auto chunker = *make_chunker(info.name + ":avg=1k");
    std::vector<Ends> expected;
    for (const ByteSpan file : files) expected.push_back(cuts(*chunker, file));
    for (std::size_t threads = 1; threads <= 5; ++threads) {
      ThreadPool pool(threads - 1, "test");
      EXPECT_EQ(cut_many(*chunker, files, pool), expected) << info.name << ", " << threads << " threads";
    }
  }
}

TEST(CutMany, NoFilesHaveNoCuts) {
  ThreadPool pool(2, "test");

  EXPECT_TRUE(cut_many(**make_chunker("gear"), {}, pool).empty());
}

// A task of a pool without another thread would wait forever for tasks behind it.
TEST(Parallel, WorksInsideATaskOfItsOwnPool) {
  const ByteBuffer data = random_bytes(100'000, 6);
  const std::vector<ByteSpan> files = {data, data, data};
  const auto chunker = *make_chunker("gear:avg=1k");
  std::promise<std::pair<Ends, std::vector<Ends>>> result;
  ThreadPool pool(1, "test");

  pool.submit([&] {
    Ends one = cut_with_threads(*chunker, data, pool, 4096);
    result.set_value({std::move(one), cut_many(*chunker, files, pool)});
  });

  const Ends expected = cuts(*chunker, data);
  EXPECT_EQ(result.get_future().get(), std::pair(expected, std::vector<Ends>(3, expected)));
}

}  // namespace
}  // namespace dedupfs
