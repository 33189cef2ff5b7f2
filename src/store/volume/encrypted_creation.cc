#include "store/volume/encrypted_creation.h"

#include <string>
#include <utility>

#include "store/format/superblock.h"
#include "store/seal/sealed_folder.h"
#include "store/seal/sealed_names.h"
#include "store/volume/vacant_folder.h"

namespace dedupfs {
namespace {

// Shows an empty folder as that of an encrypted volume that has no key header yet.
class CreationBacking final : public Backing {
 public:
  CreationBacking(std::shared_ptr<BackingFolder> folder, std::shared_ptr<const VolumeKey> key)
      : folder_(std::move(folder)), key_(std::move(key)) {}

  Result<std::shared_ptr<BackingFolder>> open_root(const Path& /*path*/) override {
    return create_sealed_folder(folder_, key_);
  }

 private:
  const std::shared_ptr<BackingFolder> folder_;
  const std::shared_ptr<const VolumeKey> key_;
};

Result<Superblock> create_in(const std::shared_ptr<BackingFolder>& folder, const VolumeSettings& settings,
                             const EncryptionSettings& encryption, UnfinishedVolume& unfinished) {
  const Cipher cipher = encryption.cipher ? *encryption.cipher : faster_cipher();
  const auto key = std::make_shared<const VolumeKey>(cipher, VolumeKey::make_master());
  DEDUPFS_ASSIGN(Superblock superblock,
                 Volume::create(folder->path(), settings, std::make_shared<CreationBacking>(folder, key)));
  unfinished.made(folder, names_of_new_encrypted_volume());
  KeyHeader header{.uuid = superblock.uuid, .cipher = cipher};
  DEDUPFS_TRY(add_slot(header, key->master(), encryption.passphrase.bytes(), encryption.slot_name, encryption.kdf));
  // Last: a folder without it is no volume, and with it everything is there.
  DEDUPFS_TRY(write_key_header(*folder, std::move(header), key->master()));
  return superblock;
}

// A volume that is there and not encrypted cannot become so: whatever was on its disk could be found there afterwards.
Error with_way_to_go(const Error& error, const Path& path, Backing& backing) {
  const auto folder = backing.open_root(path);
  if (error.code() != ErrorCode::kExists || !folder || !read_superblock(**folder)) return error;
  return {
      ErrorCode::kExists,
      error.message() +
          ", and it is not encrypted. It cannot be encrypted where it is: make a new volume with --encrypt in "
          "another folder, and mount both. To keep snapshots, copy each, the oldest first: dedupfs-send OLD "
          "--snapshot NAME | dedupfs-receive NEW, and with --since PREVIOUS all but the first. For the files alone: "
          "cp -a OLD/. NEW/ or rsync -aHAX OLD/ NEW/"};
}

}  // namespace

Result<Superblock> create_encrypted_volume(const Path& path, const VolumeSettings& settings,
                                           const EncryptionSettings& encryption,
                                           const std::shared_ptr<Backing>& backing) {
  const Path whole = whole_path(path);
  UnfinishedVolume unfinished;
  const auto folder = vacant_folder(whole, *backing, unfinished);
  if (!folder) return with_way_to_go(folder.error(), whole, *backing);
  const std::string record(kVolumeRecordFile);
  DEDUPFS_TRY((*folder)->open(record, Backing::Mode::kCreate));  // fails for the second of two at once
  unfinished.made(*folder, {record, std::string(kVolumeRecordCopyFile)});
  DEDUPFS_ASSIGN(Superblock superblock, create_in(*folder, settings, encryption, unfinished));
  unfinished.keep();
  return superblock;
}

}  // namespace dedupfs
