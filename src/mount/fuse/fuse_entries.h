// How attributes and names are handed to the kernel, and for how long it may keep them.
//
// Threads: any.
#pragma once

#include <sys/stat.h>

#include "base/result.h"
#include "mount/fuse/fuse_reply.h"

namespace dedupfs {

// The kernel makes all changes of the volume itself, so names and attributes stay valid in its caches.
inline constexpr double kValidSeconds = 86400;
// Of a name. One whose volume changes elsewhere is looked up again soon.
double name_valid_seconds(const FuseMount& mount);

struct stat to_stat(const Attributes& attributes);
struct statx to_statx(const struct stat& attributes, const Timestamp& btime);

Entry to_entry(FuseMount& mount, const Attributes& attributes);
Result<Entry> to_entry(FuseMount& mount, const Result<Attributes>& attributes);
Result<AttributeReply> to_reply(FuseMount& mount, const Result<Attributes>& attributes);

// Returns the result of `body`. If `wanted` (-o sync, or -o dirsync for names), it is durable first.
template <class Body>
auto durably(FuseMount& mount, bool wanted, Body&& body) -> decltype(body()) {
  auto result = body();
  if (!result || !wanted) return result;
  if (const Result<void> synced = mount.sync(); !synced) {
    if constexpr (requires { *result; }) take_back(mount, *result);
    return synced.error();
  }
  return result;
}

// reply(), for operations that change names.
template <class Body>
void reply_to_change(fuse_req_t req, Body&& body) {
  FuseMount& mount = mount_of(req);
  reply(req, [&] { return durably(mount, mount.is_dirsync(), body); });
}

}  // namespace dedupfs
