// JSON files with a checksum, in two copies: the superblock. See docs/format.md, "Superblock".
//
// Threads: free functions, safe from any thread. JsonMembers is used by one thread.
// Failure: kCorruption for bytes that nobody wrote; errors of the folder.
#pragma once

#include <cstdint>
#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/backing.h"
#include "base/result.h"

namespace dedupfs {

// The text of the object, with its checksum as the last member.
std::string encode_checked_json(const nlohmann::ordered_json& object);
// The object, if its checksum is right.
Result<nlohmann::json> decode_checked_json(std::string_view text);

// Judges a text: the error of a copy that cannot be decoded.
using JudgeCopy = std::function<std::optional<Error>(std::string_view json)>;

// The first copy last: readers prefer it, so it is what decides between old and new.
Result<void> write_copies(BackingFolder& volume, std::string_view json);
// The text of the first copy that is whole; that the first copy is damaged is logged. A whole copy that this build must not use is an
// error, as the judge says. kNotFound: the folder is no volume.
Result<std::string> read_copies(BackingFolder& volume, const JudgeCopy& judge);
// The damage of either copy, also that they differ. kNotFound: a copy is missing.
std::vector<Error> damage_of_copies(BackingFolder& volume, const JudgeCopy& judge);
struct CopiesRepair {
  std::vector<Error> damage;           // as damage_of_copies(), of the same bytes that the repair was made from
  std::optional<std::string> written;  // the name of the file, if one was
};
// Makes both alike, after the one that read_copies() takes. Reads each once: what is reported is what was repaired.
Result<CopiesRepair> repair_copies(BackingFolder& volume, const JudgeCopy& judge);

// Reads members of a JSON object and remembers the first that is missing or of the wrong kind.
class JsonMembers {
 public:
  explicit JsonMembers(const nlohmann::json& object) : object_(object) {}

  std::string text(const char* name);
  std::vector<std::string> texts(const char* name);
  template <class Integer>
  Integer integer(const char* name, Integer smallest, Integer largest) {
    return static_cast<Integer>(number(name, std::int64_t{smallest}, std::int64_t{largest}));
  }
  std::optional<Error> error() const;

 private:
  std::int64_t number(const char* name, std::int64_t smallest, std::int64_t largest);
  void fail(const char* name) {
    if (failed_.empty()) failed_ = name;
  }

  const nlohmann::json& object_;
  std::string failed_;
};

// What the superblock of every volume says first, whatever its format.
struct ClearFeatures {
  std::uint32_t format_version = 0;
  std::vector<std::string> incompatible;
  std::vector<std::string> read_only;
};
// kVersion for a format that this build does not read.
Result<ClearFeatures> read_clear_features(const nlohmann::json& object);

}  // namespace dedupfs
