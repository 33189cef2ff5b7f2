#include "store/seal/key_rotation.h"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <utility>

#include "base/crash_point.h"
#include "store/seal/sealed_names.h"
#include "store/seal/sealed_tree.h"

namespace dedupfs {
namespace {

constexpr std::uint64_t kMaxSmallFileBytes = 1 << 20;
// RocksDB removes it if a crash leaves it.
constexpr std::string_view kTemporaryInIndex = "000000.dbtmp";

// Of files that no reclaim moves and nobody writes again.
bool is_small_file(std::string_view path) {
  return is_noted_in_root(path) || place_of(path) == place_of("index/CURRENT");
}

Result<VolumeRecord> require_closed(BackingFolder& folder, const std::shared_ptr<const VolumeKey>& key) {
  auto found = read_volume_record(folder, key);
  if (!found) return corruption("the list of files of the last unmount is missing or damaged: run fsck.dedupfs first");
  // What the last session wrote would be under a key that others may have, and only the session tells what belongs to it.
  if (!found->record.is_closed)
    return invalid_argument("the volume was not unmounted since it was last used: mount and unmount it first");
  if (found->is_copy) DEDUPFS_TRY(write_volume_record_file(folder, kVolumeRecordFile, key, found->record));
  return std::move(found->record);
}

}  // namespace

// The header decides which key it is. So the list of files lies there under both keys while the header is written.
Result<RotatedKey> rotate_master_key(BackingFolder& folder, KeyHeader& header, const UnlockedKey& unlocked,
                                     const NewPassphrase& passphrase, std::uint64_t most_memory_kib) {
  DEDUPFS_ASSIGN(const VolumeRecord record, require_closed(folder, unlocked.key));
  DEDUPFS_ASSIGN(RotatedKey rotated, rotate_master(header, unlocked, passphrase, most_memory_kib));
  DEDUPFS_TRY(write_volume_record_file(folder, kVolumeRecordCopyFile, rotated.key, record));
  crash_point("rotation.list-copied");
  DEDUPFS_TRY(write_key_header(folder, header, rotated.key->master()));
  crash_point("rotation.header-written");
  DEDUPFS_TRY(write_volume_record_file(folder, kVolumeRecordFile, rotated.key, record));
  return rotated;
}

// ---------------------------------------------------------------- what is under former keys

std::set<std::string> SealedTree::outdated_files() const {
  std::set<std::string> paths;
  if (!key_->has_former()) return paths;
  const MutexLock lock(mutex_);
  for (const auto& [path, mark] : marks_)  // what is not there was made in this session
    if (mark.oldest_key != 0 && mark.oldest_key < key_->number()) paths.insert(path);
  return paths;
}

// What fails is tried again at the next opening.
void SealedTree::seal_small_files_anew() {
  const auto sealed = [&]() -> Result<void> {
    const std::set<std::string> outdated = outdated_files();
    return for_each_noted_file([&](BackingFolder& folder, const std::string& name, const std::string& path) {
      return is_small_file(path) && outdated.contains(path) ? seal_anew(folder, name, path) : Result<void>();
    });
  }();
  if (!sealed)
    spdlog::warn("{}: a file stays under a former master key for now: {}", folder_->path().string(),
                 sealed.error().message());
}

// Leaves a file that is open, or damaged.
Result<void> SealedTree::seal_anew(BackingFolder& folder, const std::string& name, const std::string& path) {
  std::optional<FileMark> known;
  {
    const MutexLock lock(mutex_);
    if (const auto node = nodes_.find(path); node != nodes_.end() && !node->second.expired()) return {};
    known = mark_of(path);
  }
  DEDUPFS_ASSIGN(const auto file, folder.open(name, Backing::Mode::kRead));
  const auto content = load(*file, path, known ? &*known : nullptr);
  const auto size = content->size();
  if (!size || *size > kMaxSmallFileBytes) return {};
  {
    const MutexLock lock(mutex_);
    if (!is_acceptable(*content, path)) return {};
  }
  ByteBuffer bytes(*size);
  DEDUPFS_TRY(content->read_up_to(*file, 0, bytes));

  const std::string temporary = is_noted_in_root(path) ? name + ".new" : std::string(kTemporaryInIndex);
  DEDUPFS_ASSIGN(const bool leftover, folder.exists(temporary));
  if (leftover) DEDUPFS_TRY(folder.unlink(temporary));
  DEDUPFS_ASSIGN(const auto anew, folder.open(temporary, Backing::Mode::kCreate));
  const auto sealed = load(*anew, path, nullptr);
  DEDUPFS_TRY(sealed->write(*anew, 0, bytes));
  DEDUPFS_TRY(sealed->datasync(*anew));
  sealed->finish(*anew);
  DEDUPFS_TRY(anew->datasync());
  crash_point("mount.small-file-sealed");
  DEDUPFS_TRY(folder.rename(temporary, folder, name));
  DEDUPFS_TRY(folder.sync());
  const MutexLock lock(mutex_);
  marks_.insert_or_assign(path, sealed->mark());
  return {};
}

// A crash before this leaves keys that nothing needs, for the next unmount.
void SealedTree::forget_unused_keys(const FileMarks& files) const {
  std::uint32_t oldest = key_->number();
  for (const auto& [path, mark] : files)
    if (mark != FileMark()) oldest = std::min(oldest, mark.oldest_key);  // of damaged files, nobody may know it: 0
  if (const auto forgotten = forget_former_keys(*folder_, *key_, oldest); !forgotten)
    spdlog::warn("{}: former master keys stay in the key header for now: {}", folder_->path().string(),
                 forgotten.error().message());
}

}  // namespace dedupfs
