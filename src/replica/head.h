// Heads: the records that say which objects make up a volume in a bucket. docs/remote.md has the bytes.
//
// Heads have sequence numbers, without gaps, and each names the one before by its SHA-256. So there is one chain. The newest head is the
// volume. A head has the list of all files, or what changed since the head before.
//
// Threads: values; free functions are safe from any thread.
// Failure: kCorruption for bytes that nobody wrote, kVersion for a newer format. Nothing is allocated beyond what the bytes hold.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "base/coding.h"
#include "base/result.h"
#include "hash/sha256.h"

namespace dedupfs {

// A sealed container is one piece: a little longer than container_bytes says, and longer again if it is encrypted. Who ships or restores
// holds one piece in memory.
inline constexpr std::uint64_t kMaxPieceBytes = 72 << 20;
inline constexpr std::uint64_t kMaxHeadBytes = 256 << 20;  // about 4 million files
// In the lists of a head, and of what heads make up together. A path takes more in memory than in a head.
struct ListLimits {
  std::size_t paths = 8 << 20;
  std::uint64_t path_bytes = 256 << 20;
};
inline constexpr std::uint64_t kMaxSequence = 9'999'999'999;
inline constexpr std::uint64_t kMaxEpoch = 99'999'999;

inline constexpr std::string_view kHeadPrefix = "head/";
inline constexpr std::string_view kEpochPrefix = "epoch/";
// Of containers, of the index, of the other files.
inline constexpr std::array<std::string_view, 3> kPiecePrefixes = {"c/", "i/", "v/"};

// A stretch of a file, in an object of its own.
struct RemotePiece {
  std::uint64_t epoch = 0;     // of who shipped it
  std::uint64_t sequence = 0;  // of the head for which it was shipped
  std::uint64_t bytes = 0;
  Sha256Digest sha256{};

  bool operator==(const RemotePiece&) const = default;
};

struct RemoteFile {
  std::vector<RemotePiece> pieces;
  // Of the last bytes, as end_sum_of() has it. A table that was made anew under the same name has another one.
  // kUnfinished: the file was written to while it was shipped.
  static constexpr std::uint64_t kUnfinished = 0;
  std::uint64_t end_sum = kUnfinished;

  std::uint64_t bytes() const;
  bool operator==(const RemoteFile&) const = default;
};

// As a head has it.
void encode_remote_file(const RemoteFile& file, Encoder& encoder);
// Nothing for bytes that nobody wrote.
std::optional<RemoteFile> decode_remote_file(Decoder& decoder);

using RemoteFiles = std::map<std::string, RemoteFile>;  // by path in the volume's folder

std::uint64_t total_bytes(const RemoteFiles& files);

using UuidText = std::string;

struct Head {
  UuidText volume;
  std::uint64_t sequence = 0;  // 1 and more
  std::uint64_t epoch = 0;     // 1 and more
  std::uint64_t full = 0;      // the newest head with a full list, maybe this one
  Sha256Digest previous{};     // zeros in front of the first
  std::int64_t unix_seconds = 0;
  std::vector<std::string> dropped;  // paths, in order; empty in a full list
  RemoteFiles files;                 // all, or those that are new or changed

  bool is_full() const { return full == sequence; }
  bool operator==(const Head&) const = default;
};

std::string encode_head(const Head& head);
Result<Head> decode_head(ByteSpan bytes, const ListLimits& limits = {});

// What the changes of a head make of the files.
void apply_changes(const Head& head, RemoteFiles& files);

// Bytes behind this offset go into the end_sum.
std::uint64_t end_begin(std::uint64_t bytes);
std::uint64_t end_sum_of(ByteSpan end);

std::string head_object(std::uint64_t sequence);
std::string epoch_object(std::uint64_t epoch);
std::string piece_object(std::string_view path, std::uint64_t offset, const RemotePiece& piece);
// add(object) for each piece of the files, in order.
template <class Add>
void for_each_object(const RemoteFiles& files, const Add& add) {
  for (const auto& [path, file] : files) {
    std::uint64_t offset = 0;
    for (const RemotePiece& piece : file.pieces) {
      add(piece_object(path, offset, piece));
      offset += piece.bytes;
    }
  }
}
std::optional<std::uint64_t> parse_head_object(std::string_view object);
std::optional<std::uint64_t> parse_epoch_object(std::string_view object);
// Of the name of a piece: who shipped it, and when.
struct PieceOrigin {
  std::uint64_t epoch = 0;
  std::uint64_t sequence = 0;
};
std::optional<PieceOrigin> parse_piece_object(std::string_view object);

// A name in the volume's folder, or one in a folder of it that images have. Whatever a bucket says, nothing else is written to.
bool is_image_path(std::string_view path);

}  // namespace dedupfs
