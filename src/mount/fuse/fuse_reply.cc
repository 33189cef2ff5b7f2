#include "mount/fuse/fuse_reply.h"

#include <dlfcn.h>
#include <spdlog/spdlog.h>
#include <sys/uio.h>

#include <climits>
#include <memory>

namespace dedupfs {

int send(fuse_req_t req, const Entry& entry) {
  return fuse_reply_entry(req, &entry.parameters);
}
int send(fuse_req_t req, const OpenedFile& file) {
  return fuse_reply_open(req, &file.info);
}
int send(fuse_req_t req, const OpenedDirectory& directory) {
  return fuse_reply_open(req, &directory.info);
}
int send(fuse_req_t req, const CreatedFile& created) {
  return fuse_reply_create(req, &created.entry.parameters, &created.file.info);
}
int send(fuse_req_t req, const AttributeReply& reply) {
  return fuse_reply_attr(req, &reply.attributes, reply.timeout_seconds);
}
#if FUSE_VERSION >= FUSE_MAKE_VERSION(3, 18)
decltype(&fuse_reply_statx) statx_reply_of_libfuse() {
  static const auto function = reinterpret_cast<decltype(&fuse_reply_statx)>(::dlsym(RTLD_DEFAULT, "fuse_reply_statx"));
  return function;
}

int send(fuse_req_t req, const StatxReply& reply) {
  struct statx attributes = reply.attributes;
  return statx_reply_of_libfuse()(req, 0, &attributes, reply.timeout_seconds);
}
#endif
int send(fuse_req_t req, const SymlinkTarget& target) {
  return fuse_reply_readlink(req, target.path.c_str());
}
int send(fuse_req_t req, const Written& written) {
  return fuse_reply_write(req, written.bytes);
}
int send(fuse_req_t req, const Position& position) {
  return fuse_reply_lseek(req, static_cast<off_t>(position.offset));
}
int send(fuse_req_t req, const struct statvfs& space) {
  return fuse_reply_statfs(req, &space);
}
int send(fuse_req_t req, const DirectoryReply& reply) {
  return fuse_reply_buf(req, reply.bytes.data(), reply.bytes.size());
}

int send(fuse_req_t req, const XattrReply& reply) {
  if (reply.room == 0) return fuse_reply_xattr(req, reply.value.size());
  if (reply.value.size() > reply.room) return fuse_reply_err(req, ERANGE);
  return fuse_reply_buf(req, reply.value.data(), reply.value.size());
}

int send(fuse_req_t req, const std::vector<PinnedBytes>& pieces) {
  std::vector<iovec> vector;
  vector.reserve(pieces.size());
  std::size_t total = 0;
  for (const PinnedBytes& piece : pieces) {
    vector.push_back({const_cast<std::uint8_t*>(piece.bytes.data()), piece.bytes.size()});
    total += piece.bytes.size();
  }
  // libfuse puts a header in front.
  if (vector.size() < IOV_MAX) return fuse_reply_iov(req, vector.data(), static_cast<int>(vector.size()));

  std::vector<char> joined;
  joined.reserve(total);
  for (const PinnedBytes& piece : pieces) joined.insert(joined.end(), piece.bytes.begin(), piece.bytes.end());
  return fuse_reply_buf(req, joined.data(), joined.size());
}

void take_back(FuseMount& mount, const Entry& entry) {
  if (entry.parameters.ino != 0) mount.hold_filesystem()->forget(entry.parameters.ino, 1);
}

void take_back(FuseMount& mount, const OpenedFile& file) {
  std::unique_ptr<OpenFile> open(reinterpret_cast<OpenFile*>(file.info.fh));
  const InodeNumber inode = open->inode;
  const bool writer = open->mode.writer;
  mount.open_files().close(std::move(open));
  mount.hold_filesystem()->release_file(inode, writer);
}

void take_back(FuseMount&, const OpenedDirectory& directory) {
  const std::unique_ptr<DirectoryStream> stream(reinterpret_cast<DirectoryStream*>(directory.info.fh));
}

void take_back(FuseMount& mount, const CreatedFile& created) {
  take_back(mount, created.file);
  take_back(mount, created.entry);
}

void take_back(FuseMount& mount, const DirectoryReply& reply) {
  for (const InodeNumber inode : reply.counted) mount.hold_filesystem()->forget(inode, 1);
}

int answer_of(const Error& error) {
  switch (error.code()) {
    case ErrorCode::kCorruption:
    case ErrorCode::kIo:
    case ErrorCode::kNoMemory: spdlog::error("{}", error.message()); break;
    default: break;
  }
  return errno_of(error.code());
}

}  // namespace dedupfs
