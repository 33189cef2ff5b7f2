#include "fs/namespace/directories.h"

#include <algorithm>
#include <string_view>
#include <utility>
#include <vector>

#include "base/mutex.h"
#include "fs/format/mode.h"
#include "fs/format/records.h"
#include "fs/inodes/inode_record.h"

namespace dedupfs {
namespace {

constexpr std::uint64_t kDotCookie = 1;
constexpr std::uint64_t kDotDotCookie = 2;
constexpr std::size_t kEntriesPerPiece = 128;
static_assert(kDotDotCookie + 1 == kFirstCookie);

DirectoryEntry dot_entry(std::string_view name, std::uint64_t cookie, InodeNumber inode) {
  DirectoryEntry entry;
  entry.name = name;
  entry.cookie = cookie;
  entry.attributes.inode = inode;
  entry.attributes.mode = S_IFDIR;
  return entry;
}

// The cookie at which the stream ends. The directory of the snapshots has no counter of cookies.
std::uint64_t end_of(DirectoryStream& stream, std::uint64_t cookie, Inode& directory) {
  if (directory.number == kSnapshotsInode) return UINT64_MAX;
  if (cookie == 0 || stream.end == 0) {
    const MutexLock lock(directory.mutex);
    stream.end = directory.record.attributes.next_cookie;
  }
  return stream.end;
}

}  // namespace

Result<void> Directories::read(InodeNumber number, std::uint64_t cookie, bool counted,
                               const std::function<bool(const DirectoryEntry&)>& visit, DirectoryStream* stream) {
  DEDUPFS_ASSIGN(const InodePtr directory, table_.get_directory(number));
  if (cookie == 0 && (stream == nullptr || stream->notes_access)) access_times_.note(directory);
  const std::uint64_t end = stream == nullptr ? UINT64_MAX : end_of(*stream, cookie, *directory);
  if (cookie < kDotCookie && !visit(dot_entry(".", kDotCookie, number))) return {};
  if (cookie < kDotDotCookie && !visit(dot_entry("..", kDotDotCookie, parent_of(*directory)))) return {};
  cookie = std::max(cookie, kDotDotCookie);
  if (number == kSnapshotsInode) return snapshots_directory_.read(cookie, counted, visit);
  for (;;) {
    if (cookie >= end) return {};
    // The names must stay until the references to their inodes are counted.
    const NameLocks::Shared lock(names_, number);
    DEDUPFS_ASSIGN(const std::vector<KeyValue> piece,
                   metadata_.list(Family::kCookies, encode_cookie_key(number, cookie + 1), encode_key_behind(number),
                                  kEntriesPerPiece));
    for (const auto& [key, value] : piece) {
      DEDUPFS_ASSIGN(const CookieKey place, decode_cookie_key(key));
      if (place.cookie >= end) return {};
      DEDUPFS_ASSIGN(CookieEntry found, decode_cookie_entry(number, value));
      DirectoryEntry entry;
      entry.name = std::move(found.name);
      entry.cookie = cookie = place.cookie;
      if (counted) references_.add(entry, number, found.inode);
      if (!entry.counted) {
        entry.attributes.inode = found.inode;
        entry.attributes.mode = found.type;
      }
      if (!visit(entry)) {
        if (entry.counted) references_.drop(found.inode, 1);
        return {};
      }
    }
    if (piece.size() < kEntriesPerPiece) return {};
  }
}

}  // namespace dedupfs
