// Answers to FUSE requests: the one place where results and exceptions become replies.
#pragma once

#include <sys/stat.h>
#include <sys/statvfs.h>

#include <cerrno>
#include <string>
#include <type_traits>
#include <vector>

#include "base/guarded.h"
#include "base/result.h"
#include "mount/fuse/errno_map.h"
#include "mount/fuse/fuse_caller.h"
#include "mount/fuse/fuse_mount.h"
#include "mount/fuse/request_meters.h"
#include "store/volume/chunk_store.h"

namespace dedupfs {

inline FuseMount& mount_of(fuse_req_t req) {
  return *static_cast<FuseMount*>(fuse_req_userdata(req));
}

inline OpenFile& file_of(const fuse_file_info* info) {
  return *reinterpret_cast<OpenFile*>(info->fh);
}

// For requests that read or change content or names: settling waits while they come (docs/settling.md). Looking at attributes does not
// count, so a monitor may do that at any time.
inline void note_use(fuse_req_t req) {
  mount_of(req).hold_filesystem()->activity().note();
}

// For requests that may wait long. Any signal makes the kernel interrupt a request, and an answer of EINTR reaches the program whatever it has asked
// for (SA_RESTART). On a local disk no handler interrupts a call, and programs rely on it. So only a caller that is being killed gives up.
inline Filesystem::Cancelled is_cancelled(fuse_req_t req) {
  return [req] { return fuse_req_interrupted(req) != 0 && is_being_killed(fuse_req_ctx(req)->pid); };
}

// The kinds of answers. If the kernel does not take an answer (-ENOENT: the caller was killed), its effects are undone.
struct Entry {
  fuse_entry_param parameters{};
};
struct OpenedFile {
  fuse_file_info info{};
};
struct OpenedDirectory {  // its handle is a DirectoryStream
  fuse_file_info info{};
};
struct CreatedFile {
  Entry entry;
  OpenedFile file;
};
struct AttributeReply {
  struct stat attributes {};
  double timeout_seconds = 0;
};
struct StatxReply {
  struct statx attributes {};
  double timeout_seconds = 0;
};
struct SymlinkTarget {
  std::string path;
};
struct Written {
  std::size_t bytes = 0;
};
struct Position {
  std::uint64_t offset = 0;
};
struct XattrReply {  // a value or a list of names
  std::string value;
  std::size_t room = 0;  // 0: only its size is asked for
};
struct DirectoryReply {
  std::vector<char> bytes;
  std::vector<InodeNumber> counted;  // references that it hands out
};

int send(fuse_req_t req, const Entry& entry);
int send(fuse_req_t req, const OpenedFile& file);
int send(fuse_req_t req, const OpenedDirectory& directory);
int send(fuse_req_t req, const CreatedFile& created);
int send(fuse_req_t req, const AttributeReply& reply);
#if FUSE_VERSION >= FUSE_MAKE_VERSION(3, 18)
// fuse_reply_statx(), or null if the library is older than the headers. A program that names the function does not start with such a library.
decltype(&fuse_reply_statx) statx_reply_of_libfuse();
int send(fuse_req_t req, const StatxReply& reply);
#endif
int send(fuse_req_t req, const SymlinkTarget& target);
int send(fuse_req_t req, const Written& written);
int send(fuse_req_t req, const Position& position);
int send(fuse_req_t req, const XattrReply& reply);
int send(fuse_req_t req, const DirectoryReply& reply);
int send(fuse_req_t req, const struct statvfs& space);
int send(fuse_req_t req, const std::vector<PinnedBytes>& pieces);

template <class T>
void take_back(FuseMount&, const T&) {}
void take_back(FuseMount& mount, const Entry& entry);
void take_back(FuseMount& mount, const OpenedFile& file);
void take_back(FuseMount& mount, const OpenedDirectory& directory);
void take_back(FuseMount& mount, const CreatedFile& created);
void take_back(FuseMount& mount, const DirectoryReply& reply);

// The errno of an error. Errors for the administrator are logged.
int answer_of(const Error& error);

// Returns the Result of `body`. An exception becomes an error. Waits while requests are held up.
template <class Body>
auto attempt(fuse_req_t req, Body&& body) -> decltype(body()) {
  const QuiesceGate::Pass pass(mount_of(req).requests());
  return guarded(body);
}

// For the meter of the current request: an error, or how many bytes of content go or came.
template <class T>
void note_answer(const Result<T>& result) {
  const auto request = CurrentRequest::get();
  if (!request) return;
  if (!result) {
    request->note_error(result.error().code());
  } else if constexpr (std::is_same_v<T, Written>) {
    request->note_bytes(result->bytes);
  } else if constexpr (std::is_same_v<T, std::vector<PinnedBytes>>) {
    for (const PinnedBytes& piece : *result) request->note_bytes(piece.bytes.size());
  }
}

template <class T>
void answer(fuse_req_t req, const Result<T>& result) {
  note_answer(result);
  if (!result) {
    fuse_reply_err(req, answer_of(result.error()));
  } else if constexpr (std::is_void_v<T>) {
    fuse_reply_err(req, 0);
  } else {
    FuseMount& mount = mount_of(req);  // the request is gone after the reply
    const Result<int> sent = guarded([&]() -> Result<int> { return send(req, *result); });
    if (!sent) fuse_reply_err(req, errno_of(sent.error().code()));
    if (!sent || *sent == -ENOENT) survive("taking back an answer", [&] { take_back(mount, *result); });
  }
}

// Makes the kernel ask for the attributes again. It drops no pages, so it does not wait.
inline void forget_attributes(fuse_req_t req, InodeNumber inode) {
  constexpr std::uint64_t kAttributesOnly = UINT64_MAX;
  mount_of(req).invalidate({inode, kAttributesOnly, 0});
}

// Call it after an operation that changed content for `caller`. If set-id bits may be cleared, it makes the kernel forget the
// attributes: after such an operation the kernel asks for sizes and times again, but not for the mode.
inline void settle_mode(fuse_req_t req, const FuseCaller& caller, InodeNumber inode) {
  if (caller.was_asked()) forget_attributes(req, inode);
}

// Answers with the result of `body`: a Result of one of the types above, or of void.
template <class Body>
void reply(fuse_req_t req, Body&& body) {
  answer(req, attempt(req, body));
}

// Drops pages after the running requests. The request is gone: it cannot be answered again.
inline void drop_pages_later(FuseMount& mount, const ContentRange& range) {
  survive("dropping pages", [&] { mount.after_requests([&mount, range] { mount.invalidate(range); }); });
}

// Answers a change of content. After a success the kernel drops its pages itself. After an error they are dropped here.
template <class T>
void answer_content_change(fuse_req_t req, const ContentRange& range, const Result<T>& result) {
  FuseMount& mount = mount_of(req);
  answer(req, result);
  if (!result) drop_pages_later(mount, range);
}

template <class Body>
void reply_to_content_change(fuse_req_t req, const ContentRange& range, Body&& body) {
  answer_content_change(req, range, attempt(req, body));
}

}  // namespace dedupfs
