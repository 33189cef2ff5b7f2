// Keeps the containers of a volume that are on this machine within a limit: those that were not read for longest go, as far as the bucket
// has them.
//
// Threads:   one at a time; status() of the containers from any thread.
// Ownership: the volume must outlive it.
// Failure:   that of the disk. What was evicted before stays so, and everything can be read.
#pragma once

#include <cstdint>
#include <memory>
#include <set>
#include <string>

#include "base/go_on.h"
#include "replica/eviction/evicted_containers.h"
#include "replica/head.h"
#include "store/volume/volume.h"

namespace dedupfs {

class ContainerEvictor {
 public:
  // A quarter of the bytes is for blocks that are read from the bucket, the rest for whole containers. The caller has the volume for writing.
  // kUnsupported: the volume lies on a disk where nothing can be evicted.
  static Result<std::unique_ptr<ContainerEvictor>> start(Volume& volume, std::uint64_t max_bytes);

  struct Evicted {
    std::uint64_t containers = 0;
    std::uint64_t bytes = 0;
  };
  // `files`: of the newest head. Each piece of what goes is asked for in the bucket.
  Result<Evicted> evict_surplus(const RemoteFiles& files, const GoOn& go_on);
  const EvictedContainers& containers() const { return *containers_; }

 private:
  struct Candidate;

  ContainerEvictor(Volume& volume, std::shared_ptr<EvictedContainers> containers, std::uint64_t max_whole_bytes)
      : volume_(volume), containers_(std::move(containers)), max_whole_bytes_(max_whole_bytes) {}

  // The bytes of it that stay. kNotFound: it is gone, or has grown since.
  Result<std::uint64_t> evict(const Candidate& candidate, Bucket& bucket);
  Result<void> read_directories(std::uint32_t container) const;

  Volume& volume_;
  const std::shared_ptr<EvictedContainers> containers_;
  const std::uint64_t max_whole_bytes_;
  std::set<std::string> refused_;  // damaged ones, of which a log has been written
};

}  // namespace dedupfs
