// JSON documents as every program writes them: docs/json.md is the contract, and docs/schemas has their schemas.
//
// Threads: free functions, safe from any thread.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>

namespace dedupfs {

// A key that is added keeps it. A key that changes its meaning or goes makes it one more.
inline constexpr int kJsonSchemaVersion = 1;

enum class JsonLayout {
  kIndented,  // for a document of its own
  kLine,      // one of several documents, each on a line
};

// The text of a document, with a line feed. `object` is an object, and gets "schema", the name of its file in docs/schemas, and
// "schema_version". Names and paths need not be UTF-8: what is not is replaced.
std::string document_text(std::string_view schema, nlohmann::json object, JsonLayout layout = JsonLayout::kIndented);

// The same text without these two: for parts, and for files that only this program reads.
std::string text_of_json(const nlohmann::json& json, JsonLayout layout = JsonLayout::kIndented);

// {"error": {"message": M, "exit_code": N}}, of the schema "error".
nlohmann::json error_document(std::string_view message, int exit_code);
inline constexpr std::string_view kErrorSchema = "error";

// A time, once as "NAME_unix_seconds" and once as "NAME" in RFC 3339. Both are null without one.
void put_time(nlohmann::json& object, const std::string& name, std::optional<std::int64_t> unix_seconds);
nlohmann::json with_time(nlohmann::json object, const std::string& name, std::optional<std::int64_t> unix_seconds);

// "2026-11-25T20:53:00Z". Nothing for a time that RFC 3339 cannot write: before the year 0 or after 9999.
std::optional<std::string> rfc3339_text(std::int64_t unix_seconds);

// Null for nothing.
template <class Value>
nlohmann::json or_null(const std::optional<Value>& value) {
  return value ? nlohmann::json(*value) : nlohmann::json(nullptr);
}

}  // namespace dedupfs
