// What stays on a machine of an evicted container, read from the bucket: for a clone whose containers are evicted from the beginning.
//
// Of a plain volume that is the beginning, the end, and the header and the directory of each region, which are found by going from one region
// to the next. Of an encrypted one, nobody finds the regions without its key: it is the beginning and the end, which is what a look at all
// containers needs. A container that does not begin as one is taken for encrypted.
//
// Requests: two, and one for each region that begins more than some KiB behind the one before.
//
// Threads: a free function, safe from any thread.
// Failure: that of the bucket and of the file; kCorruption names an object that is missing or too short. Bytes that are no region are no
//          error: from there on nothing is kept, and whoever reads that later finds the damage.
#pragma once

#include <string>
#include <vector>

#include "base/backing.h"
#include "base/go_on.h"
#include "base/result.h"
#include "remote/bucket.h"
#include "replica/eviction/evicted_record.h"
#include "replica/head.h"

namespace dedupfs {

struct FetchedFrom {
  Bucket& bucket;
  GoOn go_on = [] { return Result<void>(); };
};
// Writes them to their places in `file`. `name`: of the container.
Result<std::vector<FileRange>> fetch_kept_ranges(const FetchedFrom& from, const std::string& name,
                                                 const RemoteFile& container, BackingFile& file);

}  // namespace dedupfs
