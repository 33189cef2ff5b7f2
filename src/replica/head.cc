#include "replica/head.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <numeric>

#include "base/uuid.h"
#include "remote/text.h"
#include "replica/summed_record.h"
#include "store/format/checked_json.h"
#include "store/format/format.h"
#include "store/format/numbered_name.h"
#include "store/volume/ballast.h"
#include "store/volume/capture.h"

namespace dedupfs {
namespace {

constexpr RecordKind kHeadKind = {.magic = 0x31'44'41'45'48'50'44'44,  // "DDPHEAD1"
                                  .version = 1,
                                  .name = "head"};
constexpr std::size_t kUuidLength = 36;
constexpr std::uint64_t kEndBytes = 8 << 10;
constexpr std::size_t kHashLength = 16;  // of a name: enough to tell tries of one head from each other
constexpr std::size_t kEpochDigits = 8;
constexpr std::size_t kSequenceDigits = 10;
// The least that a piece takes in a head: its numbers, its digest.
constexpr std::size_t kLeastPieceBytes = 3 + sizeof(Sha256Digest);

// What a volume's folder has for this machine only, and its folders.
constexpr std::array<std::string_view, 8> kNoFiles = {kLockFile,         kControlSocket,      kRemoteFile,
                                                      kBallastFile,      kIndexDirectory,     kCheckpointsDirectory,
                                                      kEvictedDirectory, kContainersDirectory};

bool is_image_folder(std::string_view folder) {
  return folder == kContainersDirectory || folder == kIndexDirectory || folder == kCheckpointsDirectory;
}

// A file that somebody had left in the volume's folder. Builds that shipped all that lay there put it into heads. Nobody reads it, so it
// is passed over.
bool is_stray_path(std::string_view path) {
  const std::size_t slash = path.find('/');
  if (slash != std::string_view::npos && !is_image_folder(path.substr(0, slash))) return false;
  const std::string_view name = slash == std::string_view::npos ? path : path.substr(slash + 1);
  return !name.empty() && name != "." && name != ".." && !is_plain_name(name) && name.find('/') == name.npos &&
         name.find('\0') == name.npos;
}

std::string_view prefix_of(std::string_view path) {
  if (path.starts_with(kContainersDirectory)) return kPiecePrefixes[0];
  if (path.starts_with(kIndexDirectory)) return kPiecePrefixes[1];
  return kPiecePrefixes[2];
}

std::optional<std::uint64_t> parse_digits(std::string_view text, std::size_t digits) {
  if (text.size() != digits || !std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; }))
    return std::nullopt;
  std::uint64_t number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

// Paths are in order: each says how much of the one before it begins with.
class PathEncoder {
 public:
  explicit PathEncoder(Encoder& encoder) : encoder_(encoder) {}
  void path(const std::string& path) {
    const auto common = static_cast<std::size_t>(std::ranges::mismatch(path, last_).in1 - path.begin());
    encoder_.varint(common);
    encoder_.varint(path.size() - common);
    encoder_.bytes(std::string_view(path).substr(common));
    last_ = path;
  }

 private:
  Encoder& encoder_;
  std::string last_;
};

class PathDecoder {
 public:
  // Takes what a path has in memory from `bytes_left`.
  PathDecoder(Decoder& decoder, std::uint64_t& bytes_left) : decoder_(decoder), bytes_left_(bytes_left) {}
  // Nothing if it is no path, or not in order, or too much.
  std::optional<std::string> path() {
    const std::uint64_t common = decoder_.varint();
    const std::string_view rest = text_of(decoder_.bytes(decoder_.varint()));
    if (!decoder_.ok() || common > last_.size()) return std::nullopt;
    std::string path = last_.substr(0, common).append(rest);
    if ((!is_image_path(path) && !is_stray_path(path)) || path <= last_ || path.size() > bytes_left_)
      return std::nullopt;
    bytes_left_ -= path.size();
    last_ = path;
    return path;
  }

