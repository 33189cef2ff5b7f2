#include "bench/delta_speed.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <random>
#include <span>

#include "bench/timed.h"
#include "delta/xdelta3_codec.h"

extern "C" {
#include <xdelta3.h>
}

namespace dedupfs::bench {
namespace {

ByteBuffer edited(ByteSpan chunk, double edits_per_kib, std::mt19937_64& random) {
  if (edits_per_kib <= 0) return {chunk.begin(), chunk.end()};
  std::exponential_distribution<double> kib_to_next(edits_per_kib);
  ByteBuffer result;
  result.reserve(chunk.size() + chunk.size() / 8);
  const auto append = [&](ByteSpan bytes) { result.insert(result.end(), bytes.begin(), bytes.end()); };
  std::size_t at = 0;
  while (at < chunk.size()) {
    const double distance = 1024 * kib_to_next(random);
    const auto kept = static_cast<std::size_t>(std::min(distance, static_cast<double>(chunk.size() - at)));
    append(chunk.subspan(at, kept));
    at += kept;
    if (at == chunk.size()) break;
    const std::size_t length = 12 + random() % 17;
    const auto kind = random() % 3;  // replace, insert, remove
    if (kind != 2)
      for (std::size_t i = 0; i < length; ++i) result.push_back(static_cast<std::uint8_t>(random()));
    if (kind != 1) at += std::min(length, chunk.size() - at);
  }
  if (result.empty()) result.push_back(0);  // a delta encodes at least one byte
  return result;
}

class Coder {
 public:
  explicit Coder(const char* name) : name_(name) {}
  virtual ~Coder() = default;

  const char* name() const { return name_; }
  // The size of the delta at the beginning of the buffer, or nothing.
  virtual std::optional<std::size_t> encode(const DeltaPair& pair, MutableByteSpan delta) const = 0;
  virtual bool decode(const DeltaPair& pair, ByteSpan delta, MutableByteSpan target) const = 0;

 private:
  const char* name_;
};

class OurCoder final : public Coder {
 public:
  OurCoder() : Coder("dedupfs") {}

  std::optional<std::size_t> encode(const DeltaPair& pair, MutableByteSpan delta) const override {
    const auto bytes = Xdelta3Codec::encode(pair.source, pair.target, delta, pair.likely_offset);
    return bytes ? *bytes : std::nullopt;
  }
  bool decode(const DeltaPair& pair, ByteSpan delta, MutableByteSpan target) const override {
    return Xdelta3Codec::decode(pair.source, delta, target).has_value();
  }
};

class PlainXdelta3 final : public Coder {
 public:
  PlainXdelta3() : Coder("xdelta3") {}

  std::optional<std::size_t> encode(const DeltaPair& pair, MutableByteSpan delta) const override {
    usize_t bytes = 0;
    if (xd3_encode_memory(pair.target.data(), static_cast<usize_t>(pair.target.size()), pair.source.data(),
                          static_cast<usize_t>(pair.source.size()), delta.data(), &bytes,
                          static_cast<usize_t>(delta.size()), 0) != 0)
      return std::nullopt;
    return bytes;
  }
  bool decode(const DeltaPair& pair, ByteSpan delta, MutableByteSpan target) const override {
    usize_t bytes = 0;
    return xd3_decode_memory(delta.data(), static_cast<usize_t>(delta.size()), pair.source.data(),
                             static_cast<usize_t>(pair.source.size()), target.data(), &bytes,
                             static_cast<usize_t>(target.size()), 0) == 0 &&
           bytes == target.size();
  }
};

// Runs a coder on all pairs.
class Run {
 public:
  Run(const Coder& coder, std::span<const DeltaPair> pairs) : coder_(coder), pairs_(pairs) {}

