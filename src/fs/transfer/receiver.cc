#include "fs/transfer/receiver.h"

#include <fmt/format.h>

#include <algorithm>
#include <ctime>
#include <set>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "base/printable.h"
#include "fs/format/mode.h"
#include "fs/format/records.h"
#include "fs/transfer/attributes_receiver.h"
#include "fs/transfer/content_receiver.h"
#include "fs/transfer/frames.h"
#include "fs/transfer/name_receiver.h"
#include "fs/transfer/received_folder.h"
#include "fs/transfer/records.h"
#include "fs/transfer/stream_changes.h"
#include "fs/transfer/stream_inodes.h"
#include "fs/transfer/work_folder.h"

namespace dedupfs::transfer {
namespace {

// How many steps and bytes of content may be done again after an interruption.
constexpr std::uint64_t kNoteSteps = 64;
constexpr std::uint64_t kNoteBytes = 8 << 20;
constexpr std::uint64_t kSpareKnown = 1000;

class Receiving {
 public:
  Receiving(Filesystem& filesystem, const ReceiveRequest& request, const StreamSource& source,
            const WatchReceive& watch, const ForgetChanged& forget)
      : filesystem_(filesystem),
        request_(request),
        watch_(watch),
        forget_(forget),
        frames_(source),
        content_(
            filesystem, [this](InodeNumber inode) { return known(inode); }, [this] { return watch_(totals_); }),
        attributes_(filesystem) {}

  Result<ReceiveTotals> run() {
    DEDUPFS_ASSIGN(const std::string header, frames_.begin());
    DEDUPFS_ASSIGN(header_, StreamHeader::parse(header));
    totals_.snapshot_name = request_.snapshot_name.empty() ? header_.snapshot.name : request_.snapshot_name;
    DEDUPFS_ASSIGN(auto folder, ReceivedFolder::open(filesystem_, request_.folder, /*make=*/true));
    folder_.emplace(std::move(folder));
    inodes_.emplace(filesystem_, *folder_);
    if (folder_->made_name()) changed_.push_back(*folder_->made_name());
    DEDUPFS_TRY(prepare());
    const auto receive_all = [this]() -> Result<void> {
      DEDUPFS_TRY(take_records());
      return make_snapshot();
    };
    const Result<void> received = receive_all();
    if (content_.opened() != 0) changed_.push_back({content_.opened(), std::nullopt});
    content_.close();
    const Result<void> ended = received ? received : interrupted(received.error());
    forget_(std::exchange(changed_, {}));
    if (!ended) return ended.error();
    return totals_;
  }

 private:
  // ---------------------------------------------------------------- before the first change

  Result<void> prepare() {
    DEDUPFS_TRY(Filesystem::check_snapshot_name(totals_.snapshot_name));
    if (header_.base) {
      DEDUPFS_ASSIGN(base_, folder_->find_copy(*header_.base));
      if (!base_)
        return Error{ErrorCode::kNotFound,
                     fmt::format("no snapshot here is a copy of '{}' of volume {}, on which the stream builds: send "
                                 "without --since, or since one that is here",
                                 printable(header_.base->name), printable(header_.base->volume))};
      content_.use_base(base_->snapshot.number);
      DEDUPFS_ASSIGN(auto names, folder_->received_names(*base_));
      inodes_->use_base(*base_, std::move(names));
    }
    DEDUPFS_ASSIGN(auto before, folder_->state());
    if (before && !before->has_snapshot) {
      DEDUPFS_ASSIGN(const auto copy, folder_->find_unnoted_copy(*before));
      if (copy && before->snapshot == header_.snapshot) return only_finish(*copy, *before);
      before->has_snapshot = copy.has_value();
    }
    DEDUPFS_TRY(folder_->check_fits(header_, before));
    DEDUPFS_TRY(folder_->check_quotas());
    is_fresh_ = !before || before->has_snapshot;
    state_ = {.snapshot = header_.snapshot, .position = header_.begin};
    if (header_.base) state_.base = header_.base->uuid;
    if (!is_fresh_) {
      state_.made_from = before->made_from;
      if (before->is_complete) {
        was_complete_ = state_.is_complete = true;
        state_.position = before->position;
      }
      // A crash may have come between the last note of what was made and the next one.
      maybe_made_from_ = before->position.step;
      maybe_made_until_ = before->is_stopped ? 0 : before->position.step + kNoteSteps;
    }
    const auto all = filesystem_.snapshots();
    if (std::ranges::find(all, totals_.snapshot_name, &SnapshotRecord::name) == all.end()) return {};
    return Error{ErrorCode::kExists,
                 fmt::format("there is a snapshot '{0}' here already: dedupfs-receive --as NAME gives the new one "
                             "another name",
                             printable(totals_.snapshot_name))};
  }