 private:
  Decoder& decoder_;
  std::uint64_t& bytes_left_;
  std::string last_;
};

bool decode_lists(Decoder& decoder, const ListLimits& limits, Head& head) {
  const std::uint64_t dropped = decoder.varint();
  if (dropped > limits.paths || (head.is_full() && dropped != 0)) return false;
  std::uint64_t bytes_left = limits.path_bytes;
  PathDecoder dropped_paths(decoder, bytes_left);
  for (std::uint64_t i = 0; i < dropped; ++i) {
    auto path = dropped_paths.path();
    if (!path) return false;
    if (!is_stray_path(*path)) head.dropped.push_back(std::move(*path));
  }
  const std::uint64_t files = decoder.varint();
  if (files > limits.paths - dropped) return false;
  PathDecoder paths(decoder, bytes_left);
  for (std::uint64_t i = 0; i < files; ++i) {
    auto path = paths.path();
    auto file = decode_remote_file(decoder);
    if (!path || !file) return false;
    if (!is_stray_path(*path)) head.files.emplace_hint(head.files.end(), std::move(*path), std::move(*file));
  }
  return decoder.ok_at_end();
}

}  // namespace

std::uint64_t RemoteFile::bytes() const {
  std::uint64_t sum = 0;
  for (const RemotePiece& piece : pieces) sum += piece.bytes;
  return sum;
}

void encode_remote_file(const RemoteFile& file, Encoder& encoder) {
  encoder.u64(file.end_sum);
  encoder.varint(file.pieces.size());
  for (const RemotePiece& piece : file.pieces) {
    encoder.varint(piece.epoch);
    encoder.varint(piece.sequence);
    encoder.varint(piece.bytes);
    encoder.bytes(ByteSpan(piece.sha256));
  }
}

std::optional<RemoteFile> decode_remote_file(Decoder& decoder) {
  RemoteFile file;
  file.end_sum = decoder.u64();
  const std::uint64_t pieces = decoder.varint();
  if (pieces > decoder.remaining() / kLeastPieceBytes) return std::nullopt;
  std::uint64_t bytes = 0;
  for (std::uint64_t i = 0; i < pieces; ++i) {
    RemotePiece piece;
    piece.epoch = decoder.varint();
    piece.sequence = decoder.varint();
    piece.bytes = decoder.varint();
    const ByteSpan digest = decoder.bytes(piece.sha256.size());
    if (!decoder.ok() || piece.epoch == 0 || piece.epoch > kMaxEpoch || piece.sequence == 0 ||
        piece.sequence > kMaxSequence || piece.bytes == 0 || piece.bytes > kMaxPieceBytes)
      return std::nullopt;
    std::ranges::copy(digest, piece.sha256.begin());
    bytes += piece.bytes;  // at most kMaxHeadBytes pieces: no overflow
    file.pieces.push_back(piece);
  }
  return bytes <= INT64_MAX ? std::optional(std::move(file)) : std::nullopt;
}

std::string encode_head(const Head& head) {
  std::string bytes;
  Encoder encoder(bytes);
  begin_record(encoder, kHeadKind);
  encoder.bytes(head.volume);
  encoder.u64(head.sequence);
  encoder.u64(head.epoch);
  encoder.u64(head.full);
  encoder.bytes(ByteSpan(head.previous));
  encoder.u64(static_cast<std::uint64_t>(head.unix_seconds));
  encoder.varint(head.dropped.size());
  PathEncoder dropped(encoder);
  for (const std::string& path : head.dropped) dropped.path(path);
  encoder.varint(head.files.size());
  PathEncoder paths(encoder);
  for (const auto& [path, file] : head.files) {
    paths.path(path);
    encode_remote_file(file, encoder);
  }
  end_record(bytes);
  return bytes;
}

