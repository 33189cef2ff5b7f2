#include "store/containers/container_store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <fstream>
#include <thread>

#include "sample_region.h"
#include "store/format/container_format.h"
#include "support/faulty_backing.h"
#include "support/temp_dir.h"

namespace dedupfs {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr char kUuidText[] = "01234567-89ab-4cde-8f01-23456789abcd";
constexpr char kOtherUuid[] = "11111111-89ab-4cde-8f01-23456789abcd";

class ContainerStoreTest : public testing::Test {
 protected:
  ContainerStoreTest() { reopen(); }

  void reopen(ContainerStore::Settings settings = {.volume_uuid = kUuidText}) {
    store_.reset();
    auto opened = ContainerStore::open(backing_->open_root(directory_.path()).value(), settings);
    ASSERT_TRUE(opened) << opened.error().message();
    store_ = std::move(*opened);
  }

  RegionPlace append(const SampleRegion& sample) {
    const auto place = store_->append(bytes_of(sample.encode()));
    EXPECT_TRUE(place) << place.error().message();
    return place ? *place : RegionPlace{};
  }

  void expect_reads_back(RegionPlace place, const SampleRegion& sample) {
    const auto region = store_->read({place});
    ASSERT_TRUE(region) << region.error().message();
    EXPECT_TRUE(std::ranges::equal((*region)->whole_payload(), sample.payload));
    ASSERT_EQ((*region)->entries.size(), sample.entries.size());
    for (const RegionEntry& entry : sample.entries) EXPECT_EQ(*(*region)->find(entry.id), entry);
  }

  Path file(std::uint32_t number) const { return directory_.path() / container_name(number); }

  void overwrite(std::uint32_t number, std::uint64_t offset, std::string_view bytes) {
    std::fstream stream(file(number), std::ios::in | std::ios::out | std::ios::binary);
    stream.seekp(static_cast<std::streamoff>(offset));
    stream.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
    ASSERT_TRUE(stream.good());
  }

  std::vector<RegionPlace> walked(std::uint32_t number) {
    const auto walk = store_->walk(number);
    EXPECT_TRUE(walk) << walk.error().message();
    std::vector<RegionPlace> places;
    for (const auto& region : walk->regions) places.push_back(region.place);
    return places;
  }

