// FUSE_WRITE. It keeps the kernel's page cache coherent with writes past the cache: docs/read-path.md, "The kernel's page cache".
#include "mount/fuse/fuse_write.h"

#include <fcntl.h>

#include <functional>
#include <memory>
#include <utility>

#include "mount/fuse/fuse_reply.h"

namespace dedupfs {
namespace {

struct WriteRequest {
  ContentRange range;
  bool durable = false;       // when it returns
  bool may_be_async = false;  // the caller may go on before the write ends
};

Result<Written> write(fuse_req_t req, const WriteRequest& request, ByteSpan bytes) {
  Filesystem& filesystem = mount_of(req).filesystem();
  const FuseCaller caller(req);
  DEDUPFS_TRY(filesystem.write(request.range.inode, request.range.offset, bytes, caller, is_cancelled(req)));
  settle_mode(req, caller, request.range.inode);
  if (request.durable) DEDUPFS_TRY(mount_of(req).sync_file(request.range.inode));
  return Written{bytes.size()};
}

void invalidate_and_answer(fuse_req_t req, const ContentRange& range, const Result<Written>& result) {
  mount_of(req).invalidate(range);
  answer(req, result);
}

// The pages had the new bytes before the request came. The kernel keeps some of them locked until the answer.
void write_through_cache(fuse_req_t req, InodeUse& use, const WriteRequest& request, ByteSpan bytes) {
  FuseMount& mount = mount_of(req);
  use.note_cached();
  const Result<Written> result = attempt(req, [&] { return write(req, request, bytes); });
  // An asynchronous write into the same page may have dropped the page before this request arrived, and a reader may have filled it
  // again with older bytes.
  const bool may_be_stale = use.async_writes;
  answer_content_change(req, request.range, result);
  if (result && may_be_stale) drop_pages_later(mount, request.range);
}

// The effect of a write, for a thread for invalidations.
struct Copy {
  Copy(DirtyBudget::Share its_share, ByteBuffer its_bytes) : share(std::move(its_share)), bytes(std::move(its_bytes)) {}

  DirtyBudget::Share share;
  ByteBuffer bytes;
};

// Pages with older bytes are dropped before the answer, so that later reads come to the daemon. A page that is being read right now is
// locked, so the invalidation waits for that read, which may have older bytes.
void write_past_cache(fuse_req_t req, const OpenFile& file, const WriteRequest& request, ByteSpan bytes) {
  FuseMount& mount = mount_of(req);
  if (request.may_be_async && !file.use->async_writes) file.use->async_writes = true;
  if (file.mode.direct && file.use->kernel_caches && mount.kernel_keeps_pages()) {
    // Pages that were changed through a mapping go out first, or they would be written over this write by its invalidation.
    auto share = mount.copies().acquire(bytes.size(), is_cancelled(req));
    if (!share) return answer(req, Result<Written>(share.error()));
    const auto copy = std::make_shared<const Copy>(std::move(*share), ByteBuffer(bytes.begin(), bytes.end()));
    mount.after_requests([req, request, copy, metered = CurrentRequest::get()] {
      const CurrentRequest current(metered);
      mount_of(req).invalidate(request.range);
      invalidate_and_answer(req, request.range, attempt(req, [&] { return write(req, request, copy->bytes); }));
    });
    return;
  }
  const Result<Written> result = attempt(req, [&] { return write(req, request, bytes); });
  // Checked after the write: a request that read before it, and has older bytes, has left its mark.
  if (!file.use->kernel_caches) return answer(req, result);
  mount.after_requests([req, range = request.range, result, metered = CurrentRequest::get()] {
    const CurrentRequest current(metered);
    invalidate_and_answer(req, range, result);
  });
}

}  // namespace

void op_write(fuse_req_t req, fuse_ino_t inode, const char* buffer, std::size_t size, off_t offset,
              fuse_file_info* info) {
  note_use(req);
  // The kernel asks for an fsync after a synchronous write through its cache, but not after a direct one.
  const bool durable = mount_of(req).is_sync() || (info->flags & O_DSYNC) != 0;
  const WriteRequest request{{inode, static_cast<std::uint64_t>(offset), size}, durable, (info->flags & O_DIRECT) != 0};
  const ByteSpan bytes(reinterpret_cast<const std::uint8_t*>(buffer), size);

  const OpenFile& file = file_of(info);
  if (file.mode.direct || came_directly(*info))
    write_past_cache(req, file, request, bytes);
  else
    write_through_cache(req, *file.use, request, bytes);
}

}  // namespace dedupfs
