// A folder with containers that are random bytes, and a bucket that has them: for the tests of what is evicted.
#pragma once

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "../fake_image.h"
#include "chunkers/test_data.h"
#include "replica/eviction/evicting_disk.h"
#include "replica/remote_file.h"
#include "store/format/container_format.h"
#include "store/format/format.h"
#include "support/files.h"
#include "support/folder_at.h"
#include "support/memory_bucket.h"
#include "support/temp_dir.h"

namespace dedupfs {

class EvictedFiles {
 public:
  static constexpr std::uint64_t kContainerBytes = (5 << 20) + 777;

  explicit EvictedFiles(std::uint32_t containers = 3) {
    folder_at(path_ / kContainersDirectory);
    Files files;
    for (std::uint32_t number = 1; number <= containers; ++number) {
      const ByteBuffer bytes = random_bytes(kContainerBytes, number);
      contents_[container_name(number)] = text_of(bytes);
      overwrite(path_ / kContainersDirectory / container_name(number), std::string(text_of(bytes)));
      files[std::string(kContainersDirectory) + '/' + container_name(number)] = text_of(bytes);
    }
    RemoteRecord record{.volume = kImageUuid, .where = {.address = "s3://bucket"}, .position = {}};
    record.position = Shipper::attach(bucket_, "test").value();
    EXPECT_TRUE(save_remote_record(*folder_at(path_), record));
    Shipper shipper(
        bucket_, record.position,
        {.volume = kImageUuid, .save = [](const RemotePosition&) { return Result<void>(); }, .piece_bytes = 3 << 20});
    FakeImage image(files);
    EXPECT_TRUE(shipper.ship(image));
    for (const auto& [path, file] : shipper.replica()->files) in_bucket_[path.substr(path.rfind('/') + 1)] = file;
  }

  // As another process would.
  void open(const std::shared_ptr<Backing>& below = Backing::posix()) {
    containers_.reset();
    root_.reset();
    EvictingDisk disk(below, [this](const RemoteAddress&, const GoOn&) -> Result<std::unique_ptr<Bucket>> {
      return std::make_unique<SameBucket>(bucket_);
    });
    root_ = disk.open_root(path_).value();
    containers_ = root_->open_folder(kContainersDirectory).value();
  }
  EvictedContainers& evicted() { return *evicted_containers_of(*root_); }
  Result<void> evict(const std::string& name, std::vector<FileRange> kept = {}) {
    return evicted().evict(name, {.file = in_bucket_.at(name), .kept = std::move(kept)}, bucket_);
  }
  std::unique_ptr<BackingFile> file(const std::string& name) {
    return containers_->open(name, Backing::Mode::kRead).value();
  }
  void expect_whole(const BackingFile& file, const std::string& name, std::uint64_t offset,
                    std::uint64_t length) const {
    ByteBuffer bytes(length);
    const auto read = file.read_up_to(offset, bytes);
    ASSERT_TRUE(read) << read.error().message();
    ASSERT_EQ(text_of(ByteSpan(bytes).first(*read)), contents_.at(name).substr(offset, length))
        << name << " at " << offset;
  }
  // All, by a new reader.
  void expect_whole() {
    for (const auto& [name, content] : contents_) expect_whole(*file(name), name, 0, content.size());
  }
  std::uint64_t bytes_on_disk(const std::string& name) const {
    struct stat status {};
    const Path here = path_ / kEvictedDirectory / name;
    EXPECT_EQ(::stat(here.c_str(), &status), 0) << here;
    return static_cast<std::uint64_t>(status.st_blocks) * 512;
  }

  BackingFolder& root() { return *root_; }
  BackingFolder& containers() { return *containers_; }
  const Path& path() const { return path_; }
  MemoryBucket& bucket() { return bucket_; }
  const std::map<std::string, std::string>& contents() const { return contents_; }

 private:
  const TempDir directory_;
  const Path path_ = directory_.path() / "volume";
  MemoryBucket bucket_;
  std::map<std::string, std::string> contents_;
  std::map<std::string, RemoteFile> in_bucket_;
  std::shared_ptr<BackingFolder> root_;
  std::shared_ptr<BackingFolder> containers_;
};

}  // namespace dedupfs
