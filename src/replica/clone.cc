#include "replica/clone.h"

#include <fmt/format.h>

#include <map>
#include <memory>
#include <string>
#include <unordered_map>

#include "store/format/format.h"

namespace dedupfs {
namespace {

// Without it a folder is no volume.
bool is_superblock(std::string_view path) {
  return path == kSuperblockFile || path == kSuperblockCopyFile;
}

using Folders = std::map<std::string, std::shared_ptr<BackingFolder>>;

Result<void> write_clone(Bucket& bucket, const std::string& path, const RemoteFile& file, BackingFolder& volume,
                         Folders& folders, const CloneSettings& settings) {
  const std::size_t slash = path.find('/');
  BackingFolder* folder = &volume;
  if (slash != std::string::npos) {
    auto& below = folders[path.substr(0, slash)];
    if (!below) {
      DEDUPFS_ASSIGN(below, volume.make_and_open_folder(path.substr(0, slash)));
    }
    folder = below.get();
  }
  DEDUPFS_ASSIGN(const auto written, folder->open(std::string_view(path).substr(slash + 1), Backing::Mode::kCreate));
  std::uint64_t offset = 0;
  for (const RemotePiece& piece : file.pieces) {
    DEDUPFS_TRY(settings.go_on());
    DEDUPFS_ASSIGN(const ByteBuffer bytes, read_piece(bucket, piece_object(path, offset, piece), piece));
    DEDUPFS_TRY(written->write(offset, bytes));
    offset += bytes.size();
    settings.when_written(bytes.size());
  }
  return written->datasync();
}

}  // namespace

Result<void> clone_replica(Bucket& bucket, const Replica& replica, BackingFolder& folder,
                           const CloneSettings& settings) {
  Folders folders;
  for (const std::string_view always : {kIndexDirectory, kContainersDirectory}) {
    DEDUPFS_ASSIGN(folders[std::string(always)], folder.make_and_open_folder(always));
  }
  for (const auto& [path, file] : replica.files)
    if (!is_superblock(path)) DEDUPFS_TRY(write_clone(bucket, path, file, folder, folders, settings));
  for (const auto& [name, below] : folders) DEDUPFS_TRY(below->sync());
  DEDUPFS_TRY(folder.sync());
  for (const auto& [path, file] : replica.files)
    if (is_superblock(path)) DEDUPFS_TRY(write_clone(bucket, path, file, folder, folders, settings));
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
