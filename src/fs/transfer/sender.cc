#include "fs/transfer/sender.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <type_traits>
#include <unordered_set>
#include <utility>
#include <variant>
#include <vector>

#include "base/printable.h"
#include "fs/format/mode.h"
#include "fs/transfer/content_sender.h"
#include "fs/transfer/frames.h"
#include "fs/transfer/records.h"
#include "fs/transfer/tree_changes.h"
#include "fs/trees/committed_tree.h"
#include "fs/trees/inode_paths.h"
#include "fs/trees/named_inode.h"

namespace dedupfs::transfer {
namespace {

// The snapshots that a request is about.
struct Chosen {
  SnapshotRecord snapshot;
  std::optional<SnapshotRecord> base;
  Position begin;
};

const SnapshotRecord* find_named(const std::vector<SnapshotRecord>& all, const std::string& name) {
  const auto found = std::ranges::find(all, name, &SnapshotRecord::name);
  return found == all.end() ? nullptr : &*found;
}

Result<SnapshotRecord> get_named(const std::vector<SnapshotRecord>& all, const std::string& name) {
  const SnapshotRecord* const found = find_named(all, name);
  if (found == nullptr) return Error{ErrorCode::kNotFound, fmt::format("there is no snapshot '{}'", printable(name))};
  return *found;
}

Result<SnapshotRecord> get_of_token(const std::vector<SnapshotRecord>& all, const std::string& uuid) {
  const auto found = std::ranges::find(all, uuid, &SnapshotRecord::uuid);
  if (found != all.end()) return *found;
  return Error{ErrorCode::kNotFound,
               fmt::format("a snapshot that the token is of, {}, is not here: begin anew with one that is", uuid)};
}

Result<Chosen> choose(Filesystem& filesystem, const SendRequest& request) {
  const std::vector<SnapshotRecord> all = filesystem.snapshots();
  Chosen chosen;
  if (request.resume) {
    const ResumeToken& token = *request.resume;
    if (token.volume != filesystem.volume().superblock().uuid)
      return invalid_argument("the token is of another volume, " + printable(token.volume));
    DEDUPFS_ASSIGN(chosen.snapshot, get_of_token(all, token.snapshot));
    if (!token.base.empty()) {
      DEDUPFS_ASSIGN(chosen.base, get_of_token(all, token.base));
    }
    chosen.begin = token.position;
    if (!request.snapshot.empty() && request.snapshot != chosen.snapshot.name)
      return invalid_argument(fmt::format("the token is of snapshot '{}'", printable(chosen.snapshot.name)));
  } else {
    DEDUPFS_ASSIGN(chosen.snapshot, get_named(all, request.snapshot));
    if (request.since) {
      DEDUPFS_ASSIGN(chosen.base, get_named(all, *request.since));
    }
  }
  if (chosen.base && chosen.base->number >= chosen.snapshot.number)
    return invalid_argument(fmt::format("snapshot '{}' is not older than '{}'", printable(chosen.base->name),
                                        printable(chosen.snapshot.name)));
  return chosen;
}

class Sending {
 public:
  Sending(Filesystem& filesystem, const Chosen& chosen, const SendRequest& request, const StreamSink& sink,
          const WatchSend& watch)
      : filesystem_(filesystem),
        chosen_(chosen),
        watch_(watch),
        state_(std::make_shared<CommittedState>(filesystem.volume().database(), [this] { return watch_(totals_); })),
        sent_(CommittedTree::of_snapshot(state_, chosen.snapshot)),
        sent_paths_(sent_, InodePaths::Keeps::kAllRead),
        frames_(sink, request.level, request.frame_bytes) {
    if (chosen.base) {
      base_.emplace(CommittedTree::of_snapshot(state_, *chosen.base));
      base_paths_.emplace(*base_, InodePaths::Keeps::kAllRead);
    }
    content_.emplace(filesystem, base_ ? &*base_ : nullptr, sent_, totals_,
                     [this](const Record& record) { return emit(record); });
  }

  Result<SendTotals> run() {
    DEDUPFS_TRY(frames_.begin(header().text()));
    DEDUPFS_ASSIGN(const std::vector<InodeNumber> inodes, base_ ? send_changed_names() : send_all_names());
    DEDUPFS_TRY(look_ahead(inodes));
    for (const InodeNumber inode : inodes)
      if (inode != kRootInode) DEDUPFS_TRY(send_inode(inode));
    DEDUPFS_TRY(send_inode(kRootInode));  // the last: whatever changes in it changes its times
    DEDUPFS_TRY(emit(End()));
    DEDUPFS_TRY(frames_.flush());
    totals_.stream_bytes = frames_.bytes();
    DEDUPFS_TRY(watch_(totals_));
    return totals_;
  }

