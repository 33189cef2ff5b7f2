#include "index/index_guard.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <functional>
#include <memory>
#include <random>
#include <string>

#include "base/coding.h"
#include "index/database.h"
#include "support/files.h"
#include "support/folder_at.h"
#include "support/peak_memory.h"
#include "support/temp_dir.h"

namespace dedupfs {
namespace {

using testing::AnyOf;
using testing::HasSubstr;

constexpr std::size_t kMiB = 1 << 20;
constexpr Database::Settings kSmall{.memory_bytes = 8 * kMiB};

class IndexGuardTest : public testing::Test {
 protected:
  IndexGuardTest() { EXPECT_TRUE(Database::create(folder_at(path()))); }

  Path path() const { return directory_.path() / "index"; }
  std::unique_ptr<Database> open() {
    auto opened = Database::open(folder_at(path()), kSmall);
    EXPECT_TRUE(opened) << opened.error().message();
    return std::move(*opened);
  }
  // In tables, when it returns.
  void write(const std::function<void(Database::Batch&)>& change) {
    const auto index = open();
    Database::Batch batch(*index);
    change(batch);
    ASSERT_TRUE(index->write(batch));
    ASSERT_TRUE(index->empty_log());
  }
  Path file_with(const std::string& part) const {
    for (const auto& file : std::filesystem::directory_iterator(path()))
      if (file.path().filename().string().find(part) != std::string::npos) return file.path();
    ADD_FAILURE() << "no file is called like " << part;
    return {};
  }
  void expect_refused(const Path& file) const {
    const auto start = std::chrono::steady_clock::now();
    const PeakMemory memory;

    const auto opened = Database::open(folder_at(path()), kSmall);

    ASSERT_FALSE(opened) << file;
    EXPECT_THAT(opened.error().code(), AnyOf(ErrorCode::kCorruption, ErrorCode::kIo)) << opened.error().message();
    EXPECT_THAT(opened.error().message(), HasSubstr(file.filename().string()));
    EXPECT_LT(memory.growth_bytes(), 64 * kMiB);
    EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(30));
  }

