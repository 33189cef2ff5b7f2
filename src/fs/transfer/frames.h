// Records in frames: some records together, compressed, with a checksum that depends on all frames before. So what is lost, changed,
// twice or in another order is found, and a stream that ends early is no whole one. docs/transfer.md has the bytes.
//
// Threads: one user at a time.
// Memory:  some frames of at most kMaxFrameBytes.
// Failure: the errors of the sink and the source; kCorruption for bytes that no FrameWriter wrote; kIo for an early end.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/byte_stream.h"
#include "base/result.h"
#include "fs/transfer/records.h"

namespace dedupfs::transfer {

inline constexpr std::string_view kStreamMagic = "DDPSEND1";
inline constexpr std::size_t kFrameBytes = 1 << 20;
inline constexpr std::size_t kMaxFrameBytes = 4 << 20;  // decompressed
inline constexpr std::size_t kChainBytes = 16;

class FrameWriter {
 public:
  // `level`: of zstd. A frame ends behind the record that reaches `frame_bytes`.
  FrameWriter(const StreamSink& sink, int level, std::size_t frame_bytes = kFrameBytes)
      : sink_(sink), level_(level), frame_bytes_(frame_bytes) {}

  Result<void> begin(std::string_view header);
  Result<void> add(const Record& record);
  Result<void> add_encoded(std::string_view records);
  // All records that were added are in the sink.
  Result<void> flush();
  std::uint64_t bytes() const { return bytes_; }  // that the sink got

 private:
  Result<void> put(ByteSpan bytes);

  const StreamSink& sink_;
  const int level_;
  const std::size_t frame_bytes_;
  std::string records_;
  std::array<std::uint8_t, kChainBytes> chain_{};
  std::uint64_t bytes_ = 0;
};

class FrameReader {
 public:
  explicit FrameReader(const StreamSource& source) : source_(source) {}

  // The header. Call it first.
  Result<std::string> begin();
  // The next record.
  Result<Record> next();
  // kCorruption if anything follows the records that were taken.
  Result<void> expect_end();
  std::uint64_t bytes() const { return bytes_; }  // that the source gave

 private:
  Result<std::string> read_frame();
  Result<void> read_exactly(MutableByteSpan room);

  const StreamSource& source_;
  std::string records_;
  std::size_t taken_ = 0;  // of them
  std::array<std::uint8_t, kChainBytes> chain_{};
  std::uint64_t bytes_ = 0;
};

}  // namespace dedupfs::transfer
