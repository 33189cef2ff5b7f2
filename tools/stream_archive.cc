#include "stream_archive.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <system_error>
#include <utility>

#include "base/unique_fd.h"
#include "fs/transfer/frames.h"

namespace dedupfs::tools {
namespace {

StreamSource bytes_of_file(int file, const Path& path) {
  return [file, path](MutableByteSpan room) -> Result<std::size_t> {
    const ssize_t count = ::read(file, room.data(), room.size());
    if (count < 0) return Error::from_errno(errno, path.string());
    return static_cast<std::size_t>(count);
  };
}

UniqueFd opened(const Path& path) {
  return UniqueFd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
}

// A stream of changes says so before anything is made of it.
Result<void> require_whole(const Path& path) {
  const UniqueFd file = opened(path);
  if (!file) return Error::from_errno(errno, path.string());
  const StreamSource source = bytes_of_file(file.get(), path);
  transfer::FrameReader reader(source);
  DEDUPFS_ASSIGN(const std::string text, reader.begin());
  DEDUPFS_ASSIGN(const transfer::StreamHeader header, transfer::StreamHeader::parse(text));
  if (!header.base && header.begin == transfer::Position()) return {};
  return Error{ErrorCode::kUnsupported,
               fmt::format("{} has only a part of snapshot '{}': make a volume of it and of what it builds on, with "
                           "dedupfs-receive",
                           path.string(), header.snapshot.name)};
}

}  // namespace

bool StreamArchive::is_one(const Path& path) {
  std::error_code ignored;
  if (!std::filesystem::is_regular_file(path, ignored)) return false;
  const UniqueFd file = opened(path);
  std::string begin(transfer::kStreamMagic.size(), '\0');
  return file && ::read(file.get(), begin.data(), begin.size()) == static_cast<ssize_t>(begin.size()) &&
         begin == transfer::kStreamMagic;
}

Result<std::unique_ptr<StreamArchive>> StreamArchive::open(const Path& path, const Path& scratch,
                                                           const transfer::WatchReceive& watch) {
  DEDUPFS_TRY(require_whole(path));
  const UniqueFd file = opened(path);
  if (!file) return Error::from_errno(errno, path.string());
  std::unique_ptr<StreamArchive> archive(new StreamArchive);
  std::string folder = (scratch / "dedupfs-archive.XXXXXX").string();
  if (::mkdtemp(folder.data()) == nullptr) return Error::from_errno(errno, scratch.string());
  archive->folder_ = folder;
  const Path volume_path = archive->folder_ / "volume";
  DEDUPFS_TRY(Volume::create(volume_path, {}));
  DEDUPFS_ASSIGN(auto volume, Volume::open(volume_path, {}));
  DEDUPFS_ASSIGN(archive->filesystem_, Filesystem::open(std::move(volume), {}));
  DEDUPFS_TRY(transfer::receive(*archive->filesystem_, {}, bytes_of_file(file.get(), path), watch));
  return archive;
}

StreamArchive::~StreamArchive() {
  filesystem_.reset();
  std::error_code error;
  if (!folder_.empty()) std::filesystem::remove_all(folder_, error);
  if (error) spdlog::warn("{} could not be removed: {}", folder_.string(), error.message());
}

}  // namespace dedupfs::tools
