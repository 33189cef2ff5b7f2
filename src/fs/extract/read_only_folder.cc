#include "fs/extract/read_only_folder.h"

#include <algorithm>
#include <utility>

namespace dedupfs {

ReadOnlyFolder::ReadOnlyFolder(std::shared_ptr<BackingFolder> folder, Elsewhere elsewhere)
    : BackingFolder(folder->path()), folder_(std::move(folder)), elsewhere_(std::move(elsewhere)) {}

const ReadOnlyFolder::Place* ReadOnlyFolder::elsewhere(std::string_view name) const {
  const auto found = elsewhere_.find(name);
  return found == elsewhere_.end() ? nullptr : &found->second;
}

Error ReadOnlyFolder::refusal(std::string_view name) const {
  return {ErrorCode::kReadOnly, (path() / name).string() + " is not to be changed"};
}

Result<std::unique_ptr<BackingFile>> ReadOnlyFolder::open(std::string_view name, Mode mode) {
  if (const Place* const place = elsewhere(name)) return place->folder->open(place->name, mode);
  if (mode != Mode::kRead) return refusal(name);
  return folder_->open(name, mode);
}

Result<std::shared_ptr<BackingFolder>> ReadOnlyFolder::open_folder(std::string_view name) {
  if (const Place* const place = elsewhere(name)) return place->folder->open_folder(place->name);
  DEDUPFS_ASSIGN(auto folder, folder_->open_folder(name));
  return std::make_shared<ReadOnlyFolder>(std::move(folder));
}

Result<void> ReadOnlyFolder::make_folder(std::string_view name) {
  if (const Place* const place = elsewhere(name)) return place->folder->make_folder(place->name);
  return refusal(name);
}

Result<void> ReadOnlyFolder::remove_folder(std::string_view name) {
  if (const Place* const place = elsewhere(name)) return place->folder->remove_folder(place->name);
  return refusal(name);
}

Result<void> ReadOnlyFolder::rename(std::string_view name, BackingFolder& /*to*/, std::string_view /*new_name*/) {
  return refusal(name);
}

Result<void> ReadOnlyFolder::link(std::string_view name, BackingFolder& /*to*/, std::string_view /*new_name*/) {
  return refusal(name);
}

Result<void> ReadOnlyFolder::unlink(std::string_view name) {
  if (const Place* const place = elsewhere(name)) return place->folder->unlink(place->name);
  return refusal(name);
}

// Nothing here changes.
Result<void> ReadOnlyFolder::sync() {
  return {};
}

Result<std::vector<std::string>> ReadOnlyFolder::list() {
  DEDUPFS_ASSIGN(std::vector<std::string> names, folder_->list());
  std::erase_if(names, [this](const std::string& name) { return elsewhere(name) != nullptr; });
  for (const auto& [name, place] : elsewhere_) {
    DEDUPFS_ASSIGN(const bool is_there, place.folder->exists(place.name));
    if (is_there) names.push_back(name);
  }
  std::ranges::sort(names);
  return names;
}

Result<BackingFolder::Status> ReadOnlyFolder::status() {
  return folder_->status();
}

Result<BackingFolder::Status> ReadOnlyFolder::status(std::string_view name) {
  if (const Place* const place = elsewhere(name)) return place->folder->status(place->name);
  return folder_->status(name);
}

Result<BackingFolder::Space> ReadOnlyFolder::space() {
  return folder_->space();
}

}  // namespace dedupfs
