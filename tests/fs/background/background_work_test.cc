// What a filesystem does beside requests, and that requests go on beside it.
#include "fs/background/background_work.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <map>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "ended_reclaim.h"
#include "fs/check/namespace_check.h"
#include "store/chunks/damage_record.h"
#include "store/chunks/dropped_bytes.h"
#include "store/reclaimed_volume.h"
#include "support/sanitized.h"
#include "test_filesystem.h"

namespace dedupfs {
namespace {

using testing::IsEmpty;

class BackgroundWorkTest : public testing::Test {
 protected:
  static FilesystemOptions options() {
    FilesystemOptions options = TestFilesystem::quiet();
    options.commit_interval = std::chrono::milliseconds(20);
    return options;
  }

  static std::string some_content(std::uint64_t seed, std::size_t bytes = 200'000) {
    return std::string(text_of(random_bytes(bytes, seed)));
  }
  std::map<std::string, std::string> make_files(int count) {
    std::map<std::string, std::string> files;
    for (int i = 0; i < count; ++i) {
      const std::string name = "file" + std::to_string(i);
      files[name] = some_content(static_cast<std::uint64_t>(i));
      fs_->forget(fs_.make_file(kRootInode, name, files[name]), 1);
    }
    EXPECT_TRUE(ok(fs_->sync()));
    return files;
  }
  void unlink(const std::string& name) { EXPECT_TRUE(ok(fs_->unlink(kRootInode, name))); }

  ReclaimFindings reclaim() {
    EXPECT_TRUE(ok(fs_->reclaimer().start({})));
    const ReclaimStatus::Ended ended = await_end(fs_->reclaimer());
    EXPECT_FALSE(ended.error) << ended.error->message();
    return ended.findings;
  }
  std::uint64_t container_bytes() {
    std::uint64_t bytes = 0;
    const auto containers = fs_->volume().containers().list().value();
    for (const auto& container : containers) bytes += container.bytes;
    return bytes;
  }
  void expect_files(const std::map<std::string, std::string>& files) {
    for (const auto& [name, content] : files)
      EXPECT_TRUE(fs_.content(value_of(fs_.find(name))) == content) << name << " has other bytes";
  }
  void expect_sound() {
    std::vector<std::string> errors;
    CheckReport report([&](const std::string& line) {
      if (!line.starts_with("note: ")) errors.push_back(line);
    });
    const CheckedStore store = value_of(check_store(fs_->volume(), report));
    EXPECT_TRUE(ok(check_namespace(fs_->volume(), store.chunks, report)));
    EXPECT_THAT(errors, IsEmpty());
  }

