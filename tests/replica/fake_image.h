// Images of volumes that are a few files in memory, for the tests of what ships them.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <string>
#include <vector>

#include "replica/clone.h"
#include "replica/shipper.h"
#include "store/volume/capture.h"

namespace dedupfs {

inline constexpr const char* kImageUuid = "01234567-89ab-4def-8123-456789abcdef";

using Files = std::map<std::string, std::string>;

class FakeImage final : public Capture {
 public:
  explicit FakeImage(Files files) : contents_(std::move(files)) {
    for (const auto& [path, content] : contents_) files_.push_back({.path = path, .bytes = content.size()});
  }

  const std::vector<CapturedFile>& files() const override { return files_; }
  Result<std::size_t> read(const CapturedFile& file, std::uint64_t offset, MutableByteSpan out) override {
    const auto found = contents_.find(file.path);
    if (found == contents_.end()) return Error{ErrorCode::kNotFound, file.path + " is gone"};
    bytes_read += out.size();
    const std::size_t length =
        std::min<std::size_t>(out.size(), found->second.size() - std::min(found->second.size(), offset));
    if (length != 0) std::memcpy(out.data(), found->second.data() + offset, length);
    return length;
  }
  void say_that_it_may_change(const std::string& path) {
    for (CapturedFile& file : files_)
      if (file.path == path) file.may_change = true;
  }
  // Between capture and copy.
  void lose(const std::string& path) { contents_.erase(path); }

  std::uint64_t bytes_read = 0;

 private:
  Files contents_;
  std::vector<CapturedFile> files_;
};

// A writer, with what it would keep in the volume's folder.
struct Writer {
  explicit Writer(Bucket& its_bucket, RemotePosition from = {}) : bucket(its_bucket), saved(std::move(from)) {}

  Shipper::Settings settings() {
    return {.volume = volume,
            .save = [this](const RemotePosition& position) -> Result<void> {
              saved = position;
              return {};
            },
            .now = [this] { return std::chrono::system_clock::time_point(std::chrono::seconds(seconds)); },
            .piece_bytes = 64,
            .parallel = {.requests = parallel}};
  }
  Result<void> attach() {
    DEDUPFS_ASSIGN(saved, Shipper::attach(bucket, "test"));
    return {};
  }
  Result<void> take_over() {
    DEDUPFS_ASSIGN(saved, Shipper::take_over(bucket, saved, "test", settings()));
    restart();
    return {};
  }
  // Without being at the newest head.
  Result<Replica> claim() {
    DEDUPFS_ASSIGN(auto claimed, Shipper::claim(bucket, "test", settings()));
    saved = claimed.position;
    restart();
    return std::move(claimed.replica);
  }
  Result<Shipper::Shipped> ship(const Files& files) {
    FakeImage image(files);
    return shipper().ship(image);
  }
  Shipper& shipper() {
    if (!shipper_) shipper_.emplace(bucket, saved, settings());
    return *shipper_;
  }
  // The process ended, and another one begins.
  void restart() { shipper_.reset(); }

  Bucket& bucket;
  std::string volume = kImageUuid;
  RemotePosition saved;
  std::int64_t seconds = 1'700'000'000;
  std::size_t parallel = 1;

 private:
  std::optional<Shipper> shipper_;
};

// What a head has.
inline Result<Files> files_of(Bucket& bucket, const Replica& replica) {
  Files files;
  for (const auto& [path, file] : replica.files) {
    std::string& content = files[path];
    for (const RemotePiece& piece : file.pieces) {
      DEDUPFS_ASSIGN(const ByteBuffer bytes, read_piece(bucket, piece_object(path, content.size(), piece), piece));
      content += text_of(bytes);
    }
  }
  return files;
}
// What the bucket alone gives. Nothing: it has no head.
inline Result<std::optional<Files>> files_in(Bucket& bucket) {
  DEDUPFS_ASSIGN(const auto replica, load_replica(bucket));
  if (!replica) return std::optional<Files>();
  DEDUPFS_ASSIGN(auto files, files_of(bucket, *replica));
  return std::optional(std::move(files));
}

}  // namespace dedupfs