Result<Head> decode_head(ByteSpan bytes, const ListLimits& limits) {
  DEDUPFS_ASSIGN(const ByteSpan content, content_of_record(bytes, kHeadKind));
  Decoder decoder(content);
  Head head;
  head.volume = text_of(decoder.bytes(kUuidLength));
  head.sequence = decoder.u64();
  head.epoch = decoder.u64();
  head.full = decoder.u64();
  const ByteSpan previous = decoder.bytes(head.previous.size());
  head.unix_seconds = static_cast<std::int64_t>(decoder.u64());
  if (!decoder.ok() || !is_uuid(head.volume) || head.sequence == 0 || head.sequence > kMaxSequence || head.epoch == 0 ||
      head.epoch > kMaxEpoch || head.full == 0 || head.full > head.sequence)
    return corruption("its fields are damaged");
  std::ranges::copy(previous, head.previous.begin());
  if (!decode_lists(decoder, limits, head)) return corruption("its list of files is damaged");
  return head;
}

std::uint64_t total_bytes(const RemoteFiles& files) {
  return std::accumulate(files.begin(), files.end(), std::uint64_t{0},
                         [](std::uint64_t sum, const auto& file) { return sum + file.second.bytes(); });
}

void apply_changes(const Head& head, RemoteFiles& files) {
  if (head.is_full()) files.clear();
  for (const std::string& path : head.dropped) files.erase(path);
  for (const auto& [path, file] : head.files) files.insert_or_assign(path, file);
}

std::uint64_t end_begin(std::uint64_t bytes) {
  return bytes - std::min(bytes, kEndBytes);
}

std::uint64_t end_sum_of(ByteSpan end) {
  return Decoder(ByteSpan(sha256_of(end))).u64();
}

std::string head_object(std::uint64_t sequence) {
  return fmt::format("{}{:0{}}", kHeadPrefix, sequence, kSequenceDigits);
}

std::string epoch_object(std::uint64_t epoch) {
  return fmt::format("{}{:0{}}", kEpochPrefix, epoch, kEpochDigits);
}

std::string piece_object(std::string_view path, std::uint64_t offset, const RemotePiece& piece) {
  return fmt::format("{}{:0{}}/{}-{:0{}}-{:x}-{}", prefix_of(path), piece.epoch, kEpochDigits,
                     path.substr(path.rfind('/') + 1), piece.sequence, kSequenceDigits, offset,
                     hex_of(ByteSpan(piece.sha256)).substr(0, kHashLength));
}

std::optional<std::uint64_t> parse_head_object(std::string_view object) {
  return object.starts_with(kHeadPrefix) ? parse_digits(object.substr(kHeadPrefix.size()), kSequenceDigits)
                                         : std::nullopt;
}

std::optional<std::uint64_t> parse_epoch_object(std::string_view object) {
  return object.starts_with(kEpochPrefix) ? parse_digits(object.substr(kEpochPrefix.size()), kEpochDigits)
                                          : std::nullopt;
}

std::optional<PieceOrigin> parse_piece_object(std::string_view object) {
  const auto prefix =
      std::ranges::find_if(kPiecePrefixes, [&](std::string_view each) { return object.starts_with(each); });
  if (prefix == kPiecePrefixes.end()) return std::nullopt;
  object.remove_prefix(prefix->size());
  const std::size_t slash = object.find('/');
  const std::size_t hash = object.rfind('-');
  if (slash == std::string_view::npos || hash == std::string_view::npos || hash == 0) return std::nullopt;
  const std::size_t offset = object.rfind('-', hash - 1);
  if (offset == std::string_view::npos || offset < slash + kSequenceDigits + 1) return std::nullopt;
  const auto epoch = parse_digits(object.substr(0, slash), kEpochDigits);
  const auto sequence = parse_digits(object.substr(offset - kSequenceDigits, kSequenceDigits), kSequenceDigits);
  if (!epoch || !sequence) return std::nullopt;
  return PieceOrigin{.epoch = *epoch, .sequence = *sequence};
}

bool is_image_path(std::string_view path) {
  const std::size_t slash = path.find('/');
  if (slash == std::string_view::npos)  // files that are being made end with .new
    return is_plain_name(path) && !path.ends_with(".new") && std::ranges::find(kNoFiles, path) == kNoFiles.end();
  return is_image_folder(path.substr(0, slash)) && is_plain_name(path.substr(slash + 1));
}

}  // namespace dedupfs
