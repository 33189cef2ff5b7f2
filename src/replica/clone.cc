#include "replica/clone.h"

#include <fmt/format.h>

#include <map>
#include <memory>
#include <string>
#include <unordered_map>

#include "base/printable.h"
#include "hash/sha256.h"
#include "store/format/format.h"

namespace dedupfs {
namespace {

// Without it a folder is no volume.
bool is_superblock(std::string_view path) {
  return path == kSuperblockFile || path == kSuperblockCopyFile;
}

// Whether an interrupted clone has written it.
Result<bool> has_piece(const BackingFile& file, std::uint64_t offset, std::uint64_t end, const RemotePiece& piece) {
  if (offset + piece.bytes > end) return false;
  ByteBuffer bytes(piece.bytes);
  DEDUPFS_ASSIGN(const std::size_t count, file.read_up_to(offset, bytes));
  return count == bytes.size() && sha256_of(bytes) == piece.sha256;
}

Result<std::shared_ptr<BackingFolder>> open_or_make_folder(BackingFolder& parent, std::string_view name) {
  auto there = parent.open_folder(name);
  return there || there.error().code() != ErrorCode::kNotFound ? there : parent.make_and_open_folder(name);
}

using Folders = std::map<std::string, std::shared_ptr<BackingFolder>>;

Result<void> write_clone(Bucket& bucket, const std::string& path, const RemoteFile& file, BackingFolder& volume,
                         Folders& folders, const CloneSettings& settings) {
  const std::size_t slash = path.find('/');
  BackingFolder* folder = &volume;
  if (slash != std::string::npos) {
    auto& below = folders[path.substr(0, slash)];
    if (!below) {
      DEDUPFS_ASSIGN(below, open_or_make_folder(volume, path.substr(0, slash)));
    }
    folder = below.get();
  }
  DEDUPFS_ASSIGN(const auto written,
                 folder->open(std::string_view(path).substr(slash + 1), Backing::Mode::kOpenOrCreate));
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
Result<void> remove_others(const Replica& replica, BackingFolder& folder, const std::string& prefix) {
  DEDUPFS_ASSIGN(const auto names, folder.list());
  for (const std::string& name : names) {
    const bool is_kept = replica.files.contains(prefix + name) && !is_superblock(prefix + name);
    if (is_kept || name == kUnfinishedClone || name == kLockFile) continue;
    DEDUPFS_ASSIGN(const Backing::Status status, folder.status(name));
    if (status.type == Backing::Type::kFile) {
      DEDUPFS_TRY(folder.unlink(name));
      continue;
    }
    if (status.type != Backing::Type::kDirectory || !prefix.empty()) continue;
    DEDUPFS_ASSIGN(const auto below, folder.open_folder(name));
    DEDUPFS_TRY(remove_others(replica, *below, name + '/'));
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
    DEDUPFS_TRY(remove_others(replica, folder, ""));
  else
    DEDUPFS_TRY(replace_file(folder, kUnfinishedClone, bytes_of(uuid)));
  Folders folders;
  for (const std::string_view always : {kIndexDirectory, kContainersDirectory}) {
    DEDUPFS_ASSIGN(folders[std::string(always)], open_or_make_folder(folder, always));
  }
  const std::string containers = std::string(kContainersDirectory) + '/';
  for (const auto& [path, file] : replica.files) {
    if (is_superblock(path)) continue;
    if (settings.leave_container && path.starts_with(containers))
      DEDUPFS_TRY(settings.leave_container(path.substr(containers.size()), file));
    else
      DEDUPFS_TRY(write_clone(bucket, path, file, folder, folders, settings));
  }
  for (const auto& [name, below] : folders) DEDUPFS_TRY(below->sync());
  DEDUPFS_TRY(folder.sync());
  for (const auto& [path, file] : replica.files)
    if (is_superblock(path)) DEDUPFS_TRY(write_superblock(bucket, path, file, folder, settings));
  return folder.sync();
}

Result<void> finish_clone(BackingFolder& folder) {
  DEDUPFS_TRY(folder.unlink(kUnfinishedClone));
  return folder.sync();
}

Result<ReplicaCheck> check_replica(Bucket& bucket, const Replica& replica, bool read_all, const GoOn& go_on,
                                   const std::function<Result<void>(const Error&)>& visit) {
  std::unordered_map<std::string, std::uint64_t> sizes;
  for (const std::string_view prefix : kPiecePrefixes)
    DEDUPFS_TRY(bucket.list(std::string(prefix), "", [&](const Bucket::Object& object) -> Result<void> {
      sizes.emplace(object.name, object.size);
      return go_on();
    }));
  ReplicaCheck check;
  for (const auto& [path, file] : replica.files) {
    std::uint64_t offset = 0;
    for (const RemotePiece& piece : file.pieces) {
      DEDUPFS_TRY(go_on());
      const std::string object = piece_object(path, offset, piece);
      offset += piece.bytes;
      ++check.objects;
      check.bytes += piece.bytes;
      const auto found = sizes.find(object);
      Result<void> checked;
      if (found == sizes.end())
        checked = Error{ErrorCode::kNotFound,
                        fmt::format("{}/{} is missing; it is a part of {}", bucket.name(), object, path)};
      else if (found->second != piece.bytes)
        checked = corruption(fmt::format("{}/{} has {} bytes instead of {}; it is a part of {}", bucket.name(), object,
                                         found->second, piece.bytes, path));
      else if (read_all)
        if (const auto read = read_piece(bucket, object, piece); !read) checked = read.error();
      if (checked) continue;
      if (checked.error().code() != ErrorCode::kNotFound && checked.error().code() != ErrorCode::kCorruption)
        return checked.error();
      ++check.bad;
      DEDUPFS_TRY(visit(checked.error()));
    }
  }
  return check;
}

}  // namespace dedupfs
