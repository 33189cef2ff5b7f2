#include "store/seal/volume_record.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/coding.h"
#include "base/crash_point.h"
#include "store/seal/sealed_names.h"

namespace dedupfs {
namespace {

constexpr std::uint64_t kMaxRecordFileBytes = std::uint64_t{1} << 30;
constexpr std::uint8_t kRecordVersion = 1;
constexpr std::uint8_t kClosed = 1;
constexpr std::uint8_t kRecounted = 2;

void encode_mark(Encoder& encoder, const FileMark& mark) {
  encoder.varint(mark.bytes);
  encoder.varint(mark.records_end);
  encoder.bytes(ByteSpan(mark.last_salt));
  encoder.varint(mark.oldest_key);
  encoder.u8(mark.trailer ? 1 : 0);
  if (mark.trailer) encoder.bytes(ByteSpan(*mark.trailer));
}

FileMark decode_mark(Decoder& decoder) {
  FileMark mark;
  mark.bytes = decoder.varint();
  mark.records_end = decoder.varint();
  std::ranges::copy(decoder.bytes(mark.last_salt.size()), mark.last_salt.begin());
  mark.oldest_key = static_cast<std::uint32_t>(decoder.varint());
  if (decoder.u8() == 0) return mark;
  TrailerBytes trailer{};
  std::ranges::copy(decoder.bytes(trailer.size()), trailer.begin());
  mark.trailer = trailer;
  return mark;
}

std::optional<FoundRecord> read_record_file(BackingFolder& volume, std::string_view name,
                                            const std::shared_ptr<const VolumeKey>& key) {
  const auto file = volume.open(name, Backing::Mode::kRead);
  if (!file) return std::nullopt;
  const auto content = SealedContent::load(**file, key, std::string(name), SessionId());
  FileMark mark = content->mark();
  const auto size = content->size();
  if (!size || *size > kMaxRecordFileBytes || mark.oldest_key != key->number()) return std::nullopt;
  ByteBuffer bytes(*size);
  if (!content->read_up_to(**file, 0, bytes)) return std::nullopt;
  auto record = decode_volume_record(bytes);
  if (!record) return std::nullopt;
  return FoundRecord{.record = std::move(*record), .mark = mark};
}

}  // namespace

std::string encode_volume_record(const VolumeRecord& record) {
  std::string encoded;
  Encoder encoder(encoded);
  encoder.u8(kRecordVersion);
  encoder.u8(static_cast<std::uint8_t>((record.is_closed ? kClosed : 0) | (record.is_recounted ? kRecounted : 0)));
  encoder.varint(record.generation);
  encoder.signed_varint(record.unix_seconds);
  encoder.bytes(ByteSpan(record.session));
  encoder.varint(record.files.size());
  for (const auto& [path, mark] : record.files) {
    encoder.varint(path.size());
    encoder.bytes(path);
    encode_mark(encoder, mark);
  }
  return encoded;
}

std::optional<VolumeRecord> decode_volume_record(ByteSpan bytes) {
  Decoder decoder(bytes);
  if (decoder.u8() != kRecordVersion) return std::nullopt;
  VolumeRecord record;
  const std::uint8_t state = decoder.u8();
  record.is_closed = (state & kClosed) != 0;
  record.is_recounted = (state & kRecounted) != 0;
  record.generation = decoder.varint();
  record.unix_seconds = decoder.signed_varint();
  std::ranges::copy(decoder.bytes(record.session.size()), record.session.begin());
  const std::uint64_t files = decoder.varint();
  for (std::uint64_t i = 0; i < files && decoder.ok(); ++i) {
    std::string path(text_of(decoder.bytes(decoder.varint())));
    record.files.emplace(std::move(path), decode_mark(decoder));
  }
  return decoder.ok_at_end() ? std::optional(std::move(record)) : std::nullopt;
}

std::optional<FoundRecord> read_volume_record(BackingFolder& volume, const std::shared_ptr<const VolumeKey>& key) {
  if (auto found = read_record_file(volume, kVolumeRecordFile, key)) return found;
  auto found = read_record_file(volume, kVolumeRecordCopyFile, key);
  if (found) found->is_copy = true;
  return found;
}

Result<void> write_volume_record(BackingFolder& volume, const std::shared_ptr<const VolumeKey>& key,
                                 const VolumeRecord& record) {
  std::array names = {kVolumeRecordCopyFile, kVolumeRecordFile};
  if (!read_record_file(volume, kVolumeRecordFile, key)) std::ranges::reverse(names);  // the copy may be all there is
  // It may have been written by a process that ended before it could sync it.
  if (const auto kept = volume.open(names[1], Backing::Mode::kReadWrite)) DEDUPFS_TRY((*kept)->datasync());
  DEDUPFS_TRY(write_volume_record_file(volume, names[0], key, record));
  crash_point(record.is_closed ? "unmount.list-half-written" : "mount.list-half-written");
  DEDUPFS_TRY(write_volume_record_file(volume, names[1], key, record));
  crash_point(record.is_closed ? "unmount.list-written" : "mount.list-written");
  return {};
}

Result<void> write_volume_record_file(BackingFolder& volume, std::string_view name,
                                      const std::shared_ptr<const VolumeKey>& key, const VolumeRecord& record) {
  DEDUPFS_ASSIGN(const bool has_older, volume.exists(name));
  if (has_older) DEDUPFS_TRY(volume.unlink(name));
  crash_point(record.is_closed ? "unmount.list-removed" : "mount.list-removed");
  DEDUPFS_ASSIGN(const auto file, volume.open(name, Backing::Mode::kCreate));
  const auto content = SealedContent::load(*file, key, std::string(name), record.session);
  DEDUPFS_TRY(content->write(*file, 0, bytes_of(encode_volume_record(record))));
  DEDUPFS_TRY(content->datasync(*file));
  crash_point(record.is_closed ? "unmount.list-without-end" : "mount.list-without-end");
  content->finish(*file);
  DEDUPFS_TRY(file->datasync());
  return volume.sync();
}

}  // namespace dedupfs
