#include "replica/open_bucket.h"

#include "remote/s3_bucket.h"
#include "replica/store_patience.h"

namespace dedupfs {

bool is_bucket_address(std::string_view address) {
  return address.starts_with("s3://");
}

Result<std::unique_ptr<Bucket>> open_bucket(const RemoteAddress& where, const GoOn& go_on) {
  DEDUPFS_ASSIGN(S3Location location, parse_s3_location(where.address, where.endpoint, where.region));
  DEDUPFS_ASSIGN(const std::chrono::seconds patience, store_patience());
  return open_s3_bucket({.location = std::move(location),
                         .credentials_file = where.credentials_file,
                         .ca_file = where.ca_file,
                         .bytes_per_second = where.bytes_per_second,
                         .patience = patience},
                        go_on);
}

}  // namespace dedupfs