 private:
  SnapshotIdentity identity_of(const SnapshotRecord& snapshot) const {
    return {.volume = filesystem_.volume().superblock().uuid,
            .number = snapshot.number,
            .name = snapshot.name,
            .created_unix_seconds = snapshot.created_unix_seconds,
            .uuid = snapshot.uuid};
  }

  StreamHeader header() const {
    StreamHeader header{.snapshot = identity_of(chosen_.snapshot), .begin = chosen_.begin};
    const auto holds = filesystem_.held_snapshots();
    if (const auto hold = holds.find(chosen_.snapshot.number); hold != holds.end()) {
      header.held_until_released = hold->second.until_released;
      header.held_until_unix_seconds = hold->second.until_unix_seconds;
    }
    if (chosen_.base) header.base = identity_of(*chosen_.base);
    return header;
  }

  Result<std::vector<InodeNumber>> send_all_names() {
    WholeTree tree(sent_);
    DEDUPFS_TRY(tree.visit_names([this](const Record& record) { return send_name(record); }));
    return tree.take_inodes();
  }

  Result<std::vector<InodeNumber>> send_changed_names() {
    changes_.emplace(*base_, sent_);
    DEDUPFS_TRY(changes_->collect());
    for (const InodeNumber inode : changes_->inodes()) base_paths_->want(inode);
    DEDUPFS_TRY(base_paths_->find());
    DEDUPFS_TRY(changes_->visit_names([this](const Record& record) { return send_name(record); }));
    return std::vector(changes_->inodes().begin(), changes_->inodes().end());
  }

  Result<void> send_name(const Record& record) {
    if (step_++ >= chosen_.begin.step) {
      ++totals_.names;
      return emit(record);
    }
    // Other names of the file come later: this one is where the receiver has it.
    if (const auto* made = std::get_if<MadeInode>(&record); made != nullptr && !is_directory(made->mode)) {
      DEDUPFS_ASSIGN(const auto inode, named_inode(sent_, made->inode));
      if (inode && inode->attributes.links > 1) sent_paths_.know(made->inode, {made->parent, made->name});
    }
    return show_life();
  }

  // A receiver gives up a sender that is silent for long.
  Result<void> show_life() {
    constexpr std::chrono::seconds kLongestSilence{30};
    if (std::chrono::steady_clock::now() < last_flush_ + kLongestSilence) return {};
    last_flush_ = std::chrono::steady_clock::now();
    DEDUPFS_TRY(frames_.add(KnownInode{kRootInode, Tree::kNow, kRootInode, "."}));
    return frames_.flush();
  }

  Result<void> look_ahead(const std::vector<InodeNumber>& inodes) {
    for (const InodeNumber inode : inodes) {
      DEDUPFS_ASSIGN(const auto record, named_inode(sent_, inode));
      if (record && is_regular(record->attributes.mode)) totals_.content_bytes += record->attributes.size;
    }
    return emit(Outlook{totals_.content_bytes});
  }

  Result<void> send_inode(InodeNumber inode) {
    DEDUPFS_ASSIGN(const auto record, named_inode(sent_, inode));
    if (!record) return {};  // it was removed
    Result<void> sent = send_named(inode, *record);
    if (sent || sent.error().code() != ErrorCode::kCorruption) return sent;
    for (const auto* const snapshot : {&chosen_.snapshot, chosen_.base ? &*chosen_.base : nullptr})
      if (snapshot != nullptr && !filesystem_.volume().snapshots().find(snapshot->number))
        return Error{ErrorCode::kNotFound,
                     fmt::format("snapshot '{}' was deleted while it was sent", printable(snapshot->name))};
    sent_paths_.want(inode);
    DEDUPFS_TRY(sent_paths_.find());
    return sent.error().with(printable(sent_paths_.path_of(inode)));
  }

