#include "store/format/superblock.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>
#include <xxhash.h>

#include <algorithm>
#include <array>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>

#include "base/bytes.h"
#include "base/check.h"
#include "base/crash_point.h"
#include "base/uuid.h"
#include "store/format/checked_json.h"
#include "store/format/features.h"

namespace dedupfs {
namespace {

constexpr std::array kIncompatibleFeatures = {kDeltaFeature, kQuotasFeature, kEvictionFeature, kSnapshotUuidsFeature};
constexpr std::array kReadOnlyFeatures = {kHoldsFeature};

Result<void> require_known(const std::vector<std::string>& features, std::span<const std::string_view> known,
                           std::string_view consequence) {
  for (const std::string& feature : features) {
    if (feature == kEncryptionFeature)
      return Error{ErrorCode::kNotPermitted, "the volume is encrypted: give its passphrase or key file"};
    if (std::ranges::find(known, feature) == known.end())
      return Error{ErrorCode::kVersion, fmt::format("the volume uses the feature '{}', which this build does not know, "
                                                    "and {}: use a newer dedupfs",
                                                    feature, consequence)};
  }
  return {};
}

}  // namespace

std::string encode_superblock(const Superblock& superblock) {
  nlohmann::ordered_json object;
  object["magic"] = kSuperblockMagic;
  object["format_version"] = superblock.format_version;
  object["incompatible_features"] = superblock.incompatible_features;
  object["read_only_features"] = superblock.read_only_features;
  object["uuid"] = superblock.uuid;
  object["label"] = superblock.label;
  object["created_unix_seconds"] = superblock.created_unix_seconds;
  object["chunker"] = superblock.chunker;
  object["fingerprint"] = superblock.fingerprint;
  object["compression"] = format_compression(superblock.compression.settled);
  object["landing"] = format_compression(superblock.compression.landing);
  if (superblock.delta.enabled()) object["delta"] = format_delta_settings(superblock.delta);
  object["region_bytes"] = superblock.region_bytes;
  object["container_bytes"] = superblock.container_bytes;

  return encode_checked_json(object);
}

Result<Superblock> decode_superblock(std::string_view json) {
  DEDUPFS_ASSIGN(const nlohmann::json object, decode_checked_json(json));
  DEDUPFS_ASSIGN(ClearFeatures clear, read_clear_features(object));
  DEDUPFS_TRY(require_known(clear.incompatible, kIncompatibleFeatures, "cannot be opened"));
  JsonMembers members(object);
  Superblock superblock;
  superblock.format_version = clear.format_version;
  superblock.incompatible_features = std::move(clear.incompatible);
  superblock.read_only_features = std::move(clear.read_only);

  superblock.uuid = members.text("uuid");
  superblock.label = members.text("label");
  superblock.created_unix_seconds = members.integer<std::int64_t>("created_unix_seconds", INT64_MIN, INT64_MAX);
  superblock.chunker = members.text("chunker");
  superblock.fingerprint = members.text("fingerprint");
  const std::string compression = members.text("compression");
  // Builds without tiers compress new data for good.
  const std::string landing = object.contains("landing") ? members.text("landing") : compression;
  const std::string delta = object.contains("delta") ? members.text("delta") : format_delta_settings({});
  superblock.region_bytes = members.integer<std::uint32_t>("region_bytes", kMinRegionBytes, kMaxRegionPayloadBytes);
  superblock.container_bytes =
      members.integer<std::uint32_t>("container_bytes", kMinContainerBytes, kMaxContainerBytes);
  if (const auto error = members.error()) return *error;
  if (!is_uuid(superblock.uuid)) return corruption("'" + superblock.uuid + "' is not a UUID");
  if (superblock.fingerprint != "sha256")
    return Error{ErrorCode::kUnsupported, "unknown fingerprint '" + superblock.fingerprint + "'"};
  const auto parsed = parse_compression(compression);
  if (!parsed) return Error{ErrorCode::kUnsupported, parsed.error().message()};
  const auto parsed_landing = parse_compression(landing);
  if (!parsed_landing) return Error{ErrorCode::kUnsupported, parsed_landing.error().message()};
  superblock.compression = {.settled = *parsed, .landing = *parsed_landing};
  if (!superblock.compression.are_in_order()) superblock.compression.landing = *parsed;
  const auto parsed_delta = parse_delta_settings(delta);
  if (!parsed_delta) return Error{ErrorCode::kUnsupported, parsed_delta.error().message()};
  superblock.delta = *parsed_delta;
  return superblock;
}

namespace {

std::optional<Error> judge_superblock(std::string_view json) {
  const auto superblock = decode_superblock(json);
  return superblock ? std::nullopt : std::optional(superblock.error());
}

}  // namespace

Result<void> write_superblock(BackingFolder& volume, const Superblock& superblock) {
  return write_copies(volume, encode_superblock(superblock));
}

// Disks that find evicted containers hide their folder. Where it shows, they would be taken for lost.
Result<void> require_all_containers(BackingFolder& volume) {
  const auto folder = volume.open_folder(kEvictedDirectory);
  if (!folder && folder.error().code() == ErrorCode::kNotFound) return {};
  if (!folder) return folder.error();
  DEDUPFS_ASSIGN(const auto names, (*folder)->list());
  if (names.empty()) return {};
  return Error{
      ErrorCode::kUnsupported,
      volume.path().string() +
          " has containers in a bucket only, and none is looked for there: the volume is another user's (foreign), "
          "or this is no program of dedupfs"};
}

Result<Superblock> read_superblock(BackingFolder& volume) {
  DEDUPFS_ASSIGN(const std::string json, read_copies(volume, judge_superblock));
  DEDUPFS_TRY(require_all_containers(volume));
  return decode_superblock(json);
}

std::vector<Error> damage_of_superblocks(BackingFolder& volume) {
  return damage_of_copies(volume, judge_superblock);
}

Result<std::optional<std::string>> repair_superblock(BackingFolder& volume) {
  DEDUPFS_ASSIGN(CopiesRepair repair, repair_copies(volume, judge_superblock));
  return std::move(repair.written);
}

Result<void> require_writable(const Superblock& superblock) {
  return require_known(superblock.read_only_features, kReadOnlyFeatures, "can only be mounted read-only");
}

}  // namespace dedupfs
