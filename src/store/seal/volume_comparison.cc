// The list of files of an encrypted volume: comparing with it, and writing it.
#include <fmt/chrono.h>
#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <ctime>
#include <utility>

#include "base/crash_point.h"
#include "store/format/format.h"
#include "store/seal/key_header.h"
#include "store/seal/sealed_names.h"
#include "store/seal/sealed_tree.h"

namespace dedupfs {
namespace {

std::int64_t unix_now() {
  return std::chrono::duration_cast<std::chrono::seconds>(std::chrono::system_clock::now().time_since_epoch()).count();
}

std::string utc_text(std::int64_t unix_seconds) {
  return fmt::format("{:%Y-%m-%d %H:%M:%S} UTC", fmt::gmtime(static_cast<std::time_t>(unix_seconds)));
}

}  // namespace

// Leaves what is known if the record is the one that was read before.
void SealedTree::load_record() {
  auto found = read_volume_record(*folder_, key_);
  if (found && found->is_copy)
    spdlog::warn("{} is missing or damaged, and its copy is read", (folder_->path() / kVolumeRecordFile).string());
  if (found && found->mark == record_mark_) return;
  record_mark_ = found ? std::optional(found->mark) : std::nullopt;
  is_compared_ = false;
  last_ = found ? std::move(found->record) : VolumeRecord{.is_recounted = true};
  const MutexLock lock(mutex_);
  evidence_ = !found ? Evidence::kNone : last_.is_closed ? Evidence::kList : Evidence::kListAndSession;
  sessions_ = {session_};
  if (evidence_ == Evidence::kListAndSession) sessions_.push_back(last_.session);
  marks_ = std::exchange(last_.files, {});
}

Result<void> SealedTree::lock_is_held() {
  const MutexLock lock(change_mutex_);
  if (purpose_ != Purpose::kVolume || is_changed_) return {};
  load_record();
  return is_compared_ ? Result<void>() : compare(Depth::kMount);
}

Result<void> SealedTree::compare_all() {
  const MutexLock lock(change_mutex_);
  return purpose_ == Purpose::kVolume && !is_changed_ ? compare(Depth::kAll) : Result<void>();
}

VolumeRecord SealedTree::last_record() const {
  const MutexLock lock(change_mutex_);
  return last_;
}

std::vector<Error> SealedTree::differences() const {
  const MutexLock lock(change_mutex_);
  return differences_;
}

Result<void> SealedTree::differs(const std::string& path, const std::string& how) {
  const Error difference = corruption((folder_->path() / path).string() + ' ' + how);
  DEDUPFS_TRY(judge_(difference));
  differences_.push_back(difference);
  differing_.insert(path);
  return {};
}

// For a person who knows better: nothing else can tell that the whole volume is an older one.
void SealedTree::log_generation() const {
  const std::string generation =
      fmt::format("{} is in generation {}{}, under master key {}", folder_->path().string(), last_.generation,
                  last_.is_recounted ? " (counted anew since its record was lost)" : "", key_->number());
  const std::string when = utc_text(last_.unix_seconds);
  if (last_.is_closed)
    spdlog::info("{}, unmounted {}", generation, when);
  else
    spdlog::warn(
        "{}, opened {} and not unmounted since: older and newer states of what was written then are not told from each "
        "other",
        generation, when);
}

Result<void> SealedTree::compare(Depth depth) {
  differences_.clear();
  differing_.clear();
  postponed_.clear();
  if (!record_mark_) {
    DEDUPFS_ASSIGN(const bool is_there, folder_->exists(kVolumeRecordFile));
    DEDUPFS_TRY(differs(std::string(kVolumeRecordFile),
                        is_there ? fmt::format("does not open with master key {}: it is damaged, or {} is an older "
                                               "one, of before another master key "
                                               "was made. Nobody can tell whether files were rolled back",
                                               key_->number(), kSuperblockFile)
                                 : std::string("is missing: nobody can tell whether files were rolled back")));
    is_compared_ = true;
    return {};
  }
  if (depth == Depth::kMount) log_generation();
  std::set<std::string> seen;
  DEDUPFS_TRY(for_each_noted_file([&](BackingFolder& folder, const std::string& name, const std::string& path) {
    change_mutex_.assert_held();
    seen.insert(path);
    return compare_file(folder, name, path, depth);
  }));
  std::vector<std::string> missing;
  {
    const MutexLock lock(mutex_);
    for (const auto& [path, mark] : marks_)
      if (!seen.contains(path)) missing.push_back(path);
  }
  for (const std::string& path : missing) {
    const bool may_be_missing = !is_noted(path) || is_of_former_index(path);  // builds before listed all that lay there
    if (last_.is_closed && !may_be_missing)
      DEDUPFS_TRY(differs(path, "is missing, and was there when the volume was unmounted"));
    const MutexLock lock(mutex_);
    // As far as anybody can tell, it was removed before the crash.
    if (!last_.is_closed || may_be_missing) marks_.erase(path);
  }
  is_compared_ = true;
  return {};
}

// A file of an older state, or of a copy of the volume that went on by itself, is sealed with the right key, so nothing else would
// tell it from one of this volume: a log of such a copy would be read as if it belonged to it.
Result<void> SealedTree::compare_file(BackingFolder& folder, const std::string& name, const std::string& path,
                                      Depth depth) {
  std::optional<FileMark> listed;
  {
    const MutexLock lock(mutex_);
    listed = mark_of(path);
  }
  const auto file = folder.open(name, Backing::Mode::kRead);
  const auto length = file ? (*file)->size() : Result<std::uint64_t>(file.error());
  if (!length) return differs(path, "cannot be read: " + length.error().message());
  if (listed && listed->is_damaged()) {  // and stays so until somebody takes it as it is
    if (depth == Depth::kAll) return differs(path, "was damaged when the volume was opened last");
    spdlog::error("{} was damaged when the volume was opened last", (folder_->path() / path).string());
    return {};
  }
  const bool has_length = listed && *length == listed->bytes;
  if (last_.is_closed && !listed)
    return differs(path,
                   "was not there when the volume was unmounted: it is of an older state of the volume, or of another "
                   "copy of it, or does not belong there");
  // Containers only grow, and there may be many of them.
  const bool is_container = parent_of(path) == kContainersDirectory;
  if (depth != Depth::kAll && has_length && (last_.is_closed || is_container)) return {};
  if (depth == Depth::kMount && !last_.is_closed && is_container && !(*file)->is_near(0, *length)) {
    postponed_.push_back(path);
    return {};
  }

  const auto content = load(**file, path, listed ? &*listed : nullptr);
  const auto damage = content->damage();
  // A map and a trailer at its end may have been lost with a sync that failed. All records are there.
  if (last_.is_closed && !has_length && (damage || !content->is(*listed)))
    return differs(path, fmt::format("has {} bytes, and had {} when the volume was unmounted: a part of the volume is "
                                     "not as it was left",
                                     *length, listed->bytes));
  if (damage && (depth == Depth::kAll || damage->code() != ErrorCode::kCorruption))
    return differs(path, "cannot be read: " + damage->message());
  bool is_accepted = false;
  {
    const MutexLock lock(mutex_);
    is_accepted = is_acceptable(*content, path);
    if ((is_accepted || (damage && !listed)) && content->mark() != listed) {
      marks_.insert_or_assign(path, content->mark());
      undurable_ends_.insert(path);
    }
  }
  if (is_accepted) return {};
  if (damage) {  // it gives errors to who reads it
    spdlog::error("{}", damage->message());
    return {};
  }
  return differs(path, last_.is_closed
                           ? "is not as it was when the volume was unmounted: an older state of it is in its place"
                           : "was neither there when the volume was opened nor written since then: an older state of "
                             "it, or one of another copy of the volume, is in its place");
}

Result<void> SealedTree::compare_postponed() {
  for (const std::string& path : postponed_) {
    DEDUPFS_ASSIGN(const auto folder, folder_->open_folder(parent_of(path)));
    DEDUPFS_TRY(compare_file(*folder, std::string(name_in(path)), path, Depth::kChange));
  }
  postponed_.clear();
  return {};
}

Result<void> SealedTree::begin_change() {
  const MutexLock lock(change_mutex_);
  return begin_change_locked();
}

Result<void> SealedTree::begin_change_locked() {
  if (purpose_ == Purpose::kScratch || is_changed_) return {};
  if (purpose_ == Purpose::kVolume && !is_compared_) DEDUPFS_TRY(compare(Depth::kMount));
  if (!takes_differences_) DEDUPFS_TRY(compare_postponed());
  // They would be on the list that is written at the end, and nobody would see them again.
  if (!differences_.empty() && !takes_differences_) return differences_.front();
  DEDUPFS_TRY(repair_key_header(*folder_, key_->master()));
  // What the list has must be durable: a crash may come that leaves less than the one before.
  if (purpose_ == Purpose::kVolume && (!last_.is_closed || takes_differences_)) {
    DEDUPFS_TRY(sync_all(Ends::kOfOthers));
    DEDUPFS_TRY(require_synced());
  }
  VolumeRecord record{.generation = last_.generation + 1,
                      .is_recounted = last_.is_recounted,
                      .unix_seconds = unix_now(),
                      .session = session_};
  {
    const MutexLock lock(mutex_);
    record.files = marks_;
  }
  DEDUPFS_TRY(write_volume_record(*folder_, key_, record));
  is_changed_ = true;
  if (key_->has_former()) seal_small_files_anew();
  return {};
}

Result<void> SealedTree::take_files_as_they_are() {
  const MutexLock lock(change_mutex_);
  FileMarks taken;
  DEDUPFS_TRY(for_each_noted_file([&](BackingFolder& folder, const std::string& name, const std::string& path) {
    change_mutex_.assert_held();
    {
      const MutexLock marks_lock(mutex_);
      const auto known = mark_of(path);
      if (known && !differing_.contains(path)) {
        taken.emplace(path, *known);
        return Result<void>();
      }
    }
    const auto file = folder.open(name, Backing::Mode::kRead);
    taken.emplace(path, file ? load(**file, path, nullptr)->mark() : FileMark{.records_end = FileMark::kDamaged});
    const MutexLock marks_lock(mutex_);
    if (file) undurable_ends_.insert(path);
    return Result<void>();
  }));
  {
    const MutexLock marks_lock(mutex_);
    marks_ = std::move(taken);
    if (evidence_ == Evidence::kNone) evidence_ = Evidence::kList;
  }
  takes_differences_ = true;
  return begin_change_locked();
}

// The volume's own folder, as "", and those in it.
Result<void> SealedTree::for_each_noted_folder(
    const std::function<Result<void>(BackingFolder& folder, const std::string& path)>& visit) const {
  DEDUPFS_TRY(visit(*folder_, ""));
  DEDUPFS_ASSIGN(const std::vector<std::string> names, folder_->list());
  for (const std::string& name : names) {
    if (!is_noted_folder(name)) continue;
    DEDUPFS_ASSIGN(const Backing::Type type, folder_->type(name));
    if (type != Backing::Type::kDirectory) continue;
    DEDUPFS_ASSIGN(const auto folder, folder_->open_folder(name));
    DEDUPFS_TRY(visit(*folder, name));
  }
  return {};
}

Result<void> SealedTree::for_each_noted_file(const FileVisit& visit) const {
  return for_each_noted_folder([&](BackingFolder& folder, const std::string& folder_path) -> Result<void> {
    DEDUPFS_ASSIGN(const std::vector<std::string> names, folder.list());
    for (const std::string& name : names) {
      std::string path = folder_path;
      if (!path.empty()) path += '/';
      path += name;
      if (!is_noted(path)) continue;
      DEDUPFS_ASSIGN(const Backing::Type type, folder.type(name));
      if (type == Backing::Type::kFile) DEDUPFS_TRY(visit(folder, name, path));
    }
    return {};
  });
}

Result<void> SealedTree::sync_all(Ends ends) {
  return for_each_noted_folder([&](BackingFolder& folder, const std::string& path) -> Result<void> {
    DEDUPFS_TRY(sync_ends(path, folder, ends));
    return folder.sync();
  });
}

Result<void> SealedTree::note_all_files() {
  DEDUPFS_TRY(require_synced());
  DEDUPFS_TRY(sync_all(Ends::kOfThisSession));
  DEDUPFS_TRY(require_synced());
  crash_point("unmount.ends-synced");
  VolumeRecord record{.generation = last_.generation + 1,
                      .is_recounted = last_.is_recounted,
                      .is_closed = true,
                      .unix_seconds = unix_now(),
                      .session = session_};
  DEDUPFS_TRY(
      for_each_noted_file([&](BackingFolder& folder, const std::string& name, const std::string& path) -> Result<void> {
        DEDUPFS_ASSIGN(const FileMark mark, mark_at_end(folder, name, path));
        record.files.emplace(path, mark);
        return {};
      }));
  DEDUPFS_TRY(write_volume_record(*folder_, key_, record));
  if (key_->has_former()) forget_unused_keys(record.files);
  return {};
}

// A file that is not what it should be keeps the mark that it does not fit. So does one that nobody changed and that cannot be read
// now. Of one that was changed, an older mark would be wrong.
Result<FileMark> SealedTree::mark_at_end(BackingFolder& folder, const std::string& name, const std::string& path) {
  std::optional<FileMark> known;
  bool is_as_known = false;
  {
    const MutexLock lock(mutex_);
    known = mark_of(path);
    is_as_known = known && !changed_.contains(path);
    if (is_as_known && (known->trailer || known->bytes == 0)) return *known;
  }
  const auto file = folder.open(name, Backing::Mode::kReadWrite);
  if (!file && is_as_known) return *known;
  if (!file) return file.error();
  const auto content = load(**file, path, known ? &*known : nullptr);
  const auto damage = content->damage();
  if (damage && damage->code() != ErrorCode::kCorruption && !is_as_known) return *damage;
  bool is_good = !damage;
  if (is_good) {
    const MutexLock lock(mutex_);
    is_good = is_acceptable(*content, path);
  }
  if (!is_good) return known.value_or(content->mark());
  DEDUPFS_TRY(content->renew(**file));
  DEDUPFS_TRY(content->mend_end(**file));  // so that the next mount need not go through it
  DEDUPFS_TRY((*file)->datasync());
  return content->mark();
}

}  // namespace dedupfs
