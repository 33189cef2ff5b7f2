// The content of a sealed file, for all who have the file open: where each stretch of it is, with which key, and where the next
// record goes.
//
// A file only grows, but for ends that are cut off, so what was synced stays. No pair of key and nonce seals twice: a new salt, and
// with it a new key, is taken whenever a file is written to again, after each write that failed and after each end that was cut off.
//
// Threads:   any thread. Writers of one file wait for each other; readers do not wait for writers.
// Ownership: shared by the open files. It never keeps a file open: each call gets one.
// Failure:   kCorruption names the file and the place, also where the content of another file or of an older state stands. A file
//            that cannot be read, or is damaged where its parts are found by, is condemned: each read and write fails. A failed write
//            leaves no record.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/backing.h"
#include "base/mutex.h"
#include "base/result.h"
#include "store/seal/extent_map.h"
#include "store/seal/volume_key.h"

namespace dedupfs {

// A state of a sealed file. The salt of its last segment tells what stands before the end of the records, since each segment is bound
// to the one before, and grows by one writer only. With the trailer the file can be read even if its own is damaged.
struct FileMark {
  std::uint64_t bytes = 0;
  std::uint64_t records_end = 0;
  SealSalt last_salt{};
  std::uint32_t oldest_key = 0;  // of the master keys that sealed some of it; 0: it has no segment
  std::optional<TrailerBytes> trailer;

  // Of a damaged file: no state is like it.
  static constexpr std::uint64_t kDamaged = UINT64_MAX;
  bool is_damaged() const { return records_end == kDamaged; }
  bool operator==(const FileMark&) const = default;
};

class SealedContent {
 public:
  // `place` goes into the keys (VolumeKey::file_key), `session` into what is written. `known`: the state in which it should be.
  static std::shared_ptr<SealedContent> load(const BackingFile& file, std::shared_ptr<const VolumeKey> key,
                                             std::string place, const SessionId& session,
                                             const FileMark* known = nullptr);

  Result<std::size_t> read_up_to(const BackingFile& file, std::uint64_t offset, MutableByteSpan out) const;
  Result<void> write(BackingFile& file, std::uint64_t offset, ByteSpan data);
  Result<void> truncate(BackingFile& file, std::uint64_t size);
  Result<void> datasync(BackingFile& file);
  // Since then nobody knows what of it is on the disk, whatever later syncs say.
  bool has_failed_sync() const;
  void note_failed_sync();  // of who had the file open before
  Result<std::uint64_t> size() const;
  void drop_cached(const BackingFile& file, std::uint64_t offset, std::uint64_t length) const;
  // Nobody writes to it any more, for now: syncs it, and notes at its end where everything is. Without that, a reader goes through all
  // records. Gives the mark of the file if something was written.
  std::optional<FileMark> finish(BackingFile& file);
  // Writes again, as it is, what no part of the file says to be durable, and syncs it: a sync may have failed in a process that ended
  // since, and the kernel tells nobody else of that.
  Result<void> renew(BackingFile& file);
  // Gives a file that a crash left without it an end as finish() does; what the crash tore goes. Damage is left as it is.
  Result<void> mend_end(BackingFile& file);

  FileMark mark() const;
  // Whether it has the records of that state, and no others.
  bool is(const FileMark& state) const;
  // Whether all that was not in that state (if there is one) was written in these sessions, with the current master key. A file may
  // have been made anew since.
  bool continues(const FileMark* state, std::span<const SessionId> sessions) const;
  std::optional<Error> damage() const;
  // Every read fails with it from now on.
  void condemn(Error damage);

 private:
  struct Segment {
    SealedSegment head;
    Secret key;
  };
  struct OpenTrailer;

  SealedContent(std::shared_ptr<const VolumeKey> key, std::string place, const SessionId& session)
      : key_(std::move(key)), place_(std::move(place)), session_(session) {}

