#include "store/format/superblock.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>
#include <sys/random.h>
#include <xxhash.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>

#include "base/bytes.h"
#include "base/check.h"
#include "base/crash_point.h"
#include "store/format/features.h"

namespace dedupfs {
namespace {

// The checksum stands in the last member, at a fixed distance from the end, and covers every byte before that member.
std::string checksum_member(std::string_view covered) {
  return fmt::format("\"checksum\": \"{:016x}\"\n}}\n", XXH3_64bits(covered.data(), covered.size()));
}
constexpr std::size_t kChecksumMemberBytes = 12 + 18 + 3;

constexpr std::array kIncompatibleFeatures = {kDeltaFeature, kQuotasFeature};
constexpr std::array kReadOnlyFeatures = {kHoldsFeature};

// Reads members of a JSON object and remembers the first that is missing or of the wrong kind.
class Members {
 public:
  explicit Members(const nlohmann::json& object) : object_(object) {}

  std::string text(const char* name) {
    const auto member = object_.find(name);
    if (member != object_.end() && member->is_string()) return member->get<std::string>();
    fail(name);
    return {};
  }

  template <class Integer>
  Integer integer(const char* name, Integer smallest, Integer largest) {
    const auto member = object_.find(name);
    // A number beyond 63 bits is out of every range here.
    const bool huge =
        member != object_.end() && member->is_number_unsigned() && member->get<std::uint64_t>() > INT64_MAX;
    if (member != object_.end() && member->is_number_integer() && !huge) {
      const std::int64_t value = member->get<std::int64_t>();
      if (value >= std::int64_t{smallest} && value <= std::int64_t{largest}) return static_cast<Integer>(value);
    }
    fail(name);
    return smallest;
  }

  std::vector<std::string> texts(const char* name) {
    const auto member = object_.find(name);
    std::vector<std::string> values;
    if (member == object_.end() || !member->is_array()) {
      fail(name);
      return values;
    }
    for (const nlohmann::json& value : *member) {
      if (value.is_string())
        values.push_back(value.get<std::string>());
      else
        fail(name);
    }
    return values;
  }

  std::optional<Error> error() const {
    if (failed_.empty()) return std::nullopt;
    return corruption("member '" + failed_ + "' is missing, of the wrong kind or out of range");
  }

 private:
  void fail(const char* name) {
    if (failed_.empty()) failed_ = name;
  }

  const nlohmann::json& object_;
  std::string failed_;
};

bool is_uuid(std::string_view text) {
  constexpr std::string_view kForm = "xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx";
  return std::ranges::equal(text, kForm, [](char character, char form) {
    return form == '-' ? character == '-' : std::isxdigit(static_cast<unsigned char>(character)) != 0;
  });
}

Result<void> require_known(const std::vector<std::string>& features, std::span<const std::string_view> known,
                           std::string_view consequence) {
  for (const std::string& feature : features) {
    if (std::ranges::find(known, feature) == known.end())
      return Error{ErrorCode::kVersion, fmt::format("the volume uses the feature '{}', which this build does not know, "
                                                    "and {}: use a newer dedupfs",
                                                    feature, consequence)};
  }
  return {};
}

}  // namespace

std::string make_uuid() {
  std::array<std::uint8_t, 16> bytes;
  // The kernel gives so few bytes at once and whole; a volume has no part in it.
  DEDUPFS_CHECK(::getrandom(bytes.data(), bytes.size(), 0) == static_cast<ssize_t>(bytes.size()));
  bytes[6] = static_cast<std::uint8_t>((bytes[6] & 0x0f) | 0x40);  // version 4
  bytes[8] = static_cast<std::uint8_t>((bytes[8] & 0x3f) | 0x80);  // of RFC 4122
  std::string uuid;
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    if (i == 4 || i == 6 || i == 8 || i == 10) uuid.push_back('-');
    uuid += fmt::format("{:02x}", bytes[i]);
  }
  return uuid;
}

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

  std::string json = object.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
  constexpr std::string_view kEnd = "\n}";
  DEDUPFS_CHECK(json.ends_with(kEnd));  // of the text that was made just now
  json.replace(json.size() - kEnd.size(), kEnd.size(), ",\n  ");
  json += checksum_member(json);
  return json;
}

