// The clear part of an encrypted volume: `superblock.json` and its copy, which name the volume, its features and its cipher, and hold
// the master key in key slots. See docs/format.md, "Encrypted volumes".
//
// A slot opens with a passphrase: Argon2id makes a key from it, which has sealed the master key. Anything of at least one byte is a
// passphrase, also the content of a key file.
//
// The former master keys of a volume are there as long as something is sealed with them: sealed with the current one.
//
// Threads: values; free functions are safe from any thread.
// Failure: kNotPermitted for a passphrase that opens no slot; kCorruption for a header that was changed; kVersion as superblock.h.
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/backing.h"
#include "base/result.h"
#include "store/format/checked_json.h"
#include "store/format/features.h"
#include "store/format/format.h"
#include "store/seal/volume_key.h"

namespace dedupfs {

// The cost of a guess.
struct KdfSettings {
  std::uint32_t memory_kib = 64 << 10;
  std::uint32_t passes = 3;
  std::uint32_t lanes = 4;

  bool operator==(const KdfSettings&) const = default;
};

struct KeySlot {
  static constexpr std::size_t kSealedKeyBytes = kCipherKeyBytes + kTagBytes;
  static constexpr std::size_t kMaxNameBytes = 255;

  std::uint32_t number = 0;  // 1 and more
  std::string name;          // for people
  KdfSettings kdf;
  SealSalt salt{};
  Mac check{};  // tells whether the passphrase is right
  std::array<std::uint8_t, kSealedKeyBytes> sealed_key{};
};

// A master key that seals nothing any more. The current one has sealed it.
struct FormerKey {
  std::uint32_t number = 0;
  SealSalt salt{};
  std::array<std::uint8_t, KeySlot::kSealedKeyBytes> sealed_key{};
};

struct KeyHeader {
  static constexpr std::size_t kMaxSlots = 8;
  static constexpr std::size_t kMaxFormerKeys = 8;
  // Who tries a passphrase with all slots does no more than that, in KiB of memory times passes.
  static constexpr std::uint64_t kMostWork = std::uint64_t{64} << 20;

  std::string uuid;
  Cipher cipher = Cipher::kAes256Gcm;
  std::uint32_t key_number = VolumeKey::kFirstKey;  // of the master key
  std::vector<KeySlot> slots;
  std::vector<FormerKey> former_keys;  // by number, ascending
  Mac mac{};                           // over all above, by the master key
  ClearFeatures clear = {.format_version = kFormatVersionWritten, .incompatible = {std::string(kEncryptionFeature)}};
};

// Adds a slot with the next free number, and gives that. kTooLarge: all slots are used, or would take too much work together.
Result<std::uint32_t> add_slot(KeyHeader& header, ByteSpan master, ByteSpan passphrase, std::string name,
                               const KdfSettings& kdf);
// kNotFound: there is none of this number; kInvalidArgument: it is the last one.
Result<void> remove_slot(KeyHeader& header, std::uint32_t number);
// The slot opens with another passphrase from now on. kNotFound as remove_slot(), kTooLarge as add_slot().
Result<void> change_slot(KeyHeader& header, std::uint32_t number, ByteSpan master, ByteSpan passphrase,
                         const KdfSettings& kdf);

struct UnlockedKey {
  std::shared_ptr<const VolumeKey> key;
  std::uint32_t slot = 0;  // which one opened
};
// Nothing in the header is known to be true before a slot opens. So a slot that asks for more memory than `most_memory_kib` is left
// out, and so is one that makes the work of all more than kMostWork. Who opens no other slot is told which one it was (kTooLarge).
Result<UnlockedKey> unlock(const KeyHeader& header, ByteSpan passphrase,
                           std::uint64_t most_memory_kib = std::numeric_limits<std::uint64_t>::max());
// What opens a new master key. Its bytes must outlive it.
struct NewPassphrase {
  ByteSpan bytes;
  std::string name;  // of the slot
  KdfSettings kdf;
};
struct RotatedKey {
  std::shared_ptr<const VolumeKey> key;
  std::vector<KeySlot> removed;
};
// A new master key takes the place of the one that `unlocked` has, which becomes a former one. Its slot gets it, with a new passphrase; the
// other slots go. kInvalidArgument: the passphrase opens a slot now. kTooLarge: more former keys than a header can have, or as unlock().
Result<RotatedKey> rotate_master(KeyHeader& header, const UnlockedKey& unlocked, const NewPassphrase& passphrase,
                                 std::uint64_t most_memory_kib = std::numeric_limits<std::uint64_t>::max());
// Forgets the former keys with lower numbers, for good. Nothing must be sealed with them any more.
Result<void> forget_former_keys(BackingFolder& volume, const VolumeKey& key, std::uint32_t oldest_used);
// kCorruption: the header was not made by someone who had the key.
Result<void> verify(const KeyHeader& header, ByteSpan master);

// Nothing if the volume is not encrypted, or has no superblock that can be read. kCorruption where parts of a plain volume and of an
// encrypted one are together: somebody put them there.
Result<std::optional<KeyHeader>> read_key_header(BackingFolder& volume);
// Authenticates it by the key, and writes both copies.
Result<void> write_key_header(BackingFolder& volume, KeyHeader header, ByteSpan master);
// The damage of either copy, also that they differ.
std::vector<Error> damage_of_key_header(BackingFolder& volume);
// The same with the key: a copy that somebody made without it is damaged.
std::vector<Error> damage_of_key_header(BackingFolder& volume, ByteSpan master);
// Makes the two copies alike again. The name of the one that was written, if one was. A copy of somebody without the key never takes the
// place of a good one.
Result<std::optional<std::string>> repair_key_header(BackingFolder& volume, ByteSpan master);

std::string encode_key_header(const KeyHeader& header);
Result<KeyHeader> decode_key_header(std::string_view json);

}  // namespace dedupfs
