#include "mount/fuse/fuse_requests.h"

#include <fcntl.h>
#include <linux/falloc.h>

#include <algorithm>

#include "mount/fuse/fuse_entries.h"
#include "mount/fuse/fuse_write.h"

namespace dedupfs {

namespace {

constexpr std::size_t kMaxCopyBytes = 1 << 30;  // a request cannot be interrupted

Result<OpenedFile> open_counted(fuse_req_t req, InodeNumber inode, const fuse_file_info& asked, bool direct) {
  FuseMount& mount = mount_of(req);
  const bool writer = (asked.flags & O_ACCMODE) != O_RDONLY;
  const OpenMode mode{.direct = direct,
                      .o_direct = (asked.flags & O_DIRECT) != 0,
                      .writer = writer,
                      .durable = (asked.flags & O_DSYNC) != 0};
  if (writer) DEDUPFS_TRY(mount.filesystem().check_writable(inode));
  DEDUPFS_TRY(mount.filesystem().open_file(inode, (asked.flags & O_TRUNC) != 0, caller_of(req)));
  OpenedFile file{asked};
  auto handle = mount.open_files().open(inode, mode);
  file.info.direct_io = mode.direct;
  // Every change of the content drops its pages at once, so they are never stale here.
  file.info.keep_cache = !handle->drops_pages && !mount.notes_every_access();
  const bool reads = (asked.flags & O_ACCMODE) != O_WRONLY && (asked.flags & O_NOATIME) == 0;
  if (reads && file.info.keep_cache && mount.filesystem().note_opened_for_reading(inode)) forget_attributes(req, inode);
  file.info.fh = reinterpret_cast<std::uint64_t>(handle.release());
  file.info.noflush = !writer;
  return file;
}

// A file that was made just now. Its attributes count a reference.
Result<CreatedFile> open_created(fuse_req_t req, const Attributes& made, const fuse_file_info& asked) {
  FuseMount& mount = mount_of(req);
  fuse_file_info opening = asked;
  opening.flags &= ~O_TRUNC;   // there is nothing to cut off, and a cut would take set-id bits
  opening.flags |= O_NOATIME;  // nor has it been read
  auto file = open_counted(req, made.inode, opening, mount.opens_directly(made, asked.flags));
  if (!file) {
    mount.filesystem().forget(made.inode, 1);
    return file.error();
  }
  return CreatedFile{to_entry(mount, made), *file};
}

}  // namespace

void op_open(fuse_req_t req, fuse_ino_t inode, fuse_file_info* info) {
  reply(req, [&] { return open_counted(req, inode, *info, mount_of(req).opens_directly(inode, info->flags)); });
}

void op_create(fuse_req_t req, fuse_ino_t parent, const char* name, mode_t mode, fuse_file_info* info) {
  note_use(req);
  reply_to_change(req, [&]() -> Result<CreatedFile> {
    FuseMount& mount = mount_of(req);
    DEDUPFS_ASSIGN(const Attributes made, mount.filesystem().create(parent, name, mode, caller_of(req)));
    return open_created(req, made, *info);
  });
}

void op_tmpfile(fuse_req_t req, fuse_ino_t parent, mode_t mode, fuse_file_info* info) {
  note_use(req);
  reply(req, [&]() -> Result<CreatedFile> {
    FuseMount& mount = mount_of(req);
    DEDUPFS_ASSIGN(const Attributes made, mount.filesystem().make_unnamed(parent, mode, caller_of(req)));
    return open_created(req, made, *info);
  });
}

void op_release(fuse_req_t req, fuse_ino_t, fuse_file_info* info) {
  survive("closing a file", [&] { take_back(mount_of(req), OpenedFile{*info}); });
  fuse_reply_err(req, 0);
}

namespace {

// What lies in a bucket and does not come now is an I/O error to a program.
template <class T>
Result<T> or_io_error(Result<T> result) {
  if (result || result.error().code() != ErrorCode::kBusy) return result;
  return Error{ErrorCode::kIo, result.error().message()};
}

}  // namespace

void op_read(fuse_req_t req, fuse_ino_t inode, std::size_t size, off_t offset, fuse_file_info* info) {
  note_use(req);
  reply(req, [&] {
    Filesystem& filesystem = mount_of(req).filesystem();
    const auto from = static_cast<std::uint64_t>(offset);
    if (!came_directly(*info)) file_of(info).use->note_cached();
    if (const auto ahead = file_of(info).read_ahead.on_read(from, size)) {
      filesystem.prefetch(inode, ahead->offset, ahead->length);
    }
    const auto atime =
        (info->flags & O_NOATIME) != 0 ? Filesystem::AccessTime::kKept : Filesystem::AccessTime::kByPolicy;
    return or_io_error(filesystem.read(inode, from, size, atime));
  });
}

void op_flush(fuse_req_t req, fuse_ino_t inode, fuse_file_info* info) {
  reply(req, [&]() -> Result<void> {
    if (!file_of(info).mode.writer) return {};
    return or_io_error(mount_of(req).filesystem().flush_file(inode));
  });
}

void op_fsync(fuse_req_t req, fuse_ino_t inode, int, fuse_file_info*) {
  reply(req, [&] { return or_io_error(mount_of(req).sync_file(inode)); });
}

void op_fsyncdir(fuse_req_t req, fuse_ino_t, int, fuse_file_info*) {
  reply(req, [&] { return or_io_error(mount_of(req).sync()); });
}

namespace {

Result<Filesystem::AllocateMode> allocate_mode(int mode) {
  using enum AllocateMode;  // not by its other name: clang 14 wants the enumeration itself
  switch (mode) {
    case 0: return kExtend;
    case FALLOC_FL_KEEP_SIZE: return kKeepSize;
    case FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE: return kPunchHole;
    case FALLOC_FL_ZERO_RANGE: return kZeroRange;
    case FALLOC_FL_ZERO_RANGE | FALLOC_FL_KEEP_SIZE: return kZeroRangeKeepSize;
    default: return Error{ErrorCode::kUnsupported, "fallocate: unknown mode"};
  }
}

Result<void> sync_if_asked(FuseMount& mount, const OpenFile& file) {
  if (!file.mode.durable && !mount.is_sync()) return {};
  return or_io_error(mount.sync_file(file.inode));
}

}  // namespace

void op_fallocate(fuse_req_t req, fuse_ino_t inode, int mode, off_t offset, off_t length, fuse_file_info* info) {
  note_use(req);
  reply_to_content_change(req, {inode, static_cast<std::uint64_t>(offset)}, [&]() -> Result<void> {
    FuseMount& mount = mount_of(req);
    DEDUPFS_ASSIGN(const auto known_mode, allocate_mode(mode));
    const FuseCaller caller(req);
    const Result<void> allocated =
        mount.filesystem().allocate(inode, static_cast<std::uint64_t>(offset), static_cast<std::uint64_t>(length),
                                    known_mode, caller, is_cancelled(req));
    settle_mode(req, caller, inode);
    DEDUPFS_TRY(allocated);
    return sync_if_asked(mount, file_of(info));
  });
}

void op_lseek(fuse_req_t req, fuse_ino_t inode, off_t offset, int whence, fuse_file_info*) {
  const Result<std::uint64_t> found = attempt(req, [&]() -> Result<std::uint64_t> {
    Filesystem& filesystem = mount_of(req).filesystem();
    const auto from = static_cast<std::uint64_t>(offset);
    switch (whence) {
      case SEEK_DATA: return filesystem.seek_data(inode, from);
      case SEEK_HOLE: return filesystem.seek_hole(inode, from);
      default: return Error{ErrorCode::kInvalidArgument, "lseek: unknown whence"};
    }
  });
  if (!found && found.error().code() == ErrorCode::kNoData) {
    fuse_reply_err(req, ENXIO);
  } else if (!found) {
    answer(req, Result<Position>(found.error()));
  } else {
    answer(req, Result<Position>(Position{*found}));
  }
}

void op_copy_file_range(fuse_req_t req, fuse_ino_t from, off_t from_offset, fuse_file_info*, fuse_ino_t to,
                        off_t to_offset, fuse_file_info* to_info, std::size_t length, int) {
  note_use(req);
  reply_to_content_change(req, {to, static_cast<std::uint64_t>(to_offset)}, [&]() -> Result<Written> {
    FuseMount& mount = mount_of(req);
    const FuseCaller caller(req);
    DEDUPFS_ASSIGN(const std::uint64_t copied,
                   mount.filesystem().copy_range(from, static_cast<std::uint64_t>(from_offset), to,
                                                 static_cast<std::uint64_t>(to_offset), std::min(length, kMaxCopyBytes),
                                                 caller, is_cancelled(req)));
    settle_mode(req, caller, to);
    DEDUPFS_TRY(sync_if_asked(mount, file_of(to_info)));
    return Written{copied};
  });
}

}  // namespace dedupfs
