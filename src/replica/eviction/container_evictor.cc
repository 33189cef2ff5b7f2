#include "replica/eviction/container_evictor.h"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <tuple>
#include <utility>
#include <vector>

#include "replica/eviction/evicting_disk.h"
#include "store/format/container_format.h"
#include "store/format/format.h"
#include "store/format/superblock_features.h"
#include "store/seal/sealed_folder.h"

namespace dedupfs {
namespace {

constexpr std::uint64_t kBlocksPart = 4;
// The next ship waits for a round.
constexpr std::uint64_t kMostInARound = 64;

}  // namespace

struct ContainerEvictor::Candidate {
  std::string name;
  std::uint32_t number = 0;
  const RemoteFile* file = nullptr;
  std::uint64_t bytes = 0;
  std::uint64_t last_use = 0;
  bool is_landed = false;  // it is to be settled first, while that costs nothing
};

Result<std::unique_ptr<ContainerEvictor>> ContainerEvictor::start(Volume& volume, std::uint64_t max_bytes) {
  auto containers = evicted_containers_of(*folder_on_disk(volume.folder()));
  if (!containers)
    return Error{ErrorCode::kUnsupported, volume.path().string() + " lies on a disk where nothing can be evicted"};
  DEDUPFS_TRY(containers->begin_caching(max_bytes / kBlocksPart));
  // Who clones an encrypted volume cannot say so.
  if (containers->status().containers != 0) DEDUPFS_TRY(add_incompatible_feature(*volume.folder(), kEvictionFeature));
  return std::unique_ptr<ContainerEvictor>(
      new ContainerEvictor(volume, std::move(containers), max_bytes - max_bytes / kBlocksPart));
}

Result<ContainerEvictor::Evicted> ContainerEvictor::evict_surplus(const RemoteFiles& files, const GoOn& go_on) {
  const std::vector<std::uint32_t> unfinished = volume_.containers().unfinished();
  const std::string prefix = std::string(kContainersDirectory) + '/';
  std::vector<Candidate> candidates;
  std::uint64_t bytes_here = 0;
  for (auto file = files.lower_bound(prefix); file != files.end() && file->first.starts_with(prefix); ++file) {
    Candidate candidate{.name = file->first.substr(prefix.size()), .file = &file->second};
    const auto number = parse_container_name(candidate.name);
    if (!number) continue;
    if (containers_->contains(candidate.name)) {
      if (const auto status = containers_->file_status(candidate.name)) bytes_here += status->allocated_bytes;
      continue;
    }
    candidate.number = *number;
    candidate.bytes = file->second.bytes();
    bytes_here += candidate.bytes;
    if (file->second.end_sum == RemoteFile::kUnfinished || refused_.contains(candidate.name) ||
        std::ranges::find(unfinished, *number) != unfinished.end())
      continue;
    candidate.last_use = containers_->last_use(candidate.name);
    candidates.push_back(std::move(candidate));
  }
  Evicted evicted;
  const std::uint64_t most = max_whole_bytes_ + containers_->status().cached_bytes;
  if (bytes_here <= most) return evicted;
  DEDUPFS_ASSIGN(const auto infos, volume_.containers().list());
  for (Candidate& candidate : candidates) {
    const auto info = std::ranges::lower_bound(infos, candidate.number, {}, &ContainerInfo::id);
    candidate.is_landed = info != infos.end() && info->id == candidate.number && info->tier == ContainerTier::kLanded;
  }
  DEDUPFS_ASSIGN(const auto bucket, containers_->open_bucket(go_on));
  std::ranges::sort(candidates, {},
                    [](const Candidate& each) { return std::tuple(each.is_landed, each.last_use, each.number); });
  for (const Candidate& candidate : candidates) {
    if (bytes_here <= most || evicted.containers == kMostInARound) break;
    DEDUPFS_TRY(go_on());
    const auto done = evict(candidate, *bucket);
    if (!done && done.error().code() == ErrorCode::kCorruption) {
      spdlog::warn("{} stays on this machine: {}", candidate.name, done.error().message());
      refused_.insert(candidate.name);
      continue;
    }
    const bool is_gone = !done && done.error().code() == ErrorCode::kNotFound;  // it was removed meanwhile
    if (!done && !is_gone) return done.error();
    bytes_here -= is_gone ? candidate.bytes : candidate.bytes - *done;
    if (is_gone) continue;
    ++evicted.containers;
    evicted.bytes += candidate.bytes;
  }
  return evicted;
}

Result<std::uint64_t> ContainerEvictor::evict(const Candidate& candidate, Bucket& bucket) {
  DEDUPFS_ASSIGN(auto kept,
                 containers_->ranges_read(candidate.name, [&] { return read_directories(candidate.number); }));
  {
    DEDUPFS_ASSIGN(const auto folder, folder_on_disk(volume_.folder())->open_folder(kContainersDirectory));
    DEDUPFS_ASSIGN(const auto file, folder->open(candidate.name, Backing::Mode::kRead));
    DEDUPFS_ASSIGN(const std::uint64_t size, file->size());
    if (size != candidate.bytes) return Error{ErrorCode::kNotFound, candidate.name + " has grown since it was shipped"};
  }
  kept.push_back({.offset = 0, .length = kKeptBegin});
  kept.push_back({.offset = candidate.bytes - std::min(candidate.bytes, kKeptEnd), .length = kKeptEnd});
  DEDUPFS_TRY(add_incompatible_feature(*volume_.folder(), kEvictionFeature));
  const EvictedRecord record{.file = *candidate.file, .kept = joined_ranges(std::move(kept), candidate.bytes)};
  DEDUPFS_TRY(containers_->evict(candidate.name, record, bucket));
  return total_length(record.kept);
}

// What a walk through the container and the search for duplicates read.
Result<void> ContainerEvictor::read_directories(std::uint32_t container) const {
  DEDUPFS_ASSIGN(const ContainerWalk walk, volume_.containers().walk(container));
  if (walk.stopped_by) return *walk.stopped_by;
  for (const WalkedRegion& region : walk.regions) DEDUPFS_TRY(volume_.containers().read_directory(region.place));
  return {};
}

}  // namespace dedupfs