 private:
  TempDir directory_;
};

TEST_F(IndexGuardTest, AValueThatIsLargeOnlyWithoutCompressionIsRefusedAndNotLoaded) {
  write([](Database::Batch& batch) {
    batch.put(Family::kXattrs, "large", std::string(40 * kMiB, 'x'));
    batch.put(Family::kInodes, "other", "is there");
  });
  ASSERT_LT(std::filesystem::file_size(file_with(".sst")), kMiB);
  const auto index = open();
  const PeakMemory memory;

  const auto value = index->get(Family::kXattrs, "large");
  const auto walked = index->walk(*index->snapshot(), Family::kXattrs, [](auto, auto) { return true; });

  ASSERT_FALSE(value);
  EXPECT_EQ(value.error().code(), ErrorCode::kCorruption) << value.error().message();
  EXPECT_FALSE(walked);
  EXPECT_LT(memory.growth_bytes(), 16 * kMiB);
  EXPECT_EQ(index->get(Family::kInodes, "other").value(), "is there") << "the rest can be read";
}

TEST_F(IndexGuardTest, AValueThatIsLargeOnTheDiskIsRefusedAndNotLoaded) {
  write([](Database::Batch& batch) { batch.put(Family::kOrphans, "large", std::string(40 * kMiB, 'x')); });
  const auto index = open();
  const PeakMemory memory;

  EXPECT_FALSE(index->get(Family::kOrphans, "large"));
  EXPECT_FALSE(index->verify_tables());

  EXPECT_LT(memory.growth_bytes(), 16 * kMiB);
}

// A list of a million damaged chunks is the largest that there is.
TEST_F(IndexGuardTest, TheLargestRecordOfDedupfsIsRead) {
  const std::string largest(10 * kMiB, 'x');
  write([&](Database::Batch& batch) {
    batch.put(Family::kCounters, "large", largest);
    batch.put(Family::kXattrs, "large", largest);
  });

  const auto index = open();

  EXPECT_EQ(index->get(Family::kCounters, "large").value(), largest);
  EXPECT_EQ(index->get(Family::kXattrs, "large").value(), largest);
  EXPECT_TRUE(index->verify_tables());
}

// What is read must be whole blocks: anything else would be taken for a block by mistake, and now and then for a bad one.
TEST_F(IndexGuardTest, NothingOfASoundIndexIsRefused) {
  const std::uint64_t seed = std::random_device()();
  SCOPED_TRACE(seed);
  std::mt19937_64 random(seed);
  const auto bytes = [&](std::size_t length) {
    std::string text(length, '\0');
    for (char& c : text) c = static_cast<char>(random());
    return text;
  };
  for (int round = 0; round < 4; ++round)
    write([&](Database::Batch& batch) {
      for (int i = 0; i < 4'000; ++i) {
        batch.put(Family::kFingerprints, bytes(32), bytes(8));
        batch.put(Family::kRecipes, bytes(8), bytes(2) + std::string(500, 'r') + bytes(1'000));
        batch.put(Family::kOrphans, bytes(8), "");
      }
    });
  const auto index = open();

  for (const auto family : {Family::kFingerprints, Family::kRecipes, Family::kOrphans}) {
    std::size_t found = 0;
    const auto walked = index->walk(*index->snapshot(), family, [&](auto, auto) { return ++found != 0; });
    EXPECT_TRUE(walked) << walked.error().message();
    EXPECT_EQ(found, 16'000u);
  }
  const auto verified = index->verify_tables();
  EXPECT_TRUE(verified) << verified.error().message();
  for (const auto family : {Family::kFingerprints, Family::kRecipes}) {
    const auto compacted = index->compact(family);
    EXPECT_TRUE(compacted) << compacted.error().message();
  }
}

TEST_F(IndexGuardTest, SparseFilesEndTheOpeningAtOnce) {
  write([](Database::Batch& batch) { batch.put(Family::kInodes, "a", "b"); });
  for (const std::string name : {"IDENTITY", "CURRENT", "MANIFEST-"}) {
    const Path file = file_with(name);
    const std::string before = content_of(file);
    std::filesystem::resize_file(file, std::uintmax_t{1} << 40);
    expect_refused(file);
    overwrite(file, before);
  }
  EXPECT_EQ(open()->get(Family::kInodes, "a").value(), "b");
}

TEST_F(IndexGuardTest, ASparseLogEndsTheOpeningAtOnce) {
  const auto index = open();
  Database::Batch batch(*index);
  batch.put(Family::kInodes, "a", "b");
  ASSERT_TRUE(index->write(batch));
  Path log;  // the last one; RocksDB does not read those before
  for (const auto& file : std::filesystem::directory_iterator(path()))
    if (file.path().extension() == ".log") log = std::max(log, file.path());
  const Path aside = path().parent_path() / "aside";
  std::filesystem::copy(path(), aside);
  std::filesystem::resize_file(aside / log.filename(), std::uintmax_t{1} << 40);

  const auto opened = Database::open(folder_at(aside), kSmall);

  ASSERT_FALSE(opened);
  EXPECT_THAT(opened.error().message(), HasSubstr(log.filename().string()));
}

TEST_F(IndexGuardTest, ALogThatMayBeCompressedIsRefused) {
  std::string frame;
  Encoder encoder(frame);
  encoder.u32(0);  // checksum
  encoder.u16(4);
  encoder.u8(9);
  encoder.u32(7);
  for (const std::size_t before : {0u, 32u << 10, 64u << 10}) {
    const Path log = path() / "000099.log";
    overwrite(log, std::string(before, '\0') + frame);
    const auto file = folder_at(path())->open("000099.log", Backing::Mode::kRead).value();
    const auto judged = judge_stream(*file);
    ASSERT_FALSE(judged) << before;
    EXPECT_THAT(judged.error().message(), HasSubstr("compressed"));
  }
}

TEST_F(IndexGuardTest, ATableWhoseBlocksCannotBeIsRefused) {
  write([](Database::Batch& batch) { batch.put(Family::kXattrs, "a", "b"); });
  const Path table = file_with(".sst");
  const std::string sound = content_of(table);
  const auto judge = [&](const std::function<void(Encoder&)>& handles, std::uint32_t format) {
    std::string footer(1, '\1');
    Encoder encoder(footer);
    handles(encoder);
    footer.resize(41);
    encoder.u32(format);
    encoder.u64(0x88e241b785f4cff7);
    overwrite(table, sound.substr(0, sound.size() - 53) + footer);
    return judge_table(*folder_at(path())->open(table.filename().string(), Backing::Mode::kRead).value());
  };
  const auto place = [](std::uint64_t directory_bytes, std::uint64_t index_at, std::uint64_t index_bytes) {
    return [=](Encoder& encoder) {
      for (const std::uint64_t number : {std::uint64_t{0}, directory_bytes, index_at, index_bytes})
        encoder.varint(number);
    };
  };

  EXPECT_FALSE(judge(place(std::uint64_t{1} << 62, 0, 10), 5));
  EXPECT_FALSE(judge(place(2 * kMiB, 0, 10), 5));
  EXPECT_FALSE(judge(place(10, 0, std::uint64_t{1} << 60), 5));
  EXPECT_FALSE(judge(place(10, std::uint64_t{1} << 60, 10), 5));
  EXPECT_FALSE(judge(place(10, 0, 10), 1)) << "without the sizes of its blocks";
  overwrite(table, sound);
  EXPECT_TRUE(judge_table(*folder_at(path())->open(table.filename().string(), Backing::Mode::kRead).value()));
}

TEST(BlockMemory, WhatNoBlockMayTakeIsNotAllocated) {
  BlockMemory memory;
  const PeakMemory peak;

  for (const std::size_t bytes : {kMaxBlockBytes + 1, std::size_t{1} << 40, ~std::size_t{0}}) {
    void* const block = memory.Allocate(bytes);
    EXPECT_NE(block, nullptr);
    memory.Deallocate(block);
  }
  void* const large = memory.Allocate(kMaxBlockBytes);
  EXPECT_GE(memory.large_blocks_bytes(), kMaxBlockBytes);
  memory.Deallocate(large);
  memory.Deallocate(memory.Allocate(1000));

  EXPECT_EQ(memory.large_blocks_bytes(), 0u);
}

}  // namespace
}  // namespace dedupfs
