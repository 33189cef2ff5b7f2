#include "store/seal/record_chain.h"

#include <algorithm>
#include <utility>

#include "base/raw_buffer.h"

namespace dedupfs {
namespace {

using SealedHead = std::array<std::uint8_t, kSealedHeadBytes>;

// A header that was damaged is followed by the next one within this.
constexpr std::uint64_t kSearchedBytes = kSegmentHeadBytes + 2 * kSealedHeadBytes + sealed_bytes_of(kMaxRecordBytes);

}  // namespace

void seal_pieces(Aead& aead, std::uint64_t place, ByteSpan plain, std::uint8_t* out) {
  while (!plain.empty()) {
    const ByteSpan piece = plain.first(std::min(plain.size(), kPieceBytes));
    aead.seal(place, {}, piece, out);
    place += piece.size() + kTagBytes;
    out += piece.size() + kTagBytes;
    plain = plain.subspan(piece.size());
  }
}

bool open_pieces(Aead& aead, std::uint64_t place, ByteSpan sealed, std::uint8_t* out) {
  while (!sealed.empty()) {
    const ByteSpan piece = sealed.first(std::min(sealed.size(), kPieceBytes + kTagBytes));
    if (piece.size() <= kTagBytes || !aead.open(place, {}, piece, out)) return false;
    place += piece.size();
    out += piece.size() - kTagBytes;
    sealed = sealed.subspan(piece.size());
  }
  return true;
}

Result<void> RecordChain::read(const KeyOfSegment& key_of, std::span<const std::uint32_t> key_numbers, Cipher cipher) {
  key_numbers_ = key_numbers;
  for (;;) {
    DEDUPFS_ASSIGN(const bool is_record, next_record());
    if (is_record) continue;
    DEDUPFS_ASSIGN(const bool is_segment, next_segment(key_of, cipher));
    if (!is_segment) break;
  }
  DEDUPFS_TRY(find_damage(key_of, cipher));
  return cut_torn_end();
}

// A former key seals nothing behind what a newer one has sealed. Who has it must not add to that.
std::span<const std::uint32_t> RecordChain::keys_of_next_segment() const {
  const std::uint32_t least = segments_.empty() ? 0 : segments_.back().key_number;
  const auto end = std::ranges::find_if(key_numbers_, [=](std::uint32_t number) { return number < least; });
  return {key_numbers_.begin(), end};
}

Result<bool> RecordChain::next_segment(const KeyOfSegment& key_of, Cipher cipher) {
  if (file_bytes_ - place_ < kSegmentHeadBytes) return false;
  SealedSegment segment{.place = place_};
  SealedHead sealed;
  DEDUPFS_TRY(file_.read(place_, segment.salt));
  DEDUPFS_TRY(file_.read(place_ + kSealSaltBytes, sealed));
  const ByteSpan salt_before = segments_.empty() ? ByteSpan() : ByteSpan(segments_.back().salt);
  std::unique_ptr<Aead> opener;
  std::optional<SegmentHead> head;
  for (const std::uint32_t number : keys_of_next_segment()) {
    opener = std::make_unique<Aead>(cipher, key_of(segment.salt, number).bytes());
    HeadBytes opened;
    if (!opener->open(place_ + kSealSaltBytes, salt_before, sealed, opened.data())) continue;
    head = decode_segment_head(opened);
    segment.key_number = number;
    break;
  }
  if (!head) {
    // A crash can leave zeros where the file begins, but nothing else: what begins there fits into a sector of any disk.
    if (place_ == 0 && !(all_zero(segment.salt) && all_zero(sealed))) damage_ = 0;
    return false;
  }
  segment.session = head->session;
  segments_.push_back(segment);
  openers_.push_back(std::move(opener));
  place_ += kSegmentHeadBytes;
  return true;
}

// Nothing where no record begins, or not all of it is in the file.
Result<std::optional<RecordHead>> RecordChain::head_at(Aead& opener, std::uint64_t place) const {
  if (file_bytes_ < place || file_bytes_ - place < kSealedHeadBytes) return std::optional<RecordHead>();
  SealedHead sealed;
  DEDUPFS_TRY(file_.read(place, sealed));
  HeadBytes opened;
  if (!opener.open(place, {}, sealed, opened.data())) return std::optional<RecordHead>();
  const auto head = decode_record_head(opened);
  const bool is_there = head && file_bytes_ - place - kSealedHeadBytes >= sealed_bytes_of(head->bytes);
  return is_there ? head : std::optional<RecordHead>();
}

Result<bool> RecordChain::next_record() {
  if (segments_.empty()) return false;
  DEDUPFS_ASSIGN(const auto head, head_at(*openers_.back(), place_));
  if (!head) return false;
  records_.push_back({*head, place_, static_cast<std::uint32_t>(segments_.size() - 1)});
  place_ += kSealedHeadBytes + sealed_bytes_of(head->bytes);
  return true;
}

Result<bool> RecordChain::is_whole(const Record& record) const {
  const std::uint64_t place = record.place + kSealedHeadBytes;
  RawBuffer sealed(sealed_bytes_of(record.head.bytes));
  DEDUPFS_TRY(file_.read(place, sealed));
  RawBuffer plain(record.head.bytes);
  return open_pieces(*openers_[record.segment], place, sealed, plain.data());
}

// The chain ends where a crash tore it, or where a header is damaged. What was synced was not torn: so a record farther behind, which
// says that this place was synced, tells the one from the other.
Result<void> RecordChain::find_damage(const KeyOfSegment& key_of, Cipher cipher) {
  const std::uint64_t length = std::min(kSearchedBytes, file_bytes_ - place_);
  if (damage_ || segments_.empty() || length < kSealedHeadBytes) return {};
  RawBuffer bytes(length);
  DEDUPFS_TRY(file_.read(place_, bytes));
  bool is_damaged = false;
  if (length > kSegmentHeadBytes) {  // the head of a segment, whose salt may be whole
    SealSalt salt;
    std::ranges::copy(ByteSpan(bytes).first(salt.size()), salt.begin());
    for (const std::uint32_t number : keys_of_next_segment()) {
      Aead opener(cipher, key_of(salt, number).bytes());
      DEDUPFS_ASSIGN(const Run run, run_from(opener, place_ + kSegmentHeadBytes));
      is_damaged = run.proves_damage;
      if (is_damaged) break;
    }
  }
  HeadBytes opened;
  for (std::uint64_t at = kSealedHeadBytes; !is_damaged && at + kSealedHeadBytes <= length; ++at) {
    if (!openers_.back()->open(place_ + at, {}, ByteSpan(bytes).subspan(at, kSealedHeadBytes), opened.data())) continue;
    DEDUPFS_ASSIGN(const Run run, run_from(*openers_.back(), place_ + at));
    is_damaged = run.proves_damage;
    at = std::max(at, run.end - place_ - 1);  // there may be another damaged place behind
  }
  if (is_damaged) damage_ = place_;
  return {};
}

// The records from `place` on, up to one that says that the end of the chain was synced.
Result<RecordChain::Run> RecordChain::run_from(Aead& opener, std::uint64_t place) const {
  for (;;) {
    DEDUPFS_ASSIGN(const auto head, head_at(opener, place));
    if (!head) return Run{.end = place};
    if (head->durable_end > place_) return Run{.proves_damage = true, .end = place};
    place += kSealedHeadBytes + sealed_bytes_of(head->bytes);
  }
}

// What was not synced for certain may be there in parts only. It ends before the first such record.
Result<void> RecordChain::cut_torn_end() {
  std::uint64_t durable_end = 0;
  for (const Record& record : records_) durable_end = std::max(durable_end, record.head.durable_end);
  auto record = std::ranges::find_if(records_, [=](const Record& each) { return each.place >= durable_end; });
  for (; record != records_.end(); ++record) {
    DEDUPFS_ASSIGN(const bool whole, is_whole(*record));
    if (!whole) break;
  }
  if (record == records_.end()) return {};
  place_ = record->place;
  records_.erase(record, records_.end());
  // Segments that begin farther behind are as gone as their records.
  while (!segments_.empty() && segments_.back().place > place_) segments_.pop_back();
  return {};
}

}  // namespace dedupfs
