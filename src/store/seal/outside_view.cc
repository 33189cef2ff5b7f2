#include "store/seal/outside_view.h"

#include <fmt/format.h>

#include <array>
#include <functional>
#include <string_view>
#include <utility>

#include "store/format/format.h"
#include "store/seal/sealed_layout.h"
#include "store/seal/sealed_names.h"

namespace dedupfs {
namespace {

constexpr std::array kFolders = {kContainersDirectory, kIndexDirectory, kCheckpointsDirectory};
// A segment's head, and the header of a record.
constexpr std::uint64_t kLeastFileBytes = kSegmentHeadBytes + kSealedHeadBytes;

Result<std::uint64_t> length_of(BackingFolder& folder, std::string_view name) {
  DEDUPFS_ASSIGN(const auto file, folder.open(name, Backing::Mode::kRead));
  return file->size();
}

// Nothing if the folder is missing.
using Visit = std::function<void(const std::string& name, std::uint64_t bytes)>;
Result<void> visit_files(BackingFolder& volume, std::string_view folder_name, const Visit& visit) {
  DEDUPFS_ASSIGN(const Backing::Type type, volume.type(folder_name));
  if (type != Backing::Type::kDirectory) return {};
  DEDUPFS_ASSIGN(const auto folder, volume.open_folder(folder_name));
  DEDUPFS_ASSIGN(const std::vector<std::string> names, folder->list());
  for (const std::string& name : names) {
    DEDUPFS_ASSIGN(const Backing::Type kind, folder->type(name));
    if (kind != Backing::Type::kFile) continue;
    const auto bytes = length_of(*folder, name);
    if (!bytes && bytes.error().code() == ErrorCode::kNotFound) continue;  // removed since, by who has it mounted
    if (!bytes) return bytes.error();
    visit(name, *bytes);
  }
  return {};
}

// Who has the volume open leaves its process id in the lock, unless it closes the volume.
bool was_closed(BackingFolder& volume) {
  const auto lock = length_of(volume, kLockFile);
  return lock && *lock == 0;
}

// RocksDB's lock, and a log to which nothing was written since the volume was opened.
bool may_be_empty(std::string_view folder, std::string_view name) {
  return folder == kIndexDirectory && (name == "LOCK" || name.ends_with(".log"));
}

class Check {
 public:
  explicit Check(BackingFolder& volume) : volume_(volume), was_closed_(was_closed(volume)) {}

  Result<OutsideCheck> run() {
    for (const Error& damage : damage_of_key_header(volume_)) found_.errors.push_back(damage.message());
    DEDUPFS_TRY(require_parts());
    for (const std::string_view folder : kFolders)
      DEDUPFS_TRY(visit_files(
          volume_, folder, [&](const std::string& name, std::uint64_t bytes) { judge_length(folder, name, bytes); }));
    return std::move(found_);
  }

 private:
  Result<void> require_parts() {
    for (const std::string_view folder : {kContainersDirectory, kIndexDirectory})
      DEDUPFS_TRY(require(std::string(folder), Backing::Type::kDirectory));
    for (const std::string_view file : {kSuperblockFile, kSuperblockCopyFile})
      DEDUPFS_TRY(require(name_on_disk(file), Backing::Type::kFile));
    // A crash can leave one of the two.
    DEDUPFS_ASSIGN(const bool has_copy, volume_.exists(kVolumeRecordCopyFile));
    return require(std::string(has_copy ? kVolumeRecordCopyFile : kVolumeRecordFile), Backing::Type::kFile);
  }

  Result<void> require(const std::string& name, Backing::Type expected) {
    DEDUPFS_ASSIGN(const Backing::Type type, volume_.type(name));
    const std::string path = (volume_.path() / name).string();
    if (type == expected && expected == Backing::Type::kFile) {
      DEDUPFS_ASSIGN(const std::uint64_t bytes, length_of(volume_, name));
      if (bytes < kLeastFileBytes)
        found_.errors.push_back(too_short(path, bytes));  // it was written whole, or not at all
    } else if (type == Backing::Type::kMissing) {
      found_.errors.push_back(path + " is missing");
    } else if (type != expected) {
      found_.errors.push_back(path + " is not what it should be: a file or a folder");
    }
    return {};
  }

  void judge_length(std::string_view folder, const std::string& name, std::uint64_t bytes) {
    ++found_.files;
    if (bytes >= kLeastFileBytes || (bytes == 0 && may_be_empty(folder, name))) return;
    const std::string line = too_short((volume_.path() / folder / name).string(), bytes);
    if (was_closed_)
      found_.errors.push_back(line);
    else
      found_.notes.push_back(line + ", as a crash can leave it");
  }

  static std::string too_short(const std::string& path, std::uint64_t bytes) {
    return fmt::format("{} has {} bytes, too few for any content", path, bytes);
  }

  BackingFolder& volume_;
  const bool was_closed_;
  OutsideCheck found_;
};

Result<KeyHeader> require_key_header(BackingFolder& volume) {
  DEDUPFS_ASSIGN(auto header, read_key_header(volume));
  if (!header) return invalid_argument(volume.path().string() + " is not encrypted");
  return std::move(*header);
}

Result<void> count_evicted(BackingFolder& volume, OutsideView& view) {
  std::vector<std::string> names;
  DEDUPFS_TRY(visit_files(volume, kEvictedDirectory, [&](const std::string& name, std::uint64_t bytes) {
    if (!name.ends_with(kContainerSuffix)) return;  // a record
    names.push_back(name);
    ++view.evicted.count;
    view.evicted.bytes += bytes;
  }));
  if (names.empty()) return {};
  DEDUPFS_ASSIGN(const auto folder, volume.open_folder(kEvictedDirectory));
  for (const std::string& name : names) {
    DEDUPFS_ASSIGN(const BackingFolder::Status status, folder->status(name));
    view.evicted_here_bytes += status.allocated_bytes;
  }
  return {};
}

}  // namespace

Result<OutsideView> view_from_outside(BackingFolder& volume) {
  OutsideView view;
  DEDUPFS_ASSIGN(view.header, require_key_header(volume));
  for (const std::string_view folder : kFolders) {
    OutsideView::Files& files = view.folders[std::string(folder)];
    DEDUPFS_TRY(visit_files(volume, folder, [&](const std::string&, std::uint64_t bytes) {
      ++files.count;
      files.bytes += bytes;
    }));
  }
  DEDUPFS_TRY(count_evicted(volume, view));
  return view;
}

Result<OutsideCheck> check_from_outside(BackingFolder& volume) {
  DEDUPFS_TRY(require_key_header(volume));
  return Check(volume).run();
}

}  // namespace dedupfs