  static Error not_as_sealed(const BackingFile& file, std::uint64_t place);
  Secret segment_key(const SealSalt& salt, std::uint32_t key_number) const;
  Secret trailer_key(const SealSalt& salt, std::uint32_t key_number) const;
  void add_segment(const SealedSegment& head) DEDUPFS_REQUIRES(map_mutex_);
  Result<void> find_records(const BackingFile& file, const FileMark* known) DEDUPFS_REQUIRES(write_mutex_);
  std::optional<OpenTrailer> open_trailer(const TrailerBytes& bytes, std::uint64_t file_bytes) const;
  bool load_map(const BackingFile& file, OpenTrailer& trailer) DEDUPFS_REQUIRES(write_mutex_);
  Result<void> load_chain(const BackingFile& file) DEDUPFS_REQUIRES(write_mutex_);
  Result<std::size_t> read_now(const BackingFile& file, std::uint64_t offset, MutableByteSpan out) const;
  Result<void> read_extent(const BackingFile& file, const SealedExtent& part, ByteSpan key, MutableByteSpan out) const;
  Result<void> append(BackingFile& file, const RecordHead& head, ByteSpan data) DEDUPFS_REQUIRES(write_mutex_);
  Result<void> append_record(BackingFile& file, const RecordHead& head, ByteSpan data) DEDUPFS_REQUIRES(write_mutex_);
  Result<void> begin_segment(BackingFile& file, ByteBuffer& out, std::uint64_t& place) DEDUPFS_REQUIRES(write_mutex_);
  Result<void> sync_or_note(BackingFile& file) DEDUPFS_REQUIRES(write_mutex_);
  Result<void> cut_off(BackingFile& file) DEDUPFS_REQUIRES(write_mutex_);
  void forget_segments_behind_end() DEDUPFS_REQUIRES(write_mutex_);
  bool write_map(BackingFile& file) DEDUPFS_REQUIRES(write_mutex_);
  std::optional<std::uint64_t> clean_cut(std::uint64_t size) const DEDUPFS_REQUIRES(write_mutex_);

  const std::shared_ptr<const VolumeKey> key_;
  const std::string place_;
  const SessionId session_;

  Mutex sync_mutex_ DEDUPFS_ACQUIRED_BEFORE(write_mutex_);
  mutable Mutex write_mutex_ DEDUPFS_ACQUIRED_BEFORE(map_mutex_);
  std::uint64_t end_ DEDUPFS_GUARDED_BY(write_mutex_) = 0;       // of the records in the file
  std::uint64_t file_end_ DEDUPFS_GUARDED_BY(write_mutex_) = 0;  // of the file, with what stands behind the records
  std::uint64_t durable_end_ DEDUPFS_GUARDED_BY(write_mutex_) = 0;
  std::uint64_t relied_end_ DEDUPFS_GUARDED_BY(write_mutex_) = 0;  // what may be durable reaches no farther
  bool has_failed_sync_ DEDUPFS_GUARDED_BY(write_mutex_) = false;
  std::uint64_t cuts_ DEDUPFS_GUARDED_BY(write_mutex_) = 0;
  std::optional<TrailerBytes> trailer_
      DEDUPFS_GUARDED_BY(write_mutex_);  // behind the map of all records, if there is one
  // Behind the last record that did not just append to the content.
  std::uint64_t irregular_end_ DEDUPFS_GUARDED_BY(write_mutex_) = 0;
  std::unique_ptr<Aead> sealer_ DEDUPFS_GUARDED_BY(write_mutex_);  // of the last segment, if it is written to
  std::uint64_t sealed_to_ DEDUPFS_GUARDED_BY(write_mutex_) = 0;   // by it: no place before this is sealed again

  mutable SharedMutex map_mutex_;
  std::vector<std::shared_ptr<const Segment>> segments_ DEDUPFS_GUARDED_BY(map_mutex_);
  ExtentMap extents_ DEDUPFS_GUARDED_BY(map_mutex_);
  std::uint64_t size_ DEDUPFS_GUARDED_BY(map_mutex_) = 0;
  std::optional<Error> damage_ DEDUPFS_GUARDED_BY(map_mutex_);
};

}  // namespace dedupfs