  TempDir directory_;
  std::shared_ptr<FaultyBacking> backing_ = std::make_shared<FaultyBacking>();
  std::unique_ptr<ContainerStore> store_;
};

TEST_F(ContainerStoreTest, RegionsAreReadBackAtOnce) {
  const auto small = SampleRegion().add(3, text_bytes(10)).add(1, text_bytes(20)).add_delta(2, 1, 30, text_bytes(9));
  const auto compressed = SampleRegion().add(5, text_bytes(300'000));
  const auto raw = one_chunk(6, 300'000);
  SampleRegion long_directory;
  for (std::uint64_t id = 100; id < 2000; ++id) long_directory.add(id, random_bytes(50, id));

  for (const SampleRegion* sample :
       std::initializer_list<const SampleRegion*>{&small, &compressed, &raw, &long_directory})
    expect_reads_back(append(*sample), *sample);
}

TEST_F(ContainerStoreTest, HeaderAndDirectoryAreReadAlone) {
  const auto sample = SampleRegion().add(3, text_bytes(10)).add(1, random_bytes(100'000, 1));
  const RegionPlace place = append(sample);

  const auto header = store_->read_header(place);
  const auto directory = store_->read_directory(place);

  ASSERT_TRUE(header && directory);
  EXPECT_EQ(header->entries, 2u);
  EXPECT_EQ(*directory, sample.entries);
}

TEST_F(ContainerStoreTest, NextRegionLiesRightBehind) {
  const RegionPlace first = append(one_chunk(1, 1000));
  const RegionPlace second = append(one_chunk(2, 1000));

  EXPECT_EQ(ContainerStore::place_after(first, *store_->read_header(first)), second);
  EXPECT_FALSE(store_->read_header(ContainerStore::place_after(second, *store_->read_header(second))));
}

TEST_F(ContainerStoreTest, FullContainerIsSealedAndTheNextOneBegun) {
  reopen({.volume_uuid = kUuidText, .container_bytes = 10'000});
  std::vector<RegionPlace> places;
  for (std::uint64_t id = 0; id < 7; ++id) places.push_back(append(one_chunk(id + 1, 4000)));

  const auto containers = store_->list();

  ASSERT_TRUE(containers);
  ASSERT_EQ(containers->size(), 3u);
  EXPECT_TRUE((*containers)[0].sealed);
  EXPECT_TRUE((*containers)[1].sealed);
  EXPECT_FALSE((*containers)[2].sealed);
  EXPECT_EQ(places[2].container, 1u);
  EXPECT_EQ(places[3].container, 2u);
  EXPECT_EQ(walked(1), std::vector(places.begin(), places.begin() + 3));
  const auto walk = store_->walk(1);
  EXPECT_TRUE(walk->sealed);
  EXPECT_FALSE(walk->stopped_by);
  EXPECT_EQ(walk->end_offset, (*containers)[0].bytes);
}

TEST_F(ContainerStoreTest, ReopeningStartsANewContainer) {
  const RegionPlace old_place = append(one_chunk(1, 1000));

  reopen();
  const RegionPlace new_place = append(one_chunk(2, 1000));

  EXPECT_EQ(new_place.container, old_place.container + 1);
  expect_reads_back(old_place, one_chunk(1, 1000));
  EXPECT_TRUE(store_->walk(old_place.container)->sealed) << "closing seals";
}

TEST_F(ContainerStoreTest, NumbersAreNeverUsedTwice) {
  append(one_chunk(1, 1000));
  const std::uint32_t next = store_->next_container();
  store_.reset();
  std::filesystem::remove(file(1));

  reopen({.volume_uuid = kUuidText, .next_container = next});

  EXPECT_EQ(append(one_chunk(2, 1000)).container, 2u);
}

TEST_F(ContainerStoreTest, OpeningWritesNothing) {
  reopen();

  EXPECT_TRUE(std::filesystem::is_empty(directory_.path()));
}

TEST_F(ContainerStoreTest, ReadOnlyStoreReadsButDoesNotAppend) {
  const RegionPlace place = append(one_chunk(1, 1000));
  reopen({.volume_uuid = kUuidText, .read_only = true});

  const auto refused = store_->append(bytes_of(one_chunk(2, 1000).encode()));

  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code(), ErrorCode::kReadOnly);
  EXPECT_TRUE(store_->sync());
  expect_reads_back(place, one_chunk(1, 1000));
}

TEST_F(ContainerStoreTest, SyncCoversEveryContainerAndTheDirectoryOnce) {
  reopen({.volume_uuid = kUuidText, .container_bytes = 10'000});
  for (std::uint64_t id = 0; id < 4; ++id) append(one_chunk(id + 1, 4000));
  backing_->clear_log();

  ASSERT_TRUE(store_->sync());
  EXPECT_THAT(backing_->log(), ElementsAre("datasync " + container_name(1), "datasync " + container_name(2),
                                           "sync_directory " + directory_.path().filename().string()));

  backing_->clear_log();
  ASSERT_TRUE(store_->sync());
  EXPECT_THAT(backing_->log(), ElementsAre()) << "nothing was written in between";

  append(one_chunk(9, 100));
  backing_->clear_log();
  ASSERT_TRUE(store_->sync());
  EXPECT_THAT(backing_->log(), ElementsAre("datasync " + container_name(2)));
}

TEST_F(ContainerStoreTest, UnsyncedContainersAreBounded) {
  reopen({.volume_uuid = kUuidText, .container_bytes = 1000});
  for (std::uint64_t id = 0; id < 40; ++id) append(one_chunk(id + 1, 2000));

  EXPECT_THAT(backing_->log(), testing::Contains("datasync " + container_name(1)));
}

// What the operating system has in its memory says nothing of the disk.
TEST_F(ContainerStoreTest, ReadFromDiskDropsWhatIsCachedFirst) {
  const RegionPlace place = append(one_chunk(1, 1000));
  ASSERT_TRUE(store_->sync());
  backing_->clear_log();

  EXPECT_TRUE(store_->read({place}));
  EXPECT_THAT(backing_->log(), ElementsAre());
  EXPECT_TRUE(store_->read_from_disk({place, 1000}));
  EXPECT_THAT(backing_->log(), ElementsAre("drop_cached " + container_name(1)));
}

// docs/read-path.md: a region is one read, beside one for the header of each container.
TEST_F(ContainerStoreTest, ARegionOfKnownLengthIsOneReadOfItsFile) {
  reopen({.volume_uuid = kUuidText, .container_bytes = 100'000});
  std::vector<RegionRange> regions;
  for (std::uint64_t id = 1; id <= 10; ++id) {
    const std::string region = one_chunk(id, 40'000).encode();
    regions.push_back({*store_->append(bytes_of(region)), static_cast<std::uint32_t>(region.size())});
  }
  ASSERT_EQ(regions.back().place.container, 4u);
  reopen();
  std::size_t reads = 0;
  backing_->before_read = [&](const Path&) { ++reads; };

  for (const RegionRange& region : regions) EXPECT_TRUE(store_->read(region));
  EXPECT_EQ(reads, 10u + 4u);
  for (const RegionRange& region : regions) EXPECT_TRUE(store_->read(region));
  EXPECT_EQ(reads, 20u + 4u);
  for (const RegionRange& region : regions) EXPECT_TRUE(store_->read_from_disk(region));
  EXPECT_EQ(reads, 30u + 4u);
  for (const RegionRange& region : regions) EXPECT_TRUE(store_->read({region.place}));
  EXPECT_EQ(reads, 30u + 4u + 2 * 10u) << "without its length";
  backing_->before_read = nullptr;
}

TEST_F(ContainerStoreTest, FailedSyncIsFinal) {
  for (const std::string failing : {"datasync", "sync_directory"}) {
    reopen();
    append(one_chunk(1, 1000));
    backing_->fault = [&](const std::string& operation, const Path&) -> std::optional<Error> {
      if (operation == failing) return Error{ErrorCode::kNoSpace, "the disk is gone"};
      return std::nullopt;
    };
    const auto first = store_->sync();
    backing_->fault = nullptr;

    const auto second = store_->sync();
    const auto appended = store_->append(bytes_of(one_chunk(2, 1000).encode()));

    ASSERT_FALSE(first || second || appended);
    EXPECT_EQ(first.error().code(), ErrorCode::kIo);
    EXPECT_THAT(first.error().message(), HasSubstr("the disk is gone"));
    EXPECT_EQ(second.error().message(), first.error().message());
    EXPECT_EQ(appended.error().message(), first.error().message());
  }
}

TEST_F(ContainerStoreTest, FailedAppendLeavesAStoreThatGoesOn) {
  const RegionPlace before = append(one_chunk(1, 1000));
  backing_->fault = [](const std::string& operation, const Path&) -> std::optional<Error> {
    if (operation == "write") return Error{ErrorCode::kNoSpace, "full"};
    return std::nullopt;
  };
  for (int i = 0; i < 3; ++i) {
    const auto refused = store_->append(bytes_of(one_chunk(2, 1000).encode()));
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code(), ErrorCode::kNoSpace);
  }
  backing_->fault = nullptr;

  const RegionPlace after = append(one_chunk(3, 1000));

  EXPECT_THAT(walked(1), ElementsAre(before, after));
  EXPECT_TRUE(store_->sync());
}

TEST_F(ContainerStoreTest, ContainerThatCannotBeCreatedLeavesNothing) {
  backing_->fault = [](const std::string& operation, const Path&) -> std::optional<Error> {
    if (operation == "write") return Error{ErrorCode::kNoSpace, "full"};
    return std::nullopt;
  };

  EXPECT_FALSE(store_->append(bytes_of(one_chunk(1, 1000).encode())));

  EXPECT_TRUE(std::filesystem::is_empty(directory_.path()));
  backing_->fault = nullptr;
  expect_reads_back(append(one_chunk(1, 1000)), one_chunk(1, 1000));
}

TEST_F(ContainerStoreTest, GapBetweenRegionsIsSteppedOver) {
  // The middle of three appends fails after the last one was placed behind it.
  append(one_chunk(1, 1000));
  std::atomic<bool> last_is_placed = false;
  std::atomic<bool> armed = true;
  backing_->fault = [&](const std::string& operation, const Path&) -> std::optional<Error> {
    if (operation != "write" || !armed.exchange(false)) return std::nullopt;
    while (!last_is_placed) std::this_thread::yield();
    return Error{ErrorCode::kIo, "bad block"};
  };
  std::thread failing([&] { EXPECT_FALSE(store_->append(bytes_of(one_chunk(2, 5000).encode()))); });
  while (armed) std::this_thread::yield();
  const RegionPlace last = append(one_chunk(3, 1000));
  last_is_placed = true;
  failing.join();

  EXPECT_EQ(walked(1).size(), 2u);
  EXPECT_EQ(walked(1).back(), last);
  store_.reset();
  reopen();
  EXPECT_TRUE(store_->walk(1)->sealed);
  EXPECT_FALSE(store_->walk(1)->stopped_by);
}

TEST_F(ContainerStoreTest, WalkEndsWhereTheFileWasTorn) {
  std::vector<RegionPlace> places;
  for (std::uint64_t id = 0; id < 3; ++id) places.push_back(append(one_chunk(id + 1, 100)));
  const auto whole = std::filesystem::file_size(file(1));
  for (std::uint64_t size = whole; size-- > 0;) {
    std::filesystem::resize_file(file(1), size);

    const auto walk = store_->walk(1);

    ASSERT_TRUE(walk);
    std::vector<RegionPlace> expected;
    std::uint64_t end = kContainerHeaderBytes;
    for (std::size_t i = 0; i < places.size(); ++i) {
      const std::uint64_t next = i + 1 < places.size() ? places[i + 1].offset : whole;
      if (next > size) break;
      expected.push_back(places[i]);
      end = next;
    }
    EXPECT_EQ(walk->regions.size(), expected.size());
    EXPECT_FALSE(walk->sealed);
    EXPECT_EQ(walk->stopped_by.has_value(), size != end) << size;
    EXPECT_EQ(walk->end_offset, size < kContainerHeaderBytes ? 0 : end);
    for (std::size_t i = 0; i < places.size(); ++i)
      EXPECT_EQ(store_->read({places[i]}).has_value(), i < expected.size()) << "size " << size << ", region " << i;
  }
}

TEST_F(ContainerStoreTest, WalkEndsAtGarbage) {
  const RegionPlace first = append(one_chunk(1, 100));
  const RegionPlace second = append(one_chunk(2, 100));
  overwrite(1, second.offset, "garbage!");

  const auto walk = store_->walk(1);

  ASSERT_TRUE(walk);
  EXPECT_THAT(walked(1), ElementsAre(first));
  ASSERT_TRUE(walk->stopped_by);
  EXPECT_THAT(walk->stopped_by->message(), HasSubstr(container_name(1)));
  EXPECT_THAT(walk->stopped_by->message(), HasSubstr("offset " + std::to_string(second.offset)));
}

TEST_F(ContainerStoreTest, TrailerThatDoesNotFitIsReported) {
  append(one_chunk(1, 100));
  store_.reset();
  const auto size = std::filesystem::file_size(file(1));
  overwrite(1, size - kContainerTrailerBytes, encode_container_trailer({1, 2, size}));
  reopen();

  const auto walk = store_->walk(1);

  ASSERT_TRUE(walk && walk->stopped_by);
  EXPECT_THAT(walk->stopped_by->message(), HasSubstr("trailer"));
}

TEST_F(ContainerStoreTest, DamagedRegionIsAnErrorThatNamesItsPlace) {
  const RegionPlace bad = append(one_chunk(1, 50'000));
  const RegionPlace good = append(one_chunk(2, 50'000));
  overwrite(1, bad.offset + 30'000, "!");

  const auto region = store_->read({bad});

  ASSERT_FALSE(region);
  EXPECT_EQ(region.error().code(), ErrorCode::kCorruption);
  EXPECT_THAT(region.error().message(), HasSubstr(file(1).string()));
  EXPECT_THAT(region.error().message(), HasSubstr("offset 64"));
  expect_reads_back(good, one_chunk(2, 50'000));
  EXPECT_TRUE(store_->read_directory(bad)) << "its directory is whole";
}

TEST_F(ContainerStoreTest, PlacesWhereNoRegionIsAreCorrupt) {
  append(one_chunk(1, 1000));
  for (const std::uint32_t offset : {0u, 63u, 65u, 1000u, 100'000u, 0xffffffffu}) {
    const auto region = store_->read({{1, offset}});
    ASSERT_FALSE(region);
    EXPECT_EQ(region.error().code(), ErrorCode::kCorruption);
  }
  const auto missing = store_->read({{99, 64}});
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code(), ErrorCode::kCorruption);
  EXPECT_THAT(missing.error().message(), HasSubstr(file(99).string()));
}

TEST_F(ContainerStoreTest, ContainerOfAnotherVolumeOrNumberIsNotRead) {
  const RegionPlace place = append(one_chunk(1, 1000));
  reopen({.volume_uuid = kOtherUuid});
  std::filesystem::copy_file(file(1), file(5));

  EXPECT_FALSE(store_->read({place})) << "another volume";
  EXPECT_FALSE(store_->walk(1));
  EXPECT_TRUE(store_->list()->at(0).damage);
  reopen();
  EXPECT_TRUE(store_->read({place}));
  EXPECT_FALSE(store_->read({{5, place.offset}})) << "another number";
}

TEST_F(ContainerStoreTest, RegionsBehindADamagedHeaderAreRead) {
  const RegionPlace place = append(one_chunk(1, 1000));
  overwrite(1, 3, "x");
  reopen();

  expect_reads_back(place, one_chunk(1, 1000));

  const auto containers = store_->list();
  ASSERT_TRUE(containers && containers->at(0).damage);
  EXPECT_THAT(containers->at(0).damage->message(), HasSubstr(file(1).string()));
}

TEST_F(ContainerStoreTest, ContainerThatACrashLeftEmptyIsListedAndPassedOver) {
  std::ofstream(file(7)).flush();

  reopen();

  const auto containers = store_->list();
  ASSERT_TRUE(containers && containers->size() == 1);
  EXPECT_TRUE(containers->at(0).damage);
  const auto walk = store_->walk(7);
  EXPECT_TRUE(walk && walk->stopped_by);
  EXPECT_EQ(append(one_chunk(1, 10)).container, 8u);
}

TEST_F(ContainerStoreTest, StrangeFilesAreIgnoredAndLinksNotFollowed) {
  const RegionPlace place = append(one_chunk(1, 1000));
  store_.reset();
  for (const char* name : {"1.container", "0000000002.container.new", "00000000003.container", "4294967296.container"})
    std::ofstream(directory_.path() / name) << "strange";
  std::filesystem::rename(file(1), directory_.path() / "elsewhere");
  std::filesystem::create_symlink("elsewhere", file(1));
  reopen();

  EXPECT_FALSE(store_->read({place}));
  EXPECT_EQ(store_->next_container(), 2u);
  const auto listed = store_->list();
  ASSERT_TRUE(listed && listed->size() == 1);
  EXPECT_TRUE(listed->front().damage && !listed->front().is_file) << "a link in place of a container is a lost one";
}

TEST_F(ContainerStoreTest, ManyMoreContainersThanDescriptorsAreRead) {
  reopen({.volume_uuid = kUuidText, .container_bytes = 1000});
  std::vector<RegionPlace> places;
  for (std::uint64_t id = 0; id < 100; ++id) places.push_back(append(one_chunk(id + 1, 2000)));
  ASSERT_TRUE(store_->sync());

  for (std::uint64_t id = 0; id < 100; ++id) expect_reads_back(places[id], one_chunk(id + 1, 2000));

  const auto open_files = std::distance(std::filesystem::directory_iterator("/proc/self/fd"), {});
  EXPECT_LT(open_files, 64 + 20);
}

TEST_F(ContainerStoreTest, AppendsSyncsAndReadsRunSideBySide) {
  reopen({.volume_uuid = kUuidText, .container_bytes = 50'000});
  std::vector<std::thread> threads;
  std::atomic<int> failures = 0;
  for (std::uint64_t thread = 0; thread < 4; ++thread) {
    threads.emplace_back([&, thread] {
      for (std::uint64_t i = 0; i < 60; ++i) {
        const auto sample = one_chunk(1 + thread * 1000 + i, 3000 + 10 * i);
        const auto place = store_->append(bytes_of(sample.encode()));
        if (i % 7 == thread && !store_->sync()) ++failures;
        const auto region = place ? store_->read({*place}) : place.error();
        if (!region || !std::ranges::equal((*region)->whole_payload(), sample.payload)) ++failures;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();

  EXPECT_EQ(failures, 0);
  const auto containers = store_->list();
  ASSERT_TRUE(containers);
  std::size_t regions = 0;
  for (const auto& container : *containers) regions += walked(container.id).size();
  EXPECT_EQ(regions, 4 * 60u);
}

// ---------------------------------------------------------------- for reclaim

TEST_F(ContainerStoreTest, ANewContainerIsBegunOnDemandAndTheOneBeforeSealed) {
  const RegionPlace before = append(one_chunk(1, 100));

  EXPECT_EQ(store_->begin_new_container(), before.container + 1);
  EXPECT_EQ(store_->begin_new_container(), before.container + 1) << "nothing came in between";
  const RegionPlace after = append(one_chunk(2, 100));

  EXPECT_EQ(after.container, before.container + 1);
  EXPECT_TRUE(store_->walk(before.container)->sealed);
  EXPECT_FALSE(store_->walk(after.container)->sealed);
}

TEST_F(ContainerStoreTest, ARemovedContainerIsGoneAndItsNumberIsNotUsedAgain) {
  const RegionPlace removed = append(one_chunk(1, 100));
  (void)store_->begin_new_container();
  const RegionPlace kept = append(one_chunk(2, 100));
  ASSERT_TRUE(store_->sync());
  expect_reads_back(removed, one_chunk(1, 100));

  ASSERT_TRUE(store_->remove(removed.container));

  EXPECT_FALSE(std::filesystem::exists(file(removed.container)));
  EXPECT_FALSE(store_->read({removed})) << "nobody has it open";
  expect_reads_back(kept, one_chunk(2, 100));
  EXPECT_EQ(store_->list().value().size(), 1u);
  (void)store_->begin_new_container();
  EXPECT_EQ(append(one_chunk(3, 100)).container, kept.container + 1);
}

TEST_F(ContainerStoreTest, FilesStayAsLongAsSomebodyKeepsThem) {
  const RegionPlace removed = append(one_chunk(1, 100));
  (void)store_->begin_new_container();
  ASSERT_TRUE(store_->sync());
  auto one = store_->keep_files();
  auto other = store_->keep_files();

  ASSERT_TRUE(store_->remove(removed.container));
  EXPECT_TRUE(store_->list().value().empty());
  one.reset();
  EXPECT_TRUE(std::filesystem::exists(file(removed.container)));
  other.reset();
  EXPECT_FALSE(std::filesystem::exists(file(removed.container)));
}

TEST_F(ContainerStoreTest, AContainerIsUnfinishedUntilItIsSealedAndSynced) {
  EXPECT_TRUE(store_->unfinished().empty());
  const RegionPlace first = append(one_chunk(1, 100));
  ASSERT_TRUE(store_->sync());
  EXPECT_THAT(store_->unfinished(), ElementsAre(first.container));
  (void)store_->begin_new_container();
  EXPECT_THAT(store_->unfinished(), ElementsAre(first.container));
  ASSERT_TRUE(store_->sync());
  EXPECT_TRUE(store_->unfinished().empty());
}

TEST_F(ContainerStoreTest, RemovingAContainerThatIsNotSyncedYetHurtsNoSync) {
  const RegionPlace removed = append(one_chunk(1, 100));
  (void)store_->begin_new_container();
  ASSERT_TRUE(store_->remove(removed.container));

  EXPECT_TRUE(store_->sync());
  EXPECT_FALSE(store_->remove(removed.container)) << "it is gone";
}

}  // namespace
}  // namespace dedupfs
