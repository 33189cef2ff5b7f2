#include "json/document.h"

#include <fmt/format.h>

#include <ctime>
#include <utility>

namespace dedupfs {

std::string text_of_json(const nlohmann::json& json, JsonLayout layout) {
  const int indent = layout == JsonLayout::kIndented ? 2 : -1;
  return json.dump(indent, ' ', false, nlohmann::json::error_handler_t::replace) + '\n';
}

std::string document_text(std::string_view schema, nlohmann::json object, JsonLayout layout) {
  object["schema"] = schema;
  object["schema_version"] = kJsonSchemaVersion;
  return text_of_json(object, layout);
}

nlohmann::json error_document(std::string_view message, int exit_code) {
  return {{"error", {{"message", message}, {"exit_code", exit_code}}}};
}

void put_time(nlohmann::json& object, const std::string& name, std::optional<std::int64_t> unix_seconds) {
  object[name + "_unix_seconds"] = or_null(unix_seconds);
  object[name] = unix_seconds ? or_null(rfc3339_text(*unix_seconds)) : nlohmann::json(nullptr);
}

nlohmann::json with_time(nlohmann::json object, const std::string& name, std::optional<std::int64_t> unix_seconds) {
  put_time(object, name, unix_seconds);
  return object;
}

std::optional<std::string> rfc3339_text(std::int64_t unix_seconds) {
  const std::time_t time = unix_seconds;
  std::tm utc{};
  if (::gmtime_r(&time, &utc) == nullptr || utc.tm_year < -1900 || utc.tm_year > 9999 - 1900) return std::nullopt;
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}Z", utc.tm_year + 1900, utc.tm_mon + 1, utc.tm_mday,
                     utc.tm_hour, utc.tm_min, utc.tm_sec);
}

}  // namespace dedupfs
