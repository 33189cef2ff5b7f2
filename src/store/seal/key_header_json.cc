// The key header as JSON.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <utility>

#include "base/uuid.h"
#include "store/format/superblock.h"
#include "store/seal/key_header.h"

namespace dedupfs {
namespace {

// A slot of a hostile header takes no more of the machine than this, before anything is known about it.
constexpr KdfSettings kLeastKdf{.memory_kib = 8, .passes = 1, .lanes = 1};
constexpr KdfSettings kMostKdf{.memory_kib = 4 << 20, .passes = 64, .lanes = 16};

std::string hex_of(ByteSpan bytes) {
  std::string text;
  for (const std::uint8_t byte : bytes) text += fmt::format("{:02x}", byte);
  return text;
}

bool parse_hex(std::string_view text, MutableByteSpan out) {
  if (text.size() != 2 * out.size()) return false;
  for (std::size_t i = 0; i < out.size(); ++i) {
    const char* const begin = text.data() + 2 * i;
    if (const auto parsed = std::from_chars(begin, begin + 2, out[i], 16); parsed.ptr != begin + 2) return false;
  }
  return true;
}

nlohmann::ordered_json slot_json(const KeySlot& slot) {
  return {{"number", slot.number},
          {"name", slot.name},
          {"kdf", "argon2id"},
          {"memory_kib", slot.kdf.memory_kib},
          {"passes", slot.kdf.passes},
          {"lanes", slot.kdf.lanes},
          {"salt", hex_of(slot.salt)},
          {"check", hex_of(slot.check)},
          {"key", hex_of(slot.sealed_key)}};
}

Result<KeySlot> slot_from(const nlohmann::json& object) {
  const Error damage = corruption("a key slot is damaged");
  if (!object.is_object()) return damage;
  JsonMembers members(object);
  KeySlot slot;
  slot.number = members.integer<std::uint32_t>("number", 1, INT32_MAX);
  slot.name = members.text("name");
  const bool is_known = members.text("kdf") == "argon2id";
  slot.kdf.memory_kib = members.integer("memory_kib", kLeastKdf.memory_kib, kMostKdf.memory_kib);
  slot.kdf.passes = members.integer("passes", kLeastKdf.passes, kMostKdf.passes);
  slot.kdf.lanes = members.integer("lanes", kLeastKdf.lanes, kMostKdf.lanes);
  const bool has_bytes = parse_hex(members.text("salt"), slot.salt) && parse_hex(members.text("check"), slot.check) &&
                         parse_hex(members.text("key"), slot.sealed_key);
  if (members.error() || !is_known || !has_bytes || slot.name.size() > KeySlot::kMaxNameBytes) return damage;
  return slot;
}

nlohmann::ordered_json former_key_json(const FormerKey& former) {
  return {{"number", former.number}, {"salt", hex_of(former.salt)}, {"key", hex_of(former.sealed_key)}};
}

Result<FormerKey> former_key_from(const nlohmann::json& object) {
  const Error damage = corruption("a former master key is damaged");
  if (!object.is_object()) return damage;
  JsonMembers members(object);
  FormerKey former;
  former.number = members.integer<std::uint32_t>("number", VolumeKey::kFirstKey, INT32_MAX);
  const bool has_bytes =
      parse_hex(members.text("salt"), former.salt) && parse_hex(members.text("key"), former.sealed_key);
  if (members.error() || !has_bytes) return damage;
  return former;
}

bool is_list(const nlohmann::json& object, const char* name, std::size_t least, std::size_t most) {
  const auto list = object.find(name);
  return list != object.end() && list->is_array() && list->size() >= least && list->size() <= most;
}

}  // namespace

std::string encode_key_header(const KeyHeader& header) {
  nlohmann::ordered_json object;
  object["magic"] = kSuperblockMagic;
  object["format_version"] = header.clear.format_version;
  object["incompatible_features"] = header.clear.incompatible;
  object["read_only_features"] = header.clear.read_only;
  object["uuid"] = header.uuid;
  object["cipher"] = name_of(header.cipher);
  object["key_number"] = header.key_number;
  object["key_slots"] = nlohmann::ordered_json::array();
  for (const KeySlot& slot : header.slots) object["key_slots"].push_back(slot_json(slot));
  object["former_keys"] = nlohmann::ordered_json::array();
  for (const FormerKey& former : header.former_keys) object["former_keys"].push_back(former_key_json(former));
  object["mac"] = hex_of(header.mac);
  return encode_checked_json(object);
}

Result<KeyHeader> decode_key_header(std::string_view json) {
  DEDUPFS_ASSIGN(const nlohmann::json object, decode_checked_json(json));
  KeyHeader header;
  DEDUPFS_ASSIGN(header.clear, read_clear_features(object));
  for (const std::string& feature : header.clear.incompatible)
    if (feature != kEncryptionFeature)
      return Error{ErrorCode::kVersion, fmt::format("the volume uses the feature '{}', which this build does not know, "
                                                    "and cannot be opened: use a newer dedupfs",
                                                    feature)};
  JsonMembers members(object);
  header.uuid = members.text("uuid");
  const auto cipher = cipher_named(members.text("cipher"));
  const bool has_mac = parse_hex(members.text("mac"), header.mac);
  header.key_number = members.integer<std::uint32_t>("key_number", VolumeKey::kFirstKey, INT32_MAX);
  if (const auto error = members.error()) return *error;
  if (!cipher) return Error{ErrorCode::kUnsupported, "unknown cipher"};
  header.cipher = *cipher;
  if (!is_uuid(header.uuid) || !has_mac || !is_list(object, "key_slots", 1, KeyHeader::kMaxSlots) ||
      !is_list(object, "former_keys", 0, KeyHeader::kMaxFormerKeys))
    return corruption("the key slots are damaged");
  for (const nlohmann::json& slot : object.at("key_slots")) {
    DEDUPFS_ASSIGN(KeySlot decoded, slot_from(slot));
    header.slots.push_back(std::move(decoded));
  }
  std::uint32_t number_before = 0;
  for (const nlohmann::json& former : object.at("former_keys")) {
    DEDUPFS_ASSIGN(const FormerKey decoded, former_key_from(former));
    if (decoded.number <= number_before || decoded.number >= header.key_number)
      return corruption("the former master keys are damaged");
    number_before = decoded.number;
    header.former_keys.push_back(decoded);
  }
  return header;
}

}  // namespace dedupfs
