// The bucket at an address.
//
// Threads: a free function, safe from any thread.
// Failure: kInvalidArgument for what is no address, and for a patience that is none (store_patience.h). Nothing is asked for yet.
#pragma once

#include <functional>
#include <memory>
#include <string_view>

#include "base/go_on.h"
#include "remote/bucket.h"
#include "replica/remote_file.h"

namespace dedupfs {

// Whether it is meant to be one: it begins with s3://.
bool is_bucket_address(std::string_view address);

using OpenBucket = std::function<Result<std::unique_ptr<Bucket>>(const RemoteAddress& where, const GoOn& go_on)>;

Result<std::unique_ptr<Bucket>> open_bucket(const RemoteAddress& where, const GoOn& go_on);

}  // namespace dedupfs
