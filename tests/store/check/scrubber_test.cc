#include "store/check/scrubber.h"

#include <gtest/gtest.h>

#include <fstream>
#include <future>
#include <optional>
#include <random>
#include <thread>

#include "store/chunks/damage_record.h"
#include "store/ingest/chunk_writer.h"
#include "support/temp_dir.h"

namespace dedupfs {
namespace {

class ScrubberTest : public ::testing::Test {
 protected:
  ScrubberTest() {
    VolumeSettings settings;
    settings.region_bytes = 64 << 10;
    EXPECT_TRUE(Volume::create(path_, settings));
    open();
  }

  void open() {
    volume_.reset();
    volume_ = std::move(*Volume::open(path_, {}));
  }

  // Incompressible, in several regions.
  void store(std::size_t chunks) {
    std::mt19937 random(1);
    std::vector<ByteBuffer> contents(chunks, ByteBuffer(16 << 10));
    ChunkWriter::Batch batch;
    for (ByteBuffer& content : contents) {
      for (auto& byte : content) byte = static_cast<std::uint8_t>(random());
      batch.chunks.emplace_back(content);
    }
    std::promise<void> done;
    batch.done = [&](const Result<std::vector<ChunkId>>& ids) {
      EXPECT_TRUE(ids);
      done.set_value();
    };
    const auto writer = volume_->chunks().open_writer();
    writer->put(std::move(batch));
    done.get_future().wait();
    volume_->freeze();
    ASSERT_TRUE(volume_->commit());
  }

  ScrubFindings scrub(std::uint64_t bytes_per_second = 0) {
    std::promise<ScrubFindings> ended;
    Scrubber scrubber(*volume_, {.ended = [&](const ScrubFindings& findings) { ended.set_value(findings); }});
    EXPECT_TRUE(scrubber.start(bytes_per_second));
    return ended.get_future().get();
  }

  void flip_a_bit(const Path& file, std::uint64_t offset) {
    std::fstream stream(file, std::ios::in | std::ios::out | std::ios::binary);
    stream.seekg(static_cast<std::streamoff>(offset));
    const char byte = static_cast<char>(stream.get() ^ 1);
    stream.seekp(static_cast<std::streamoff>(offset));
    stream.put(byte);
  }