Result<Superblock> decode_superblock(std::string_view json) {
  if (json.size() < kChecksumMemberBytes) return corruption("it is cut off");
  const std::string_view covered = json.substr(0, json.size() - kChecksumMemberBytes);
  if (json.substr(covered.size()) != checksum_member(covered)) return corruption("its checksum differs");

  const nlohmann::json object = nlohmann::json::parse(json, nullptr, /*allow_exceptions=*/false);
  if (!object.is_object()) return corruption("it is not a JSON object");
  Members members(object);
  if (members.text("magic") != kSuperblockMagic) return corruption("it does not describe a dedupfs volume");

  Superblock superblock;
  constexpr std::uint32_t kAnyNumber = std::numeric_limits<std::uint32_t>::max();
  superblock.format_version = members.integer<std::uint32_t>("format_version", 0, kAnyNumber);
  if (const auto error = members.error()) return *error;
  if (superblock.format_version > kFormatVersionWritten || superblock.format_version < kFormatVersionOldestRead)
    return Error{ErrorCode::kVersion,
                 fmt::format("the volume has format version {}, this build reads {} to {}", superblock.format_version,
                             kFormatVersionOldestRead, kFormatVersionWritten)};
  superblock.incompatible_features = members.texts("incompatible_features");
  superblock.read_only_features = members.texts("read_only_features");
  if (const auto error = members.error()) return *error;
  DEDUPFS_TRY(require_known(superblock.incompatible_features, kIncompatibleFeatures, "cannot be opened"));

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

// The text of a copy, if it can be decoded.
Result<std::string> read_whole_copy(BackingFolder& volume, std::string_view name) {
  DEDUPFS_ASSIGN(std::string json, read_file(volume, name, kMaxSuperblockBytes));
  if (const auto superblock = decode_superblock(json); !superblock)
    return superblock.error().with((volume.path() / name).string());
  return json;
}

}  // namespace

Result<void> write_superblock(BackingFolder& volume, const Superblock& superblock) {
  const std::string json = encode_superblock(superblock);
  // The first copy last: readers prefer it, so it is what decides between old and new.
  DEDUPFS_TRY(replace_file(volume, kSuperblockCopyFile, bytes_of(json)));
  crash_point("superblock.copy-written");
  return replace_file(volume, kSuperblockFile, bytes_of(json));
}

Result<Superblock> read_superblock(BackingFolder& volume) {
  const auto read_copy = [&](std::string_view name) -> Result<Superblock> {
    DEDUPFS_ASSIGN(const std::string json, read_whole_copy(volume, name));
    return decode_superblock(json);
  };

  auto first = read_copy(kSuperblockFile);
  // A whole copy that this build must not use is no reason to look for another.
  if (first || first.error().code() == ErrorCode::kVersion || first.error().code() == ErrorCode::kUnsupported)
    return first;
  auto second = read_copy(kSuperblockCopyFile);
  if (second) {
    spdlog::warn("{}; using {}", first.error().message(), kSuperblockCopyFile);
    return second;
  }
  if (first.error().code() != ErrorCode::kNotFound) {
    if (second.error().code() == ErrorCode::kVersion) return second;
    return Error{first.error().code(),
                 first.error().message() + "; the copy is no better: " + second.error().message()};
  }
  if (second.error().code() != ErrorCode::kNotFound) return second;
  return Error{ErrorCode::kNotFound,
               volume.path().string() + " is no dedupfs volume: it has no " + std::string(kSuperblockFile)};
}

std::vector<Error> damage_of_superblocks(BackingFolder& volume) {
  const auto first = read_whole_copy(volume, kSuperblockFile);
  const auto second = read_whole_copy(volume, kSuperblockCopyFile);
  std::vector<Error> damage;
  for (const auto* const copy : {&first, &second})
    if (!*copy) damage.push_back(copy->error());
  if (first && second && *first != *second)
    damage.push_back(
        {ErrorCode::kCorruption, fmt::format("{} says something else than {}", kSuperblockCopyFile, kSuperblockFile)});
  return damage;
}

Result<std::optional<std::string>> repair_superblock(BackingFolder& volume) {
  const auto first = read_whole_copy(volume, kSuperblockFile);
  const auto second = read_whole_copy(volume, kSuperblockCopyFile);
  if ((!first && !second) || (first && second && *first == *second)) return std::optional<std::string>();
  const std::string name(first ? kSuperblockCopyFile : kSuperblockFile);
  DEDUPFS_TRY(replace_file(volume, name, bytes_of(first ? *first : *second)));
  return std::optional(name);
}

Result<void> require_writable(const Superblock& superblock) {
  return require_known(superblock.read_only_features, kReadOnlyFeatures, "can only be mounted read-only");
}

}  // namespace dedupfs