  // Encodes each pair once, and checks the deltas.
  Result<void> prepare() {
    for (const DeltaPair& pair : pairs_) {
      target_bytes_ += pair.target.size();
      buffer_.resize(std::max(buffer_.size(), 2 * pair.target.size() + 64));
      const auto bytes = coder_.encode(pair, buffer_);
      if (!bytes) return wrong("makes no delta");
      const ByteSpan delta = ByteSpan(buffer_).first(*bytes);
      deltas_.emplace_back(delta.begin(), delta.end());
      delta_bytes_ += *bytes;
      ByteBuffer target(pair.target.size());
      if (!coder_.decode(pair, deltas_.back(), target) || target != pair.target)
        return wrong("does not restore a target");
    }
    encoding_.emplace(true, [this] {
      for (const DeltaPair& pair : pairs_) sink = *coder_.encode(pair, buffer_);
    });
    decoding_.emplace(true, [this] {
      for (std::size_t i = 0; i < pairs_.size(); ++i)
        sink = coder_.decode(pairs_[i], deltas_[i], MutableByteSpan(buffer_).first(pairs_[i].target.size()));
    });
    return {};
  }

  void pass() {
    encoding_->pass();
    decoding_->pass();
  }

  DeltaRecord record() const {
    DeltaRecord record;
    record.coder = coder_.name();
    record.pairs = pairs_.size();
    record.target_bytes = target_bytes_;
    record.delta_bytes = delta_bytes_;
    record.encode_seconds = std::ranges::min(encoding_->seconds());
    record.decode_seconds = std::ranges::min(decoding_->seconds());
    return record;
  }

 private:
  Error wrong(const char* what) const {
    return {ErrorCode::kCorruption, fmt::format("{} {}: a bug", coder_.name(), what)};
  }

  static inline volatile std::size_t sink = 0;  // keeps the compiler from removing the timed work

  const Coder& coder_;
  std::span<const DeltaPair> pairs_;
  ByteBuffer buffer_;
  std::vector<ByteBuffer> deltas_;
  std::uint64_t target_bytes_ = 0;
  std::uint64_t delta_bytes_ = 0;
  std::optional<Timed> encoding_;
  std::optional<Timed> decoding_;
};

}  // namespace

Result<std::vector<DeltaPair>> delta_pairs(const Input& input, std::size_t chunk_bytes, std::size_t source_chunks,
                                           const DeltaOptions& options) {
  const std::size_t source_bytes = chunk_bytes * source_chunks;
  if (source_bytes > input.bytes.size())
    return Error{ErrorCode::kInvalidArgument,
                 fmt::format("{}: shorter than a source of {} bytes", input.name, source_bytes)};
  const std::size_t room = input.bytes.size() - source_bytes;
  const std::size_t count = std::min(options.pairs, room / source_bytes + 1);
  std::mt19937_64 random(1);
  std::vector<DeltaPair> pairs;
  for (std::size_t i = 0; i < count; ++i) {
    DeltaPair& pair = pairs.emplace_back();
    pair.source = input.bytes.subspan(count == 1 ? 0 : room / (count - 1) * i, source_bytes);
    pair.likely_offset = source_chunks / 2 * chunk_bytes;
    pair.target = edited(pair.source.subspan(pair.likely_offset, chunk_bytes), options.edits_per_kib, random);
  }
  return pairs;
}

Result<std::vector<DeltaRecord>> measure_delta(const Input& input, std::size_t chunk_bytes, std::size_t source_chunks,
                                               const DeltaOptions& options) {
  DEDUPFS_ASSIGN(const auto pairs, delta_pairs(input, chunk_bytes, source_chunks, options));
  const OurCoder ours;
  const PlainXdelta3 plain;
  Run runs[] = {{ours, pairs}, {plain, pairs}};
  for (Run& run : runs) DEDUPFS_TRY(run.prepare());
  for (std::size_t pass = 0; pass < options.repeat; ++pass)
    for (Run& run : runs) run.pass();

  std::vector<DeltaRecord> records;
  for (const Run& run : runs) {
    DeltaRecord& record = records.emplace_back(run.record());
    record.input = input.name;
    record.chunk_bytes = chunk_bytes;
    record.source_chunks = source_chunks;
    record.edits_per_kib = options.edits_per_kib;
  }
  return records;
}

}  // namespace dedupfs::bench
