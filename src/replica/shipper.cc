#include "replica/shipper.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "remote/text.h"
#include "store/format/format.h"

namespace dedupfs {
namespace {

// So many heads with changes follow a full list at most: a reader gets all of them. Behind a list that is not much larger than they are, they
// are fewer.
constexpr std::uint64_t kMostChanges = 256;
constexpr std::uint64_t kMostChangesToShortList = 32;
constexpr std::uint64_t kShortListBytes = 256 << 10;
// What was put for the next head by a process that ended is looked for when so much was sent again.
constexpr std::uint64_t kWorthListing = 256 << 20;
constexpr std::size_t kMostKnown = 1 << 20;  // of what is there already; of others, the store is asked one by one
constexpr std::size_t kMostTried = 256;

bool is_container(std::string_view path) {
  return path.starts_with(kContainersDirectory);
}
bool is_table(std::string_view path) {
  return path.ends_with(".sst");
}
bool is_checkpoint(std::string_view path) {
  return path.starts_with(kCheckpointsDirectory);
}
// Never changes, and has something at its end that no other file of that name has: the identity of a session, or a checksum of all of it.
bool has_end_of_its_own(std::string_view path) {
  return is_table(path) || is_checkpoint(path);
}
// The only files that the volume removes while it is captured. Nothing needs them.
bool may_be_gone(std::string_view path) {
  return is_checkpoint(path);
}

Error while_shipping(const std::string& path, const Error& error) {
  return error.with("shipping " + path);
}

Result<ByteBuffer> read_captured(Capture& capture, const CapturedFile& file, std::uint64_t offset,
                                 std::uint64_t length) {
  ByteBuffer bytes(length);
  const auto filled = capture.read(file, offset, bytes);
  if (!filled) return while_shipping(file.path, filled.error());
  if (*filled != length) return corruption(fmt::format("{} was cut off while it was shipped", file.path));
  return bytes;
}

Result<std::uint64_t> end_sum(Capture& capture, const CapturedFile& file) {
  if (file.may_change) return RemoteFile::kUnfinished;
  const std::uint64_t begin = end_begin(file.bytes);
  DEDUPFS_ASSIGN(const ByteBuffer end, read_captured(capture, file, begin, file.bytes - begin));
  return end_sum_of(end);
}

Result<bool> begins_with(Capture& capture, const CapturedFile& file, const RemoteFile& known) {
  std::uint64_t offset = 0;
  for (const RemotePiece& piece : known.pieces) {
    DEDUPFS_ASSIGN(const ByteBuffer bytes, read_captured(capture, file, offset, piece.bytes));
    if (sha256_of(bytes) != piece.sha256) return false;
    offset += piece.bytes;
  }
  return true;
}

}  // namespace

bool RemotePosition::knows(const Known& other) const {
  return head == other || std::ranges::find(tried, other) != tried.end();
}

Error Shipper::fenced(const std::string& why) {
  is_fenced_ = true;
  return {
      kFenced,
      fmt::format(
          "{}: {}. Nothing more is shipped, and nothing there was overwritten. What was not shipped is in this volume",
          bucket_.name(), why)};
}

Result<void> Shipper::load() {
  const std::uint64_t next_before = next_sequence();
  replica_.reset();
  DEDUPFS_ASSIGN(replica_, load_replica(bucket_, settings_.parallel.requests));
  if (!replica_) {
    if (position_.head) return fenced(fmt::format("its heads are gone; head {} was there", position_.head->sequence));
  } else {
    const auto newest = known_of(*replica_);
    if (replica_->head.volume != settings_.volume) return fenced("it holds another volume");
    if (!position_.knows(newest) || replica_->head.epoch > position_.epoch)
      return fenced(fmt::format("its head {} of epoch {} was put by another machine, or by another copy of this volume",
                                newest.sequence, replica_->head.epoch));
    if (position_.head != newest) {
      position_.head = newest;
      position_.tried.clear();
    }
  }
  if (next_sequence() != next_before) forget_there(/*is_listed=*/false);
  is_loaded_ = true;
  return {};
}

Result<Shipper::Shipped> Shipper::ship(Capture& capture) {
  if (is_fenced_) return fenced("another machine writes to it");
  if (position_.epoch == 0)
    return Error{kFenced,
                 bucket_.name() +
                     ": this volume is a copy that does not write there; take over, if the other machine is to stop"};
  {
    const MutexLock lock(put_);
    report_ = {};
  }
  for (;;) {
    if (!is_loaded_) DEDUPFS_TRY(load());
    DEDUPFS_ASSIGN(const HeadPut put, attempt(capture));
    if (put == HeadPut::kMade) break;
  }
  const MutexLock lock(put_);
  report_.sequence = replica_ ? replica_->head.sequence : 0;
  return report_;
}

const RemoteFile* Shipper::known(const std::string& path) const {
  if (!replica_) return nullptr;
  const auto found = replica_->files.find(path);
  return found == replica_->files.end() ? nullptr : &found->second;
}

Result<Shipper::HeadPut> Shipper::attempt(Capture& capture) {
  RemoteFiles changed;
  std::vector<std::string> dropped;
  std::vector<std::string> present;
  TaskGroup puts(settings_.parallel.requests, settings_.parallel.memory, "dedupfs-put");
  for (const CapturedFile& file : capture.files()) {
    DEDUPFS_TRY(settings_.go_on());
    auto shipped = ship_file(capture, file, puts);
    if (!shipped && shipped.error().code() == ErrorCode::kNotFound && may_be_gone(file.path)) continue;
    if (!shipped) return shipped.error();
    present.push_back(file.path);
    if (const RemoteFile* const before = known(file.path); before == nullptr || *before != *shipped)
      changed.emplace(file.path, std::move(*shipped));
  }
  DEDUPFS_TRY(puts.finish());
  if (replica_)
    for (const auto& [path, file] : replica_->files)
      if (!std::ranges::binary_search(present, path)) dropped.push_back(path);
  if (replica_ && changed.empty() && dropped.empty()) return HeadPut::kMade;

  const Head changes = next_head(std::move(dropped), std::move(changed));
  PastHead past = past_head_of(changes.unix_seconds, changes.files);
  DEDUPFS_ASSIGN(const HeadPut put, put_changes(changes));
  if (put == HeadPut::kMade) past_heads_.insert_or_assign(changes.sequence, std::move(past));
  return put;
}

// As a full list, if that is time.
Result<Shipper::HeadPut> Shipper::put_changes(const Head& changes) {
  std::string bytes = encode_head(changes);
  if (replica_ && replica_->change_bytes + bytes.size() <= replica_->full_bytes &&
      changes.sequence - replica_->head.full <=
          (replica_->full_bytes <= kShortListBytes ? kMostChangesToShortList : kMostChanges))
    return put_head(changes, bytes);
  Head full = changes;
  if (replica_) {
    full.files = replica_->files;
    apply_changes(changes, full.files);
  }
  full.dropped.clear();
  full.full = full.sequence;
  bytes = encode_head(full);
  if (bytes.size() > kMaxHeadBytes)
    return Error{ErrorCode::kTooLarge, "the list of files is longer than a head can be"};
  return put_head(full, bytes);
}

Head Shipper::next_head(std::vector<std::string> dropped, RemoteFiles changed) const {
  return {.volume = settings_.volume,
          .sequence = next_sequence(),
          .epoch = position_.epoch,
          .full = replica_ ? replica_->head.full : 1,
          .previous = replica_ ? replica_->sha256 : Sha256Digest{},
          .unix_seconds = std::chrono::duration_cast<std::chrono::seconds>(settings_.now().time_since_epoch()).count(),
          .dropped = std::move(dropped),
          .files = std::move(changed)};
}

// What is there of a file is gone on behind, if it still begins so. Small pieces are sent again together with what follows them, so a log
// that grows a little each time has few pieces, of which each is longer than the next.
Result<RemoteFile> Shipper::ship_file(Capture& capture, const CapturedFile& file, TaskGroup& puts) {
  RemoteFile shipped;
  std::uint64_t begin = 0;
  if (const RemoteFile* const before = known(file.path)) {
    const std::uint64_t known_bytes = before->bytes();
    const bool is_as_long = known_bytes == file.bytes;
    if (is_as_long && is_container(file.path) && before->end_sum != RemoteFile::kUnfinished)
      return *before;  // numbers are never used twice
    if (is_as_long && has_end_of_its_own(file.path)) {
      DEDUPFS_ASSIGN(const std::uint64_t sum, end_sum(capture, file));
      if (sum == before->end_sum) return *before;
    }
    if (known_bytes <= file.bytes && !has_end_of_its_own(file.path)) {
      DEDUPFS_ASSIGN(const bool goes_on, begins_with(capture, file, *before));
      if (goes_on) {
        shipped.pieces = before->pieces;
        begin = known_bytes;
      }
    }
  }
  while (!shipped.pieces.empty()) {
    const std::uint64_t last = shipped.pieces.back().bytes;
    if (last > file.bytes - begin || last + (file.bytes - begin) > settings_.piece_bytes) break;
    begin -= last;
    shipped.pieces.pop_back();
  }
  for (std::uint64_t offset = begin; offset < file.bytes;) {
    DEDUPFS_TRY(settings_.go_on());
    const std::uint64_t length = std::min(settings_.piece_bytes, file.bytes - offset);
    DEDUPFS_TRY(puts.await_room(length));
    DEDUPFS_ASSIGN(ByteBuffer bytes, read_captured(capture, file, offset, length));
    DEDUPFS_ASSIGN(const RemotePiece piece, put_piece(file.path, offset, std::move(bytes), puts));
    offset += piece.bytes;
    shipped.pieces.push_back(piece);
  }
  DEDUPFS_ASSIGN(shipped.end_sum, end_sum(capture, file));
  return shipped;
}

Result<RemotePiece> Shipper::put_piece(const std::string& path, std::uint64_t offset, ByteBuffer bytes,
                                       TaskGroup& puts) {
  const auto content = std::make_shared<const ByteBuffer>(std::move(bytes));
  const ObjectSource source = object_of(*content);
  const RemotePiece piece{
      .epoch = position_.epoch, .sequence = next_sequence(), .bytes = source.size, .sha256 = source.sha256};
  const std::string object = piece_object(path, offset, piece);
  DEDUPFS_ASSIGN(const bool is_put, is_there(object, piece.bytes));
  if (is_put) return piece;
  DEDUPFS_TRY(puts.submit(piece.bytes, [this, path, object, source, content]() -> Result<void> {
    const auto done = put_object(object, source);
    return done ? done : while_shipping(path, done.error());
  }));
  return piece;
}

Result<void> Shipper::put_object(const std::string& object, const ObjectSource& source) {
  DEDUPFS_ASSIGN(const Bucket::Put put, bucket_.put_new(object, source));
  if (put == Bucket::Put::kOther)
    return corruption(fmt::format("{}/{} has other bytes than its name says; remove it", bucket_.name(), object));
  const MutexLock lock(put_);
  there_.emplace(object, source.size);
  ++report_.objects;
  report_.bytes += source.size;
  settings_.when_put(source.size);
  return {};
}

// What was put before, when no head came of it.
Result<bool> Shipper::is_there(const std::string& object, std::uint64_t bytes) {
  const MutexLock lock(put_);
  if (!is_listed_ && report_.bytes >= kWorthListing) DEDUPFS_TRY(list_there());
  const auto found = there_.find(object);
  return found != there_.end() && found->second == bytes;
}

Result<void> Shipper::list_there() {
  for (const std::string_view prefix : kPiecePrefixes)
    DEDUPFS_TRY(bucket_.list(fmt::format("{}{:08}/", prefix, position_.epoch), "",
                             [&](const Bucket::Object& found) -> Result<void> {
                               put_.assert_held();
                               const auto origin = parse_piece_object(found.name);
                               if (origin && origin->sequence == next_sequence() && there_.size() < kMostKnown)
                                 there_.emplace(found.name, found.size);
                               return settings_.go_on();
                             }));
  is_listed_ = true;
  return {};
}

void Shipper::forget_there(bool is_listed) {
  const MutexLock lock(put_);
  there_.clear();
  is_listed_ = is_listed;
}

Result<Shipper::HeadPut> Shipper::put_head(const Head& head, const std::string& bytes) {
  const ObjectSource source = object_of(bytes_of(bytes));
  const RemotePosition::Known trying{.sequence = head.sequence, .sha256 = source.sha256};
  if (std::ranges::find(position_.tried, trying) == position_.tried.end()) position_.tried.push_back(trying);
  if (position_.tried.size() > kMostTried) position_.tried.erase(position_.tried.begin());
  DEDUPFS_TRY(settings_.save(position_));
  is_loaded_ = false;  // until it is certain which head is the newest
  DEDUPFS_ASSIGN(const Bucket::Put put, bucket_.put_new(head_object(head.sequence), source));
  if (put == Bucket::Put::kOther) {
    DEDUPFS_ASSIGN(const FoundHead there, read_head(bucket_, head.sequence));
    if (position_.knows({.sequence = head.sequence, .sha256 = there.sha256})) return HeadPut::kEarlierTryIsThere;
    return fenced(fmt::format("head {} of epoch {} was put by another machine", head.sequence, there.head.epoch));
  }
  if (!replica_) replica_.emplace();
  DEDUPFS_TRY(advance(*replica_, {.head = head, .sha256 = source.sha256, .bytes = bytes.size()}));
  position_.head = trying;
  position_.tried.clear();
  forget_there(/*is_listed=*/true);  // nobody but this process puts anything for the next one
  is_loaded_ = true;
  const MutexLock lock(put_);
  report_.head_bytes = bytes.size();
  return HeadPut::kMade;
}

}  // namespace dedupfs
