#include "store/metadata/snapshot_list.h"

#include <spdlog/spdlog.h>
#include <xxhash.h>

#include <algorithm>
#include <utility>

#include "base/bytes.h"
#include "base/coding.h"
#include "base/uuid.h"

namespace dedupfs {
namespace {

constexpr std::uint8_t kVersion = 1;
constexpr std::uint8_t kDeletedFlag = 1;
constexpr std::uint8_t kUuidFlag = 2;
constexpr std::uint8_t kDatedHereFlag = 4;
constexpr std::size_t kMaxName = 255;

Error damaged(TreeNumber number, std::string_view why) {
  return {ErrorCode::kCorruption, "snapshot " + std::to_string(number) + ": " + std::string(why)};
}

// In place of a record that does not parse: nobody sees it, and all that changes is preserved for it, until fsck.dedupfs decides
// what becomes of it. No other has an empty name.
SnapshotRecord damaged_snapshot(TreeNumber number) {
  return {.number = number, .name = {}, .end_of_inodes = kEndOfInodes, .uuid = uuid_without(number, 0)};
}
bool is_sound(const SnapshotRecord& record) {
  return !record.name.empty();
}

}  // namespace

std::string uuid_without(TreeNumber number, std::int64_t created_unix_seconds) {
  std::string text;
  Encoder out(text);
  out.u64(number);
  out.u64(static_cast<std::uint64_t>(created_unix_seconds));
  XXH128_canonical_t hash;
  XXH128_canonicalFromHash(&hash, XXH3_128bits(text.data(), text.size()));
  UuidBytes bytes;
  std::ranges::copy(hash.digest, bytes.begin());
  return uuid_of(bytes);
}

std::string encode_snapshot_key(TreeNumber number) {
  std::string key;
  Encoder(key).big_u64(number);
  return key;
}

Result<TreeNumber> decode_snapshot_key(std::string_view key) {
  Decoder in(key);
  const std::uint64_t number = in.big_u64();
  if (!in.ok_at_end() || number == kLiveTree || number >= kEndOfTrees)
    return Error{ErrorCode::kCorruption, "key of a snapshot: it is not a number of one"};
  return static_cast<TreeNumber>(number);
}

std::string encode_snapshot(const SnapshotRecord& record) {
  std::string value;
  Encoder out(value);
  out.u8(kVersion);
  const bool has_uuid = !record.uuid.empty() && record.uuid != uuid_without(record.number, record.created_unix_seconds);
  out.u8(static_cast<std::uint8_t>((record.is_deleted ? kDeletedFlag : 0) | (has_uuid ? kUuidFlag : 0) |
                                   (has_uuid && record.is_dated_here ? kDatedHereFlag : 0)));
  if (has_uuid) out.bytes(ByteSpan(bytes_of_uuid(record.uuid)));
  out.signed_varint(record.created_unix_seconds);
  out.varint(record.end_of_inodes);
  out.varint(record.inodes);
  out.bytes(record.name);
  return value;
}

Result<SnapshotRecord> decode_snapshot(TreeNumber number, std::string_view value) {
  Decoder in(value);
  SnapshotRecord record;
  record.number = number;
  if (in.u8() != kVersion) return damaged(number, "its record is empty or of an unknown version");
  const std::uint8_t flags = in.u8();
  record.is_deleted = (flags & kDeletedFlag) != 0;
  record.is_dated_here = (flags & kDatedHereFlag) != 0;
  UuidBytes uuid{};
  if ((flags & kUuidFlag) != 0) std::ranges::copy(in.bytes(uuid.size()), uuid.begin());
  record.created_unix_seconds = in.signed_varint();
  record.uuid = (flags & kUuidFlag) != 0 ? uuid_of(uuid) : uuid_without(number, record.created_unix_seconds);
  record.end_of_inodes = in.varint();
  record.inodes = in.varint();
  record.name = text_of(in.bytes(in.remaining()));
  if (!in.ok() || (flags & ~(kDeletedFlag | kUuidFlag | kDatedHereFlag)) != 0 ||
      (flags & (kUuidFlag | kDatedHereFlag)) == kDatedHereFlag || record.end_of_inodes > kEndOfInodes)
    return damaged(number, "its record is damaged");
  if (record.name.empty() || record.name.size() > kMaxName ||
      record.name.find_first_of(std::string_view("/\0", 2)) != std::string::npos)
    return damaged(number, "its name is impossible");
  return record;
}

Result<std::unique_ptr<SnapshotList>> SnapshotList::load(const Database& database) {
  auto list = std::make_unique<SnapshotList>();
  DEDUPFS_ASSIGN(const auto stored, database.list(Family::kSnapshots, {}, {}, kEndOfTrees));
  const WriterLock lock(list->mutex_);  // nobody else has it; the analysis cannot know
  for (const auto& [key, value] : stored) {
    const auto number = decode_snapshot_key(key);
    const auto record = number ? decode_snapshot(*number, value) : Result<SnapshotRecord>(number.error());
    if (!record) spdlog::error("{}; unmount and run fsck.dedupfs -y", record.error().message());
    if (record)
      list->records_[*number] = *record;
    else if (number)
      list->records_[*number] = damaged_snapshot(*number);
  }
  return list;
}

std::vector<SnapshotRecord> SnapshotList::all() const {
  const ReaderLock lock(mutex_);
  std::vector<SnapshotRecord> found;
  for (const auto& [number, record] : records_)
    if (is_there(record) && is_sound(record)) found.push_back(record);
  return found;
}

std::vector<SnapshotRecord> SnapshotList::deleted() const {
  const ReaderLock lock(mutex_);
  std::vector<SnapshotRecord> found;
  for (const auto& [number, record] : records_)
    if (record.is_deleted) found.push_back(record);
  return found;
}

bool SnapshotList::knows(TreeNumber number) const {
  const ReaderLock lock(mutex_);
  return records_.contains(number);
}

TreeNumber SnapshotList::newest() const {
  const ReaderLock lock(mutex_);
  return records_.empty() ? kLiveTree : records_.rbegin()->first;
}

std::optional<SnapshotRecord> SnapshotList::find(TreeNumber number) const {
  const ReaderLock lock(mutex_);
  const auto found = records_.find(number);
  if (found == records_.end() || !is_there(found->second) || !is_sound(found->second)) return std::nullopt;
  return found->second;
}

std::optional<SnapshotRecord> SnapshotList::find(std::string_view name) const {
  const ReaderLock lock(mutex_);
  for (const auto& [number, record] : records_)
    if (is_there(record) && is_sound(record) && record.name == name) return record;
  return std::nullopt;
}

TreeNumber SnapshotList::older(TreeNumber number) const {
  const ReaderLock lock(mutex_);
  for (auto at = records_.lower_bound(number); at != records_.begin();)
    if (!(--at)->second.is_deleted) return at->first;
  return kLiveTree;
}

std::optional<Preservation> SnapshotList::preservation() const {
  const ReaderLock lock(mutex_);
  std::vector<TreeNumber> newer_deleted;
  for (auto at = records_.rbegin(); at != records_.rend(); ++at) {
    const SnapshotRecord& record = at->second;
    if (!record.is_deleted) return Preservation{record.number, record.end_of_inodes, std::move(newer_deleted)};
    newer_deleted.push_back(record.number);
  }
  return std::nullopt;
}

void SnapshotList::put(const SnapshotRecord& record) {
  const WriterLock lock(mutex_);
  records_[record.number] = record;
  hidden_.erase(record.number);
}

void SnapshotList::erase(TreeNumber number) {
  const WriterLock lock(mutex_);
  records_.erase(number);
  hidden_.erase(number);
}

void SnapshotList::put_uncommitted(const SnapshotRecord& record, bool is_hidden) {
  const WriterLock lock(mutex_);
  records_[record.number] = record;
  uncommitted_ = record.number;
  if (is_hidden) hidden_.insert(record.number);
}

void SnapshotList::committed() {
  const WriterLock lock(mutex_);
  uncommitted_ = kLiveTree;
}

void SnapshotList::failed(CommitFailure failure) {
  if (failure != CommitFailure::kFinal) return;
  const WriterLock lock(mutex_);
  if (uncommitted_ == kLiveTree) return;
  hidden_.erase(uncommitted_);
  records_.erase(std::exchange(uncommitted_, kLiveTree));
}

}  // namespace dedupfs
