#include "older_copy.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <utility>

#include "clone_target.h"
#include "store/format/format.h"

namespace dedupfs::tools {
namespace {

Error cannot_become_newer(const OlderCopy& copy, const std::string& why) {
  return {kFenced,
          fmt::format("{} is not at the newest head of {}, and {}; clone it anew, and take over with the clone",
                      copy.path.string(), copy.record.where.address, why)};
}

// What the folder has: the head that it was cloned of, and nothing else.
Result<Replica> state_of(const OlderCopy& copy, Bucket& bucket, BackingFolder& folder) {
  const auto& at = copy.record.position.head;
  if (copy.record.position.epoch != 0 || !at)
    return cannot_become_newer(copy, "was no copy, so it may have what the bucket has not");
  auto cloned = load_replica_at(bucket, at->sequence, copy.cloning.parallel.requests);
  const bool is_gone = !cloned && (cloned.error().code() == ErrorCode::kNotFound ||  // deleted since
                                   cloned.error().code() == ErrorCode::kCorruption);
  if (is_gone || (cloned && cloned->sha256 != at->sha256))
    return cannot_become_newer(copy, fmt::format("head {}, of which it was made, is not there any more", at->sequence));
  if (!cloned) return cloned.error();
  DEDUPFS_ASSIGN(const bool is_same, is_as_cloned(folder, *cloned, copy.cloning.go_on));
  if (!is_same) return cannot_become_newer(copy, "was changed since it was made");
  return cloned;
}

RemotePosition::Known head_of(const Replica& replica) {
  return {.sequence = replica.head.sequence, .sha256 = replica.sha256};
}

Result<bool> has_evicted(BackingFolder& on_disk) {
  const auto evicted = on_disk.open_folder(kEvictedDirectory);
  if (!evicted && evicted.error().code() == ErrorCode::kNotFound) return false;
  if (!evicted) return evicted.error();
  DEDUPFS_ASSIGN(const auto names, (*evicted)->list());
  return !names.empty();
}

}  // namespace

Result<std::optional<RemoteRecord>> find_unfinished_copy(const Path& path) {
  const auto folder = Backing::posix()->open_root(path);
  if (!folder) return std::optional<RemoteRecord>();
  DEDUPFS_ASSIGN(const auto uuid, find_unfinished_clone(**folder));
  if (!uuid) return std::optional<RemoteRecord>();
  DEDUPFS_ASSIGN(const bool is_whole, (*folder)->exists(kSuperblockFile));
  if (is_whole) return std::optional<RemoteRecord>();  // somebody may have mounted it
  auto record = load_remote_record(**folder, *uuid);
  if (!record && record.error().code() == ErrorCode::kNotFound) return std::optional<RemoteRecord>();
  if (!record) return record.error();
  return std::optional(std::move(*record));
}

Result<void> take_over_with(OlderCopy& copy, Bucket& bucket, BackingFolder* folder, std::shared_ptr<const void>& lock) {
  std::optional<Replica> there;
  if (folder != nullptr) {
    DEDUPFS_ASSIGN(there, state_of(copy, bucket, *folder));
  }
  DEDUPFS_ASSIGN(auto newest, load_replica(bucket, copy.cloning.parallel.requests));
  if (!newest) return Error{ErrorCode::kNotFound, bucket.name() + " holds no volume"};
  if (newest->head.volume != copy.record.volume) return Error{kFenced, bucket.name() + " holds another volume"};
  DEDUPFS_ASSIGN(const auto on_disk, Backing::posix()->open_root(copy.path));
  DEDUPFS_ASSIGN(const bool index_only, has_evicted(*on_disk));
  DEDUPFS_TRY(begin_anew(*on_disk, copy.record.volume));
  lock.reset();  // whoever takes it now finds no volume
  DEDUPFS_ASSIGN(const auto target, CloneTarget::open(copy.path, *newest));

  const auto bring_to = [&](const Replica& head) {
    CloneSettings settings = copy.cloning;
    if (there) settings.there = &*there;
    return target->fill(bucket, head, std::move(settings), index_only);
  };
  const auto brought = bring_to(*newest);
  const bool is_gone =
      !brought && (brought.error().code() == ErrorCode::kNotFound ||  // there is a newer head, and a short grace
                   brought.error().code() == ErrorCode::kCorruption);
  if (!brought && !is_gone) return brought.error();
  if (brought) {
    copy.record.position = {.epoch = 0, .head = head_of(*newest), .tried = {}};
    DEDUPFS_TRY(save_remote_record(*on_disk, copy.record));
    there = std::move(*newest);
  }
  DEDUPFS_ASSIGN(const Shipper::Claim claim, Shipper::claim(bucket, copy.who, copy.shipping));
  DEDUPFS_TRY(bring_to(claim.replica));
  copy.record.position = claim.position;
  DEDUPFS_TRY(save_remote_record(*on_disk, copy.record));
  return target->finish(index_only);
}

}  // namespace dedupfs::tools