  // A stream that was interrupted at its very end: the snapshot is there, maybe without its hold.
  Result<void> only_finish(const ReceivedFolder::Copy& copy, const ReceivedState& before) {
    state_ = before;
    totals_.snapshot_name = copy.snapshot.name;
    has_snapshot_ = true;
    return {};
  }

  // ---------------------------------------------------------------- records

  Result<void> take_records() {
    for (;;) {
      DEDUPFS_ASSIGN(const Record record, frames_.next());
      if (has_snapshot_) {  // the rest is of no interest
        if (std::holds_alternative<End>(record)) return end();
        continue;
      }
      if (!has_begun_) DEDUPFS_TRY(begin());
      if (std::holds_alternative<End>(record)) return end();
      DEDUPFS_TRY(std::visit([this](const auto& one) { return take(one); }, record));
      totals_.stream_bytes = frames_.bytes();
      DEDUPFS_TRY(watch_(totals_));
      DEDUPFS_TRY(note_now_and_then());
    }
  }

  Result<void> begin() {
    has_begun_ = true;
    has_noted_ = !is_fresh_;
    DEDUPFS_ASSIGN(work_, WorkFolder::find(filesystem_, folder_->inode(), header_.snapshot));
    if (was_complete_) return {};
    InodeNumber left = 0;  // by a stream that broke before anything was noted of it
    if (is_fresh_) {
      if (work_) left = work_->inode();
      DEDUPFS_TRY(remove_work());
      if (base_) DEDUPFS_TRY(folder_->check_unchanged(*base_, inodes_->base_names()));
      DEDUPFS_ASSIGN(work_, WorkFolder::make(filesystem_, folder_->inode(), header_.snapshot));
      state_.made_from = work_->inode();
    } else if (!work_ || !StreamChanges::is_in(filesystem_, work_->inode())) {
      return changed_by_others(ReceivedFolder::without_notes(base_));
    }
    DEDUPFS_ASSIGN(const SpaceReport space, filesystem_.space());
    const std::uint64_t most = space.inodes + (base_ ? base_->snapshot.inodes : 0) + kSpareKnown;
    names_.emplace(filesystem_, work_->inode());
    changed_.push_back(work_->name());
    DEDUPFS_ASSIGN(auto changes, StreamChanges::open(filesystem_, work_->inode(), !is_fresh_, most));
    changes_.emplace(std::move(changes));
    inodes_->begin(*changes_, most);
    if (left != 0) DEDUPFS_TRY(changes_->note_removed(left));
    has_noted_ = true;
    return note();
  }

  Result<void> note() {
    if (changes_) DEDUPFS_TRY(changes_->save());
    return folder_->note(state_);
  }

  // Interruptions lose what came behind the last note: a stream that goes on there does it again, with the same outcome.
  Result<void> note_now_and_then() {
    const Position& now = state_.position;
    if (now.step < noted_.step + kNoteSteps && (now.step != noted_.step || now.offset < noted_.offset + kNoteBytes))
      return {};
    noted_ = now;
    forget_(std::exchange(changed_, {}));
    return note();
  }

