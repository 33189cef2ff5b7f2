// How the records of a sealed file are found, and which state it is in.
#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/raw_buffer.h"
#include "store/seal/record_chain.h"
#include "store/seal/sealed_content.h"

namespace dedupfs {

Error SealedContent::not_as_sealed(const BackingFile& file, std::uint64_t place) {
  return corruption(
      fmt::format("{}, place {}: this is not what was sealed there; the file is damaged, was changed, or is "
                  "another one",
                  file.path().string(), place));
}

Secret SealedContent::segment_key(const SealSalt& salt, std::uint32_t key_number) const {
  return key_->file_key(key_number, salt, "segment", place_);
}

Secret SealedContent::trailer_key(const SealSalt& salt, std::uint32_t key_number) const {
  return key_->file_key(key_number, salt, "trailer", place_);
}

void SealedContent::add_segment(const SealedSegment& head) {
  segments_.push_back(std::make_shared<Segment>(Segment{head, segment_key(head.salt, head.key_number)}));
}

struct SealedContent::OpenTrailer {
  SealTrailer content;
  Aead key;
  std::uint64_t place = 0;
  std::uint32_t key_number = 0;
};

std::shared_ptr<SealedContent> SealedContent::load(const BackingFile& file, std::shared_ptr<const VolumeKey> key,
                                                   std::string place, const SessionId& session, const FileMark* known) {
  std::shared_ptr<SealedContent> content(new SealedContent(std::move(key), std::move(place), session));
  const MutexLock lock(content->write_mutex_);
  if (const auto found = content->find_records(file, known); !found) content->condemn(found.error());
  content->irregular_end_ = content->relied_end_ = content->end_;
  return content;
}

// Where one way to them is damaged or cannot be read, another is taken: the map by the trailer that is known, the map by the trailer
// of the file, the records themselves.
Result<void> SealedContent::find_records(const BackingFile& file, const FileMark* known) {
  DEDUPFS_ASSIGN(file_end_, file.size());
  std::optional<TrailerBytes> own;
  if (TrailerBytes bytes{}; file_end_ >= bytes.size() && file.read(file_end_ - bytes.size(), bytes)) own = bytes;
  const auto load_by = [&](const std::optional<TrailerBytes>& bytes) {
    write_mutex_.assert_held();
    auto opened = bytes ? open_trailer(*bytes, file_end_) : std::nullopt;
    if (!opened || !load_map(file, *opened)) return false;
    trailer_ = bytes;
    durable_end_ = end_;
    return true;
  };
  const bool may_be_known = known != nullptr && known->trailer && known->bytes == file_end_;
  if (may_be_known && known->trailer != own && load_by(known->trailer)) {
    spdlog::warn("{}: its end is damaged, and was taken from the list of files", file.path().string());
    return {};
  }
  if (load_by(own)) return {};
  DEDUPFS_TRY(load_chain(file));
  // What stands before a map was synced before the map was written. A crash can leave more than that: records that took its place.
  const auto trailer = own ? open_trailer(*own, file_end_) : std::nullopt;
  if (trailer && end_ < trailer->content.map_place) return not_as_sealed(file, end_);
  if (trailer && end_ == trailer->content.map_place) trailer_ = own;
  return {};
}

// Nothing if it is none.
std::optional<SealedContent::OpenTrailer> SealedContent::open_trailer(const TrailerBytes& bytes,
                                                                      std::uint64_t file_bytes) const {
  const std::uint64_t place = file_bytes - bytes.size();
  SealSalt salt;
  std::ranges::copy(ByteSpan(bytes).first(salt.size()), salt.begin());
  for (const std::uint32_t number : key_->numbers()) {
    Aead key(key_->cipher(), trailer_key(salt, number).bytes());
    HeadBytes opened;
    if (!key.open(place + salt.size(), {}, ByteSpan(bytes).subspan(salt.size()), opened.data())) continue;
    const SealTrailer trailer = decode_seal_trailer(opened);
    if (trailer.map_bytes > kMaxMapBytes || trailer.map_place > place ||
        sealed_bytes_of(trailer.map_bytes) != place - trailer.map_place)
      return std::nullopt;
    return OpenTrailer{.content = trailer, .key = std::move(key), .place = place, .key_number = number};
  }
  return std::nullopt;
}

// False if the map is damaged. The records say the same.
bool SealedContent::load_map(const BackingFile& file, OpenTrailer& trailer) {
  RawBuffer sealed(trailer.place - trailer.content.map_place);
  if (!file.read(trailer.content.map_place, sealed)) return false;
  RawBuffer plain(trailer.content.map_bytes);
  if (!open_pieces(trailer.key, trailer.content.map_place, sealed, plain.data())) return false;
  auto map = decode_sealed_map(plain, trailer.content.map_place);
  if (!map) return false;
  // Who has a former key must not make a map of what a newer one has sealed.
  const auto is_possible = [&](const SealedSegment& segment) {
    return segment.key_number <= trailer.key_number && key_->has(segment.key_number);
  };
  if (!std::ranges::all_of(map->segments, is_possible)) return false;
  const WriterLock lock(map_mutex_);
  for (const SealedSegment& segment : map->segments) add_segment(segment);
  extents_ = ExtentMap(std::move(map->extents));
  size_ = trailer.content.size;
  end_ = trailer.content.map_place;
  return true;
}

Result<void> SealedContent::load_chain(const BackingFile& file) {
  RecordChain chain(file, file_end_);
  DEDUPFS_TRY(chain.read([this](const SealSalt& salt, std::uint32_t number) { return segment_key(salt, number); },
                         key_->numbers(), key_->cipher()));
  if (chain.damage()) condemn(not_as_sealed(file, *chain.damage()));

  const WriterLock lock(map_mutex_);
  for (const SealedSegment& segment : chain.segments()) add_segment(segment);
  for (const RecordChain::Record& record : chain.records()) {
    const RecordHead& head = record.head;
    durable_end_ = std::max(durable_end_, head.durable_end);
    if (head.kind == RecordHead::Kind::kTruncation) {
      extents_.cut(head.offset);
      size_ = head.offset;
      continue;
    }
    extents_.put({.begin = head.offset,
                  .end = head.offset + head.bytes,
                  .record_begin = head.offset,
                  .record_bytes = head.bytes,
                  .segment = record.segment,
                  .place = record.place + kSealedHeadBytes});
    size_ = std::max(size_, head.offset + head.bytes);
  }
  end_ = chain.end();
  durable_end_ = std::min(durable_end_, end_);
  return {};
}

// ---------------------------------------------------------------- states

FileMark SealedContent::mark() const {
  const MutexLock lock(write_mutex_);
  const ReaderLock reading(map_mutex_);
  if (damage_) return FileMark{.bytes = file_end_, .records_end = FileMark::kDamaged};
  FileMark mark{.bytes = file_end_, .records_end = end_, .trailer = trailer_};
  if (segments_.empty()) return mark;
  mark.last_salt = segments_.back()->head.salt;
  mark.oldest_key = segments_.front()->head.key_number;
  return mark;
}

bool SealedContent::is(const FileMark& state) const {
  const FileMark now = mark();
  return now.records_end == state.records_end && now.last_salt == state.last_salt && now.oldest_key == state.oldest_key;
}

bool SealedContent::continues(const FileMark* state, std::span<const SessionId> sessions) const {
  const MutexLock lock(write_mutex_);
  const ReaderLock reading(map_mutex_);
  auto segment = segments_.begin();
  if (state != nullptr && state->records_end != 0 && segment != segments_.end()) {
    const auto behind =
        std::ranges::find_if(segments_, [&](const auto& each) { return each->head.place >= state->records_end; });
    const std::uint64_t place = behind == segments_.end() ? end_ : (*behind)->head.place;
    const bool is_kept = behind != segments_.begin() && place == state->records_end &&
                         (*std::prev(behind))->head.salt == state->last_salt &&
                         segments_.front()->head.key_number == state->oldest_key;
    if (is_kept) segment = behind;
  }
  return std::all_of(segment, segments_.end(), [&](const auto& each) {
    return each->head.key_number == key_->number() && std::ranges::find(sessions, each->head.session) != sessions.end();
  });
}

std::optional<Error> SealedContent::damage() const {
  const ReaderLock lock(map_mutex_);
  return damage_;
}

void SealedContent::condemn(Error damage) {
  const WriterLock lock(map_mutex_);
  if (!damage_) damage_ = std::move(damage);
}

}  // namespace dedupfs
