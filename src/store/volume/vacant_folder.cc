#include "store/volume/vacant_folder.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include "store/format/format.h"
#include "store/seal/sealed_names.h"

namespace dedupfs {
namespace {

bool is_among(std::string_view name, const std::vector<std::string>& names) {
  return std::ranges::find(names, name) != names.end();
}

Result<void> require_vacant(BackingFolder& volume) {
  DEDUPFS_ASSIGN(const std::vector<std::string> names, volume.list());
  if (names.empty()) return {};
  if (is_among(kSuperblockFile, names) || is_among(kSuperblockCopyFile, names))
    return Error{ErrorCode::kExists, volume.path().string() + " is a dedupfs volume already"};

  const std::vector<std::string> ours = names_of_new_encrypted_volume();
  const bool interrupted = std::ranges::all_of(names, [&](const auto& name) { return is_among(name, ours); });
  const std::string found = names.size() == 1 ? fmt::format("'{}'", names[0])
                            : names.size() == 2
                                ? fmt::format("'{}' and '{}'", names[0], names[1])
                                : fmt::format("'{}', '{}' and {} more", names[0], names[1], names.size() - 2);
  return Error{ErrorCode::kNotEmpty,
               fmt::format("{} is not empty, it holds {}{}; choose an empty folder", volume.path().string(), found,
                           interrupted ? " (it looks like a volume whose making was interrupted: remove them)" : "")};
}

}  // namespace

std::vector<std::string> names_of_new_volume() {
  std::vector<std::string> names;
  for (const auto name : {kContainersDirectory, kLockFile, kIndexDirectory}) names.emplace_back(name);
  for (const auto name : {kSuperblockCopyFile, kSuperblockFile}) {
    names.emplace_back(name);
    names.emplace_back(std::string(name) + ".new");
  }
  return names;
}

std::vector<std::string> names_of_new_encrypted_volume() {
  std::vector<std::string> names = {std::string(kVolumeRecordFile), std::string(kVolumeRecordCopyFile)};
  for (const std::string& name : names_of_new_volume()) {
    if (const std::string sealed = name_on_disk(name); sealed != name) names.push_back(sealed);
    names.push_back(name);
  }
  return names;
}

UnfinishedVolume::~UnfinishedVolume() {
  // As far as the disk lets us; the failure that brought us here is reported by the caller.
  for (auto name = contents_.rbegin(); name != contents_.rend(); ++name) (void)remove_tree(*volume_, *name);
  if (parent_) (void)parent_->remove_folder(folder_);
}

void UnfinishedVolume::made_folder(std::shared_ptr<BackingFolder> parent, std::string name) {
  parent_ = std::move(parent);
  folder_ = std::move(name);
}

void UnfinishedVolume::made(std::shared_ptr<BackingFolder> volume, std::vector<std::string> names) {
  volume_ = std::move(volume);
  contents_ = std::move(names);
}

void UnfinishedVolume::keep() {
  contents_.clear();
  parent_ = nullptr;
}

Result<std::shared_ptr<BackingFolder>> vacant_folder(const Path& path, Backing& backing, UnfinishedVolume& unfinished) {
  auto there = backing.open_root(path);
  if (there) {
    DEDUPFS_TRY(require_vacant(**there));
    return there;
  }
  if (there.error().code() != ErrorCode::kNotFound) return there;
  DEDUPFS_ASSIGN(auto parent, backing.open_root(path.parent_path()));
  const std::string name = path.filename().string();
  DEDUPFS_TRY(parent->make_folder(name));
  unfinished.made_folder(parent, name);
  DEDUPFS_TRY(parent->sync());
  return parent->open_folder(name);
}

}  // namespace dedupfs
