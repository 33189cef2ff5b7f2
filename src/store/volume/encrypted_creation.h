// Makes an encrypted volume: as Volume::create(), with a new master key.
//
// Threads: a free function, safe from any thread.
// Failure: as Volume::create(). Nothing is left of it after a failure; after a crash there is either a whole volume or none.
#pragma once

#include <optional>
#include <string>

#include "store/seal/key_header.h"
#include "store/volume/volume.h"

namespace dedupfs {

struct EncryptionSettings {
  Secret passphrase;
  std::string slot_name;         // of its key slot
  std::optional<Cipher> cipher;  // absent: the faster one on this machine
  KdfSettings kdf;
};

Result<Superblock> create_encrypted_volume(const Path& path, const VolumeSettings& settings,
                                           const EncryptionSettings& encryption,
                                           const std::shared_ptr<Backing>& backing = Backing::posix());

}  // namespace dedupfs
