#include "replica/replica_check.h"

#include <fmt/format.h>

#include <optional>
#include <unordered_map>
#include <utility>

#include "base/mutex.h"
#include "base/task_group.h"
#include "replica/volume_folders.h"

namespace dedupfs {
namespace {

// Looks at objects side by side, and keeps what was found.
class ReplicaChecker {
 public:
  ReplicaChecker(Bucket& bucket, const CheckSettings& settings)
      : bucket_(bucket),
        settings_(settings),
        reads_(settings.parallel.requests, settings.parallel.memory, "dedupfs-get") {}

  // Keeps what the listing says of objects of the replica: of others it may have any number.
  Result<void> list(const Replica& replica) {
    for_each_object(replica.files, [this](std::string object) { sizes_.emplace(std::move(object), std::nullopt); });
    for (const std::string_view prefix : kPiecePrefixes)
      DEDUPFS_TRY(bucket_.list(std::string(prefix), "", [&](const Bucket::Object& object) -> Result<void> {
        if (const auto known = sizes_.find(object.name); known != sizes_.end()) known->second = object.size;
        return settings_.go_on();
      }));
    return {};
  }
  Result<void> check(const std::string& path, std::uint64_t offset, const RemotePiece& piece) {
    DEDUPFS_TRY(settings_.go_on());
    const Place place{.path = path, .offset = offset, .piece = piece, .object = piece_object(path, offset, piece)};
    {
      const MutexLock lock(mutex_);
      ++found_.objects;
      found_.bytes += piece.bytes;
    }
    const std::optional<std::uint64_t> listed = sizes_.at(place.object);
    if (!listed)
      return note(place, Error{ErrorCode::kNotFound, fmt::format("{}/{} is missing; it is a part of {}", bucket_.name(),
                                                                 place.object, path)});
    if (*listed != piece.bytes)
      return note(place, corruption(fmt::format("{}/{} has {} bytes instead of {}; it is a part of {}", bucket_.name(),
                                                place.object, *listed, piece.bytes, path)));
    if (!settings_.reads_all) return {};
    return reads_.submit(piece.bytes, [this, place] { return read(place); });
  }
  Result<ReplicaCheck> finish() {
    DEDUPFS_TRY(reads_.finish());
    const MutexLock lock(mutex_);
    return found_;
  }

 private:
  struct Place {
    std::string path;
    std::uint64_t offset = 0;
    RemotePiece piece;
    std::string object;
  };

  Result<void> read(const Place& place) {
    const auto content = read_piece(bucket_, place.object, place.piece);
    if (!content) return note(place, content.error());
    const MutexLock lock(mutex_);
    settings_.when_read(place.piece.bytes);
    return {};
  }
  static bool is_refusal(const Error& error) {
    return error.code() == ErrorCode::kAccessDenied || error.code() == ErrorCode::kNotPermitted;
  }
  // Every other error ends the check.
  Result<void> note(const Place& place, const Error& error) {
    if (error.code() != ErrorCode::kNotFound && error.code() != ErrorCode::kCorruption) return error;
    const Result<bool> is_put_back = put_back(place, error);
    // A store may refuse to touch this object, for example until a date: there may be others that it lets go.
    if (!is_put_back && !is_refusal(is_put_back.error())) return is_put_back.error();
    const MutexLock lock(mutex_);
    ++found_.bad;
    if (!is_put_back)
      return settings_.visit(Error{error.code(), fmt::format("{}. It cannot be put back: {}", error.message(),
                                                             is_put_back.error().message())},
                             false);
    if (*is_put_back) ++found_.put_back;
    return settings_.visit(error, *is_put_back);
  }
  // Nobody else gives an object of that name other bytes: the name has their digest.
  Result<bool> put_back(const Place& place, const Error& error) {
    if (!settings_.other_copy) return false;
    ByteBuffer bytes(place.piece.bytes);
    {
      const MutexLock one_at_a_time(mutex_);
      if (const auto filled = settings_.other_copy(place.path, place.offset, bytes); !filled) return false;
    }
    const ObjectSource source = object_of(bytes);
    if (source.sha256 != place.piece.sha256) return false;
    if (error.code() == ErrorCode::kCorruption) DEDUPFS_TRY(bucket_.remove(place.object));
    DEDUPFS_ASSIGN(const Bucket::Put put, bucket_.put_new(place.object, source));
    return put != Bucket::Put::kOther;
  }

  Bucket& bucket_;
  const CheckSettings& settings_;
  std::unordered_map<std::string, std::optional<std::uint64_t>> sizes_;  // nothing: it is not there
  Mutex mutex_;
  ReplicaCheck found_ DEDUPFS_GUARDED_BY(mutex_);
  TaskGroup reads_;  // goes first
};

}  // namespace

Result<ReplicaCheck> check_replica(Bucket& bucket, const Replica& replica, const CheckSettings& settings) {
  ReplicaChecker checker(bucket, settings);
  DEDUPFS_TRY(checker.list(replica));
  for (const auto& [path, file] : replica.files) {
    std::uint64_t offset = 0;
    for (const RemotePiece& piece : file.pieces) {
      DEDUPFS_TRY(checker.check(path, offset, piece));
      offset += piece.bytes;
    }
  }
  return checker.finish();
}

OtherCopy files_of(std::shared_ptr<BackingFolder> volume) {
  return
      [volume = std::move(volume)](const std::string& path, std::uint64_t offset, MutableByteSpan out) -> Result<void> {
        VolumeFolders folders(*volume, VolumeFolders::Mode::kOpen);
        DEDUPFS_ASSIGN(const auto file, folders.open(path, Backing::Mode::kRead));
        return file->read(offset, out);
      };
}

}  // namespace dedupfs
