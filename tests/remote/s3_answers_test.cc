#include "remote/s3_answers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace dedupfs {
namespace {

using testing::HasSubstr;
using testing::Not;

std::string listing_of(const std::string& content) {
  return "<?xml version=\"1.0\"?><ListBucketResult>" + content + "</ListBucketResult>";
}

ErrorCode code_of_listing(const std::string& text) {
  const auto listing = parse_s3_listing(text);
  EXPECT_FALSE(listing) << text.substr(0, 200);
  return listing ? ErrorCode::kInvalidArgument : listing.error().code();
}

std::string repeated(const std::string& text, std::size_t count) {
  std::string all;
  for (std::size_t i = 0; i < count; ++i) all += text;
  return all;
}

TEST(S3Listing, HasObjectsAndWhereItGoesOn) {
  const auto listing = parse_s3_listing(
      "<ListBucketResult "
      "xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\"><Name>bucket</Name><IsTruncated>true</IsTruncated>"
      "<Contents><Key>a &amp; "
      "b</Key><LastModified>2026-11-26T16:20:00.000Z</LastModified><ETag>&quot;x&quot;</ETag><Size>12</Size></Contents>"
      "<Contents><Size>18446744073709551615</Size><Key>c</Key></Contents>"
      "<NextContinuationToken>more+</NextContinuationToken></ListBucketResult>");
  ASSERT_TRUE(listing) << listing.error().message();
  ASSERT_EQ(listing->objects.size(), 2u);
  EXPECT_EQ(listing->objects[0].name, "a & b");
  EXPECT_EQ(listing->objects[0].size, 12u);
  EXPECT_EQ(std::chrono::system_clock::to_time_t(listing->objects[0].modified), 1795710000);
  EXPECT_EQ(listing->objects[1].size, UINT64_MAX);
  // What has no time is new, so nobody deletes it for its age.
  EXPECT_LT(std::chrono::abs(listing->objects[1].modified - std::chrono::system_clock::now()), std::chrono::minutes(1));
  EXPECT_TRUE(listing->has_more);
  EXPECT_EQ(listing->continuation, "more+");
}

TEST(S3Listing, MayBeEmpty) {
  const auto listing = parse_s3_listing(listing_of(""));
  ASSERT_TRUE(listing);
  EXPECT_TRUE(listing->objects.empty());
  EXPECT_FALSE(listing->has_more);
}

TEST(S3Listing, OfNonsenseIsCorrupt) {
  for (const std::string text :
       {"", "x", "<", "<html></html>", "<ListBucketResult>", "<Error><Code>x</Code></Error>", "{\"a\": 1}"})
    EXPECT_EQ(code_of_listing(text), ErrorCode::kCorruption) << text;
  EXPECT_EQ(code_of_listing(std::string(1000, '\0')), ErrorCode::kCorruption);
  for (const std::string object :
       {"", "<Key></Key><Size>1</Size>", "<Key>a</Key>", "<Key>a</Key><Size>-1</Size>", "<Key>a</Key><Size>1x</Size>",
        "<Key>a</Key><Size>18446744073709551616</Size>", "<Key><b/></Key><Size>1</Size>"})
    EXPECT_EQ(code_of_listing(listing_of("<Contents>" + object + "</Contents>")), ErrorCode::kCorruption) << object;
  EXPECT_EQ(code_of_listing(listing_of("<Contents><Key>" + std::string(1025, 'a') + "</Key><Size>1</Size></Contents>")),
            ErrorCode::kCorruption);
  EXPECT_EQ(code_of_listing(listing_of("<IsTruncated>true</IsTruncated>")), ErrorCode::kCorruption);
}

TEST(S3Listing, OfEndlessDepthIsCorruptAndHarmless) {
  EXPECT_EQ(code_of_listing(repeated("<a>", 600'000)), ErrorCode::kCorruption);
  EXPECT_EQ(code_of_listing(repeated("<a>", 60'000)), ErrorCode::kCorruption);
  EXPECT_EQ(code_of_listing(repeated("<a>", 30'000) + repeated("</a>", 30'000)), ErrorCode::kCorruption);
  EXPECT_EQ(code_of_listing(listing_of(repeated("<a>", 40'000) + repeated("</a>", 40'000))), ErrorCode::kCorruption);
  EXPECT_TRUE(parse_s3_listing(listing_of(repeated("<a>", 30'000) + repeated("</a>", 30'000))));
}

TEST(S3Listing, ExpandsNoEntities) {
  const std::string bomb = "<?xml version=\"1.0\"?><!DOCTYPE l [<!ENTITY a \"" + std::string(1000, 'x') +
                           "\"><!ENTITY b \"&a;&a;&a;\"><!ENTITY f SYSTEM "
                           "\"file:///etc/passwd\">]><ListBucketResult><Contents><Key>&b;&f;</Key><Size>1</Size>"
                           "</Contents></ListBucketResult>";
  const auto listing = parse_s3_listing(bomb);
  ASSERT_TRUE(listing);
  EXPECT_EQ(listing->objects.at(0).name, "&b;&f;");
}

TEST(S3ErrorAnswer, HasCodeAndMessage) {
  const S3Error error = parse_s3_error(
      "<?xml version=\"1.0\"?><Error><Code>NoSuchKey</Code><Message>It is not there.</Message><Key>a</Key></Error>");
  EXPECT_EQ(error.code, "NoSuchKey");
  EXPECT_EQ(error.message, "It is not there.");
}

TEST(S3ErrorAnswer, IsALineThatIsSafeOnATerminal) {
  const S3Error error = parse_s3_error("<Error><Code>a\nb&#27;[31m</Code><Message>\xff&#x202e;" +
                                       std::string(10'000, 'x') + "</Message></Error>");
  EXPECT_THAT(error.code, Not(HasSubstr("\n")));
  EXPECT_THAT(error.code + error.message, Not(HasSubstr("\x1b")));
  EXPECT_THAT(error.message, Not(HasSubstr("\xff")));
  EXPECT_LT(error.message.size(), 400u);
}

TEST(S3ErrorAnswer, OfNonsenseIsEmpty) {
  for (const std::string& text :
       {std::string(), std::string("<html>"), listing_of(""), repeated("<a>", 600'000), std::string("<Error/>")}) {
    EXPECT_EQ(parse_s3_error(text).code, "");
    EXPECT_EQ(parse_s3_error(text).message, "");
  }
}

TEST(S3Range, SaysWhichPartOfWhat) {
  const auto range = parse_s3_range("bytes 10-19/1000");
  ASSERT_TRUE(range);
  EXPECT_EQ(range->first, 10u);
  EXPECT_EQ(range->last, 19u);
  EXPECT_EQ(range->total, 1000u);
}

TEST(S3Range, OfNonsenseIsNone) {
  for (const char* text : {"", "bytes", "bytes ", "bytes 1-2", "bytes 1/2", "bytes 1-2/*", "bytes 2-1/10",
                           "bytes 0-10/10", "bytes -1-2/10", "bytes 1-2/10 ", "octets 1-2/10", "bytes 1/10-2",
                           "bytes 0-18446744073709551616/18446744073709551617"})
    EXPECT_FALSE(parse_s3_range(text)) << text;
}

}  // namespace
}  // namespace dedupfs
