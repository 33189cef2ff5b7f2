#include "fs/transfer/stream_changes.h"

#include <algorithm>
#include <utility>

#include "base/coding.h"
#include "fs/format/mode.h"

namespace dedupfs::transfer {
namespace {

// Kind, inode, seconds, nanoseconds.
constexpr std::size_t kBytesOfNote = 1 + 8 + 8 + 4;
constexpr std::size_t kReadBytes = 10'000 * kBytesOfNote;

bool is_gone(const Error& error) {
  return error.code() == ErrorCode::kNotFound || error.code() == ErrorCode::kStale;
}

}  // namespace

Result<StreamChanges> StreamChanges::open(Filesystem& filesystem, InodeNumber work_folder, bool goes_on,
                                          std::uint64_t most) {
  StreamChanges changes(filesystem);
  changes.most_ = most;
  auto found = filesystem.lookup(work_folder, kFileName);
  if (!found && found.error().code() == ErrorCode::kNotFound) {
    found = filesystem.make_node(work_folder, kFileName, S_IFREG | 0600, 0, {});
    changes.knows_all_ = !goes_on;
  }
  if (!found) return found.error();
  filesystem.forget(found->inode, 1);
  changes.file_ = found->inode;
  changes.own_ = {work_folder, found->inode};
  if (goes_on) {
    DEDUPFS_TRY(changes.load(found->size));
  } else if (found->size != 0) {
    DEDUPFS_TRY(filesystem.set_attributes(found->inode, {.size = 0}, {}));
  }
  return changes;
}

// A power cut may leave a part of a note at the end: the next ones take its place.
Result<void> StreamChanges::load(std::uint64_t size) {
  const std::uint64_t end = size - size % kBytesOfNote;
  while (saved_bytes_ < end) {
    const std::size_t wanted = std::min<std::uint64_t>(kReadBytes, end - saved_bytes_);
    std::string text;
    DEDUPFS_ASSIGN(const auto pieces, filesystem_->read(file_, saved_bytes_, wanted, AccessTime::kKept));
    for (const PinnedBytes& piece : pieces) text += text_of(piece.bytes);
    if (text.size() != wanted) return corruption("the notes of what the stream has changed are cut");
    Decoder in(text);
    while (in.remaining() != 0) {
      const auto kind = static_cast<Kind>(in.u8());
      const InodeNumber inode = in.u64();
      const auto seconds = static_cast<std::int64_t>(in.u64());
      DEDUPFS_TRY(take(kind, inode, {.seconds = seconds, .nanoseconds = in.u32()}));
    }
    saved_bytes_ += wanted;
  }
  return {};
}

Result<void> StreamChanges::take(Kind kind, InodeNumber inode, const Timestamp& ctime) {
  begun_.erase(inode);
  finished_.erase(inode);
  switch (kind) {
    case Kind::kBegun: begun_.insert(inode); break;
    case Kind::kFinished: finished_.emplace(inode, ctime); break;
    case Kind::kRemoved: removed_.insert(inode); break;
    default: return corruption("the notes of what the stream has changed are malformed");
  }
  if (begun_.size() + finished_.size() + removed_.size() > most_)
    return corruption("the stream changes more inodes than there are");
  return {};
}

Result<void> StreamChanges::note(Kind kind, InodeNumber inode, const Timestamp& ctime) {
  DEDUPFS_TRY(take(kind, inode, ctime));
  Encoder out(unsaved_);
  out.u8(static_cast<std::uint8_t>(kind));
  out.u64(inode);
  out.u64(static_cast<std::uint64_t>(ctime.seconds));
  out.u32(ctime.nanoseconds);
  return {};
}

Result<void> StreamChanges::save() {
  if (unsaved_.empty()) return {};
  DEDUPFS_TRY(filesystem_->write(file_, saved_bytes_, bytes_of(unsaved_), {}, [] { return false; }));
  saved_bytes_ += std::exchange(unsaved_, {}).size();
  return {};
}

Result<bool> StreamChanges::begin(InodeNumber inode, std::optional<TreeNumber> base) {
  if (begun_.contains(inode)) return true;
  if (const auto finished = finished_.find(inode); finished != finished_.end()) {
    DEDUPFS_ASSIGN(const bool is_same, is_as_left(inode, finished->second));
    if (!is_same) return false;
  } else if (base && knows_all_) {
    const auto before = filesystem_->attributes(node_of(*base, inode));
    if (!before && !is_gone(before.error())) return before.error();
    if (!before || !is_regular(before->mode)) return true;
    // Names change only the ctime.
    DEDUPFS_ASSIGN(const Attributes now, filesystem_->attributes(inode));
    if (now.mtime != before->mtime || now.size != before->size) return false;
  } else {
    return true;
  }
  DEDUPFS_TRY(note(Kind::kBegun, inode, {}));
  DEDUPFS_TRY(save());
  return true;
}

Result<void> StreamChanges::note_finished(InodeNumber inode, const Timestamp& ctime) {
  return note(Kind::kFinished, inode, ctime);
}

Result<void> StreamChanges::note_removed(InodeNumber inode) {
  return note(Kind::kRemoved, inode, {});
}

Result<bool> StreamChanges::is_as_left(InodeNumber inode, const Timestamp& ctime) const {
  const auto now = filesystem_->attributes(inode);
  if (!now && !is_gone(now.error())) return now.error();
  return now && now->ctime == ctime;
}

Result<std::vector<InodeNumber>> StreamChanges::find_changed() const {
  std::vector<InodeNumber> changed;
  for (const auto& [inode, ctime] : finished_) {
    DEDUPFS_ASSIGN(const bool is_same, is_as_left(inode, ctime));
    if (!is_same) changed.push_back(inode);
  }
  std::ranges::sort(changed);
  return changed;
}

}  // namespace dedupfs::transfer
