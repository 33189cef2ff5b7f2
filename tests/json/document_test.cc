#include "json/document.h"

#include <gtest/gtest.h>

#include <limits>

namespace dedupfs {
namespace {

using nlohmann::json;

TEST(JsonDocument, HasTheNameOfItsSchemaAndTheVersion) {
  EXPECT_EQ(document_text("s", {{"a", 1}}), "{\n  \"a\": 1,\n  \"schema\": \"s\",\n  \"schema_version\": 1\n}\n");
  EXPECT_EQ(document_text("s", {{"a", 1}}, JsonLayout::kLine), "{\"a\":1,\"schema\":\"s\",\"schema_version\":1}\n");
}

TEST(JsonDocument, AnErrorHasItsMessageAndTheExitCode) {
  const auto document = json::parse(document_text(kErrorSchema, error_document("no volume", 2)));

  EXPECT_EQ(
      document,
      json({{"schema", "error"}, {"schema_version", 1}, {"error", {{"message", "no volume"}, {"exit_code", 2}}}}));
}

TEST(JsonDocument, NamesThatAreNotUtf8AreReplaced) {
  EXPECT_EQ(text_of_json({{"name", "a\xff"}}, JsonLayout::kLine), "{\"name\":\"a\xef\xbf\xbd\"}\n");
}

TEST(JsonDocument, ATimeIsWrittenInBothForms) {
  json object;
  put_time(object, "ended", 1'764'104'000);
  put_time(object, "until", std::nullopt);

  EXPECT_EQ(object, json({{"ended_unix_seconds", 1'764'104'000},
                          {"ended", "2025-11-25T20:53:20Z"},
                          {"until_unix_seconds", nullptr},
                          {"until", nullptr}}));
  EXPECT_EQ(with_time({{"a", 1}}, "ended", 0),
            json({{"a", 1}, {"ended_unix_seconds", 0}, {"ended", "1970-01-01T00:00:00Z"}}));
}

// A volume may be hostile.
TEST(JsonDocument, ATimeOutsideOfTheCalendarHasItsNumberOnly) {
  EXPECT_EQ(rfc3339_text(-1), "1969-12-31T23:59:59Z");
  EXPECT_EQ(rfc3339_text(253'402'300'799), "9999-12-31T23:59:59Z");
  EXPECT_EQ(rfc3339_text(253'402'300'800), std::nullopt);
  EXPECT_EQ(rfc3339_text(-62'167'219'200), "0000-01-01T00:00:00Z");
  EXPECT_EQ(rfc3339_text(-62'167'219'201), std::nullopt);
  for (const auto odd : {std::numeric_limits<std::int64_t>::max(), std::numeric_limits<std::int64_t>::min()}) {
    const json object = with_time({}, "ended", odd);
    EXPECT_EQ(object.at("ended"), nullptr);
    EXPECT_EQ(object.at("ended_unix_seconds"), odd);
  }
}

}  // namespace
}  // namespace dedupfs
