#include "replica/clone.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <memory>
#include <string>

#include "base/mutex.h"
#include "base/printable.h"
#include "base/task_group.h"
#include "hash/sha256.h"
#include "replica/volume_folders.h"
#include "store/format/format.h"
#include "store/volume/capture.h"

namespace dedupfs {
namespace {

// That whoever leaves a container in the bucket may have in memory.
constexpr std::uint64_t kLeftBytes = 2 << 20;

// Without it a folder is no volume.
bool is_superblock(std::string_view path) {
  return path == kSuperblockFile || path == kSuperblockCopyFile;
}

bool lies_in_containers(std::string_view path) {
  return path.substr(0, path.find('/')) == kContainersDirectory;
}

// Whether an interrupted clone has written it.
Result<bool> has_piece(const BackingFile& file, std::uint64_t offset, std::uint64_t end, const RemotePiece& piece) {
  if (offset + piece.bytes > end) return false;
  ByteBuffer bytes(piece.bytes);
  DEDUPFS_ASSIGN(const std::size_t count, file.read_up_to(offset, bytes));
  return count == bytes.size() && sha256_of(bytes) == piece.sha256;
}

std::uint64_t largest_piece(const RemoteFile& file) {
  std::uint64_t bytes = 0;
  for (const RemotePiece& piece : file.pieces) bytes = std::max(bytes, piece.bytes);
  return bytes;
}

Result<void> write_clone(Bucket& bucket, const std::string& path, const RemoteFile& file, BackingFolder& folder,
                         const CloneSettings& settings) {
  DEDUPFS_ASSIGN(const auto written, folder.open(name_in_folder(path), Backing::Mode::kOpenOrCreate));
  DEDUPFS_ASSIGN(const std::uint64_t bytes_there, written->size());
  std::uint64_t offset = 0;
  for (const RemotePiece& piece : file.pieces) {
    DEDUPFS_TRY(settings.go_on());
    DEDUPFS_ASSIGN(const bool is_there, has_piece(*written, offset, bytes_there, piece));
    if (!is_there) {
      DEDUPFS_ASSIGN(const ByteBuffer bytes, read_piece(bucket, piece_object(path, offset, piece), piece));
      DEDUPFS_TRY(written->write(offset, bytes));
    }
    offset += piece.bytes;
    settings.when_written(piece.bytes);
  }
  if (bytes_there > offset) DEDUPFS_TRY(written->truncate(offset));
  return written->datasync();
}

bool is_same_in(const Replica* there, const std::string& path, const RemoteFile& file) {
  if (there == nullptr) return false;
  const auto found = there->files.find(path);
  return found != there->files.end() && found->second == file;
}

// All but the superblocks.
Result<void> write_files(Bucket& bucket, const Replica& replica, VolumeFolders& folders, const CloneSettings& asked) {
  const std::string containers = std::string(kContainersDirectory) + '/';
  Mutex asking;
  CloneSettings settings = asked;
  settings.go_on = [&] {
    const MutexLock one_at_a_time(asking);
    return asked.go_on();
  };
  settings.when_written = [&](std::uint64_t bytes) {
    const MutexLock one_at_a_time(asking);
    asked.when_written(bytes);
  };
  TaskGroup gets(settings.parallel.requests, settings.parallel.memory, "dedupfs-get");
  for (const auto& entry : replica.files) {
    const auto& [path, file] = entry;
    if (is_superblock(path)) continue;
    if (is_same_in(asked.there, path, file)) {
      settings.when_written(file.bytes());
      continue;
    }
    if (settings.leave_container && path.starts_with(containers)) {
      const auto leave = [&, name = path.substr(containers.size())] {
        auto left = settings.leave_container(name, entry.second, settings.go_on);
        if (left) settings.when_written(entry.second.bytes());
        return left;
      };
      DEDUPFS_TRY(gets.submit(kLeftBytes, leave));
      continue;
    }
    DEDUPFS_ASSIGN(BackingFolder* const folder, folders.holder_of(path));
    DEDUPFS_TRY(gets.submit(largest_piece(file),
                            [&, folder] { return write_clone(bucket, entry.first, entry.second, *folder, settings); }));
  }
  return gets.finish();
}

// It is there whole, or not at all.
Result<void> write_superblock(Bucket& bucket, const std::string& path, const RemoteFile& file, BackingFolder& volume,
                              const CloneSettings& settings) {
  std::string content;
  for (const RemotePiece& piece : file.pieces) {
    DEDUPFS_TRY(settings.go_on());
    DEDUPFS_ASSIGN(const ByteBuffer bytes, read_piece(bucket, piece_object(path, content.size(), piece), piece));
    content += text_of(bytes);
    settings.when_written(bytes.size());
  }
  return replace_file(volume, path, bytes_of(content));
}

// What an older head had; and superblocks, so that it is no volume again until it is whole.
Result<void> remove_others(const Replica& replica, BackingFolder& folder, const std::string& prefix,
                           bool keeps_evicted) {
  DEDUPFS_ASSIGN(const auto names, folder.list());
  for (const std::string& name : names) {
    const bool is_kept = replica.files.contains(prefix + name) && !is_superblock(prefix + name);
    if (is_kept || name == kUnfinishedClone || name == kLockFile) continue;
    if (prefix.empty() && name == kRemoteFile) continue;  // of a clone that is brought to another head
    if (keeps_evicted && prefix.empty() && name == kEvictedDirectory) continue;
    DEDUPFS_ASSIGN(const Backing::Status status, folder.status(name));
    if (status.type == Backing::Type::kFile) {
      DEDUPFS_TRY(folder.unlink(name));
      continue;
    }
    if (status.type != Backing::Type::kDirectory || !prefix.empty()) continue;
    DEDUPFS_ASSIGN(const auto below, folder.open_folder(name));
    DEDUPFS_TRY(remove_others(replica, *below, name + '/', keeps_evicted));
  }
  return {};
}

}  // namespace

Result<std::optional<std::string>> find_unfinished_clone(BackingFolder& folder) {
  constexpr std::uint64_t kMostBytes = 64;
  auto uuid = read_file(folder, kUnfinishedClone, kMostBytes);
  if (uuid) return std::move(*uuid);
  return uuid.error().code() == ErrorCode::kNotFound ? Result<std::optional<std::string>>(std::nullopt) : uuid.error();
}

Result<void> clone_replica(Bucket& bucket, const Replica& replica, BackingFolder& folder,
                           const CloneSettings& settings) {
  DEDUPFS_ASSIGN(const auto unfinished, find_unfinished_clone(folder));
  const std::string& uuid = replica.head.volume;
  if (unfinished && *unfinished != uuid)
    return Error{ErrorCode::kNotEmpty, fmt::format("{} has an unfinished clone of another volume, {}: remove it",
                                                   folder.path().string(), printable(*unfinished))};
  if (unfinished)
    DEDUPFS_TRY(remove_others(replica, folder, "", static_cast<bool>(settings.leave_container)));
  else
    DEDUPFS_TRY(replace_file(folder, kUnfinishedClone, bytes_of(uuid)));
  VolumeFolders folders(folder, VolumeFolders::Mode::kOpenOrMake);  // each is made when its first file comes
  for (const std::string_view always : {kIndexDirectory, kContainersDirectory}) DEDUPFS_TRY(folders.get(always));
  DEDUPFS_TRY(write_files(bucket, replica, folders, settings));
  DEDUPFS_TRY(folders.sync());
  for (const auto& [path, file] : replica.files)
    if (is_superblock(path)) DEDUPFS_TRY(write_superblock(bucket, path, file, folder, settings));
  return folder.sync();
}

Result<bool> is_as_cloned(BackingFolder& folder, const Replica& replica, const GoOn& go_on) {
  VolumeFolders folders(folder, VolumeFolders::Mode::kOpen);
  for (const auto& [path, file] : replica.files) {
    if (is_superblock(path)) continue;
    DEDUPFS_TRY(go_on());
    const auto opened = folders.open(path, Backing::Mode::kRead);
    if (!opened && opened.error().code() == ErrorCode::kNotFound) return false;
    if (!opened) return opened.error();
    DEDUPFS_ASSIGN(const std::uint64_t bytes, (*opened)->size());
    if (bytes != file.bytes()) return false;
    if (lies_in_containers(path)) continue;
    std::uint64_t offset = 0;
    for (const RemotePiece& piece : file.pieces) {
      DEDUPFS_ASSIGN(const bool is_there, has_piece(**opened, offset, bytes, piece));
      if (!is_there) return false;
      offset += piece.bytes;
    }
  }
  return true;
}

Result<void> begin_anew(BackingFolder& folder, const std::string& volume) {
  DEDUPFS_TRY(replace_file(folder, kUnfinishedClone, bytes_of(volume)));
  DEDUPFS_ASSIGN(const auto names, folder.list());
  for (const std::string& name : names)
    if (is_superblock(name)) DEDUPFS_TRY(folder.unlink(name));
  return folder.sync();
}

Result<void> finish_clone(BackingFolder& folder) {
  DEDUPFS_TRY(folder.unlink(kUnfinishedClone));
  return folder.sync();
}

}  // namespace dedupfs
