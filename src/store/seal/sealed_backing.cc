#include "store/seal/sealed_backing.h"

#include <utility>

#include "store/format/superblock.h"
#include "store/seal/sealed_folder.h"

namespace dedupfs {

Result<std::optional<KeyHeader>> SealedBacking::read_header(const Path& volume, BackingFolder& folder) const {
  DEDUPFS_ASSIGN(auto header, read_key_header(folder));
  if (!header && volumes_ == Volumes::kEncrypted && read_superblock(folder))
    return Error{ErrorCode::kNotPermitted, volume.string() +
                                               " is not encrypted, but a key was given: if it ever was, somebody put "
                                               "another volume in its place; if not, leave out the key"};
  return header;
}

Result<void> SealedBacking::require_expected(const Path& volume, const std::optional<KeyHeader>& header) {
  const MutexLock lock(mutex_);
  if (expected_.empty() || (header && header->uuid == expected_)) return {};
  return Error{ErrorCode::kNotPermitted, volume.string() +
                                             " is not the encrypted volume any more whose key was given: somebody put "
                                             "another one in its place"};
}

Result<std::shared_ptr<const VolumeKey>> SealedBacking::key_of(const Path& volume, BackingFolder& folder,
                                                               const KeyHeader& header) {
  DEDUPFS_TRY(admit_(folder));
  const MutexLock lock(mutex_);
  if (const auto known = known_.find(header.uuid); known != known_.end()) {
    DEDUPFS_TRY(verify(header, known->second->master()));
    return known->second;
  }
  auto key = keys_(volume, header);
  if (!key) return key.error().with(volume.string());
  DEDUPFS_TRY(verify(header, (*key)->master()));
  known_.emplace(header.uuid, *key);
  return key;
}

Result<void> SealedBacking::get_key(const Path& volume) {
  const auto folder = real_->open_root(volume);
  if (!folder) return {};
  DEDUPFS_ASSIGN(const auto header, read_header(volume, **folder));
  if (!header) return {};
  DEDUPFS_TRY(key_of(volume, **folder, *header));
  const MutexLock lock(mutex_);
  expected_ = header->uuid;
  return {};
}

Result<std::shared_ptr<BackingFolder>> SealedBacking::open_root(const Path& path) {
  DEDUPFS_ASSIGN(auto folder, real_->open_root(path));
  DEDUPFS_ASSIGN(const auto header, read_header(path, *folder));
  DEDUPFS_TRY(require_expected(path, header));
  if (!header) return folder;
  DEDUPFS_ASSIGN(auto key, key_of(path, *folder, *header));
  return open_sealed_folder(std::move(folder), std::move(key), judge_);
}

}  // namespace dedupfs