  TestFilesystem fs_{options()};
};

TEST_F(BackgroundWorkTest, SpaceOfDeletedFilesComesBackAndTheOthersStay) {
  auto files = make_files(10);
  const std::uint64_t peak = container_bytes();
  for (const int i : {0, 2, 3, 5, 7, 8}) {
    unlink("file" + std::to_string(i));
    files.erase("file" + std::to_string(i));
  }
  ASSERT_TRUE(fs_.inodes_become(1 + files.size()));

  reclaim();

  EXPECT_LT(container_bytes(), peak * 4 / 10 * 105 / 100);
  expect_files(files);
  fs_.reopen();
  expect_files(files);
  expect_sound();
}

TEST_F(BackgroundWorkTest, AFilesystemFromWhichEverythingWasDeletedIsNearlyEmpty) {
  make_files(10);
  const std::uint64_t peak = container_bytes();
  for (int i = 0; i < 10; ++i) unlink("file" + std::to_string(i));
  ASSERT_TRUE(fs_.inodes_become(1));

  reclaim();

  EXPECT_LT(container_bytes(), peak / 50);
  expect_sound();
}

TEST_F(BackgroundWorkTest, WhatFilesDroppedIsCountedUntilAReclaimLookedAtIt) {
  const auto files = make_files(3);
  EXPECT_EQ(fs_->volume().chunks().dropped().count(), 0u);

  unlink("file0");
  ASSERT_TRUE(fs_.inodes_become(3));
  EXPECT_EQ(fs_->volume().chunks().dropped().count(), 200'000u);
  fs_.write(value_of(fs_.find("file1")), 0, some_content(77));
  ASSERT_TRUE(ok(fs_->sync()));
  EXPECT_NEAR(static_cast<double>(fs_->volume().chunks().dropped().count()), 400'000, 20'000);
  ASSERT_TRUE(ok(fs_->set_attributes(value_of(fs_.find("file2")), {.size = 0}, {})));
  ASSERT_TRUE(ok(fs_->sync()));
  EXPECT_NEAR(static_cast<double>(fs_->volume().chunks().dropped().count()), 600'000, 20'000);

  reclaim();

  EXPECT_EQ(fs_->volume().chunks().dropped().count(), 0u);
}

TEST_F(BackgroundWorkTest, AFileThatIsHeldOpenKeepsItsContentWithoutAName) {
  const std::string content = some_content(1);
  const InodeNumber held = fs_.make_file(kRootInode, "held", content);
  ASSERT_TRUE(ok(fs_->sync()));
  unlink("held");

  reclaim();
  EXPECT_TRUE(fs_.content(held) == content);

  fs_->forget(held, 1);
  ASSERT_TRUE(fs_.inodes_become(1));
  reclaim();
  EXPECT_LT(container_bytes(), content.size() / 50);
}

TEST_F(BackgroundWorkTest, AReadOnlyFilesystemIsReadWithoutOne) {
  const auto files = make_files(2);
  fs_.reopen(true);

  expect_files(files);
}

// A read learns which chunks it wants, and gets them afterwards.
TEST_F(BackgroundWorkTest, ReadsOfAFileThatIsOverwrittenAllTheTimeNeverFail) {
  constexpr std::size_t kBytes = 100'000;
  const InodeNumber file = fs_.make_file(kRootInode, "file", std::string(kBytes, 'a') + some_content(0, 1));
  std::vector<std::string> versions;
  for (std::uint64_t seed = 0; seed < 4; ++seed) versions.push_back(some_content(seed, kBytes));
  fs_.write(file, 0, versions[0]);
  std::atomic<bool> done = false;
  std::atomic<int> reads = 0;
  std::thread reader([&] {
    while (!done) {
      const auto pieces = fs_->read(file, 0, kBytes);
      EXPECT_TRUE(ok(pieces));
      if (!pieces) return;
      ++reads;
    }
  });

  for (std::size_t i = 0; i < 12; ++i) {
    fs_.write(file, 0, versions[i % versions.size()]);
    EXPECT_TRUE(ok(fs_->sync()));
    reclaim();
  }
  done = true;
  reader.join();

  EXPECT_GT(reads, 0);
  EXPECT_TRUE(fs_.content(file).substr(0, kBytes) == versions[11 % versions.size()]);
  EXPECT_EQ(fs_->volume().chunks().damage().damaged_chunks(), 0u);
}

// Each has files of its own, and content that all of them share, also as near-duplicates.
TEST_F(BackgroundWorkTest, WritersGoOnBesideReclaimsAndEveryByteIsTheirs) {
  constexpr int kWriters = 3;
  std::vector<std::string> shared;
  for (std::uint64_t seed = 0; seed < 5; ++seed) shared.push_back(some_content(seed, 40'000));
  std::vector<std::map<std::string, std::string>> models(kWriters);
  std::atomic<bool> done = false;
  const auto write_files = [&](int writer) {
    std::mt19937_64 random(static_cast<std::uint64_t>(writer));
    auto& model = models[static_cast<std::size_t>(writer)];
    while (!done) {
      const std::string name = std::to_string(writer) + "-" + std::to_string(random() % 6);
      const auto known = model.find(name);
      std::string content = shared[random() % shared.size()].substr(random() % 20'000);
      if (random() % 2 == 0) content[random() % content.size()] = static_cast<char>(random());
      if (known == model.end()) {
        fs_->forget(fs_.make_file(kRootInode, name, content), 1);
        model[name] = content;
      } else if (random() % 3 == 0) {
        EXPECT_TRUE(ok(fs_->unlink(kRootInode, name)));
        model.erase(known);
      } else if (random() % 3 == 0) {
        const std::size_t size = random() % known->second.size() + 1;
        EXPECT_TRUE(ok(fs_->set_attributes(value_of(fs_.find(name)), {.size = size}, {})));
        known->second.resize(size);
      } else if (const auto from = model.begin(); from != known && random() % 2 == 0) {
        const auto copied = fs_->copy_range(value_of(fs_.find(from->first)), 0, value_of(fs_.find(name)), 0, 20'000);
        EXPECT_TRUE(ok(copied));
        if (copied) known->second.replace(0, *copied, from->second.substr(0, *copied));
      } else {
        const std::size_t offset = random() % known->second.size();
        fs_.write(value_of(fs_.find(name)), offset, content);
        if (known->second.size() < offset + content.size()) known->second.resize(offset + content.size());
        known->second.replace(offset, content.size(), content);
      }
      if (random() % 8 != 0) continue;
      for (const auto& [file, bytes] : model)
        EXPECT_TRUE(fs_.content(value_of(fs_.find(file))) == bytes) << file << " has other bytes";
    }
  };
  std::vector<std::thread> writers;
  for (int writer = 0; writer < kWriters; ++writer) writers.emplace_back(write_files, writer);

  std::uint64_t erased = 0;
  for (int i = 0; i < (kSanitized ? 2 : 4); ++i) erased += reclaim().erased_chunks;
  done = true;
  for (std::thread& writer : writers) writer.join();

  EXPECT_GT(erased, 0u);
  std::uint64_t inodes = 1;
  for (const auto& model : models) inodes += model.size();
  for (const auto& model : models) expect_files(model);
  fs_.reopen();
  for (const auto& model : models) expect_files(model);
  EXPECT_TRUE(fs_.inodes_become(inodes));
  EXPECT_TRUE(ok(fs_->sync()));
  expect_sound();
}

TEST_F(BackgroundWorkTest, WhatAScrubFoundIsKnownAtTheNextMount) {
  make_files(2);
  EXPECT_FALSE(fs_->scrubber().status().last);
  EXPECT_FALSE(fs_->damaged_files());

  ASSERT_TRUE(ok(fs_->scrubber().start(0)));
  while (fs_->scrubber().status().running) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  const auto found = fs_->scrubber().status().last;
  ASSERT_TRUE(found);
  EXPECT_TRUE(found->complete);
  EXPECT_TRUE(found->sound());
  EXPECT_THAT(fs_->damaged_files().value().names, IsEmpty());
  fs_.reopen();

  EXPECT_EQ(fs_->scrubber().status().last, found);
}

}  // namespace
}  // namespace dedupfs
