// A bucket of S3, or of a store that speaks its protocol: https://docs.aws.amazon.com/AmazonS3/latest/API/
//
// A request that fails by chance is tried again after a while: no answer, 408, 409, 429, 500, 502, 503, 504. The pauses grow, are as long as the
// store asks for, within bounds, and have a random part, so that many clients do not come back at once. Keys that the store refuses are looked
// for again, once for a request. A store that wants another checksum (object lock) gets it. An object that is not what its checksum says is read a second time.
#pragma once

#include <chrono>
#include <memory>
#include <string>

#include "base/go_on.h"
#include "remote/bucket.h"
#include "remote/http_session.h"
#include "remote/s3_credentials.h"
#include "remote/s3_location.h"

namespace dedupfs {

struct S3Settings {
  S3Location location;
  std::string credentials_file;  // empty: see S3CredentialSource
  std::string ca_file;
  std::uint64_t bytes_per_second = 0;  // see HttpSession::Settings
  std::chrono::seconds stall_patience{30};
  std::chrono::milliseconds patience = std::chrono::minutes(1);  // tries begin for so long
  std::chrono::milliseconds first_pause{100};
};

// Asks for nothing yet. `go_on` is called while requests and pauses last; its Error ends them.
std::unique_ptr<Bucket> open_s3_bucket(S3Settings settings, GoOn go_on = {});

}  // namespace dedupfs