  template <class Taken>
  Result<void> take(const Taken& record) {
    if (was_complete_ && !concerns_folder(record)) return {};  // all else was done before an interruption
    if constexpr (!std::is_same_v<Taken, MadeInode> && !std::is_same_v<Taken, KnownInode>) nothing_is_undone();
    DEDUPFS_TRY(apply(record));
    constexpr bool is_name =
        std::is_same_v<Taken, RemovedName> || std::is_same_v<Taken, MadeInode> || std::is_same_v<Taken, PlacedName>;
    if constexpr (is_name) {
      ++totals_.names;
      changed_.push_back({inodes_->number_of(record.parent), record.name});
    }
    if constexpr (std::is_same_v<Taken, FinishedInode>)
      changed_.push_back({inodes_->number_of(record.inode), std::nullopt});
    bool is_step = is_name;
    if constexpr (std::is_same_v<Taken, FinishedInode>)
      is_step = !is_folder(inodes_->number_of(record.inode));  // that waits
    if (is_step) state_.position = {.step = state_.position.step + 1, .offset = 0};
    return {};
  }

  template <class Taken>
  static bool concerns_folder(const Taken& record) {
    if constexpr (std::is_same_v<Taken, Xattr> || std::is_same_v<Taken, FinishedInode>)
      return record.inode == kRootInode;
    return false;
  }

  void nothing_is_undone() {
    has_only_made_ = false;
    made_in_folder_ = {};
  }

  bool is_folder(InodeNumber inode) const { return inode == folder_->inode(); }

  // The rest of the stream would mend nothing.
  Error changed_by_others(const Error& error) {
    is_changed_by_others_ = error.code() == ErrorCode::kBusy;
    return error;
  }

  // Somebody else's changes are not written over, and then taken for the stream's.
  Result<void> begin_change(InodeNumber inode) {
    DEDUPFS_ASSIGN(const InodeNumber number, known(inode));
    if (is_folder(number)) return {};
    DEDUPFS_ASSIGN(const bool is_ours,
                   changes_->begin(number, base_ ? std::optional(base_->snapshot.number) : std::nullopt));
    if (is_ours) return {};
    DEDUPFS_ASSIGN(const Error error, folder_->changed_meanwhile(base_, {number}));
    return changed_by_others(error);
  }

  Result<InodeNumber> known(InodeNumber inode) const { return inodes_->find(inode); }

  Result<void> apply(const End&) { return {}; }
  // All names have come.
  Result<void> apply(const Outlook& outlook) {
    totals_.content_bytes = outlook.content_bytes;
    return work_->empty();
  }

  Result<void> apply(const KnownInode& known_inode) { return inodes_->apply(known_inode); }

  Result<void> apply(const RemovedName& removed) {
    DEDUPFS_ASSIGN(const InodeNumber parent, known(removed.parent));
    DEDUPFS_ASSIGN(const InodeNumber inode, known(removed.inode));
    // No sender does this. So there are as many inodes as were made and known.
    if (changes_->has_made(inode)) return corruption("the stream takes away what it has made");
    DEDUPFS_TRY(inodes_->check_brought(parent, removed.name));
    if (!removed.inode_stays) DEDUPFS_TRY(changes_->note_removed(inode));
    return names_->remove(parent, removed.name, inode, removed.inode_stays);
  }

  Result<void> apply(const MadeInode& made) {
    DEDUPFS_ASSIGN(const InodeNumber parent, known(made.parent));
    if (!is_known_type(made.mode)) return corruption(fmt::format("the stream has a file of type {:o}", made.mode));
    const auto there = find_entry(filesystem_, parent, made.name);
    if (there) {
      // It may be there since an interruption.
      const bool is_noted = changes_->has_made(there->inode);
      const bool may_be = state_.position.step >= maybe_made_from_ && state_.position.step < maybe_made_until_;
      const bool is_ours = is_noted || (may_be && there->inode > state_.made_from && there->inode < kLastInode);
      if (!is_ours || type_bits(there->mode) != type_bits(made.mode)) return NameReceiver::in_the_way(made.name);
      if (!is_noted) DEDUPFS_TRY(changes_->note_made(there->inode));
      return inodes_->found(made.inode, there->inode);
    }
    if (there.error().code() != ErrorCode::kNotFound) return there.error().with(printable(made.name));
    DEDUPFS_TRY(count_name(parent, made.name));
    DEDUPFS_ASSIGN(const InodeNumber inode, names_->make(parent, made));
    DEDUPFS_TRY(changes_->note_made(inode));
    if (has_only_made_ && parent == folder_->inode()) made_in_folder_.emplace_back(made.name, is_directory(made.mode));
    return inodes_->made(made.inode, inode);
  }

