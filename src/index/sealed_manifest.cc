#include "index/sealed_manifest.h"

#include <array>
#include <utility>

#include "base/check.h"
#include "base/coding.h"

namespace dedupfs {
namespace {

constexpr std::size_t kManifestBlockBytes = 32 << 10;
constexpr std::size_t kHeaderBytes = 7;
constexpr std::size_t kLengthAt = 4;
constexpr std::size_t kTypeAt = 6;
constexpr std::uint8_t kNoType = 0;

// The begin of the record that is appended behind `size` bytes.
std::uint64_t record_begin(std::uint64_t size) {
  const std::uint64_t left = kManifestBlockBytes - size % kManifestBlockBytes;
  return left < kHeaderBytes ? size + left : size;
}

}  // namespace

bool is_manifest(const Path& path) {
  return path.filename().string().starts_with("MANIFEST-");
}

Result<void> SealedManifest::sync() {
  if (pending_.empty()) return file_.datasync();
  const std::uint64_t seal_at = record_begin(sealed_bytes_) + kTypeAt;
  DEDUPFS_CHECK(seal_at < size());  // what RocksDB writes now, record by record
  std::uint8_t& seal = pending_[seal_at - sealed_bytes_];
  const std::uint8_t type = std::exchange(seal, kNoType);
  const Result<void> written = file_.write(sealed_bytes_, pending_);
  seal = type;
  DEDUPFS_TRY(written);
  DEDUPFS_TRY(file_.datasync());
  DEDUPFS_TRY(file_.write(seal_at, {&seal, 1}));
  DEDUPFS_TRY(file_.datasync());
  sealed_bytes_ += pending_.size();
  pending_.clear();
  return {};
}

Result<std::uint64_t> sealed_end(const BackingFile& manifest) {
  std::array<std::uint8_t, kManifestBlockBytes> block;
  for (std::uint64_t begin = 0;; begin += block.size()) {
    DEDUPFS_ASSIGN(const std::size_t length, manifest.read_up_to(begin, block));
    for (std::size_t at = 0; at + kHeaderBytes <= length;) {
      if (block[at + kTypeAt] == kNoType) return begin + at;
      at += kHeaderBytes + Decoder(text_of(ByteSpan(block).subspan(at + kLengthAt, 2))).u16();
    }
    if (length < block.size()) return begin + length;
  }
}

}  // namespace dedupfs
