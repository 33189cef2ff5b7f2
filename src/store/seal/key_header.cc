#include "store/seal/key_header.h"

#include <argon2.h>
#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "base/coding.h"
#include "base/crash_point.h"
#include "base/printable.h"
#include "base/size.h"
#include "store/format/superblock.h"
#include "store/seal/sealed_names.h"

namespace dedupfs {
namespace {

std::uint64_t work_of(const KdfSettings& kdf) {
  return std::uint64_t{kdf.memory_kib} * kdf.passes;
}

// Who makes a slot must be able to open it.
Result<void> require_little_work(const KeyHeader& header, std::uint32_t number, const KdfSettings& kdf) {
  std::uint64_t work = work_of(kdf);
  for (const KeySlot& slot : header.slots)
    if (slot.number != number) work += work_of(slot.kdf);
  if (work <= KeyHeader::kMostWork) return {};
  return Error{ErrorCode::kTooLarge,
               fmt::format("a guess with all key slots would go through {} of memory, and {} is the most: take a "
                           "smaller --kdf-memory, or remove a slot",
                           human_size(work << 10), human_size(KeyHeader::kMostWork << 10))};
}

// Why a slot of a header that nobody has authenticated is not tried.
std::optional<Error> too_costly(const KeySlot& slot, std::uint64_t most_memory_kib, std::uint64_t work_before) {
  if (slot.kdf.memory_kib > most_memory_kib)
    return Error{ErrorCode::kTooLarge,
                 fmt::format("key slot {} was not tried: it asks for {} of memory, and on this machine {} is the most",
                             slot.number, human_size(std::uint64_t{slot.kdf.memory_kib} << 10),
                             human_size(most_memory_kib << 10))};
  if (work_before + work_of(slot.kdf) <= KeyHeader::kMostWork) return std::nullopt;
  return Error{ErrorCode::kTooLarge,
               fmt::format("key slot {} was not tried: with those before it, it goes through {} of memory, and {} is "
                           "the most",
                           slot.number, human_size((work_before + work_of(slot.kdf)) << 10),
                           human_size(KeyHeader::kMostWork << 10))};
}

struct SlotKeys {
  Secret sealing;  // seals the master key
  Mac check;
};

// Argon2id, whose memory is that of secrets. An error of libargon2, or ARGON2_OK.
int stretch(const KeySlot& slot, ByteSpan passphrase, MutableByteSpan out) {
  // The library changes neither passphrase nor salt, but takes no pointers to constants.
  Secret given(passphrase);
  SealSalt salt = slot.salt;
  argon2_context context{};
  context.out = out.data();
  context.outlen = static_cast<std::uint32_t>(out.size());
  context.pwd = given.bytes().data();
  context.pwdlen = static_cast<std::uint32_t>(given.size());
  context.salt = salt.data();
  context.saltlen = static_cast<std::uint32_t>(salt.size());
  context.t_cost = slot.kdf.passes;
  context.m_cost = slot.kdf.memory_kib;
  context.lanes = slot.kdf.lanes;
  context.threads = 1;  // where another cannot be made, older versions of the library return while the others still run
  context.version = ARGON2_VERSION_13;
  context.allocate_cbk = [](std::uint8_t** memory, std::size_t bytes) -> int {
    *memory = allocate_secret(bytes);
    return *memory == nullptr ? ARGON2_MEMORY_ALLOCATION_ERROR : ARGON2_OK;
  };
  context.free_cbk = release_secret;
  return ::argon2id_ctx(&context);
}

Result<SlotKeys> keys_from(const KeySlot& slot, ByteSpan passphrase) {
  Secret stretched(kCipherKeyBytes);
  const int failed = stretch(slot, passphrase, stretched.bytes());
  if (failed == ARGON2_MEMORY_ALLOCATION_ERROR)
    return Error{ErrorCode::kNoMemory,
                 fmt::format("key slot {} needs {} MiB of memory, which this machine does not have", slot.number,
                             slot.kdf.memory_kib >> 10)};
  if (failed != ARGON2_OK)
    return corruption(fmt::format("key slot {}: {}", slot.number, ::argon2_error_message(failed)));
  // The check does not help to find the key. It makes a slot that opens with two passphrases impossible, which AES-GCM by itself
  // would not.
  const Secret check = hkdf_sha256(stretched.bytes(), {}, bytes_of("dedupfs slot check"), Mac().size());
  SlotKeys keys{.sealing = hkdf_sha256(stretched.bytes(), {}, bytes_of("dedupfs slot key"), kCipherKeyBytes)};
  std::ranges::copy(check.bytes(), keys.check.begin());
  return keys;
}

// Each slot, and each former key, has a key of its own, which seals once.
constexpr std::uint64_t kSlotNonce = 0;

// Seals the master key in a slot that has its number, its name and its costs. A new salt gives it a key that sealed nothing before.
Result<void> fill_slot(KeySlot& slot, std::string_view uuid, ByteSpan master, ByteSpan passphrase) {
  if (passphrase.empty()) return invalid_argument("the passphrase is empty");
  if (slot.name.size() > KeySlot::kMaxNameBytes)
    return invalid_argument(fmt::format("the name of a key slot has at most {} bytes", KeySlot::kMaxNameBytes));
  if (!is_utf8(slot.name)) return invalid_argument("the name of a key slot is no UTF-8 text");
  fill_randomly(slot.salt);
  DEDUPFS_ASSIGN(const SlotKeys keys, keys_from(slot, passphrase));
  slot.check = keys.check;
  Aead(Cipher::kAes256Gcm, keys.sealing.bytes()).seal(kSlotNonce, bytes_of(uuid), master, slot.sealed_key.data());
  return {};
}

Error no_slot(std::uint32_t number) {
  return {ErrorCode::kNotFound, fmt::format("there is no key slot {}", number)};
}

Error changed_without_key(const std::string& what) {
  return corruption(fmt::format("{} changed without the key: put back {} and {} as they were before", what,
                                kSuperblockFile, kSuperblockCopyFile));
}

std::string bound_to_former_key(std::string_view uuid, std::uint32_t number) {
  std::string text(uuid);
  Encoder(text).u32(number);
  return text;
}

Aead sealer_of_former_key(const FormerKey& former, ByteSpan master) {
  return {Cipher::kAes256Gcm,
          hkdf_sha256(master, former.salt, bytes_of("dedupfs former key"), kCipherKeyBytes).bytes()};
}

FormerKey seal_former_key(const NumberedKey& key, std::string_view uuid, ByteSpan master) {
  FormerKey former{.number = key.number};
  fill_randomly(former.salt);
  sealer_of_former_key(former, master)
      .seal(kSlotNonce, bytes_of(bound_to_former_key(uuid, key.number)), key.master.bytes(), former.sealed_key.data());
  return former;
}

// The keys of an authenticated header.
Result<std::shared_ptr<const VolumeKey>> all_keys(const KeyHeader& header, Secret master) {
  std::vector<NumberedKey> former;
  former.reserve(header.former_keys.size());
  for (const FormerKey& sealed : header.former_keys) {
    NumberedKey key{.number = sealed.number, .master = Secret(kCipherKeyBytes)};
    if (!sealer_of_former_key(sealed, master.bytes())
             .open(kSlotNonce, bytes_of(bound_to_former_key(header.uuid, sealed.number)), sealed.sealed_key,
                   key.master.bytes().data()))
      return corruption(fmt::format("the former master key {} was changed", sealed.number));
    former.push_back(std::move(key));
  }
  NumberedKey current{.number = header.key_number, .master = std::move(master)};
  return std::make_shared<const VolumeKey>(header.cipher, std::move(current), std::move(former));
}

// Who has a copy of the header as it is could put it back, and the owner would go on under the key that he wants to leave.
Result<void> require_unknown(const KeyHeader& header, ByteSpan passphrase, std::uint64_t most_memory_kib) {
  const auto known = unlock(header, passphrase, most_memory_kib);
  if (known)
    return invalid_argument(fmt::format(
        "this passphrase opens key slot {}: who has a copy of the key header as it is now could put it back, and read "
        "what is written with it. Give a new passphrase",
        known->slot));
  return known.error().code() == ErrorCode::kNotPermitted ? Result<void>() : known.error();
}

Mac mac_of(const KeyHeader& header, ByteSpan master) {
  std::string text;
  Encoder encoder(text);
  const auto add = [&](std::string_view part) {
    encoder.varint(part.size());
    encoder.bytes(part);
  };
  add(header.uuid);
  add(name_of(header.cipher));
  encoder.u32(header.key_number);
  encoder.varint(header.slots.size());
  for (const KeySlot& slot : header.slots) {
    encoder.u32(slot.number);
    add(slot.name);
    encoder.u32(slot.kdf.memory_kib);
    encoder.u32(slot.kdf.passes);
    encoder.u32(slot.kdf.lanes);
    encoder.bytes(ByteSpan(slot.salt));
    encoder.bytes(ByteSpan(slot.check));
    encoder.bytes(ByteSpan(slot.sealed_key));
  }
  encoder.varint(header.former_keys.size());
  for (const FormerKey& former : header.former_keys) {
    encoder.u32(former.number);
    encoder.bytes(ByteSpan(former.salt));
    encoder.bytes(ByteSpan(former.sealed_key));
  }
  const Secret key = hkdf_sha256(master, {}, bytes_of("dedupfs header"), kCipherKeyBytes);
  return hmac_sha256(key.bytes(), bytes_of(text));
}

std::optional<Error> judge_key_header(std::string_view json) {
  const auto header = decode_key_header(json);
  return header ? std::nullopt : std::optional(header.error());
}

// For those who have the key: the checksum of a copy says nothing of who wrote it.
JudgeCopy judge_with_key(ByteSpan master) {
  return [master](std::string_view json) -> std::optional<Error> {
    const auto header = decode_key_header(json);
    if (!header) return header.error();
    if (verify(*header, master)) return std::nullopt;
    return corruption(
        "it was not made with the master key that opened the volume: dedupfs-key was interrupted, or somebody without "
        "the key wrote it");
  };
}

// Also one of a format that this build does not read.
bool is_encrypted(std::string_view json) {
  const auto object = decode_checked_json(json);
  if (!object) return false;
  const auto features = object->find("incompatible_features");
  if (features == object->end() || !features->is_array()) return false;
  return std::ranges::any_of(*features, [](const nlohmann::json& feature) {
    return feature.is_string() && feature.get_ref<const std::string&>() == kEncryptionFeature;
  });
}

}  // namespace

Result<std::uint32_t> add_slot(KeyHeader& header, ByteSpan master, ByteSpan passphrase, std::string name,
                               const KdfSettings& kdf) {
  if (header.slots.size() == KeyHeader::kMaxSlots)
    return Error{ErrorCode::kTooLarge,
                 fmt::format("all {} key slots are used: remove one first", KeyHeader::kMaxSlots)};
  DEDUPFS_TRY(require_little_work(header, 0, kdf));
  KeySlot slot;
  const auto is_used = [&](std::uint32_t number) {
    return std::ranges::find(header.slots, number, &KeySlot::number) != header.slots.end();
  };
  for (slot.number = 1; is_used(slot.number);) ++slot.number;
  slot.name = std::move(name);
  slot.kdf = kdf;
  DEDUPFS_TRY(fill_slot(slot, header.uuid, master, passphrase));
  header.slots.push_back(std::move(slot));
  return header.slots.back().number;
}

Result<void> remove_slot(KeyHeader& header, std::uint32_t number) {
  const auto slot = std::ranges::find(header.slots, number, &KeySlot::number);
  if (slot == header.slots.end()) return no_slot(number);
  if (header.slots.size() == 1)
    return invalid_argument("this is the last key slot: without it nobody could open the volume any more");
  header.slots.erase(slot);
  return {};
}

Result<void> change_slot(KeyHeader& header, std::uint32_t number, ByteSpan master, ByteSpan passphrase,
                         const KdfSettings& kdf) {
  const auto slot = std::ranges::find(header.slots, number, &KeySlot::number);
  if (slot == header.slots.end()) return no_slot(number);
  DEDUPFS_TRY(require_little_work(header, number, kdf));
  KeySlot changed{.number = number, .name = slot->name, .kdf = kdf};
  DEDUPFS_TRY(fill_slot(changed, header.uuid, master, passphrase));
  *slot = std::move(changed);
  return {};
}

Result<UnlockedKey> unlock(const KeyHeader& header, ByteSpan passphrase, std::uint64_t most_memory_kib) {
  std::optional<Error> failed;
  std::uint64_t work = 0;
  for (const KeySlot& slot : header.slots) {
    if (auto costly = too_costly(slot, most_memory_kib, work)) {
      failed = std::move(costly);
      continue;
    }
    work += work_of(slot.kdf);
    const auto keys = keys_from(slot, passphrase);
    if (!keys) {
      failed = keys.error();
      continue;
    }
    if (!equal_in_constant_time(keys->check, slot.check)) continue;
    Secret master(kCipherKeyBytes);
    if (!Aead(Cipher::kAes256Gcm, keys->sealing.bytes())
             .open(kSlotNonce, bytes_of(header.uuid), slot.sealed_key, master.bytes().data()))
      return changed_without_key(fmt::format("key slot {} was", slot.number));
    DEDUPFS_TRY(verify(header, master.bytes()));
    DEDUPFS_ASSIGN(auto key, all_keys(header, std::move(master)));
    return UnlockedKey{std::move(key), slot.number};
  }
  if (failed) return *failed;
  return Error{ErrorCode::kNotPermitted, "no key slot opens with this passphrase or key file"};
}

Result<RotatedKey> rotate_master(KeyHeader& header, const UnlockedKey& unlocked, const NewPassphrase& passphrase,
                                 std::uint64_t most_memory_kib) {
  if (header.former_keys.size() == KeyHeader::kMaxFormerKeys)
    return Error{ErrorCode::kTooLarge,
                 fmt::format("files are still sealed with {} former master keys, and no more are possible: run "
                             "dedupfs-gc, unmount, and try again",
                             KeyHeader::kMaxFormerKeys)};
  if (std::ranges::find(header.slots, unlocked.slot, &KeySlot::number) == header.slots.end())
    return no_slot(unlocked.slot);
  DEDUPFS_TRY(require_unknown(header, passphrase.bytes, most_memory_kib));
  KeyHeader rotated = header;
  ++rotated.key_number;
  Secret master = VolumeKey::make_master();
  rotated.slots.clear();
  DEDUPFS_TRY(require_little_work(rotated, unlocked.slot, passphrase.kdf));
  KeySlot kept{.number = unlocked.slot, .name = passphrase.name, .kdf = passphrase.kdf};
  DEDUPFS_TRY(fill_slot(kept, header.uuid, master.bytes(), passphrase.bytes));
  rotated.slots.push_back(std::move(kept));
  rotated.former_keys.clear();
  for (const NumberedKey& former : unlocked.key->all())
    rotated.former_keys.push_back(seal_former_key(former, header.uuid, master.bytes()));
  std::ranges::sort(rotated.former_keys, {}, &FormerKey::number);
  DEDUPFS_ASSIGN(auto key, all_keys(rotated, std::move(master)));
  RotatedKey result{.key = std::move(key), .removed = header.slots};
  std::erase_if(result.removed, [&](const KeySlot& each) { return each.number == unlocked.slot; });
  header = std::move(rotated);
  return result;
}

Result<void> forget_former_keys(BackingFolder& volume, const VolumeKey& key, std::uint32_t oldest_used) {
  DEDUPFS_ASSIGN(auto header, read_key_header(volume));
  if (!header) return corruption("the key header is missing");
  DEDUPFS_TRY(verify(*header, key.master()));
  const auto forgotten =
      std::erase_if(header->former_keys, [=](const FormerKey& former) { return former.number < oldest_used; });
  if (forgotten == 0) return {};
  DEDUPFS_TRY(write_key_header(volume, std::move(*header), key.master()));
  crash_point("unmount.keys-forgotten");
  return {};
}

Result<void> verify(const KeyHeader& header, ByteSpan master) {
  if (equal_in_constant_time(mac_of(header, master), header.mac)) return {};
  return changed_without_key("the key slots, or what is written beside them, were");
}

Result<std::optional<KeyHeader>> read_key_header(BackingFolder& volume) {
  bool is_plain = false;
  bool is_sealed = false;
  for (const std::string_view name : {kSuperblockFile, kSuperblockCopyFile}) {
    const auto json = read_file(volume, name, kMaxSuperblockBytes);
    if (!json || !decode_checked_json(*json)) continue;
    (is_encrypted(*json) ? is_sealed : is_plain) = true;
  }
  if (is_plain) {
    DEDUPFS_ASSIGN(const bool has_first, volume.exists(kVolumeRecordFile));
    DEDUPFS_ASSIGN(const bool has_copy, volume.exists(kVolumeRecordCopyFile));
    if (is_sealed || has_first || has_copy)
      return corruption(
          fmt::format("{} has parts of an encrypted volume, but {} is that of a plain one: somebody put it there",
                      volume.path().string(), is_sealed ? "a copy of the superblock" : "the superblock"));
  }
  if (!is_sealed) return std::optional<KeyHeader>();
  DEDUPFS_ASSIGN(const std::string whole, read_copies(volume, judge_key_header));
  DEDUPFS_ASSIGN(KeyHeader header, decode_key_header(whole));
  return std::optional(std::move(header));
}

Result<void> write_key_header(BackingFolder& volume, KeyHeader header, ByteSpan master) {
  header.mac = mac_of(header, master);
  const std::string json = encode_key_header(header);
  // Nobody could open the volume with a header that reads back as something else.
  DEDUPFS_ASSIGN(const KeyHeader readable, decode_key_header(json));
  DEDUPFS_TRY(verify(readable, master));
  return write_copies(volume, json);
}

std::vector<Error> damage_of_key_header(BackingFolder& volume) {
  return damage_of_copies(volume, judge_key_header);
}

std::vector<Error> damage_of_key_header(BackingFolder& volume, ByteSpan master) {
  return damage_of_copies(volume, judge_with_key(master));
}

Result<std::optional<std::string>> repair_key_header(BackingFolder& volume, ByteSpan master) {
  DEDUPFS_ASSIGN(CopiesRepair repair, repair_copies(volume, judge_with_key(master)));
  if (repair.written)
    for (const Error& each : repair.damage)
      spdlog::warn("{}: {}; {} is written anew from the other one. Look at its slots: dedupfs-key list",
                   volume.path().string(), each.message(), *repair.written);
  return std::move(repair.written);
}

}  // namespace dedupfs
