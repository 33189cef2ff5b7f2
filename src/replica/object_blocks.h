// Reads files that lie in a bucket in pieces. Objects are read in blocks, and a bounded number of blocks is kept in memory, the most recently
// used. Who reads a file from one block to the next finds the following ones there: the longer that goes on, the more are read ahead, and
// a file that is begun where another one ended is taken for its continuation. A piece that is no longer than a block is compared with its digest. Of a longer one, single blocks are not: the checksums of
// the volume, or its key, find what is wrong there.
//
// Threads:   any. Those who want one block wait for one request. Blocks are read ahead by threads of its own.
// Ownership: keeps the bucket. The destructor waits for requests that have begun.
// Failure:   that of the bucket. kCorruption names the object that is damaged or missing, and what it is a part of. A store that did not
//            answer, after all tries, is not asked again for a while: many readers do not wait a minute each. A block that could not be
//            read ahead fails nobody: who wants it, or another one, asks for it himself.
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
#include "base/thread_pool.h"
#include "remote/bucket.h"
#include "replica/head.h"
#include "replica/parallel.h"

namespace dedupfs {

class FileInBucket;

class ObjectBlocks {
 public:
  struct Settings {
    std::uint64_t cache_bytes = 256 << 20;
    std::uint32_t block_bytes = 1 << 20;
    std::size_t parallel = 1;  // requests that read ahead at once; 1: nothing is read ahead
    std::chrono::milliseconds rest_after_failure = std::chrono::seconds(10);
  };
  using Block = std::shared_ptr<const ByteBuffer>;
  // A block of an object, which is a piece of a file.
  struct Place {
    std::string object;
    RemotePiece piece;
    std::uint64_t number = 0;  // of the block in the piece
    std::uint64_t begin = 0;   // of the block in the file
    std::uint64_t end = 0;
    std::string part_of;  // for messages
  };

  ObjectBlocks(std::shared_ptr<Bucket> bucket, Settings settings) : bucket_(std::move(bucket)), settings_(settings) {}
  ~ObjectBlocks();
  ObjectBlocks(const ObjectBlocks&) = delete;
  ObjectBlocks& operator=(const ObjectBlocks&) = delete;

  std::uint32_t block_bytes() const { return settings_.block_bytes; }
  Result<Block> get(const Place& place) { return get(place, Purpose::kReader); }
  // Somebody reads this block of `file` now. Begins to read those that he is likely to want next.
  void read_ahead(const FileInBucket& file, const Place& place);
  std::uint64_t cache_bytes() const { return settings_.cache_bytes; }
  // Begins to read the first and the last block of a file, if there is room for so many bytes. Returns what is left of it.
  std::uint64_t read_soon(const FileInBucket& file, std::uint64_t room);
  // Returns when that has come, or failed. For tests.
  void finish_reading_ahead();

 private:
  using Clock = std::chrono::steady_clock;
  using Key = std::pair<std::string, std::uint64_t>;
  // A file that is read from one block to the next.
  struct Sequence {
    std::uint64_t begin = 0;  // of the block that was read last
    std::uint64_t end = 0;
    std::size_t blocks_ahead = 0;
  };

  // Who wants a block: somebody who waits for it, or nobody yet.
  enum class Purpose : std::uint8_t { kReader, kAhead };

  Result<Block> get(const Place& place, Purpose purpose);
  Result<Block> read(const Place& place);
  void keep(const Key& key, const Block& block) DEDUPFS_REQUIRES(mutex_);
  std::size_t blocks_ahead(const FileInBucket& file, const Place& place) DEDUPFS_REQUIRES(mutex_);
  bool is_wanted(const Key& key) const DEDUPFS_REQUIRES(mutex_);
  bool begin_reading(Place place);  // false: it is there, or comes already

  const std::shared_ptr<Bucket> bucket_;
  const Settings settings_;
  Mutex mutex_;
  ConditionVariable arrived_;
  std::set<Key> asked_ DEDUPFS_GUARDED_BY(mutex_);
  std::set<Key> planned_ DEDUPFS_GUARDED_BY(mutex_);                      // to be read ahead
  std::map<std::string, Sequence> sequences_ DEDUPFS_GUARDED_BY(mutex_);  // by the file's name
  std::size_t ended_ahead_ DEDUPFS_GUARDED_BY(mutex_) = 0;  // of the sequence that came to the end of its file last
  bool stopping_ DEDUPFS_GUARDED_BY(mutex_) = false;
  std::list<std::pair<Key, Block>> kept_ DEDUPFS_GUARDED_BY(mutex_);  // most recently used first
  std::map<Key, std::list<std::pair<Key, Block>>::iterator> places_ DEDUPFS_GUARDED_BY(mutex_);
  std::uint64_t bytes_ DEDUPFS_GUARDED_BY(mutex_) = 0;
  std::optional<Error> no_answer_ DEDUPFS_GUARDED_BY(mutex_);  // the last one that a reader got
  Clock::time_point rests_until_ DEDUPFS_GUARDED_BY(mutex_);
  Clock::time_point ahead_rests_until_ DEDUPFS_GUARDED_BY(mutex_);  // nothing is read ahead before
  std::unique_ptr<ThreadPool> readers_ DEDUPFS_GUARDED_BY(mutex_);  // from the first block that is read ahead on
};

// One file, as a head has it.
class FileInBucket {
 public:
  // `path`: in the volume's folder. `shown_as`: for messages.
  FileInBucket(std::string path, RemoteFile file, std::string shown_as);

  // Fewer bytes than out.size() mean the end of the file.
  Result<std::size_t> read_up_to(ObjectBlocks& blocks, std::uint64_t offset, MutableByteSpan out) const;
  // The block that has this byte of the file.
  ObjectBlocks::Place block_at(std::uint64_t offset, std::uint32_t block_bytes) const;
  // That the bucket has all of it, as far as the lengths of its pieces tell.
  Result<void> check_there(Bucket& bucket) const;
  std::uint64_t size() const { return size_; }
  const std::string& shown_as() const { return shown_as_; }

 private:
  std::string path_;
  RemoteFile file_;
  std::string shown_as_;
  std::vector<std::uint64_t> begins_;  // of the pieces
  std::uint64_t size_ = 0;
};

}  // namespace dedupfs
