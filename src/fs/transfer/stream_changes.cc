#include "fs/transfer/stream_changes.h"

#include <algorithm>
#include <utility>

#include "base/coding.h"
#include "fs/format/mode.h"
#include "fs/format/records.h"
#include "fs/trees/named_inode.h"

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

bool StreamChanges::is_in(Filesystem& filesystem, InodeNumber work_folder) {
  const auto found = filesystem.lookup(work_folder, kFileName);
  if (found) filesystem.forget(found->inode, 1);
  return found.has_value();
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
  if (kind < Kind::kBegun || kind > Kind::kMade)
    return corruption("the notes of what the stream has changed are malformed");
  State& state = states_[inode];
  // Numbers are used once, and what the stream makes makes room for itself.
  if (kind == Kind::kMade && !std::exchange(state.is_made, true)) ++most_;
  state.kind = kind;
  state.ctime = ctime;
  if (states_.size() > most_) return corruption("the stream changes more inodes than there are");
  return {};
}

bool StreamChanges::is(Kind kind, InodeNumber inode) const {
  const auto found = states_.find(inode);
  return found != states_.end() && found->second.kind == kind;
}

bool StreamChanges::has_made(InodeNumber inode) const {
  const auto found = states_.find(inode);
  return found != states_.end() && found->second.is_made;
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
  if (is(Kind::kBegun, inode)) return true;
  if (is(Kind::kFinished, inode)) {
    const auto now = filesystem_->attributes(inode);
    if (!now && !is_gone(now.error())) return now.error();
    if (!now || now->ctime != states_.at(inode).ctime) return false;
  } else if (base && !has_made(inode)) {
    const auto before = filesystem_->attributes(node_of(*base, inode));
    if (!before && !is_gone(before.error())) return before.error();
    if (!before && !filesystem_->volume().snapshots().find(*base))
      return Error{ErrorCode::kNotFound, "the snapshot on which the stream builds was deleted meanwhile"};
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

Result<void> StreamChanges::note_made(InodeNumber inode) {
  return note(Kind::kMade, inode, {});
}

Result<void> StreamChanges::note_finished(InodeNumber inode, const Timestamp& ctime) {
  return note(Kind::kFinished, inode, ctime);
}

Result<void> StreamChanges::note_removed(InodeNumber inode) {
  return note(Kind::kRemoved, inode, {});
}

Result<std::vector<InodeNumber>> StreamChanges::find_changed(
    const CommittedTree& tree, const std::optional<std::vector<InodeNumber>>& whole) const {
  std::vector<InodeNumber> changed;
  for (const auto& [inode, state] : states_) {
    if (state.kind != Kind::kFinished) continue;
    DEDUPFS_ASSIGN(const auto now, named_inode(tree, inode));
    if (!now || now->attributes.ctime != state.ctime) changed.push_back(inode);
    if (whole && now && is_directory(now->attributes.mode)) DEDUPFS_TRY(find_foreign(tree, inode, changed));
  }
  for (const InodeNumber folder : whole.value_or(std::vector<InodeNumber>()))
    DEDUPFS_TRY(find_foreign(tree, folder, changed));
  std::ranges::sort(changed);
  return changed;
}

Result<void> StreamChanges::find_foreign(const CommittedTree& tree, InodeNumber folder,
                                         std::vector<InodeNumber>& found) const {
  return tree.walk(Family::kDirents, encode_inode_key(folder), encode_key_behind(folder),
                   [&](std::string_view, std::string_view value) -> Result<bool> {
                     DEDUPFS_ASSIGN(const Dirent entry, decode_dirent(folder, value));
                     if (!has_finished(entry.inode)) found.push_back(entry.inode);
                     return true;
                   });
}

}  // namespace dedupfs::transfer
