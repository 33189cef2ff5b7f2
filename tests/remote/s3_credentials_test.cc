#include "remote/s3_credentials.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <map>
#include <string>

#include "s3_test_server.h"

namespace dedupfs {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

TEST(S3CredentialsFile, HasAProfileOfManyLines) {
  const auto found = parse_s3_credentials(
      "# comment\r\n[other]\naws_access_key_id = no\n\n[ default ]\r\n; comment\naws_access_key_id=id\r\n"
      "  aws_secret_access_key = a=b/c+ \nregion = x\nnonsense\n[third]\naws_secret_access_key = no",
      "default");
  ASSERT_TRUE(found && *found);
  EXPECT_EQ((*found)->access_key, "id");
  EXPECT_EQ((*found)->secret_key.text(), "a=b/c+");
  EXPECT_TRUE((*found)->session_token.empty());
  EXPECT_FALSE((*found)->expiry);
}

TEST(S3CredentialsFile, WithoutTheProfileHasNothing) {
  for (const char* file :
       {"", "[other]\naws_access_key_id = a\naws_secret_access_key = b\n", "aws_access_key_id = a", "[default", "[]"})
    EXPECT_EQ(parse_s3_credentials(file, "profile").value(), std::nullopt) << file;
}

TEST(S3CredentialsFile, WithHalfOfTheKeysIsRefusedWithoutTheKey) {
  const auto half = parse_s3_credentials("[default]\naws_secret_access_key = a-secret\n", "default");
  ASSERT_FALSE(half);
  EXPECT_EQ(half.error().code(), ErrorCode::kAccessDenied);
  EXPECT_THAT(half.error().message(), AllOf(HasSubstr("profile default"), Not(HasSubstr("a-secret"))));
}

TEST(S3CredentialsFile, WithALineBreakInAKeyIsRefused) {
  EXPECT_FALSE(
      parse_s3_credentials("[default]\naws_access_key_id = a\rX-Header: b\naws_secret_access_key = b\n", "default"));
}

struct S3CredentialSourceTest : testing::Test {
  S3CredentialSourceTest() {
    overwrite(file,
              "[default]\naws_access_key_id = of-file\naws_secret_access_key = s\n[work]\naws_access_key_id = "
              "of-work\naws_secret_access_key = s\n");
  }
  S3CredentialSource source(const std::string& named_file = "") {
    return {session, named_file, [this](const char* name) -> std::optional<std::string> {
              const auto found = environment.find(name);
              return found == environment.end() ? std::nullopt : std::optional(found->second);
            }};
  }
  std::string key() {
    S3CredentialSource from = source();
    const auto found = from.get();
    return found ? found->access_key : found.error().message();
  }

