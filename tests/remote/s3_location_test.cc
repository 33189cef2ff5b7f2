#include "remote/s3_location.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace dedupfs {
namespace {

using testing::HasSubstr;

std::string refusal(const std::string& address, const std::string& endpoint = "", const std::string& region = "") {
  const auto location = parse_s3_location(address, endpoint, region);
  if (location) return "taken: " + location->url_of("x");
  EXPECT_EQ(location.error().code(), ErrorCode::kInvalidArgument);
  return location.error().message();
}

TEST(S3Location, IsABucketAndAPrefixBelowAnEndpoint) {
  const auto location = parse_s3_location("s3://my-bucket/backups/host a/", "https://store.example:9000/", "").value();
  EXPECT_EQ(location.bucket, "my-bucket");
  EXPECT_EQ(location.prefix, "backups/host a");
  EXPECT_EQ(location.region, "us-east-1");
  EXPECT_EQ(location.name(), "s3://my-bucket/backups/host a");
  EXPECT_EQ(location.bucket_url(), "https://store.example:9000/my-bucket");
  EXPECT_EQ(location.url_of("head/1"), "https://store.example:9000/my-bucket/backups/host%20a/head/1");
}

TEST(S3Location, NeedsNoPrefix) {
  for (const char* address : {"s3://bucket", "s3://bucket/", "s3://bucket//"}) {
    const auto location = parse_s3_location(address, "http://[::1]:80", "").value();
    EXPECT_EQ(location.prefix, "");
    EXPECT_EQ(location.name(), "s3://bucket");
    EXPECT_EQ(location.url_of("x"), "http://[::1]:80/bucket/x");
  }
}

TEST(S3Location, WithoutAnEndpointIsThatOfTheRegion) {
  EXPECT_EQ(parse_s3_location("s3://bucket", "", "eu-central-1").value().endpoint,
            "https://s3.eu-central-1.amazonaws.com");
  EXPECT_EQ(parse_s3_location("s3://bucket", "", "").value().endpoint, "https://s3.us-east-1.amazonaws.com");
}

TEST(S3Location, RefusesWhatIsNone) {
  EXPECT_THAT(refusal("/srv/volume"), HasSubstr("s3://BUCKET"));
  EXPECT_THAT(refusal("s3:/bucket"), HasSubstr("s3://BUCKET"));
  for (const char* address : {"s3://", "s3:///x", "s3://ab", "s3://Bucket", "s3://bucket:80", "s3://user@bucket",
                              "s3://.bucket", "s3://a..b"})
    EXPECT_THAT(refusal(address), HasSubstr("name of a bucket")) << address;
  EXPECT_THAT(refusal("s3://" + std::string(64, 'a')), HasSubstr("name of a bucket"));
  for (const char* address :
       {"s3://bucket/a//b", "s3://bucket/../other", "s3://bucket/a/./b", "s3://bucket/a\nb", "s3://bucket/a+b"})
    EXPECT_THAT(refusal(address), HasSubstr("prefix")) << address;
  EXPECT_THAT(refusal("s3://bucket/" + std::string(101, 'a')), HasSubstr("more than 100 bytes"));
}

TEST(S3Location, RefusesEndpointsThatLeadElsewhere) {
  EXPECT_THAT(refusal("s3://bucket", "store.example"), HasSubstr("https://"));
  EXPECT_THAT(refusal("s3://bucket", "ftp://store.example"), HasSubstr("https://"));
  EXPECT_THAT(refusal("s3://bucket", "https://"), HasSubstr("a host is missing"));
  for (const char* endpoint : {"https://user:word@store.example", "https://store.example/path",
                               "https://store.example?x", "https://a b", "https://a\r\nb"})
    EXPECT_THAT(refusal("s3://bucket", endpoint), HasSubstr("https://HOST")) << endpoint;
  for (const char* region : {"us/../x", "us:east", "a.b", "us east"})
    EXPECT_THAT(refusal("s3://bucket", "", region), HasSubstr("region")) << region;
}

TEST(PercentEncoded, LeavesWhatIsUnreserved) {
  EXPECT_EQ(percent_encoded("aZ09-._~"), "aZ09-._~");
  EXPECT_EQ(percent_encoded("a/b c+&=%"), "a%2Fb%20c%2B%26%3D%25");
  EXPECT_EQ(percent_encoded("a/b", "/"), "a/b");
  EXPECT_EQ(percent_encoded("ä\xff"), "%C3%A4%FF");
}

}  // namespace
}  // namespace dedupfs
