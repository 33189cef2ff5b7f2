#include "fs/history/sampling.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "fs/statistics/statistics.h"
#include "fs/test_filesystem.h"

namespace dedupfs {
namespace {

constexpr std::int64_t kNow = 1'700'000'000;

class Sampling : public testing::Test {
 protected:
  Result<HistorySample> take(const GoOn& go_on = [] { return Result<void>(); }) {
    EXPECT_TRUE(ok(fs_->sync()));
    return take_sample(
        fs_->volume(), kNow,
        [this](const auto& visit, const GoOn&) -> Result<void> {
          for (std::uint64_t id = 1; id < end_of_chunks_; ++id)
            if (!visit(ChunkId{id})) break;
          return {};
        },
        go_on);
  }

  TestFilesystem fs_;
  std::uint64_t end_of_chunks_ = 1;
};

TEST_F(Sampling, HasTheCountsOfTheVolume) {
  const std::string content = random_text(300'000, 1);
  fs_.make_file(kRootInode, "a", content);
  fs_.make_file(kRootInode, "b", content);

  const HistorySample sample = value_of(take());

  const Statistics statistics = value_of(compute_statistics(fs_->volume()));
  ASSERT_TRUE(sample.counts);
  EXPECT_EQ(sample.unix_seconds, kNow);
  EXPECT_EQ(sample.counts->files, 2);
  EXPECT_EQ(sample.counts->logical, 600'000);
  EXPECT_EQ(sample.counts->unique, 300'000);
  EXPECT_EQ(sample.counts->after_delta, statistics.after_delta_bytes);
  EXPECT_EQ(sample.counts->stored, statistics.stored_bytes);
  EXPECT_EQ(sample.counts->kept, 0);
  EXPECT_EQ(sample.counts->garbage, statistics.garbage_bytes);
  EXPECT_GE(sample.disk_bytes, 300'000);
}

TEST_F(Sampling, EstimatesTheSpeedOfTheNewestFiles) {
  fs_.make_file(kRootInode, "a", random_text(4 << 20, 1));
  end_of_chunks_ = 1 << 16;

  const HistorySample sample = value_of(take());

  ASSERT_TRUE(sample.restore);
  EXPECT_GT(sample.restore->hard_disk, 50'000'000) << "it was written in one piece";
  EXPECT_LE(sample.restore->hard_disk, 150'000'000) << "no faster than the disk";
  EXPECT_GT(sample.restore->ssd, sample.restore->hard_disk);
}

TEST_F(Sampling, AVolumeWithoutDataHasNoSpeed) {
  EXPECT_FALSE(value_of(take()).restore);
}

TEST_F(Sampling, EndsWhenItIsToldTo) {
  for (int i = 0; i < 1000; ++i) fs_.make_file(kRootInode, std::to_string(i));

  EXPECT_TRUE(fails_with(ErrorCode::kInterrupted, take([] {
                           return Result<void>(Error{ErrorCode::kInterrupted, "now"});
                         })));
}

TEST_F(Sampling, EndsWhileItMeasuresTheDisk) {
  const GoOn ended = [] { return Result<void>(Error{ErrorCode::kInterrupted, "now"}); };

  EXPECT_TRUE(fails_with(ErrorCode::kInterrupted, take(ended))) << "too few records for another question";
  EXPECT_TRUE(fails_with(ErrorCode::kInterrupted, sample_without_counts(fs_->volume(), kNow, ended)));
}

TEST_F(Sampling, WithoutCountsItHasTheSizeOnDisk) {
  fs_.make_file(kRootInode, "a", random_text(1 << 20, 1));
  EXPECT_TRUE(ok(fs_->sync()));

  const HistorySample sample = value_of(sample_without_counts(fs_->volume(), kNow, [] { return Result<void>(); }));

  EXPECT_FALSE(sample.counts);
  EXPECT_FALSE(sample.restore);
  EXPECT_GE(sample.disk_bytes, 1 << 20);
  EXPECT_EQ(sample.unix_seconds, kNow);
}

}  // namespace
}  // namespace dedupfs
