// A small encrypted volume whose master key can be rotated.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "store/reclaimed_volume.h"
#include "store/seal/key_rotation.h"
#include "store/seal/sealed_backing.h"
#include "store/seal/sealed_folder.h"
#include "store/volume/encrypted_creation.h"
#include "support/folder_at.h"
#include "support/temp_dir.h"

namespace dedupfs {

class RotatedVolume {
 public:
  RotatedVolume() {
    VolumeSettings settings;
    settings.compression = {.settled = parse_compression("none").value()};
    settings.delta = parse_delta_settings("none").value();
    EXPECT_TRUE(create_encrypted_volume(path_, settings,
                                        {.passphrase = Secret(bytes_of(passphrase(1))),
                                         .slot_name = "",
                                         .cipher = std::nullopt,
                                         .kdf = {.memory_kib = 8, .passes = 1, .lanes = 1}}));
  }

  const Path& path() const { return path_; }
  static std::shared_ptr<Backing> backing() {
    return std::make_shared<SealedBacking>(
        Backing::posix(), [](const Path&, const KeyHeader& header) -> Result<std::shared_ptr<const VolumeKey>> {
          DEDUPFS_ASSIGN(UnlockedKey unlocked, unlock(header, bytes_of(passphrase(header.key_number))));
          return std::move(unlocked.key);
        });
  }
  // Stores these chunks in a container of their own, for the volume that it opens afterwards.
  ReclaimedVolume::References fill(const std::vector<ByteBuffer>& chunks) const {
    ReclaimedVolume volume(path_, {}, backing());
    volume.keep(chunks);
    volume.begin_container();
    return volume.kept();
  }
  KeyHeader header() const { return read_key_header(*folder_at(path_)).value().value(); }
  // While it is not open.
  void rotate() const {
    KeyHeader changed = header();
    const UnlockedKey unlocked = unlock(changed, bytes_of(passphrase(changed.key_number))).value();
    const std::string text = passphrase(changed.key_number + 1);
    const NewPassphrase anew{.bytes = bytes_of(text), .name = "", .kdf = changed.slots.at(0).kdf};
    const auto rotated = rotate_master_key(*folder_at(path_), changed, unlocked, anew);
    ASSERT_TRUE(rotated) << rotated.error().message();
  }

 private:
  // Each rotation wants a new one.
  static std::string passphrase(std::uint32_t key_number) { return "passphrase " + std::to_string(key_number); }

  const TempDir directory_;
  const Path path_ = directory_.path() / "volume";
};

}  // namespace dedupfs
