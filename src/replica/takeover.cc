// Who writes to a bucket: the first one, and whoever takes over.
#include <fmt/format.h>

#include <algorithm>
#include <random>
#include <utility>

#include "replica/shipper.h"

namespace dedupfs {
namespace {

// With something random in it, so that two who make one at the same time do not take it for their own.
Result<Bucket::Put> put_epoch(Bucket& bucket, std::uint64_t epoch, const std::string& who) {
  std::random_device random;
  const std::string text = fmt::format("{}\n{:08x}{:08x}{:08x}{:08x}\n", who, random(), random(), random(), random());
  return bucket.put_new(epoch_object(epoch), object_of(bytes_of(text)));
}

Result<std::uint64_t> next_epoch(Bucket& bucket) {
  std::uint64_t last = 0;
  DEDUPFS_TRY(bucket.list(std::string(kEpochPrefix), "", [&](const Bucket::Object& object) -> Result<void> {
    last = std::max(last, parse_epoch_object(object.name).value_or(0));
    return {};
  }));
  if (last >= kMaxEpoch) return Error{ErrorCode::kTooLarge, bucket.name() + ": all epochs are used up"};
  return last + 1;
}

Error taken_over_meanwhile(const Bucket& bucket) {
  return {ErrorCode::kBusy,
          bucket.name() + ": another machine takes over at this moment; look again with dedupfs-remote status"};
}

// What came since.
Result<void> read_later_heads(Bucket& bucket, Replica& replica) {
  for (;;) {
    auto next = read_head(bucket, replica.head.sequence + 1);
    if (!next) return next.error().code() == ErrorCode::kNotFound ? Result<void>() : next.error();
    DEDUPFS_TRY(advance(replica, std::move(*next)));
  }
}

}  // namespace

Result<RemotePosition> Shipper::attach(Bucket& bucket, const std::string& who) {
  DEDUPFS_ASSIGN(const auto heads, list_heads(bucket));
  if (!heads.empty())
    return Error{ErrorCode::kExists,
                 bucket.name() + " holds a volume already; take another prefix, or clone that volume and take it over"};
  DEDUPFS_ASSIGN(const std::uint64_t epoch, next_epoch(bucket));
  DEDUPFS_ASSIGN(const Bucket::Put put, put_epoch(bucket, epoch, who));
  if (put == Bucket::Put::kOther)
    return Error{ErrorCode::kExists,
                 bucket.name() + ": another machine attaches a volume there at this moment; take another prefix"};
  return RemotePosition{.epoch = epoch};
}

Result<RemotePosition> Shipper::take_over(Bucket& bucket, RemotePosition position, const std::string& who,
                                          const Settings& settings) {
  DEDUPFS_ASSIGN(auto replica, load_replica(bucket, settings.parallel.requests));
  if (!replica) return Error{ErrorCode::kNotFound, bucket.name() + " holds no volume"};
  if (replica->head.volume != settings.volume || !position.knows(known_of(*replica)))
    return Error{
        kFenced,
        fmt::format("{} has head {}, and this volume is not at that state; clone it anew, and take over with the clone",
                    bucket.name(), replica->head.sequence)};
  DEDUPFS_ASSIGN(position.epoch, next_epoch(bucket));
  DEDUPFS_ASSIGN(const Bucket::Put put, put_epoch(bucket, position.epoch, who));
  if (put == Bucket::Put::kOther) return taken_over_meanwhile(bucket);
  position.head = known_of(*replica);
  position.tried.clear();
  Shipper shipper(bucket, std::move(position), settings);
  shipper.replica_ = std::move(*replica);
  shipper.is_loaded_ = true;
  const Head head = shipper.next_head({}, {});
  DEDUPFS_TRY(shipper.put_head(head, encode_head(head)));
  return shipper.position_;
}

// The other machine may be faster, again and again. It has to put what changed before each of its heads, and this one nothing.
Result<Shipper::Claim> Shipper::claim(Bucket& bucket, const std::string& who, const Settings& settings) {
  DEDUPFS_ASSIGN(auto replica, load_replica(bucket, settings.parallel.requests));
  if (!replica) return Error{ErrorCode::kNotFound, bucket.name() + " holds no volume"};
  if (replica->head.volume != settings.volume) return Error{kFenced, bucket.name() + " holds another volume"};
  DEDUPFS_ASSIGN(const std::uint64_t epoch, next_epoch(bucket));
  DEDUPFS_ASSIGN(const Bucket::Put taken, put_epoch(bucket, epoch, who));
  if (taken == Bucket::Put::kOther) return taken_over_meanwhile(bucket);
  Shipper shipper(bucket, {.epoch = epoch, .head = {}, .tried = {}}, settings);
  shipper.replica_ = std::move(replica);
  Replica& newest = *shipper.replica_;
  for (;;) {
    DEDUPFS_TRY(settings.go_on());
    DEDUPFS_TRY(read_later_heads(bucket, newest));
    if (newest.head.epoch >= epoch) return taken_over_meanwhile(bucket);
    const Head head = shipper.next_head({}, {});
    const std::string bytes = encode_head(head);
    const ObjectSource source = object_of(bytes_of(bytes));
    DEDUPFS_ASSIGN(const Bucket::Put put, bucket.put_new(head_object(head.sequence), source));
    if (put == Bucket::Put::kOther) continue;
    DEDUPFS_TRY(advance(newest, {.head = head, .sha256 = source.sha256, .bytes = bytes.size()}));
    RemotePosition position{.epoch = epoch, .head = known_of(newest), .tried = {}};
    return Claim{.position = std::move(position), .replica = std::move(newest)};
  }
}

}  // namespace dedupfs
