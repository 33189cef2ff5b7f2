// A volume in a bucket as a disk that can only be read: the files of one head. What opens volumes for reading opens this one, with nothing
// on this machine.
//
// Objects are read in blocks, and a bounded number of blocks is kept. A piece that is no longer than a block is compared with its
// digest. Of a longer one, single blocks are not: the checksums of the volume, or its key, find what is wrong there.
//
// Threads:   as backing.h says. Threads that want one block wait for one request.
// Ownership: folders and files keep what they need, the bucket too.
// Failure:   kReadOnly for every change. That of the bucket for a read: kCorruption names the object that is damaged or missing, and what
//            it is a part of.
#pragma once

#include <memory>

#include "base/backing.h"
#include "remote/bucket.h"
#include "replica/object_blocks.h"
#include "replica/replica.h"

namespace dedupfs {

class BucketBacking final : public Backing {
 public:
  using Settings = ObjectBlocks::Settings;

  BucketBacking(std::shared_ptr<Bucket> bucket, Replica replica, Settings settings);
  // With the blocks of another one of the same bucket.
  BucketBacking(std::shared_ptr<ObjectBlocks> blocks, Replica replica);
  ~BucketBacking() override;
  BucketBacking(const BucketBacking&) = delete;
  BucketBacking& operator=(const BucketBacking&) = delete;

  // Any path: there is one volume.
  Result<std::shared_ptr<BackingFolder>> open_root(const Path& path) override;

 private:
  class File;
  class Folder;
  struct Contents;

  const std::shared_ptr<Contents> contents_;
};

}  // namespace dedupfs
