#include "store/seal/sealed_names.h"

#include <algorithm>
#include <array>

#include "store/format/format.h"
#include "store/format/numbered_name.h"

namespace dedupfs {
namespace {

constexpr std::string_view kTemporarySuffix = ".new";  // of replace_file()
constexpr std::string_view kSettingsFile = "settings";
constexpr std::string_view kSettingsCopyFile = "settings.copy";

std::string_view without_suffix(std::string_view name, std::string_view suffix) {
  return name.ends_with(suffix) ? name.substr(0, name.size() - suffix.size()) : name;
}

std::string other_name(std::string_view name, std::string_view from, std::string_view to) {
  if (without_suffix(name, kTemporarySuffix) != from) return {};
  return std::string(to).append(name.substr(from.size()));
}

}  // namespace

std::string name_on_disk(std::string_view name) {
  if (std::string found = other_name(name, kSuperblockFile, kSettingsFile); !found.empty()) return found;
  if (std::string found = other_name(name, kSuperblockCopyFile, kSettingsCopyFile); !found.empty()) return found;
  return std::string(name);
}

std::string name_in_volume(std::string_view name_on_disk) {
  for (const std::string_view hidden : {kSuperblockFile, kSuperblockCopyFile, kVolumeRecordFile, kVolumeRecordCopyFile})
    if (without_suffix(name_on_disk, kTemporarySuffix) == hidden) return {};
  if (std::string found = other_name(name_on_disk, kSettingsFile, kSuperblockFile); !found.empty()) return found;
  if (std::string found = other_name(name_on_disk, kSettingsCopyFile, kSuperblockCopyFile); !found.empty())
    return found;
  return std::string(name_on_disk);
}

bool is_clear(std::string_view name) {
  return name == kLockFile || name == kControlSocket || name == "ballast";
}

bool is_volume_file(std::string_view path) {
  if (path.find('/') != std::string_view::npos) return is_noted(path) && !is_of_former_index(path);
  constexpr std::array kFiles = {kSuperblockFile,   kSuperblockCopyFile, kSettingsFile,
                                 kSettingsCopyFile, kVolumeRecordFile,   kVolumeRecordCopyFile};
  return std::ranges::find(kFiles, path) != kFiles.end();
}

std::string parent_of(std::string_view path) {
  const std::size_t slash = path.rfind('/');
  return std::string(path.substr(0, slash == std::string_view::npos ? 0 : slash));
}

std::string_view name_in(std::string_view path) {
  return path.substr(path.rfind('/') + 1);  // npos + 1 is 0
}

std::string place_of(std::string_view path) {
  std::string_view folder = path.substr(0, path.find('/'));
  if (folder.size() == path.size()) return std::string(without_suffix(path, kTemporarySuffix));
  const std::string_view name = without_suffix(path.substr(folder.size() + 1), kTemporarySuffix);
  if (folder == kCheckpointsDirectory) return std::string(folder);    // a checkpoint says itself which one it is
  if (folder.starts_with(kIndexDirectory)) folder = kIndexDirectory;  // repairs make the index beside the old one
  // RocksDB makes these under other names. What they say tells them from each other.
  for (const std::string_view small : {"CURRENT", "IDENTITY"})
    if (name == small) return std::string(folder) + "/small";
  if (name.starts_with("OPTIONS-") || name.ends_with(".dbtmp")) return std::string(folder) + "/small";
  return std::string(folder) + '/' + std::string(name);
}

bool is_noted_in_root(std::string_view name_on_disk) {
  return name_on_disk == kSettingsFile || name_on_disk == kSettingsCopyFile;
}

bool is_noted_folder(std::string_view name) {
  return name.starts_with(kIndexDirectory) || name == kContainersDirectory || name == kCheckpointsDirectory;
}

bool is_noted(std::string_view path) {
  const std::size_t slash = path.find('/');
  return slash == std::string_view::npos
             ? is_noted_in_root(path)
             : is_noted_folder(path.substr(0, slash)) && is_plain_name(path.substr(slash + 1));
}

bool is_of_former_index(std::string_view path) {
  const std::string_view folder = path.substr(0, path.find('/'));
  return folder.starts_with(kIndexDirectory) && folder != kIndexDirectory;
}

}  // namespace dedupfs
