#include "bucket_options.h"

#include <fmt/format.h>

#include "command/command.h"

namespace dedupfs::tools {

void define_bucket_options(Command& command, RemoteAddress& where, const std::string& region) {
  command.add_option("--endpoint", where.endpoint, "the server of the store (default: that of AWS)").type_name("URL");
  command.add_option(region, where.region, "the region of the bucket (default: us-east-1)").type_name("REGION");
  command
      .add_option("--credentials-file", where.credentials_file,
                  "read the keys from this file (default: where the programs of AWS look)")
      .type_name("FILE");
  command.add_option("--ca-file", where.ca_file, "trust the certificates in this file, and no others")
      .type_name("FILE");
}

Result<void> require_no_store(const RemoteAddress& where, const std::string& volume) {
  for (const std::string* const given : {&where.endpoint, &where.region, &where.credentials_file, &where.ca_file}) {
    if (!given->empty())
      return invalid_argument(
          fmt::format("{} is how a store is reached, but the volume {} is a folder: leave it out, or "
                      "give the address of a bucket, s3://BUCKET/PREFIX",
                      *given, volume));
  }
  return {};
}

}  // namespace dedupfs::tools
