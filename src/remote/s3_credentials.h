// The keys of a user of S3, from where the programs of AWS look for them, too: the environment (AWS_ACCESS_KEY_ID,
// AWS_SECRET_ACCESS_KEY, AWS_SESSION_TOKEN), then the file of credentials (AWS_SHARED_CREDENTIALS_FILE or ~/.aws/credentials, AWS_PROFILE),
// then the machine's metadata service (IMDSv2), if the environment does not forbid it (AWS_EC2_METADATA_DISABLED=true).
// Never from arguments, which every user of the machine sees.
//
// Threads: S3CredentialSource from any thread.
// Failure: kAccessDenied if there are none, or what is there is of no use. The message says where they were looked for, and has no key. kIo if
//          the metadata service does not answer.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "base/mutex.h"
#include "base/result.h"
#include "remote/http_session.h"

namespace dedupfs {

struct S3Credentials {
  std::string access_key;
  SecretText secret_key;
  SecretText session_token;  // empty: none
  std::optional<std::chrono::system_clock::time_point> expiry;

  bool has_same_keys(const S3Credentials& other) const {
    return access_key == other.access_key && secret_key == other.secret_key && session_token == other.session_token;
  }
};

// One section of a file of credentials. Nothing: the file has no such section.
Result<std::optional<S3Credentials>> parse_s3_credentials(std::string_view file, std::string_view profile);

class S3CredentialSource {
 public:
  using Environment = std::function<std::optional<std::string>(const char* name)>;
  static std::optional<std::string> process_environment(const char* name);

  // `file`: instead of those places, if it is not empty. The session must outlive it.
  S3CredentialSource(HttpSession& session, std::string file, Environment environment = process_environment);

  // Those of the metadata service are asked for again some minutes before they expire. While it does not answer, what is there serves on.
  Result<S3Credentials> get();
  // The store refused these: looks for them again. Whether there are others now.
  bool has_others_than(const S3Credentials& refused);

 private:
  Result<S3Credentials> find() const;
  Result<std::optional<S3Credentials>> from_environment() const;
  Result<std::optional<S3Credentials>> from_file() const;
  Result<std::optional<S3Credentials>> from_machine() const;
  std::string value(const char* name) const { return environment_(name).value_or(std::string()); }

  HttpSession& session_;
  const std::string file_;
  const Environment environment_;
  Mutex mutex_;
  std::optional<S3Credentials> known_ DEDUPFS_GUARDED_BY(mutex_);
  std::chrono::steady_clock::time_point no_renewal_before_ DEDUPFS_GUARDED_BY(mutex_);
};

}  // namespace dedupfs