  TempDir dir_;
  const Path path_ = dir_.path() / "volume";
  std::unique_ptr<Volume> volume_;
};

TEST_F(ScrubberTest, FindsNothingInASoundVolume) {
  store(40);
  const ScrubFindings findings = scrub();
  EXPECT_TRUE(findings.sound());
  EXPECT_TRUE(findings.complete);
  EXPECT_GE(findings.checked_bytes, 40U * (16 << 10));
  EXPECT_GE(findings.ended_unix_seconds, findings.started_unix_seconds);
}

TEST_F(ScrubberTest, FindsAnEmptyVolumeSound) {
  EXPECT_TRUE(scrub().sound());
}

TEST_F(ScrubberTest, CountsTheChunksOfADamagedRegionAndMakesThemKnown) {
  store(40);
  open();
  flip_a_bit(path_ / "containers/0000000001.container", 100'000);
  const ScrubFindings findings = scrub();
  EXPECT_TRUE(findings.complete);
  EXPECT_GE(findings.damaged_chunks, 1U);
  EXPECT_LE(findings.damaged_chunks, 4U);
  EXPECT_EQ(volume_->chunks().damage().damaged_chunks(), findings.damaged_chunks);
}

TEST_F(ScrubberTest, FindsADamagedTableOfTheIndex) {
  store(40);
  open();  // what was in the log is in tables now
  for (const auto& file : std::filesystem::directory_iterator(path_ / "index"))
    if (file.path().extension() == ".sst") flip_a_bit(file.path(), 20);
  EXPECT_GE(scrub().other_damage, 1U);
}

TEST_F(ScrubberTest, FindsADamagedCopyOfTheSuperblock) {
  flip_a_bit(path_ / kSuperblockCopyFile, 10);
  EXPECT_EQ(scrub().other_damage, 1U);
}

TEST_F(ScrubberTest, IsPacedAndCanBeStoppedAndNotStartedTwice) {
  store(40);
  ScrubFindings found;
  Scrubber scrubber(*volume_, {.ended = [&](const ScrubFindings& findings) { found = findings; }});
  ASSERT_TRUE(scrubber.start(1));  // byte a second
  EXPECT_TRUE(scrubber.status().running);
  const auto second = scrubber.start(1);
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code(), ErrorCode::kBusy);
  scrubber.stop();
  EXPECT_FALSE(scrubber.status().running);
  EXPECT_FALSE(found.complete);
  EXPECT_EQ(scrubber.status().last, found);

  ASSERT_TRUE(scrubber.start(0));
  scrubber.stop();
}

// Until the pace of a byte a second holds it up, behind the first region.
void await_first_region(const Scrubber& scrubber) {
  while (scrubber.status().current->checked_bytes == 0) std::this_thread::yield();
}

TEST_F(ScrubberTest, TellsHowFastItIsWhileItRuns) {
  store(40);
  Scrubber scrubber(*volume_, {.ended = [](const ScrubFindings&) {}});
  EXPECT_EQ(scrubber.status().checked_bytes_per_second, std::nullopt);
  ASSERT_TRUE(scrubber.start(1));  // byte a second: it waits behind the first region
  await_first_region(scrubber);
  const ScrubStatus status = scrubber.status();

  ASSERT_TRUE(status.checked_bytes_per_second);
  EXPECT_GT(*status.checked_bytes_per_second, 0);
  scrubber.stop();
  EXPECT_EQ(scrubber.status().checked_bytes_per_second, std::nullopt);
}

TEST_F(ScrubberTest, GoesOnWhereItWasInterrupted) {
  store(40);
  open();
  for (std::uint64_t offset = 1000; offset < 650000; offset += 20000)  // in each region, whatever their order
    flip_a_bit(path_ / "containers/0000000001.container", offset);
  const ScrubFindings whole = scrub();
  open();
  std::optional<ScrubPosition> position;
  std::promise<ScrubFindings> ended;
  const ScrubHost host{.ended = [&](const ScrubFindings& findings) { ended.set_value(findings); },
                       .note_position = [&](const ScrubPosition& noted) { position = noted; }};
  {
    Scrubber scrubber(*volume_, host);
    ASSERT_TRUE(scrubber.start(1));
    await_first_region(scrubber);
    scrubber.interrupt();
    EXPECT_FALSE(scrubber.status().last);
  }
  ASSERT_TRUE(position);
  EXPECT_GT(position->next_chunk, 1U);
  EXPECT_EQ(position->bytes_per_second, 1U);
  EXPECT_GE(position->so_far.damaged_chunks, 1U);
  EXPECT_LT(position->so_far.checked_bytes, whole.checked_bytes);
  Database::Batch batch(volume_->database());
  batch.put(Family::kCounters, kScrubPositionCounter, encode_scrub_position(*position));
  ASSERT_TRUE(volume_->database().write(batch));

  Scrubber next(*volume_, host);
  next.resume();
  EXPECT_TRUE(next.status().running);
  next.set_rate(0);
  const ScrubFindings found = ended.get_future().get();
  EXPECT_TRUE(found.complete);
  EXPECT_EQ(found.checked_bytes, whole.checked_bytes);
  EXPECT_EQ(found.damaged_chunks, whole.damaged_chunks);
  EXPECT_EQ(found.started_unix_seconds, position->so_far.started_unix_seconds);
}

TEST_F(ScrubberTest, OneThatWasStoppedDoesNotGoOn) {
  store(40);
  bool is_noted = false;
  Scrubber scrubber(*volume_,
                    {.ended = [](const ScrubFindings&) {}, .note_position = [&](const auto&) { is_noted = true; }});
  ASSERT_TRUE(scrubber.start(1));
  scrubber.stop();
  EXPECT_FALSE(is_noted);
  scrubber.resume();
  EXPECT_FALSE(scrubber.status().running);
}

TEST_F(ScrubberTest, ItsRateCanBeChangedWhileItRuns) {
  store(40);
  std::promise<ScrubFindings> ended;
  Scrubber scrubber(*volume_, {.ended = [&](const ScrubFindings& findings) { ended.set_value(findings); }});
  ASSERT_TRUE(scrubber.start(1));
  await_first_region(scrubber);
  EXPECT_EQ(scrubber.status().bytes_per_second, 1U);
  scrubber.set_rate(2);
  EXPECT_EQ(scrubber.status().bytes_per_second, 2U);
  scrubber.set_rate(1 << 30);  // from here on it may have ended
  EXPECT_TRUE(ended.get_future().get().complete);
}

TEST(ScrubPosition, OutlivesBeingWrittenDown) {
  const ScrubPosition position{.next_chunk = 77, .bytes_per_second = 5 << 20, .so_far = {1, 0, 9, 3, 2, false}};
  const std::string encoded = encode_scrub_position(position);
  EXPECT_EQ(*decode_scrub_position(encoded), position);
  EXPECT_FALSE(decode_scrub_position(encoded.substr(1)));
  EXPECT_FALSE(decode_scrub_position(encoded + "x"));
  EXPECT_FALSE(decode_scrub_position(""));
}

TEST(ScrubFindings, OutliveBeingWrittenDown) {
  const ScrubFindings findings{-5, 1'800'000'000, 1ULL << 50, 3, 2, true};
  const std::string encoded = encode_scrub_findings(findings);
  EXPECT_EQ(*decode_scrub_findings(encoded), findings);
  EXPECT_FALSE(decode_scrub_findings(encoded.substr(1)));
  EXPECT_FALSE(decode_scrub_findings(encoded + "x"));
  EXPECT_FALSE(decode_scrub_findings(""));
}

// Its host may take long at the end.
TEST_F(ScrubberTest, TheHostOfAnEndedScrubSeesThatItIsInterrupted) {
  store(4);
  std::promise<void> ending, ended;
  std::optional<Scrubber> scrubber;
  scrubber.emplace(*volume_, ScrubHost{.ended = [&](const ScrubFindings&) {
    EXPECT_FALSE(scrubber->is_interrupted());
    ending.set_value();
    while (!scrubber->is_interrupted()) std::this_thread::yield();
    ended.set_value();
  }});
  ASSERT_TRUE(scrubber->start(0));
  ending.get_future().wait();

  scrubber->interrupt();

  EXPECT_EQ(ended.get_future().wait_for(std::chrono::seconds(0)), std::future_status::ready);
}

// A stop is no interruption: its host may take a little longer.
TEST_F(ScrubberTest, TheHostOfAnEndedScrubSeesThatItIsStopped) {
  store(4);
  std::promise<void> ending;
  bool was_interrupted = true;
  std::optional<Scrubber> scrubber;
  scrubber.emplace(*volume_, ScrubHost{.ended = [&](const ScrubFindings&) {
    EXPECT_FALSE(scrubber->is_stopping());
    ending.set_value();
    while (!scrubber->is_stopping()) std::this_thread::yield();
    was_interrupted = scrubber->is_interrupted();
  }});
  ASSERT_TRUE(scrubber->start(0));
  ending.get_future().wait();

  scrubber->stop();

  EXPECT_FALSE(was_interrupted);
}

}  // namespace
}  // namespace dedupfs
