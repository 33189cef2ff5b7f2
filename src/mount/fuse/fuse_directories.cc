#include "mount/fuse/fuse_requests.h"

#include <fcntl.h>

#include <memory>

#include "mount/fuse/fuse_entries.h"

namespace dedupfs {

namespace {

DirectoryStream& stream_of(const fuse_file_info* info) {
  return *reinterpret_cast<DirectoryStream*>(info->fh);
}

}  // namespace

void op_opendir(fuse_req_t req, fuse_ino_t, fuse_file_info* info) {
  reply(req, [&]() -> Result<OpenedDirectory> {
    auto stream = std::make_unique<DirectoryStream>();
    stream->notes_access = (info->flags & O_NOATIME) == 0;
    OpenedDirectory directory{*info};
    directory.info.fh = reinterpret_cast<std::uint64_t>(stream.release());
    return directory;
  });
}

void op_releasedir(fuse_req_t req, fuse_ino_t, fuse_file_info* info) {
  take_back(mount_of(req), OpenedDirectory{*info});
  fuse_reply_err(req, 0);
}

namespace {

std::size_t add_entry(fuse_req_t req, char* place, std::size_t room, const DirectoryEntry& entry) {
  const struct stat attributes = to_stat(entry.attributes);
  return fuse_add_direntry(req, place, room, entry.name.c_str(), &attributes, static_cast<off_t>(entry.cookie));
}

std::size_t add_counted_entry(fuse_req_t req, char* place, std::size_t room, const DirectoryEntry& entry, bool counts) {
  Entry full = to_entry(mount_of(req), entry.attributes);
  if (!counts) full.parameters.ino = 0;  // the kernel takes no reference
  return fuse_add_direntry_plus(req, place, room, entry.name.c_str(), &full.parameters,
                                static_cast<off_t>(entry.cookie));
}

void read_directory(fuse_req_t req, fuse_ino_t inode, std::size_t size, off_t cookie, bool counted,
                    DirectoryStream& stream) {
  reply(req, [&]() -> Result<DirectoryReply> {
    DirectoryReply directory;
    directory.bytes.resize(size);
    std::size_t used = 0;
    const auto visit = [&](const DirectoryEntry& entry) {
      const bool counts = entry.counted;
      char* place = directory.bytes.data() + used;
      const std::size_t room = size - used;
      const std::size_t needed =
          counted ? add_counted_entry(req, place, room, entry, counts) : add_entry(req, place, room, entry);
      if (needed > room) return false;
      used += needed;
      if (counts) directory.counted.push_back(entry.attributes.inode);
      return true;
    };
    DEDUPFS_TRY(
        mount_of(req).filesystem().read_directory(inode, static_cast<std::uint64_t>(cookie), counted, visit, &stream));
    directory.bytes.resize(used);
    return directory;
  });
}

}  // namespace

void op_readdir(fuse_req_t req, fuse_ino_t inode, std::size_t size, off_t cookie, fuse_file_info* info) {
  note_use(req);
  read_directory(req, inode, size, cookie, false, stream_of(info));
}

void op_readdirplus(fuse_req_t req, fuse_ino_t inode, std::size_t size, off_t cookie, fuse_file_info* info) {
  note_use(req);
  read_directory(req, inode, size, cookie, true, stream_of(info));
}

}  // namespace dedupfs
