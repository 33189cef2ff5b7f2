#include "store/seal/sealed_content.h"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <map>
#include <utility>

#include "base/check.h"
#include "base/crash_point.h"
#include "base/guarded.h"
#include "base/raw_buffer.h"
#include "store/seal/record_chain.h"

namespace dedupfs {

// ---------------------------------------------------------------- read

Result<std::uint64_t> SealedContent::size() const {
  const ReaderLock lock(map_mutex_);
  if (damage_) return *damage_;
  return size_;
}

Result<std::size_t> SealedContent::read_up_to(const BackingFile& file, std::uint64_t offset,
                                              MutableByteSpan out) const {
  auto got = read_now(file, offset, out);
  if (got || got.error().code() != ErrorCode::kCorruption) return got;
  // What was looked up may have been cut off and written again meanwhile.
  const MutexLock lock(write_mutex_);
  return read_now(file, offset, out);
}

Result<std::size_t> SealedContent::read_now(const BackingFile& file, std::uint64_t offset, MutableByteSpan out) const {
  std::vector<SealedExtent> parts;
  std::map<std::uint32_t, std::shared_ptr<const Segment>> segments;
  {
    const ReaderLock lock(map_mutex_);
    if (damage_) return *damage_;
    if (offset >= size_) return std::size_t{0};
    out = out.first(std::min<std::uint64_t>(out.size(), size_ - offset));
    parts = extents_.within(offset, offset + out.size());
    for (const SealedExtent& part : parts) segments.try_emplace(part.segment, segments_[part.segment]);
  }
  std::uint64_t filled_to = offset;
  for (const SealedExtent& part : parts) {
    std::ranges::fill(out.subspan(filled_to - offset, part.begin - filled_to), std::uint8_t{0});
    DEDUPFS_TRY(read_extent(file, part, segments.at(part.segment)->key.bytes(),
                            out.subspan(part.begin - offset, part.end - part.begin)));
    filled_to = part.end;
  }
  std::ranges::fill(out.subspan(filled_to - offset), std::uint8_t{0});
  return out.size();
}

// Only the pieces that hold some of it, some at a time: what was just read is still in the cache of the processor when it is opened.
Result<void> SealedContent::read_extent(const BackingFile& file, const SealedExtent& part, ByteSpan key,
                                        MutableByteSpan out) const {
  constexpr std::size_t kSealedPieceBytes = kPieceBytes + kTagBytes;
  constexpr std::uint64_t kPiecesAtATime = 8;
  const std::uint64_t first = (part.begin - part.record_begin) / kPieceBytes;
  const std::uint64_t end_in_record =
      std::min<std::uint64_t>(pieces_of(part.end - part.record_begin) * kPieceBytes, part.record_bytes);
  std::uint64_t place = part.place + first * kSealedPieceBytes;
  const std::uint64_t end = place + sealed_bytes_of(end_in_record - first * kPieceBytes);
  RawBuffer buffer(std::min(end - place, kPiecesAtATime * kSealedPieceBytes));
  Aead aead(key_->cipher(), key);
  RawBuffer whole(kPieceBytes);  // for pieces of which a part only is asked for
  std::uint64_t at = part.record_begin + first * kPieceBytes;
  while (place != end) {
    const MutableByteSpan sealed = MutableByteSpan(buffer).first(std::min<std::uint64_t>(buffer.size(), end - place));
    DEDUPFS_ASSIGN(const std::size_t got, file.read_up_to(place, sealed));
    if (got < sealed.size()) return not_as_sealed(file, place + got);
    for (ByteSpan left = sealed; !left.empty();) {
      const ByteSpan piece = left.first(std::min(left.size(), kSealedPieceBytes));
      const std::uint64_t length = piece.size() - kTagBytes;
      const std::uint64_t begin = std::max(at, part.begin);
      const std::uint64_t wanted_end = std::min(at + length, part.end);
      const MutableByteSpan wanted = out.subspan(begin - part.begin, wanted_end - begin);
      std::uint8_t* const target = wanted.size() == length ? wanted.data() : whole.data();
      if (!aead.open(place, {}, piece, target)) return not_as_sealed(file, place);
      if (target == whole.data())
        std::ranges::copy(ByteSpan(whole).subspan(begin - at, wanted_end - begin), wanted.begin());
      at += length;
      place += piece.size();
      left = left.subspan(piece.size());
    }
  }
  return {};
}

void SealedContent::drop_cached(const BackingFile& file, std::uint64_t offset, std::uint64_t length) const {
  std::vector<SealedExtent> parts;
  {
    const ReaderLock lock(map_mutex_);
    parts = extents_.within(offset, offset + length);
  }
  for (const SealedExtent& part : parts) file.drop_cached(part.place, sealed_bytes_of(part.record_bytes));
}

// ---------------------------------------------------------------- write

// Takes what stands behind the records out of the file, for good.
Result<void> SealedContent::cut_off(BackingFile& file) {
  if (file_end_ != end_) {
    file_end_ = UINT64_MAX;  // nobody knows
    trailer_.reset();
    DEDUPFS_TRY(file.truncate(end_));
    file_end_ = end_;
  }
  // What is written there next must not be mixed by a crash with what was durable there.
  if (end_ < relied_end_) DEDUPFS_TRY(sync_or_note(file));
  relied_end_ = std::min(relied_end_, end_);
  durable_end_ = std::min(durable_end_, end_);
  if (durable_end_ == end_) has_failed_sync_ = false;  // what it was about is gone
  return {};
}

// The head of a new segment, at the end of the records.
Result<void> SealedContent::begin_segment(BackingFile& file, ByteBuffer& out, std::uint64_t& place) {
  DEDUPFS_TRY(cut_off(file));
  SealedSegment segment{.place = end_, .session = session_, .key_number = key_->number()};
  fill_randomly(segment.salt);
  const WriterLock lock(map_mutex_);
  const SealSalt salt_before = segments_.empty() ? SealSalt() : segments_.back()->head.salt;
  const ByteSpan associated = segments_.empty() ? ByteSpan() : ByteSpan(salt_before);
  add_segment(segment);
  sealer_ = std::make_unique<Aead>(key_->cipher(), segments_.back()->key.bytes());
  sealed_to_ = end_ + kSegmentHeadBytes;
  out.insert(out.end(), segment.salt.begin(), segment.salt.end());
  out.resize(kSegmentHeadBytes);
  sealer_->seal(end_ + kSealSaltBytes, associated, encode_segment_head({.session = session_}),
                out.data() + kSealSaltBytes);
  place += kSegmentHeadBytes;
  return {};
}

// Whatever fails, want of memory too: the key has sealed what is not in the file, so it is given up.
Result<void> SealedContent::append(BackingFile& file, const RecordHead& head, ByteSpan data) {
  if (const auto damaged = damage()) return *damaged;
  auto appended = guarded([&] {
    write_mutex_.assert_held();
    return append_record(file, head, data);
  });
  if (appended) return {};
  sealer_ = nullptr;
  file_end_ = UINT64_MAX;
  ++cuts_;
  forget_segments_behind_end();
  (void)guarded([&] {  // otherwise the next writer does it
    write_mutex_.assert_held();
    return cut_off(file);
  });
  return appended;
}

Result<void> SealedContent::append_record(BackingFile& file, const RecordHead& head, ByteSpan data) {
  ByteBuffer out;
  out.reserve(kSegmentHeadBytes + kSealedHeadBytes + sealed_bytes_of(data.size()));
  std::uint64_t place = end_;
  if (!sealer_) DEDUPFS_TRY(begin_segment(file, out, place));
  const std::size_t head_at = out.size();
  out.resize(head_at + kSealedHeadBytes + sealed_bytes_of(data.size()));
  DEDUPFS_CHECK(place >= sealed_to_);  // no pair of key and nonce twice
  sealed_to_ = end_ + out.size();
  sealer_->seal(place, {}, encode_record_head(head), out.data() + head_at);
  seal_pieces(*sealer_, place + kSealedHeadBytes, data, out.data() + head_at + kSealedHeadBytes);
  DEDUPFS_TRY(file.write(end_, out));

  const WriterLock lock(map_mutex_);
  const std::uint64_t end = end_ + out.size();
  if (head.kind == RecordHead::Kind::kTruncation) {
    extents_.cut(head.offset);
    size_ = head.offset;
    irregular_end_ = end;
  } else {
    extents_.put({.begin = head.offset,
                  .end = head.offset + head.bytes,
                  .record_begin = head.offset,
                  .record_bytes = head.bytes,
                  .segment = static_cast<std::uint32_t>(segments_.size() - 1),
                  .place = place + kSealedHeadBytes});
    if (head.offset < size_) irregular_end_ = end;
    size_ = std::max(size_, head.offset + head.bytes);
  }
  end_ = file_end_ = end;
  return {};
}

void SealedContent::forget_segments_behind_end() {
  const WriterLock lock(map_mutex_);
  while (!segments_.empty() && segments_.back()->head.place >= end_) segments_.pop_back();
}

Result<void> SealedContent::write(BackingFile& file, std::uint64_t offset, ByteSpan data) {
  const MutexLock lock(write_mutex_);
  const bool is_long = data.size() > kMaxRecordBytes;
  const std::uint64_t end_before = end_;
  const std::uint64_t irregular_before = irregular_end_;
  std::uint64_t size_before = 0;
  ExtentMap extents_before;
  if (is_long) {
    const ReaderLock reading(map_mutex_);
    size_before = size_;
    extents_before = extents_;
  }
  while (!data.empty()) {
    const ByteSpan piece = data.first(std::min(data.size(), kMaxRecordBytes));
    auto appended =
        append(file, {.bytes = static_cast<std::uint32_t>(piece.size()), .offset = offset, .durable_end = durable_end_},
               piece);
    if (!appended) {
      if (end_ == end_before) return appended;
      end_ = end_before;
      irregular_end_ = irregular_before;
      {
        const WriterLock writing(map_mutex_);
        extents_ = std::move(extents_before);
        size_ = size_before;
      }
      forget_segments_behind_end();
      ++cuts_;
      (void)cut_off(file);
      return appended;
    }
    offset += piece.size();
    data = data.subspan(piece.size());
  }
  return {};
}

// Where the file can be cut off so that the content has this size, because all records behind only appended to it.
std::optional<std::uint64_t> SealedContent::clean_cut(std::uint64_t size) const {
  const ReaderLock lock(map_mutex_);
  const auto& extents = extents_.all();
  const auto behind = std::ranges::lower_bound(extents, size, {}, &SealedExtent::begin);
  if (behind == extents.begin() || behind == extents.end() || std::prev(behind)->end != size) return std::nullopt;
  if (behind->begin != size || behind->record_begin != size) return std::nullopt;
  const std::uint64_t place = behind->place - kSealedHeadBytes;
  return place >= irregular_end_ ? std::optional(place) : std::nullopt;
}

Result<void> SealedContent::truncate(BackingFile& file, std::uint64_t size) {
  const MutexLock lock(write_mutex_);
  {
    const ReaderLock reading(map_mutex_);
    if (damage_ && size != 0) return *damage_;
    if (size == size_ && size != 0) return {};
  }
  const auto cut = size == 0 ? std::optional<std::uint64_t>(0) : clean_cut(size);
  if (!cut)
    return append(file, {.kind = RecordHead::Kind::kTruncation, .offset = size, .durable_end = durable_end_}, {});
  sealer_ = nullptr;
  file_end_ = UINT64_MAX;
  trailer_.reset();
  DEDUPFS_TRY(file.truncate(*cut));
  end_ = file_end_ = *cut;
  irregular_end_ = std::min(irregular_end_, end_);
  ++cuts_;
  {
    const WriterLock writing(map_mutex_);
    extents_.cut(size);
    size_ = size;
    if (size == 0) damage_.reset();
  }
  forget_segments_behind_end();
  return cut_off(file);
}

Result<void> SealedContent::datasync(BackingFile& file) {
  const MutexLock syncing(sync_mutex_);  // the kernel tells of a loss once
  std::uint64_t end = 0;
  std::uint64_t cuts = 0;
  {
    const MutexLock lock(write_mutex_);
    end = end_;
    cuts = cuts_;
  }
  auto synced = file.datasync();
  const MutexLock lock(write_mutex_);
  if (!synced) has_failed_sync_ = true;
  if (!synced || cuts != cuts_) return synced;
  if (!has_failed_sync_) durable_end_ = std::max(durable_end_, end);
  relied_end_ = std::max(relied_end_, end);
  return {};
}

Result<void> SealedContent::sync_or_note(BackingFile& file) {
  auto synced = file.datasync();
  if (!synced) has_failed_sync_ = true;
  return synced;
}

bool SealedContent::has_failed_sync() const {
  const MutexLock lock(write_mutex_);
  return has_failed_sync_;
}

void SealedContent::note_failed_sync() {
  const MutexLock lock(write_mutex_);
  has_failed_sync_ = true;
}

std::optional<FileMark> SealedContent::finish(BackingFile& file) {
  {
    const MutexLock syncing(sync_mutex_);
    const MutexLock lock(write_mutex_);
    if (!std::exchange(sealer_, nullptr) || !write_map(file)) return std::nullopt;
  }
  return mark();
}

Result<void> SealedContent::renew(BackingFile& file) {
  const MutexLock syncing(sync_mutex_);
  const MutexLock lock(write_mutex_);
  if (damage()) return sync_or_note(file);
  RawBuffer bytes(std::min<std::uint64_t>(kMaxRecordBytes, file_end_ - std::min(durable_end_, file_end_)));
  for (std::uint64_t place = durable_end_; place < file_end_;) {
    const MutableByteSpan part = MutableByteSpan(bytes).first(std::min<std::uint64_t>(bytes.size(), file_end_ - place));
    DEDUPFS_TRY(file.read(place, part));
    DEDUPFS_TRY(file.write(place, part));
    place += part.size();
  }
  DEDUPFS_TRY(sync_or_note(file));
  if (!has_failed_sync_) durable_end_ = relied_end_ = end_;
  return {};
}

Result<void> SealedContent::mend_end(BackingFile& file) {
  const MutexLock syncing(sync_mutex_);
  const MutexLock lock(write_mutex_);
  if (damage() || trailer_) return {};
  if (file_end_ != end_) {
    spdlog::warn("{}: {} bytes behind the last whole record, as a crash leaves them, are cut off", file.path().string(),
                 file_end_ - end_);
    DEDUPFS_TRY(cut_off(file));
  }
  // Without a map, its readers go through it.
  if (end_ == 0 || write_map(file) || (file_end_ == end_ && !has_failed_sync_)) return {};
  return Error{ErrorCode::kIo, file.path().string() + ": its end could not be written"};
}

bool SealedContent::write_map(BackingFile& file) {
  // A map of what a crash can take away would be worse than none.
  if (durable_end_ < end_ && !has_failed_sync_ && sync_or_note(file)) durable_end_ = relied_end_ = end_;
  if (has_failed_sync_) return false;
  SealTrailer trailer{.map_place = end_};
  std::string map;
  {
    const ReaderLock reading(map_mutex_);
    SealedMap content{.extents = extents_.all()};
    content.segments.reserve(segments_.size());
    for (const auto& segment : segments_) content.segments.push_back(segment->head);
    map = encode_sealed_map(content);
    trailer.size = size_;
  }
  if (map.size() > kMaxMapBytes) return false;
  trailer.map_bytes = map.size();
  TrailerBytes bytes;
  const MutableByteSpan salt = MutableByteSpan(bytes).first(kSealSaltBytes);
  fill_randomly(salt);
  SealSalt drawn;
  std::ranges::copy(salt, drawn.begin());
  Aead aead(key_->cipher(), trailer_key(drawn, key_->number()).bytes());
  RawBuffer out(sealed_bytes_of(map.size()) + bytes.size());
  const std::uint64_t place = end_ + sealed_bytes_of(map.size());
  seal_pieces(aead, end_, bytes_of(map), out.data());
  aead.seal(place + salt.size(), {}, encode_seal_trailer(trailer), bytes.data() + salt.size());
  std::ranges::copy(bytes, out.data() + (place - end_));
  file_end_ = UINT64_MAX;
  if (!file.write(end_, out)) {
    (void)cut_off(file);  // otherwise the next writer does it
    return false;
  }
  crash_point("file.map-written");
  file_end_ = place + bytes.size();
  trailer_ = bytes;
  return true;
}

}  // namespace dedupfs