  Result<void> send_named(InodeNumber inode, const InodeRecord& record) {
    const Attributes& attributes = record.attributes;
    const bool is_done = step_ < chosen_.begin.step;
    const std::uint64_t begin = is_done ? UINT64_MAX : step_ == chosen_.begin.step ? chosen_.begin.offset : 0;
    ++step_;
    if (is_regular(attributes.mode)) {
      ContentSender::File file{.inode = inode, .size = attributes.size};
      if (base_) {
        DEDUPFS_ASSIGN(const auto before, named_inode(*base_, inode));
        file.was_there = before.has_value();
        file.older_version = file.was_there ? inode : changes_->predecessor_of(inode);
      }
      DEDUPFS_TRY(content_->send(file, begin));
      totals_.done_bytes += attributes.size;
    }
    if (is_done) return show_life();
    ++totals_.inodes;
    DEDUPFS_TRY(send_xattrs(inode));
    return emit(FinishedInode{.inode = inode,
                              .mode = attributes.mode & kPermissionBits,
                              .uid = attributes.uid,
                              .gid = attributes.gid,
                              .size = is_regular(attributes.mode) ? attributes.size : 0,
                              .atime = attributes.atime,
                              .mtime = attributes.mtime,
                              .ctime = attributes.ctime});
  }

  Result<void> send_xattrs(InodeNumber inode) {
    return sent_.walk(Family::kXattrs, encode_inode_key(inode), encode_key_behind(inode),
                      [&](std::string_view key, std::string_view value) -> Result<bool> {
                        DEDUPFS_ASSIGN(const XattrKey place, decode_xattr_key(key));
                        if (place.name.starts_with(kOwnXattrPrefix)) return true;  // of this volume, not of its content
                        DEDUPFS_TRY(emit(Xattr{inode, std::string(place.name), std::string(value)}));
                        return true;
                      });
  }

  // Records name inodes that the receiver may not know yet.
  Result<void> emit(const Record& record) {
    DEDUPFS_TRY(std::visit([this](const auto& sent) { return explain_inodes(sent); }, record));
    DEDUPFS_TRY(frames_.add(record));
    totals_.stream_bytes = frames_.bytes();
    return watch_(totals_);
  }

  template <class Sent>
  Result<void> explain_inodes(const Sent& record) {
    if constexpr (std::is_same_v<Sent, MadeInode>) {
      DEDUPFS_TRY(explain(record.parent));
      known_.insert(record.inode);
    } else if constexpr (std::is_same_v<Sent, KnownInode>) {
      return {};
    } else {
      if constexpr (requires { record.parent; }) DEDUPFS_TRY(explain(record.parent));
      if constexpr (requires { record.source; }) DEDUPFS_TRY(explain(record.source.inode));
      if constexpr (requires { record.sources; })
        for (const ContentPlace& source : record.sources) DEDUPFS_TRY(explain(source.inode));
      if constexpr (requires { record.inode; }) DEDUPFS_TRY(explain(record.inode));
    }
    return {};
  }

  Result<void> explain(InodeNumber inode) {
    if (inode == kRootInode || !known_.insert(inode).second) return {};
    if (base_) {
      DEDUPFS_ASSIGN(const auto before, named_inode(*base_, inode));
      if (before) {
        DEDUPFS_ASSIGN(std::string path, path_in(*base_paths_, inode));
        return frames_.add(KnownInode{inode, Tree::kBase, kRootInode, std::move(path)});
      }
      if (const auto maker = changes_->maker_of(inode)) {
        DEDUPFS_TRY(explain(maker->parent));
        return frames_.add(KnownInode{inode, Tree::kNow, maker->parent, maker->name});
      }
    }
    DEDUPFS_ASSIGN(std::string path, path_in(sent_paths_, inode));
    return frames_.add(KnownInode{inode, Tree::kNow, kRootInode, std::move(path)});
  }

  static Result<std::string> path_in(InodePaths& paths, InodeNumber inode) {
    paths.want(inode);
    DEDUPFS_TRY(paths.find());
    return paths.path_of(inode);
  }

  Filesystem& filesystem_;
  const Chosen& chosen_;
  const WatchSend& watch_;
  SendTotals totals_;
  const std::shared_ptr<CommittedState> state_;
  const CommittedTree sent_;
  std::optional<CommittedTree> base_;
  InodePaths sent_paths_;
  std::optional<InodePaths> base_paths_;
  FrameWriter frames_;
  std::optional<ContentSender> content_;
  std::optional<TreeChanges> changes_;
  std::uint64_t step_ = 0;  // the next one
  std::chrono::steady_clock::time_point last_flush_ = std::chrono::steady_clock::now();
  std::unordered_set<InodeNumber> known_;  // to the receiver
};

}  // namespace

Result<SendTotals> send(Filesystem& filesystem, const SendRequest& request, const StreamSink& sink,
                        const WatchSend& watch) {
  DEDUPFS_ASSIGN(const Chosen chosen, choose(filesystem, request));
  return Sending(filesystem, chosen, request, sink, watch).run();
}

}  // namespace dedupfs::transfer
