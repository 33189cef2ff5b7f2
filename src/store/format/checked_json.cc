#include "store/format/checked_json.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>
#include <xxhash.h>

#include <algorithm>
#include <limits>

#include "base/bytes.h"
#include "base/check.h"
#include "base/crash_point.h"
#include "store/format/format.h"

namespace dedupfs {
namespace {

// The checksum stands in the last member, at a fixed distance from the end, and covers every byte before that member.
std::string checksum_member(std::string_view covered) {
  return fmt::format("\"checksum\": \"{:016x}\"\n}}\n", XXH3_64bits(covered.data(), covered.size()));
}
constexpr std::size_t kChecksumMemberBytes = 12 + 18 + 3;

Result<std::string> read_whole_copy(BackingFolder& volume, std::string_view name, const JudgeCopy& judge) {
  DEDUPFS_ASSIGN(std::string json, read_file(volume, name, kMaxSuperblockBytes));
  if (const auto error = judge(json)) return error->with((volume.path() / name).string());
  return json;
}

struct BothCopies {
  Result<std::string> first;
  Result<std::string> second;

  std::vector<Error> damage() const {
    std::vector<Error> found;
    for (const auto* const copy : {&first, &second})
      if (!*copy) found.push_back(copy->error());
    if (first && second && *first != *second)
      found.push_back({ErrorCode::kCorruption,
                       fmt::format("{} says something else than {}", kSuperblockCopyFile, kSuperblockFile)});
    return found;
  }
};

BothCopies read_both(BackingFolder& volume, const JudgeCopy& judge) {
  return {.first = read_whole_copy(volume, kSuperblockFile, judge),
          .second = read_whole_copy(volume, kSuperblockCopyFile, judge)};
}

// Says of a whole copy that it is not for this build, not without a key, or not for this user.
bool is_final(ErrorCode code) {
  return code == ErrorCode::kVersion || code == ErrorCode::kUnsupported || code == ErrorCode::kNotPermitted ||
         code == ErrorCode::kAccessDenied;
}

}  // namespace

std::string encode_checked_json(const nlohmann::ordered_json& object) {
  std::string json = object.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
  constexpr std::string_view kEnd = "\n}";
  DEDUPFS_CHECK(json.ends_with(kEnd));  // of the text that was made just now
  json.replace(json.size() - kEnd.size(), kEnd.size(), ",\n  ");
  json += checksum_member(json);
  return json;
}

Result<nlohmann::json> decode_checked_json(std::string_view text) {
  if (text.size() < kChecksumMemberBytes) return corruption("it is cut off");
  const std::string_view covered = text.substr(0, text.size() - kChecksumMemberBytes);
  if (text.substr(covered.size()) != checksum_member(covered)) return corruption("its checksum differs");
  nlohmann::json object = nlohmann::json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!object.is_object()) return corruption("it is not a JSON object");
  return object;
}

Result<void> write_copies(BackingFolder& volume, std::string_view json) {
  if (json.size() > kMaxSuperblockBytes)
    return Error{ErrorCode::kTooLarge,
                 fmt::format("{} of {} would have {} bytes, and nobody reads more than {}", kSuperblockFile,
                             volume.path().string(), json.size(), kMaxSuperblockBytes)};
  DEDUPFS_TRY(replace_file(volume, kSuperblockCopyFile, bytes_of(json)));
  crash_point("superblock.copy-written");
  return replace_file(volume, kSuperblockFile, bytes_of(json));
}

Result<std::string> read_copies(BackingFolder& volume, const JudgeCopy& judge) {
  auto first = read_whole_copy(volume, kSuperblockFile, judge);
  if (first || is_final(first.error().code())) return first;  // no reason to look for another
  auto second = read_whole_copy(volume, kSuperblockCopyFile, judge);
  if (second) {
    spdlog::warn("{}; using {}", first.error().message(), kSuperblockCopyFile);
    return second;
  }
  if (first.error().code() != ErrorCode::kNotFound) {
    if (is_final(second.error().code())) return second;
    return Error{first.error().code(), first.error().message() +
                                           "; the copy is no better: " + second.error().message() +
                                           "; put one of them back from a copy of the volume's folder"};
  }
  if (second.error().code() != ErrorCode::kNotFound) return second;
  return Error{ErrorCode::kNotFound,
               volume.path().string() + " is no dedupfs volume: it has no " + std::string(kSuperblockFile)};
}

std::vector<Error> damage_of_copies(BackingFolder& volume, const JudgeCopy& judge) {
  return read_both(volume, judge).damage();
}

Result<CopiesRepair> repair_copies(BackingFolder& volume, const JudgeCopy& judge) {
  const BothCopies both = read_both(volume, judge);
  CopiesRepair repair{.damage = both.damage()};
  const bool is_any_whole = both.first || both.second;
  if (repair.damage.empty() || !is_any_whole) return repair;
  const std::string name(both.first ? kSuperblockCopyFile : kSuperblockFile);
  DEDUPFS_TRY(replace_file(volume, name, bytes_of(both.first ? *both.first : *both.second)));
  crash_point("superblock.repaired");
  repair.written = name;
  return repair;
}

std::string JsonMembers::text(const char* name) {
  const auto member = object_.find(name);
  if (member != object_.end() && member->is_string()) return member->get<std::string>();
  fail(name);
  return {};
}

std::vector<std::string> JsonMembers::texts(const char* name) {
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

std::int64_t JsonMembers::number(const char* name, std::int64_t smallest, std::int64_t largest) {
  const auto member = object_.find(name);
  // A number beyond 63 bits is out of every range here.
  const bool huge = member != object_.end() && member->is_number_unsigned() && member->get<std::uint64_t>() > INT64_MAX;
  if (member != object_.end() && member->is_number_integer() && !huge) {
    const std::int64_t value = member->get<std::int64_t>();
    if (value >= smallest && value <= largest) return value;
  }
  fail(name);
  return smallest;
}

std::optional<Error> JsonMembers::error() const {
  if (failed_.empty()) return std::nullopt;
  return corruption("member '" + failed_ + "' is missing, of the wrong kind or out of range");
}

Result<ClearFeatures> read_clear_features(const nlohmann::json& object) {
  JsonMembers members(object);
  if (members.text("magic") != kSuperblockMagic) return corruption("it does not describe a dedupfs volume");
  ClearFeatures clear;
  constexpr std::uint32_t kAnyNumber = std::numeric_limits<std::uint32_t>::max();
  clear.format_version = members.integer<std::uint32_t>("format_version", 0, kAnyNumber);
  if (const auto error = members.error()) return *error;
  if (clear.format_version > kFormatVersionWritten || clear.format_version < kFormatVersionOldestRead)
    return Error{ErrorCode::kVersion,
                 fmt::format("the volume has format version {}, this build reads {} to {}", clear.format_version,
                             kFormatVersionOldestRead, kFormatVersionWritten)};
  clear.incompatible = members.texts("incompatible_features");
  clear.read_only = members.texts("read_only_features");
  if (const auto error = members.error()) return *error;
  return clear;
}

}  // namespace dedupfs
