#include "replica/shipper.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <future>

#include "base/scratch_backing.h"
#include "fake_image.h"
#include "replica/replica_check.h"
#include "support/memory_bucket.h"

namespace dedupfs {
namespace {

using std::chrono::seconds;
using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;
using Fault = MemoryBucket::Fault;
using Operation = MemoryBucket::Operation;

const std::string kTable = "index/000012.sst";
const std::string kLog = "index/000013.log";
const std::string kContainer = "containers/0000000001.container";

std::string text(std::size_t length, char first = 'a') {
  std::string made;
  for (std::size_t i = 0; i < length; ++i) made += static_cast<char>(first + static_cast<int>(i % 7));
  return made;
}

class ShipperTest : public testing::Test {
 protected:
  ShipperTest() { EXPECT_TRUE(writer_.attach()); }

  Shipper::Shipped ship(const Files& files) {
    ++writer_.seconds;
    const auto shipped = writer_.ship(files);
    EXPECT_TRUE(shipped) << shipped.error().message();
    return shipped.value_or(Shipper::Shipped());
  }
  void expect_bucket_has(const Files& files) {
    const auto found = files_in(bucket_);
    ASSERT_TRUE(found) << found.error().message();
    EXPECT_EQ(*found, files);
  }
  std::size_t pieces_of(const std::string& path) { return load_replica(bucket_).value()->files.at(path).pieces.size(); }
  std::vector<std::string> pieces() {
    std::vector<std::string> names;
    for (const std::string& name : bucket_.objects().names())
      if (parse_piece_object(name)) names.push_back(name);
    return names;
  }