  const TempDir folder;
  const std::string file = folder.path() / "credentials";
  HttpSession session{{}, {}};
  std::map<std::string, std::string> environment{{"AWS_EC2_METADATA_DISABLED", "true"}};
};

TEST_F(S3CredentialSourceTest, LooksInTheEnvironmentFirst) {
  environment["AWS_SHARED_CREDENTIALS_FILE"] = file;
  EXPECT_EQ(key(), "of-file");
  environment["AWS_ACCESS_KEY_ID"] = "of-environment";
  EXPECT_THAT(key(),
              HasSubstr("AWS_SECRET_ACCESS_KEY"));  // half of them is a mistake, not an invitation to look elsewhere
  environment["AWS_SECRET_ACCESS_KEY"] = "s";
  environment["AWS_SESSION_TOKEN"] = "t";
  EXPECT_EQ(key(), "of-environment");
  S3CredentialSource from = source();
  EXPECT_EQ(from.get()->session_token.text(), "t");
  S3CredentialSource named = source(file);
  EXPECT_EQ(named.get()->access_key, "of-file");
}

TEST_F(S3CredentialSourceTest, LooksInTheHomeFolder) {
  environment["HOME"] = folder.path();
  EXPECT_THAT(key(),
              AllOf(HasSubstr("no credentials"), HasSubstr("AWS_ACCESS_KEY_ID"), HasSubstr("~/.aws/credentials")));
  std::filesystem::create_directory(folder.path() / ".aws");
  std::filesystem::create_symlink(file, folder.path() / ".aws/credentials");
  EXPECT_EQ(key(), "of-file");
  environment["AWS_PROFILE"] = "work";
  EXPECT_EQ(key(), "of-work");
  environment["AWS_PROFILE"] = "none";
  EXPECT_THAT(key(), AllOf(HasSubstr(".aws/credentials"), HasSubstr("no profile none")));
}

TEST_F(S3CredentialSourceTest, SaysWhichFileIsOfNoUse) {
  const auto refusal_of = [&](const std::string& path) {
    S3CredentialSource from = source(path);
    const auto found = from.get();
    EXPECT_FALSE(found);
    EXPECT_EQ(found.error().code(), ErrorCode::kAccessDenied);
    return found.error().message();
  };
  EXPECT_THAT(refusal_of(folder.path() / "not-there"), HasSubstr("not-there"));
  EXPECT_THAT(refusal_of(folder.path()), HasSubstr("is no file"));
  const std::string fifo = folder.path() / "fifo";
  ASSERT_EQ(::mkfifo(fifo.c_str(), 0600), 0);
  EXPECT_THAT(refusal_of(fifo), HasSubstr("is no file"));
  overwrite(file, std::string(1 << 20, '\n'));
  EXPECT_THAT(refusal_of(file), HasSubstr("more than"));
}

struct S3MetadataTest : S3CredentialSourceTest {
  void begin(int expires_in) {
    server = &S3TestServer::begun({{"expires_in", expires_in}});
    environment = {{"AWS_EC2_METADATA_SERVICE_ENDPOINT", server->endpoint() + "/"}};
  }
  S3TestServer* server = nullptr;
};

TEST_F(S3MetadataTest, KeysOfTheMachineAreAskedForOnce) {
  begin(3600);
  S3CredentialSource from = source();
  const auto found = from.get();
  ASSERT_TRUE(found) << found.error().message();
  EXPECT_EQ(found->access_key, "access");
  EXPECT_EQ(found->secret_key.text(), "secret");
  EXPECT_EQ(found->session_token.text(), "token-1");
  ASSERT_TRUE(found->expiry);
  EXPECT_GT(*found->expiry, std::chrono::system_clock::now() + std::chrono::minutes(50));
  EXPECT_EQ(from.get()->session_token.text(), "token-1");
  EXPECT_EQ(server->count("keys"), 1);
}

TEST_F(S3MetadataTest, AreAskedForAgainBeforeTheyExpireButNotInEachRequest) {
  begin(60);
  S3CredentialSource from = source();
  EXPECT_EQ(from.get()->session_token.text(), "token-1");
  EXPECT_EQ(from.get()->session_token.text(), "token-1");
  EXPECT_EQ(server->count("keys"), 1);
  EXPECT_TRUE(from.has_others_than(*from.get()));  // the store refused them
  EXPECT_EQ(from.get()->session_token.text(), "token-2");
  begin(3600);
  S3CredentialSource anew = source();
  EXPECT_EQ(anew.get()->session_token.text(), "token-1");
}

TEST_F(S3MetadataTest, AreThoseOfBeforeWhileTheServiceDoesNotAnswer) {
  begin(3600);
  S3CredentialSource from = source();
  const auto before = from.get();
  ASSERT_TRUE(before);
  begin(0);
  EXPECT_FALSE(from.has_others_than(*before));
  EXPECT_EQ(from.get()->session_token.text(), "token-1");
}

TEST_F(S3MetadataTest, OfAMachineWithoutTheServiceAreNone) {
  begin(0);
  EXPECT_THAT(key(), HasSubstr("no credentials"));
  begin(-1);
  EXPECT_THAT(key(), AllOf(HasSubstr("security-credentials/worker"), HasSubstr("expire")));
  environment["AWS_EC2_METADATA_DISABLED"] = "true";
  EXPECT_THAT(key(), HasSubstr("no credentials"));
}

TEST_F(S3MetadataTest, SignRequestsWithTheirToken) {
  begin(3600);
  ::setenv("AWS_EC2_METADATA_SERVICE_ENDPOINT", server->endpoint().c_str(), 1);
  ::setenv("HOME", folder.path().c_str(), 1);
  for (const char* name : {"AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SHARED_CREDENTIALS_FILE", "AWS_PROFILE",
                           "AWS_EC2_METADATA_DISABLED"})
    ::unsetenv(name);
  S3Settings settings = server->bucket_settings();
  settings.credentials_file.clear();
  const auto bucket = open_s3_bucket(settings);
  const auto done = bucket->put_new("a", object_of(bytes_of("x")));
  ASSERT_TRUE(done) << done.error().message();
  EXPECT_EQ(server->counts().at("token"), "token-1");
  ::unsetenv("AWS_EC2_METADATA_SERVICE_ENDPOINT");
}

TEST(SecretText, IsSharedByItsCopiesAndZeroed) {
  const SecretText secret(std::string(100, 's'));
  const SecretText copy = secret;
  EXPECT_EQ(copy.text().data(), secret.text().data());
  EXPECT_EQ(copy, secret);
  EXPECT_TRUE(SecretText().empty());
  std::string text(100, 's');
  const char* const bytes = text.data();
  zero_text(text);
  EXPECT_TRUE(text.empty());
  EXPECT_EQ(std::string_view(bytes, 100), std::string(100, '\0'));
}

}  // namespace
}  // namespace dedupfs
