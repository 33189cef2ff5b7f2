#include "fs/transfer/stream_header.h"

#include <gtest/gtest.h>

namespace dedupfs::transfer {
namespace {

const SnapshotIdentity kSent{"93883694-6fbf-47b9-ab10-ed37024f0ba1", 3,
                             "mon\xff"
                             "day",
                             1'700'000'000, "0f8b6bfa-7d6c-4d0e-9f3b-5a0c9d1e2f30"};
const std::string kBase = "1a2b3c4d-0000-4000-8000-0123456789ab";

TEST(ResumeToken, IsAWordThatComesBack) {
  for (const std::string& base : {kBase, std::string()}) {
    const ResumeToken token{kSent.volume, kSent.uuid, base, {17, 123'456'789}};
    const auto again = ResumeToken::parse(token.text());
    ASSERT_TRUE(again) << token.text();
    EXPECT_EQ(*again, token);
    EXPECT_EQ(token.text().find_first_of(" '\"$"), std::string::npos) << "shells take it as it is";
  }
}

TEST(ResumeToken, OtherWordsAreRefused) {
  const std::string uuids = kSent.volume + '.' + kSent.uuid + '.';
  ASSERT_TRUE(ResumeToken::parse(uuids + "0.17.5"));
  for (const std::string& text :
       {std::string(), std::string("."), kSent.volume, uuids, uuids + "0.17", uuids + "0.17.", uuids + "0.17.5.",
        uuids + "0.17.5.6", uuids + ".17.5", uuids + "1.17.5", uuids + "0.-1.5", uuids + "0.017.5",
        uuids + "0.17.99999999999999999999", uuids + "$(reboot).17.5", '.' + kSent.uuid + ".0.17.5",
        kSent.volume + "..0.17.5", "x" + uuids.substr(1) + "0.17.5"})
    EXPECT_FALSE(ResumeToken::parse(text)) << text;
}

TEST(StreamHeader, ComesBackAsItWas) {
  StreamHeader header{.snapshot = kSent, .held_until_unix_seconds = 1'800'000'000, .begin = {5, 6}};
  header.base = SnapshotIdentity{kSent.volume, 2, "sunday", 1'600'000'000, kBase};
  const auto again = StreamHeader::parse(header.text());
  ASSERT_TRUE(again) << again.error().message();
  EXPECT_EQ(again->snapshot, header.snapshot);
  EXPECT_EQ(again->base, header.base);
  EXPECT_EQ(again->begin, header.begin);
  EXPECT_EQ(again->held_until_unix_seconds, header.held_until_unix_seconds);
  EXPECT_FALSE(again->held_until_released);
}

TEST(StreamHeader, OfAnotherVersionNamesTheRemedy) {
  std::string text = StreamHeader{.snapshot = kSent}.text();
  const std::string version = "\"version\":1";
  ASSERT_NE(text.find(version), std::string::npos);
  text.replace(text.find(version), version.size(), "\"version\":2");
  const auto header = StreamHeader::parse(text);
  ASSERT_FALSE(header);
  EXPECT_EQ(header.error().code(), ErrorCode::kVersion);
  EXPECT_NE(header.error().message().find("newer"), std::string::npos);
}

TEST(StreamHeader, DatesThatNoSenderHasAreRefused) {
  const auto parsed = [](std::int64_t created, std::optional<std::int64_t> held_until) {
    return StreamHeader::parse(
        StreamHeader{.snapshot = {kSent.volume, 3, "x", created, kSent.uuid}, .held_until_unix_seconds = held_until}
            .text());
  };
  EXPECT_TRUE(parsed(0, std::nullopt));
  EXPECT_TRUE(parsed(INT64_MAX, SnapshotHolds::kLastUnixSeconds)) << "a fast clock";
  EXPECT_FALSE(parsed(-1, std::nullopt));
  EXPECT_FALSE(parsed(0, SnapshotHolds::kLastUnixSeconds + 1));
}

// 4 MiB of them would take 300 MiB.
TEST(StreamHeader, OneThatIsLongOrDeepIsRefused) {
  const std::string text = StreamHeader{.snapshot = kSent}.text();
  const auto with = [&](const std::string& more) {
    return text.substr(0, text.size() - 1) + ",\"more\":" + more + "}";
  };
  EXPECT_TRUE(StreamHeader::parse(with("[[1]]")));
  EXPECT_FALSE(StreamHeader::parse(with('"' + std::string(100'000, 'x') + '"')));
  EXPECT_FALSE(StreamHeader::parse(with(std::string(30'000, '[') + std::string(30'000, ']'))));
}

TEST(StreamHeader, MalformedOnesAreCorrupt) {
  for (const std::string text :
       {"", "{}", "[]", "null", "{\"version\":\"1\"}", "{\"version\":1}", "{\"version\":1,\"snapshot\":5}"}) {
    const auto header = StreamHeader::parse(text);
    ASSERT_FALSE(header) << text;
    EXPECT_EQ(header.error().code(), ErrorCode::kCorruption) << text;
  }
}

TEST(ReceivedState, ComesBackAsItWas) {
  const ReceivedState state{.snapshot = kSent, .base = kBase, .is_complete = false, .position = {7, 8}, .made_from = 9};
  const auto again = ReceivedState::parse(state.text());
  ASSERT_TRUE(again);
  EXPECT_EQ(again->snapshot, state.snapshot);
  EXPECT_EQ(again->token(), state.token());
  EXPECT_FALSE(again->is_complete);
  EXPECT_EQ(again->made_from, 9u);
}

// As builds wrote it when snapshots had no UUID. One of such a snapshot is the same wherever it is looked at.
TEST(ReceivedState, OfAnOlderBuildIsRead) {
  const std::string text =
      R"({"base":{"created_unix_seconds":5,"number":2},"complete":true,"has_snapshot":true,"made_from":9,)"
      R"("position":{"offset":0,"step":7},"snapshot":{"created_unix_seconds":6,"name_hex":"6d",)"
      R"("number":3,"volume":"93883694-6fbf-47b9-ab10-ed37024f0ba1"},"version":1})";
  const auto state = ReceivedState::parse(text);
  ASSERT_TRUE(state) << state.error().message();
  EXPECT_EQ(state->base, uuid_without(2, 5));
  EXPECT_EQ(state->snapshot, (SnapshotIdentity{kSent.volume, 3, "m", 6, uuid_without(3, 6)}));
  const auto whole =
      ReceivedState::parse(R"({"base":{"created_unix_seconds":0,"number":0})" + text.substr(text.find(",\"complete")));
  ASSERT_TRUE(whole) << whole.error().message();
  EXPECT_EQ(whole->base, "");
}

TEST(StreamHeader, NamesThatGoIntoMessagesAreChecked) {
  for (const SnapshotIdentity& bad :
       {SnapshotIdentity{"\x1b[2J", 3, "monday", 5, kBase}, SnapshotIdentity{kSent.volume, 0, "monday", 5, kBase},
        SnapshotIdentity{kSent.volume, 3, "a/b", 5, kBase}, SnapshotIdentity{kSent.volume, 3, "", 5, kBase},
        SnapshotIdentity{kSent.volume, 3, "monday", 5, "\x1b[2J"}})
    EXPECT_FALSE(StreamHeader::parse(StreamHeader{.snapshot = bad}.text())) << bad.name;
}

}  // namespace
}  // namespace dedupfs::transfer