  Result<void> apply(const PlacedName& placed) {
    DEDUPFS_ASSIGN(const InodeNumber parent, known(placed.parent));
    DEDUPFS_ASSIGN(const InodeNumber inode, known(placed.inode));
    DEDUPFS_TRY(count_name(parent, placed.name));
    return names_->place(parent, placed.name, inode);
  }

  // Those of the root can be too many to be noted: better said now than at the end.
  Result<void> count_name(InodeNumber parent, const std::string& name) {
    if (!is_folder(parent) || !folder_->is_root()) return {};
    bytes_of_new_names_ += name.size() + 1;
    return ReceivedFolder::check_length_of_names(bytes_of_new_names_);
  }

  template <class Content>
  Result<void> apply_content(const Content& content, std::uint64_t length) {
    DEDUPFS_TRY(begin_change(content.inode));
    DEDUPFS_TRY(content_.apply(content));
    state_.position.offset = content.offset + length;
    totals_.done_bytes = finished_bytes_ + state_.position.offset;
    return {};
  }
  Result<void> apply(const NewContent& content) { return apply_content(content, content.bytes.size()); }
  Result<void> apply(const DeltaContent& content) { return apply_content(content, content.length); }
  Result<void> apply(const CopiedContent& content) { return apply_content(content, content.source.length); }
  Result<void> apply(const Hole& hole) { return apply_content(hole, hole.length); }

  Result<void> apply(const Xattr& xattr) {
    DEDUPFS_TRY(begin_change(xattr.inode));
    DEDUPFS_ASSIGN(const InodeNumber number, known(xattr.inode));
    return attributes_.apply(number, xattr);
  }

  Result<void> apply(const FinishedInode& finished) {
    DEDUPFS_TRY(begin_change(finished.inode));
    DEDUPFS_ASSIGN(const InodeNumber number, known(finished.inode));
    content_.close();
    DEDUPFS_TRY(attributes_.remove_other_xattrs(number));
    if (is_folder(number)) {
      finished_folder_ = finished;
    } else {
      DEDUPFS_TRY(attributes_.apply(number, finished));
      DEDUPFS_TRY(changes_->note_finished(number, finished.ctime));
    }
    finished_bytes_ += finished.size;
    totals_.done_bytes = finished_bytes_;
    ++totals_.inodes;
    return {};
  }

  Result<void> remove_work() {
    if (!work_) return {};
    changed_.push_back(work_->name());
    return work_->remove();
  }

  Result<void> end() {
    totals_.stream_bytes = frames_.bytes();
    if (!finished_folder_ && !has_snapshot_) return corruption("the stream ends without its root folder");
    return frames_.expect_end();
  }

  Result<void> finish_folder() {
    if (!was_complete_) {
      DEDUPFS_ASSIGN(names_that_count_, folder_->note_names(inodes_->base_names(), *changes_));
      DEDUPFS_TRY(filesystem_.sync());
      DEDUPFS_TRY(look_for_changes(std::nullopt));
    }
    state_.is_complete = true;
    // The sender's clock may be fast.
    state_.dated_unix_seconds = std::min<std::int64_t>(header_.snapshot.created_unix_seconds, std::time(nullptr));
    DEDUPFS_TRY(note());
    DEDUPFS_TRY(remove_work());
    return attributes_.apply(folder_->inode(), *finished_folder_);
  }

  Result<void> look_for_changes(const std::optional<SnapshotRecord>& snapshot) {
    if (was_complete_) return {};  // nothing is known any more of what the stream has changed
    const auto checked = folder_->check_changes(base_, names_that_count_, *changes_, snapshot);
    return checked ? checked : changed_by_others(checked.error());
  }

