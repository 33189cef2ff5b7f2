// Spec strings, "NAME:key=value,key=value", parsed and checked. They configure chunkers and delta encoding.
//
// Threads: values; free functions are safe from any thread.
// Failure: kInvalidArgument with a message that names the spec's kind, the fault and the allowed values.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"

namespace dedupfs {

struct Spec {
  std::string kind;  // "chunker": what it configures, for messages
  std::string name;
  std::map<std::string, std::uint64_t, std::less<>> values;  // sizes and counts
  std::map<std::string, std::string, std::less<>> words;     // values that are words, like mode=dec

  std::optional<std::uint64_t> find(std::string_view key) const;
};

// Checks the grammar only, not which names and keys exist.
Result<Spec> parse_spec(std::string_view kind, std::string_view text);

// Refuses unknown keys, and words in place of numbers.
Result<void> allow_only(const Spec& spec, std::initializer_list<std::string_view> numbers,
                        std::initializer_list<std::string_view> words = {});

// The value of a key, in [smallest, largest].
Result<std::uint64_t> number_from(const Spec& spec, std::string_view key, std::uint64_t if_absent,
                                  std::uint64_t smallest, std::uint64_t largest);

// "a, b, c", for messages that list the allowed values.
std::string comma_separated(std::span<const std::string_view> items);

}  // namespace dedupfs
