#include "attach_volume.h"

#include <fmt/format.h>
#include <unistd.h>

#include <array>

#include "replica/shipper.h"

namespace dedupfs::tools {

std::string this_writer() {
  std::array<char, 256> host{};
  (void)::gethostname(host.data(), host.size() - 1);
  return host.data();
}

Result<RemoteRecord> attach_volume(BackingFolder& folder, const UuidText& uuid, const RemoteAddress& where,
                                   Bucket& bucket) {
  const auto attached = load_remote_record(folder, uuid);
  if (attached)
    return Error{
        ErrorCode::kExists,
        fmt::format("{} belongs to {} already; remove {} if it is not to go on there, and has all of its content here",
                    folder.path().string(), attached->where.address, (folder.path() / kRemoteFile).string())};
  if (attached.error().code() != ErrorCode::kNotFound) return attached.error();
  RemoteRecord record{.volume = uuid, .where = where, .position = {}};
  DEDUPFS_TRY(probe(bucket));
  DEDUPFS_ASSIGN(record.position, Shipper::attach(bucket, this_writer()));
  DEDUPFS_TRY(save_remote_record(folder, record));
  return record;
}

Result<bool> has_epoch(Bucket& bucket, std::uint64_t epoch) {
  bool is_there = false;
  const std::string object = epoch_object(epoch);
  DEDUPFS_TRY(bucket.list(object, "", [&](const Bucket::Object& found) -> Result<void> {
    is_there = is_there || found.name == object;
    return {};
  }));
  return is_there;
}

}  // namespace dedupfs::tools
