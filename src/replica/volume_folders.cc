#include "replica/volume_folders.h"

namespace dedupfs {

Result<BackingFolder*> VolumeFolders::holder_of(std::string_view path) {
  const std::size_t slash = path.find('/');
  return slash == std::string_view::npos ? Result<BackingFolder*>(&volume_) : get(path.substr(0, slash));
}

Result<std::unique_ptr<BackingFile>> VolumeFolders::open(std::string_view path, Backing::Mode mode) {
  DEDUPFS_ASSIGN(BackingFolder* const holder, holder_of(path));
  return holder->open(name_in_folder(path), mode);
}

Result<BackingFolder*> VolumeFolders::get(std::string_view name) {
  if (const auto kept = below_.find(name); kept != below_.end()) return kept->second.get();
  auto opened = volume_.open_folder(name);
  if (!opened && opened.error().code() == ErrorCode::kNotFound && mode_ == Mode::kOpenOrMake)
    opened = volume_.make_and_open_folder(name);
  if (!opened) return opened.error();
  return below_.emplace(name, std::move(*opened)).first->second.get();
}

Result<void> VolumeFolders::sync() {
  for (const auto& [name, folder] : below_) DEDUPFS_TRY(folder->sync());
  return volume_.sync();
}

std::string_view name_in_folder(std::string_view path) {
  return path.substr(path.find('/') + 1);  // npos + 1 is 0
}

}  // namespace dedupfs