  MemoryBucket bucket_;
  Writer writer_{bucket_};
  const Files files_ = {{kContainer, text(200)},
                        {"index/CURRENT", "MANIFEST-1\n"},
                        {kLog, text(10)},
                        {kTable, text(300)},
                        {"superblock.json", "{}"}};
};

TEST_F(ShipperTest, TheBucketAloneHasWhatWasShipped) {
  EXPECT_EQ(ship(files_).sequence, 1u);

  expect_bucket_has(files_);
}

TEST_F(ShipperTest, WhatHasNotChangedIsNotShippedAgain) {
  ship(files_);
  const auto names = bucket_.objects().names();

  EXPECT_EQ(ship(files_).head_bytes, 0u);
  writer_.restart();
  const auto again = ship(files_);

  EXPECT_EQ(again.sequence, 1u);
  EXPECT_EQ(again.objects, 0u);
  EXPECT_EQ(bucket_.objects().names(), names);
}

TEST_F(ShipperTest, OfAFileThatGrewOnlyTheNewBytesAreShipped) {
  Files files = files_;
  ship(files);
  files[kContainer] += text(100, 'A');

  EXPECT_EQ(ship(files).bytes, 100u);

  expect_bucket_has(files);
}

// A log that a full disk tore is cut off, and goes on otherwise.
TEST_F(ShipperTest, AFileThatIsNoContinuationIsShippedAnew) {
  Files files = files_;
  files[kLog] = text(200);
  ship(files);
  files[kLog] = text(150) + text(100, 'A');
  ship(files);
  expect_bucket_has(files);
  files[kLog] = text(150) + text(100, 'B');
  ship(files);
  expect_bucket_has(files);
  files[kLog] = text(20);
  ship(files);

  expect_bucket_has(files);
}

TEST_F(ShipperTest, ALogThatGrowsALittleEachTimeHasFewPieces) {
  Files files = files_;
  std::uint64_t shipped = 0;
  for (int i = 0; i < 60; ++i) {
    files[kLog] += static_cast<char>('A' + i % 20);
    shipped += ship(files).bytes;
    EXPECT_LE(pieces_of(kLog), 8u);
  }
  expect_bucket_has(files);
  EXPECT_LT(shipped, 1200u);
}

// After a crash, RocksDB may give the number of a table that it did not know to another one.
TEST_F(ShipperTest, ATableThatWasMadeAnewUnderItsNameIsShipped) {
  Files files = files_;
  ship(files);
  files[kTable] = text(300, 'A');

  ship(files);

  expect_bucket_has(files);
}

TEST_F(ShipperTest, ShippingReadsNoContainerAgain) {
  Files files = files_;
  for (int i = 10; i < 60; ++i) files["containers/00000000" + std::to_string(i) + ".container"] = text(1000);
  ship(files);
  writer_.restart();
  FakeImage image(files);

  ASSERT_TRUE(writer_.shipper().ship(image));

  EXPECT_LT(image.bytes_read, 1000u);
}

// Regions that several threads write lie side by side, and the last one may be on the disk before the others.
TEST_F(ShipperTest, AContainerThatIsWrittenToIsComparedAlthoughItIsAsLong) {
  const auto ship_open = [&](const Files& files) {
    FakeImage image(files);
    image.say_that_it_may_change(kContainer);
    return writer_.shipper().ship(image).value();
  };
  Files files = files_;
  files[kContainer].replace(50, 20, std::string(20, '\0'));
  ship_open(files);
  EXPECT_EQ(ship_open(files).head_bytes, 0u);
  ship_open(files_);
  expect_bucket_has(files_);

  ship(files);  // closed now, for the first time
  expect_bucket_has(files);
  FakeImage image(files);
  writer_.shipper().ship(image).value();
  EXPECT_LT(image.bytes_read, 200u + files[kTable].size()) << "what is finished is not read again";
}

TEST_F(ShipperTest, FilesThatAreGoneAreGoneInTheBucket) {
  Files files = files_;
  ship(files);
  files.erase(kTable);
  files["index/000014.sst"] = "";

  ship(files);

  expect_bucket_has(files);
}

TEST_F(ShipperTest, ACheckpointThatIsRemovedMeanwhileIsLeftOut) {
  Files files = files_;
  files["checkpoints/0000000001.checkpoint"] = text(10);
  FakeImage image(files);
  image.lose("checkpoints/0000000001.checkpoint");

  ASSERT_TRUE(writer_.shipper().ship(image));

  expect_bucket_has(files_);
  FakeImage other(files);
  other.lose(kLog);
  EXPECT_FALSE(writer_.shipper().ship(other)) << "this one is needed";
}

TEST_F(ShipperTest, NowAndThenAHeadHasTheFullList) {
  Files files = files_;
  std::vector<std::uint64_t> full;
  for (int i = 0; i < 40; ++i) {
    files[kLog] += "x";
    ship(files);
    const auto replica = load_replica(bucket_).value();
    if (replica->head.is_full()) full.push_back(replica->head.sequence);
  }
  EXPECT_GT(full.size(), 2u);
  EXPECT_LT(full.size(), 20u);
  expect_bucket_has(files);
}

// ---------------------------------------------------------------- failures

// Whatever happens to each operation: what the bucket alone gives was shipped, and the next try succeeds.
TEST_F(ShipperTest, EachFailureOfEachOperationLeavesWhatWasShipped) {
  Files before = files_;
  Files after = files_;
  after[kContainer] += text(100, 'A');
  after[kTable + "2"] = text(70);
  after.erase(kTable);
  for (const Fault fault : {Fault::kFails, Fault::kAnswerLost, Fault::kDoneTwice, Fault::kDoneLater}) {
    for (const bool restarts : {false, true}) {
      for (std::uint64_t number = 1;; ++number) {
        MemoryBucket bucket;
        Writer writer(bucket);
        ASSERT_TRUE(writer.attach());
        ASSERT_TRUE(writer.ship(before));
        writer.restart();
        const std::uint64_t begin = bucket.calls();
        bool is_hit = false;
        bucket.set_fault([&](const MemoryBucket::Call& call) {
          if (call.number - begin != number) return Fault::kNone;
          is_hit = true;
          return fault;
        });
        SCOPED_TRACE(testing::Message() << "fault " << static_cast<int>(fault) << " of operation " << number);

        const auto shipped = writer.ship(after);

        if (!is_hit) break;
        const auto found = files_in(bucket);
        ASSERT_TRUE(found) << found.error().message();
        EXPECT_TRUE(*found == before || *found == after);
        if (shipped) {
          EXPECT_EQ(*found, after);
        }
        if (restarts) writer.restart();
        const auto again = writer.ship(after);
        ASSERT_TRUE(again) << again.error().message();
        EXPECT_EQ(files_in(bucket).value(), after);
        bucket.land();
        EXPECT_EQ(files_in(bucket).value(), after);
        EXPECT_TRUE(writer.ship(before)) << "it is not fenced by what it did itself";
        EXPECT_EQ(files_in(bucket).value(), before);
      }
    }
  }
}

// A head whose answer was lost, and that arrives when its writer has gone on.
TEST_F(ShipperTest, AHeadOfItsOwnThatLandsLateFencesNobody) {
  for (const bool restarts : {false, true}) {
    MemoryBucket bucket;
    Writer writer(bucket);
    ASSERT_TRUE(writer.attach());
    bucket.set_fault([](const MemoryBucket::Call& call) {
      return call.object == head_object(1) && call.operation == Operation::kPut ? Fault::kDoneLater : Fault::kNone;
    });
    ASSERT_FALSE(writer.ship(files_));
    if (restarts) writer.restart();
    bucket.set_fault({});
    bool has_landed = false;
    bucket.set_hook([&](const MemoryBucket::Call& call, MemoryBucket::When when) {
      if (call.object == head_object(1) && call.operation == Operation::kPut && when == MemoryBucket::When::kBefore &&
          !std::exchange(has_landed, true))
        bucket.land();
    });
    Files files = files_;
    files[kLog] += "more";
    ++writer.seconds;

    const auto shipped = writer.ship(files);

    ASSERT_TRUE(shipped) << shipped.error().message();
    EXPECT_TRUE(has_landed);
    EXPECT_EQ(shipped->sequence, 2u);
    EXPECT_EQ(files_in(bucket).value(), files);
  }
}

TEST_F(ShipperTest, WhatWasPutBeforeAFailureIsNotPutAgain) {
  bucket_.set_fault(
      [](const MemoryBucket::Call& call) { return call.object == head_object(1) ? Fault::kFails : Fault::kNone; });
  ASSERT_FALSE(writer_.ship(files_));
  bucket_.set_fault({});

  EXPECT_EQ(ship(files_).objects, 0u);

  expect_bucket_has(files_);
}

TEST_F(ShipperTest, AHeadThatIsDamagedOrGoneIsNamed) {
  ship(files_);
  Files files = files_;
  files[kLog] += "more";
  ship(files);
  bucket_.objects().set(head_object(2), "{}");
  auto found = load_replica(bucket_);
  ASSERT_FALSE(found);
  EXPECT_THAT(found.error().message(), HasSubstr("head/0000000002"));
  bucket_.objects().erase(head_object(2));
  bucket_.objects().erase(head_object(1));
  writer_.restart();

  const auto shipped = writer_.ship(files);

  ASSERT_FALSE(shipped);
  EXPECT_EQ(shipped.error().code(), kFenced) << shipped.error().message();
}

TEST_F(ShipperTest, LongHeadsAreReadAsShortOnes) {
  Files files = files_;
  for (int i = 0; i < 8000; ++i) files["index/" + std::to_string(100'000 + i) + ".sst"] = "table";
  ship(files);
  ASSERT_GT(bucket_.objects().image().at(head_object(1)).bytes->size(), 300'000u);
  files[kLog] += "more";
  ship(files);

  for (const std::size_t parallel : {1U, 8U}) {
    const auto found = load_replica(bucket_, parallel);
    ASSERT_TRUE(found) << found.error().message();
    EXPECT_EQ((*found)->head.sequence, 2u);
    EXPECT_EQ((*found)->files.size(), files.size());
  }
  bucket_.objects().erase(head_object(1));
  EXPECT_THAT(load_replica(bucket_).error().message(), HasSubstr("head/0000000001: it is missing"));
}

// ---------------------------------------------------------------- fencing

TEST_F(ShipperTest, AnOldCopyOfTheVolumeDoesNotGoOn) {
  ship(files_);
  Writer copy(bucket_, writer_.saved);
  Files files = files_;
  files[kLog] += "more";
  ship(files);
  const auto names = bucket_.objects().names();

  const auto shipped = copy.ship(files_);

  ASSERT_FALSE(shipped);
  EXPECT_EQ(shipped.error().code(), kFenced);
  EXPECT_TRUE(copy.shipper().is_fenced());
  EXPECT_THAT(shipped.error().message(), HasSubstr("Nothing more is shipped"));
  EXPECT_EQ(bucket_.objects().names(), names);
}

TEST_F(ShipperTest, WhoTookOverGoesOnAndTheOtherOneStopsForGood) {
  ship(files_);
  Writer other(bucket_, {.head = writer_.saved.tried.at(0)});
  ASSERT_FALSE(other.ship(files_)) << "a copy does not write by itself";
  ASSERT_TRUE(other.take_over());
  Files files = files_;
  files[kLog] += "mine";

  const auto shipped = writer_.ship(files);

  ASSERT_FALSE(shipped);
  EXPECT_EQ(shipped.error().code(), kFenced);
  EXPECT_FALSE(writer_.ship(files_));
  writer_.restart();
  EXPECT_FALSE(writer_.ship(files_));
  files[kLog] = "other";
  ASSERT_TRUE(other.ship(files));
  expect_bucket_has(files);
}

TEST_F(ShipperTest, WhoIsNotAtTheNewestHeadCannotTakeOver) {
  ship(files_);
  Writer other(bucket_, {.head = writer_.saved.tried.at(0)});
  Files files = files_;
  files[kLog] += "more";
  ship(files);

  const auto taken = other.take_over();

  ASSERT_FALSE(taken);
  EXPECT_THAT(taken.error().message(), HasSubstr("clone it anew"));
}

TEST_F(ShipperTest, AttachesOnlyWhereNoVolumeIs) {
  ship(files_);
  Writer other(bucket_);

  const auto attached = other.attach();

  ASSERT_FALSE(attached);
  EXPECT_EQ(attached.error().code(), ErrorCode::kExists);
}

// ---------------------------------------------------------------- deleting

TEST_F(ShipperTest, DeletesWhatWasDroppedLongerAgoThanTheGrace) {
  ship(files_);
  Files files = files_;
  files.erase(kTable);
  ship(files);
  const std::size_t all = pieces().size();

  ASSERT_TRUE(writer_.shipper().collect(seconds(100)));
  EXPECT_THAT(pieces(), SizeIs(all)) << "readers of the first head may still be there";
  writer_.seconds += 200;
  files[kLog] += "more";
  ship(files);
  const auto collected = writer_.shipper().collect(seconds(100));

  ASSERT_TRUE(collected);
  EXPECT_EQ(collected->objects, 5u);  // of 300 bytes
  EXPECT_THAT(pieces(), Each(Not(HasSubstr("000012.sst"))));
  expect_bucket_has(files);
  EXPECT_EQ(writer_.shipper().collect(seconds(100))->objects, 0u);
}

TEST_F(ShipperTest, DeletesWhatACrashedUploadLeft) {
  bucket_.set_fault(
      [](const MemoryBucket::Call& call) { return call.object == head_object(1) ? Fault::kFails : Fault::kNone; });
  Files lost = files_;
  lost["index/000099.sst"] = text(10);
  ASSERT_FALSE(writer_.ship(lost));
  bucket_.set_fault({});
  writer_.restart();
  ship(files_);

  const auto collected = writer_.shipper().collect(seconds(100));

  ASSERT_TRUE(collected);
  EXPECT_EQ(collected->objects, 1u);
  expect_bucket_has(files_);
}

// A store with object lock, which keeps what is young.
TEST_F(ShipperTest, WhatTheStoreRefusesToDeleteIsCountedAndGoesLater) {
  for (const std::size_t parallel : {1u, 4u}) {
    MemoryBucket bucket;
    Writer writer(bucket);
    writer.parallel = parallel;
    ASSERT_TRUE(writer.attach());
    ASSERT_TRUE(writer.ship({{kTable, text(100)}, {kContainer, text(60)}, {"superblock.json", "{}"}}));
    ASSERT_TRUE(writer.ship({{kTable, text(100, 'A')}, {"superblock.json", "{}"}}));
    writer.seconds += 10;
    const Files newest = {{"superblock.json", "{}"}};
    ASSERT_TRUE(writer.ship(newest));
    bool is_locked = true;
    bucket.set_fault([&](const MemoryBucket::Call& call) {
      const bool is_kept = is_locked && call.operation == Operation::kRemove && call.object.starts_with("i/");
      return is_kept ? Fault::kRefused : Fault::kNone;
    });

    const auto refused = writer.shipper().collect(seconds(0));

    ASSERT_TRUE(refused) << refused.error().message();
    EXPECT_EQ(refused->objects, 1u) << "the container is not locked";
    EXPECT_EQ(refused->refused_objects, 4u);
    EXPECT_EQ(refused->refused_bytes, 200u);
    EXPECT_THAT(refused->refusal, HasSubstr("refused by object lock"));
    EXPECT_EQ(files_in(bucket).value(), newest);
    const auto shipped = writer.ship({{kTable, text(20)}, {"superblock.json", "{}"}});
    EXPECT_TRUE(shipped) << "what is there is in nobody's way: " << shipped.error().message();

    is_locked = false;
    const auto collected = writer.shipper().collect(seconds(0));
    ASSERT_TRUE(collected);
    EXPECT_EQ(collected->objects, 4u);
    EXPECT_EQ(collected->refused_objects, 0u);
  }
}

// With a retention of a month, a collection would ask for each object of a month otherwise.
TEST_F(ShipperTest, AStoreThatRefusesEverythingIsNotAskedForEach) {
  Files files;
  for (int i = 0; i < 1500; ++i) files["containers/" + std::to_string(1'000'000'000 + i) + ".container"] = "x";
  ship(files);
  writer_.seconds += 10;
  ship(files_);
  int asked = 0;
  bucket_.set_fault([&](const MemoryBucket::Call& call) {
    if (call.operation != Operation::kRemove) return Fault::kNone;
    ++asked;
    return Fault::kRefused;
  });

  const auto refused = writer_.shipper().collect(seconds(0));

  ASSERT_TRUE(refused);
  EXPECT_EQ(asked, 1000);
  EXPECT_GE(refused->refused_objects, 1500u);
}

// A store that keeps each object for some time lets go of the oldest.
TEST_F(ShipperTest, TheOldestIsDeletedFirst) {
  auto now = std::chrono::system_clock::now();
  bucket_.objects().set_clock([&now] { return now; });
  Files files = {{"containers/0000000009.container", "first"}, {"index/000001.log", "first"}};
  ship(files);
  now += seconds(5);
  files["containers/0000000001.container"] = "second";
  ship(files);
  writer_.seconds += 10;
  ship(files_);
  std::vector<std::string> removed;
  bucket_.set_hook([&](const MemoryBucket::Call& call, MemoryBucket::When when) {
    if (call.operation == Operation::kRemove && when == MemoryBucket::When::kBefore) removed.push_back(call.object);
  });

  ASSERT_TRUE(writer_.shipper().collect(seconds(0)));

  ASSERT_THAT(removed, testing::Contains(HasSubstr("0000000001.container")));
  EXPECT_THAT(removed.at(0), HasSubstr("0000000009.container"));
  EXPECT_THAT(removed.at(1), HasSubstr("000001.log"));
}

TEST_F(ShipperTest, DeletesHeadsThatNobodyNeeds) {
  Files files = files_;
  for (int i = 0; i < 40; ++i) {
    files[kLog] += "x";
    ship(files);
  }
  writer_.seconds += 1000;
  files[kLog] += "x";
  ship(files);

  const auto collected = writer_.shipper().collect(seconds(100));

  ASSERT_TRUE(collected);
  EXPECT_GT(collected->heads, 10u);
  EXPECT_THAT(list_heads(bucket_).value().size(), testing::Lt(30u));
  expect_bucket_has(files);
  writer_.restart();
  EXPECT_EQ(ship(files).head_bytes, 0u);
}

// ---------------------------------------------------------------- cloning

TEST_F(ShipperTest, ACloneHasEveryFile) {
  ship(files_);
  ScratchBacking disk(1 << 20);
  const auto folder = disk.open_root("/").value();

  const auto cloned = clone_replica(bucket_, *load_replica(bucket_).value(), *folder, {});

  ASSERT_TRUE(cloned) << cloned.error().message();
  for (const auto& [path, content] : files_) {
    const std::size_t slash = path.find('/');
    const auto below = slash == std::string::npos ? folder : folder->open_folder(path.substr(0, slash)).value();
    EXPECT_EQ(read_file(*below, path.substr(slash + 1), 1 << 20).value(), content) << path;
  }
}

TEST_F(ShipperTest, ACloneOfADamagedObjectNamesItAndIsNoVolume) {
  ship(files_);
  const std::string object = pieces().at(0);
  bucket_.objects().set(object, "something else");
  ScratchBacking disk(1 << 20);
  const auto folder = disk.open_root("/").value();
  const Replica replica = *load_replica(bucket_).value();

  const auto cloned = clone_replica(bucket_, replica, *folder, {});

  ASSERT_FALSE(cloned);
  EXPECT_EQ(cloned.error().code(), ErrorCode::kCorruption);
  EXPECT_THAT(cloned.error().message(), HasSubstr(object));
  EXPECT_FALSE(folder->exists("superblock.json").value());
  std::vector<std::string> bad;
  const auto check = check_replica(bucket_, replica, {.visit = [&](const Error& error, bool) -> Result<void> {
                                     bad.push_back(error.message());
                                     return {};
                                   }});
  ASSERT_TRUE(check);
  EXPECT_EQ(check->bad, 1u);
  EXPECT_THAT(bad, ElementsAre(HasSubstr(object)));
}

TEST_F(ShipperTest, PiecesAreSentSideBySide) {
  writer_.parallel = 2;
  std::atomic<int> begun = 0;
  std::promise<void> both;
  const auto both_begun = both.get_future().share();
  bucket_.set_hook([&](const MemoryBucket::Call& call, MemoryBucket::When when) {
    if (call.operation != Operation::kPut || when != MemoryBucket::When::kBefore || !parse_piece_object(call.object))
      return;
    if (++begun == 2) both.set_value();
    both_begun.wait();  // for ever, if one came after the other
  });

  const auto shipped = ship(files_);

  EXPECT_EQ(shipped.objects, pieces().size());
  expect_bucket_has(files_);
}

TEST_F(ShipperTest, APieceThatFailsBesideOthersIsNamedAndTheNextShipSendsWhatIsLacking) {
  writer_.parallel = 4;
  std::atomic<int> puts = 0;
  bucket_.set_fault([&](const MemoryBucket::Call& call) {
    const bool is_piece = call.operation == Operation::kPut && parse_piece_object(call.object).has_value();
    if (is_piece) ++puts;
    return is_piece && call.object.starts_with("i/") && call.object.find("CURRENT") != std::string::npos ? Fault::kFails
                                                                                                         : Fault::kNone;
  });
  const auto failed = writer_.ship(files_);
  ASSERT_FALSE(failed);
  EXPECT_THAT(failed.error().message(), HasSubstr("shipping index/CURRENT"));
  EXPECT_FALSE(load_replica(bucket_).value());
  const std::size_t there = pieces().size();

  bucket_.set_fault({});
  const auto shipped = ship(files_);

  expect_bucket_has(files_);
  EXPECT_EQ(shipped.objects, pieces().size() - there);
}

TEST_F(ShipperTest, ACheckpointThatIsThereIsNotReadAgain) {
  Files files = files_;
  files["checkpoints/0000000007.checkpoint"] = std::string(100'000, 'c');
  ship(files);
  FakeImage image(files);
  ASSERT_TRUE(writer_.shipper().ship(image));
  EXPECT_LT(image.bytes_read, 10'000u);

  files["checkpoints/0000000007.checkpoint"].back() = 'd';  // another one of that number, after a crash
  ship(files);
  expect_bucket_has(files);
}

TEST_F(ShipperTest, WhatAHeadNamedIsRememberedForCollections) {
  writer_.parallel = 4;
  for (int i = 0; i < 20; ++i) {
    Files files = files_;
    files[kLog] = text(10, static_cast<char>('a' + i));
    ship(files);
  }
  ASSERT_TRUE(writer_.shipper().collect(seconds(1'000'000)));
  std::atomic<int> heads_read = 0;
  bucket_.set_hook([&](const MemoryBucket::Call& call, MemoryBucket::When when) {
    if (call.operation == Operation::kRead && when == MemoryBucket::When::kBefore && parse_head_object(call.object))
      ++heads_read;
  });
  const auto names = bucket_.objects().names();

  EXPECT_EQ(writer_.shipper().collect(seconds(1'000'000))->objects, 0u);

  EXPECT_LE(heads_read, 1) << "only that of before the grace";
  EXPECT_EQ(bucket_.objects().names(), names);
  EXPECT_GT(writer_.shipper().collect(seconds(5))->objects, 0u);
  expect_bucket_has([&] {
    Files files = files_;
    files[kLog] = text(10, 'a' + 19);
    return files;
  }());
}

TEST_F(ShipperTest, AWriterThatBeginsAnewCollectsTheSame) {
  for (int i = 0; i < 10; ++i) {
    Files files = files_;
    files[kLog] = text(10, static_cast<char>('a' + i));
    ship(files);
  }
  auto copy = std::make_shared<MemoryObjects>();
  for (const auto& [name, object] : bucket_.objects().image()) copy->set(name, *object.bytes);
  MemoryBucket other_bucket(copy);
  Writer other(other_bucket, writer_.saved);
  other.seconds = writer_.seconds;
  other.parallel = 4;
  FakeImage same([&] {
    Files files = files_;
    files[kLog] = text(10, 'a' + 9);
    return files;
  }());
  ASSERT_TRUE(other.shipper().ship(same));

  const auto remembered = writer_.shipper().collect(seconds(4)).value();
  const auto read = other.shipper().collect(seconds(4)).value();

  EXPECT_GT(remembered.objects, 0u);
  EXPECT_EQ(read.objects, remembered.objects);
  EXPECT_EQ(read.heads, remembered.heads);
  EXPECT_EQ(copy->names(), bucket_.objects().names());
}

TEST_F(ShipperTest, AHeadThatGoesByAListOfLongAgoTakesNoMemory) {
  ship(files_);
  Head head = read_head(bucket_, 1)->head;
  head.sequence = 9'000'000'000;
  head.full = 1;
  bucket_.objects().set(head_object(head.sequence), encode_head(head));

  const auto replica = load_replica(bucket_, 4);

  ASSERT_FALSE(replica);
  EXPECT_EQ(replica.error().code(), ErrorCode::kCorruption);
  EXPECT_THAT(replica.error().message(), HasSubstr("is missing, and a later head needs it"));
}

}  // namespace
}  // namespace dedupfs
