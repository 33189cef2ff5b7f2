// Gives a volume a bucket: dedupfs-remote attach, mkfs.dedupfs --remote.
//
// Threads: free function; nobody else uses the volume.
// Failure: kExists if it has one already, or if somebody else's volume is at the address; errors of the bucket. Then it has none.
#pragma once

#include <cstdint>
#include <string>

#include "base/backing.h"
#include "base/result.h"
#include "replica/open_bucket.h"
#include "replica/remote_file.h"

namespace dedupfs::tools {

// The record is in the folder when this returns. The bucket is that of the address.
Result<RemoteRecord> attach_volume(BackingFolder& folder, const UuidText& uuid, const RemoteAddress& where,
                                   Bucket& bucket);

// Who writes to a bucket, for people: the machine.
std::string this_writer();

// Whether somebody took the epoch there: before the first head, nothing else says whose the place is.
Result<bool> has_epoch(Bucket& bucket, std::uint64_t epoch);

}  // namespace dedupfs::tools