  // What others change at the last moment would be in the snapshot, so it is the snapshot that is looked at, too.
  Result<void> make_snapshot() {
    if (!has_snapshot_) {
      DEDUPFS_TRY(finish_folder());
      const auto made = filesystem_.create_snapshot(totals_.snapshot_name, state_.dated_unix_seconds,
                                                    [this](const auto& one) { return look_for_changes(one); });
      if (is_changed_by_others_) state_.is_complete = false;
      if (!made) return made.error();
    }
    if (header_.held_until_unix_seconds && *header_.held_until_unix_seconds > std::time(nullptr))
      DEDUPFS_TRY(filesystem_.hold_snapshot(totals_.snapshot_name, header_.held_until_unix_seconds));
    if (header_.held_until_released) DEDUPFS_TRY(filesystem_.hold_snapshot(totals_.snapshot_name, std::nullopt));
    state_.has_snapshot = true;
    DEDUPFS_TRY(folder_->note(state_));
    return filesystem_.sync();
  }

  // What was made becomes durable, and the error says how to go on.
  Result<void> interrupted(const Error& error) {
    if (!has_noted_) return error;
    if (error.code() == ErrorCode::kExists && is_fresh_ && has_only_made_ &&
        state_.position.step == made_in_folder_.size())
      return undone(error);
    if (!state_.is_complete) {
      state_.is_stopped = true;
      if (const auto noted = note(); !noted) return error.with(noted.error().message());
    }
    if (const auto synced = filesystem_.sync(); !synced) return error.with(synced.error().message());
    if (is_changed_by_others_) return error;
    return Error{error.code(), fmt::format("{}. What came until now is kept; to go on: dedupfs-send --resume {}",
                                           error.message(), state_.token().text())};
  }

  // Nothing was done yet but some names in the folder, which are all new: the folder is as it was.
  Result<void> undone(const Error& error) {
    for (const auto& [name, is_folder] : made_in_folder_) changed_.push_back({folder_->inode(), name});
    DEDUPFS_TRY(remove_entries(filesystem_, folder_->inode(), made_in_folder_));
    DEDUPFS_TRY(remove_work());
    DEDUPFS_TRY(filesystem_.remove_xattr(folder_->inode(), ReceivedState::kXattr));
    return error;
  }

  Filesystem& filesystem_;
  const ReceiveRequest& request_;
  const WatchReceive& watch_;
  const ForgetChanged& forget_;
  FrameReader frames_;
  StreamHeader header_;
  ReceiveTotals totals_;
  std::optional<ReceivedFolder> folder_;
  std::optional<ReceivedFolder::Copy> base_;
  std::set<std::string> names_that_count_;  // in the root of the volume: of the base, and of what was made of it
  std::size_t bytes_of_new_names_ = 0;
  std::uint64_t maybe_made_from_ = 0;  // steps
  std::uint64_t maybe_made_until_ = 0;
  ReceivedState state_;
  Position noted_;
  std::vector<ChangedName> changed_;  // that caches were not told about
  bool is_fresh_ = true;              // nothing of this stream came before
  bool was_complete_ = false;         // everything came before, and the snapshot was not made
  bool has_begun_ = false;
  bool has_noted_ = false;
  bool is_changed_by_others_ = false;
  bool has_snapshot_ = false;  // an interrupted stream has made it
  bool has_only_made_ = true;  // inodes, and no more: then all of them can be taken away again
  NamedEntries made_in_folder_;
  std::optional<WorkFolder> work_;
  std::optional<NameReceiver> names_;
  std::optional<StreamInodes> inodes_;
  std::optional<StreamChanges> changes_;
  ContentReceiver content_;
  AttributesReceiver attributes_;
  std::optional<FinishedInode> finished_folder_;  // the last one: whatever changes in it changes its times
  std::uint64_t finished_bytes_ = 0;
};

}  // namespace

Result<ReceiveTotals> receive(Filesystem& filesystem, const ReceiveRequest& request, const StreamSource& source,
                              const WatchReceive& watch, const ForgetChanged& forget) {
  return Receiving(filesystem, request, source, watch, forget).run();
}

Result<std::optional<ReceivedState>> find_received(Filesystem& filesystem, const std::string& folder) {
  DEDUPFS_ASSIGN(const ReceivedFolder opened, ReceivedFolder::open(filesystem, folder, /*make=*/false));
  DEDUPFS_ASSIGN(auto state, opened.state());
  if (state && !state->has_snapshot) {
    DEDUPFS_ASSIGN(const auto copy, opened.find_unnoted_copy(*state));
    state->has_snapshot = copy.has_value();
  }
  return state;
}

}  // namespace dedupfs::transfer
