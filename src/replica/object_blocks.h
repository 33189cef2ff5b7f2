// Reads files that lie in a bucket in pieces. Objects are read in blocks, and a bounded number of blocks is kept in memory, the most recently
// used. A piece that is no longer than a block is compared with its digest. Of a longer one, single blocks are not: the checksums of
// the volume, or its key, find what is wrong there.
//
// Threads:   any. Those who want one block wait for one request.
// Ownership: keeps the bucket.
// Failure:   that of the bucket. kCorruption names the object that is damaged or missing, and what it is a part of. A store that did not
//            answer, after all tries, is not asked again for a while: many readers do not wait a minute each.
#pragma once

#include <chrono>
#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/bytes.h"
#include "base/mutex.h"
#include "base/result.h"
#include "remote/bucket.h"
#include "replica/head.h"

namespace dedupfs {

class ObjectBlocks {
 public:
  struct Settings {
    std::uint64_t cache_bytes = 256 << 20;
    std::uint32_t block_bytes = 1 << 20;
    std::chrono::milliseconds rest_after_failure = std::chrono::seconds(10);
  };
  using Block = std::shared_ptr<const ByteBuffer>;

  ObjectBlocks(std::shared_ptr<Bucket> bucket, Settings settings) : bucket_(std::move(bucket)), settings_(settings) {}

  std::uint32_t block_bytes() const { return settings_.block_bytes; }
  // The block of this number of an object, which is `piece`. `part_of`: for messages.
  Result<Block> get(const std::string& object, const RemotePiece& piece, std::uint64_t number,
                    const std::string& part_of);

 private:
  using Clock = std::chrono::steady_clock;
  using Key = std::pair<std::string, std::uint64_t>;

  Result<Block> read(const std::string& object, const RemotePiece& piece, std::uint64_t number,
                     const std::string& part_of);
  void keep(const Key& key, const Block& block) DEDUPFS_REQUIRES(mutex_);

  const std::shared_ptr<Bucket> bucket_;
  const Settings settings_;
  Mutex mutex_;
  ConditionVariable arrived_;
  std::set<Key> asked_ DEDUPFS_GUARDED_BY(mutex_);
  std::list<std::pair<Key, Block>> kept_ DEDUPFS_GUARDED_BY(mutex_);  // most recently used first
  std::map<Key, std::list<std::pair<Key, Block>>::iterator> places_ DEDUPFS_GUARDED_BY(mutex_);
  std::uint64_t bytes_ DEDUPFS_GUARDED_BY(mutex_) = 0;
  std::optional<Error> no_answer_ DEDUPFS_GUARDED_BY(mutex_);  // the last one
  Clock::time_point rests_until_ DEDUPFS_GUARDED_BY(mutex_);
};

// One file, as a head has it.
class FileInBucket {
 public:
  // `path`: in the volume's folder. `shown_as`: for messages.
  FileInBucket(std::string path, RemoteFile file, std::string shown_as);

  // Fewer bytes than out.size() mean the end of the file.
  Result<std::size_t> read_up_to(ObjectBlocks& blocks, std::uint64_t offset, MutableByteSpan out) const;
  std::uint64_t size() const { return size_; }
  const std::string& shown_as() const { return shown_as_; }

 private:
  // What one block has; at least a byte.
  Result<std::size_t> read_some(ObjectBlocks& blocks, std::uint64_t offset, MutableByteSpan out) const;

  std::string path_;
  RemoteFile file_;
  std::string shown_as_;
  std::vector<std::uint64_t> begins_;  // of the pieces
  std::uint64_t size_ = 0;
};

}  // namespace dedupfs
