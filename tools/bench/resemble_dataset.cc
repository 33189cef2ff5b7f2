#include "bench/resemble_dataset.h"

#include <xxhash.h>

#include <algorithm>
#include <array>
#include <optional>
#include <unordered_map>
#include <unordered_set>

#include "bench/measure.h"
#include "delta/xdelta3_codec.h"

namespace dedupfs::bench {
namespace {

struct HashOfIdentity {
  std::size_t operator()(const XXH128_hash_t& identity) const { return identity.low64; }
};
struct SameIdentity {
  bool operator()(const XXH128_hash_t& a, const XXH128_hash_t& b) const { return XXH128_isEqual(a, b) != 0; }
};

class SuperFeatureIndex {
 public:
  std::optional<ByteSpan> first_fit(const Sketch& sketch) const {
    for (std::size_t rank = 0; rank < kSuperFeatures; ++rank)
      if (const auto found = ranks_[rank].find(sketch.super_features[rank]); found != ranks_[rank].end())
        return found->second;
    return std::nullopt;
  }

  void add(const Sketch& sketch, ByteSpan chunk) {
    for (std::size_t rank = 0; rank < kSuperFeatures; ++rank)
      ranks_[rank].try_emplace(sketch.super_features[rank], chunk);
  }

 private:
  std::array<std::unordered_map<std::uint64_t, ByteSpan>, kSuperFeatures> ranks_;
};

double ratio(std::uint64_t part, std::uint64_t whole, double if_nothing) {
  return whole == 0 ? if_nothing : static_cast<double>(part) / static_cast<double>(whole);
}

}  // namespace

UniqueChunks unique_chunks(const Input& input, const Chunker& chunker) {
  Cuts cuts;
  cut(chunker, input.files, nullptr, cuts);
  UniqueChunks unique;
  std::unordered_set<XXH128_hash_t, HashOfIdentity, SameIdentity> known;
  for (std::size_t i = 0; i < input.files.size(); ++i) {
    std::size_t start = 0;
    for (const std::size_t end : cuts[i]) {
      const ByteSpan chunk = input.files[i].subspan(start, end - start);
      start = end;
      if (!known.insert(XXH3_128bits(chunk.data(), chunk.size())).second) continue;
      unique.chunks.push_back(chunk);
      unique.bytes += chunk.size();
    }
  }
  return unique;
}

double Reduction::similar_chunk_ratio() const {
  return ratio(similar_chunks, chunks, 0);
}

double Reduction::delta_compression_efficiency() const {
  return 1 - ratio(delta_bytes, replaced_bytes, 1);
}

double Reduction::delta_compression_ratio() const {
  return ratio(bytes, bytes - replaced_bytes + delta_bytes, 1);
}

Result<Reduction> reduce(std::span<const ByteSpan> unique, const ResemblanceDetector& detector) {
  Reduction reduction;
  SuperFeatureIndex index;
  ByteBuffer delta;
  for (const ByteSpan chunk : unique) {
    ++reduction.chunks;
    reduction.bytes += chunk.size();
    const Sketch sketch = detector.sketch_of(chunk);
    if (const auto base = index.first_fit(sketch)) {
      ++reduction.similar_chunks;
      delta.resize(chunk.size() - 1);
      DEDUPFS_ASSIGN(const auto delta_bytes, Xdelta3Codec::encode(*base, chunk, delta));
      if (delta_bytes) {
        ++reduction.delta_chunks;
        reduction.replaced_bytes += chunk.size();
        reduction.delta_bytes += *delta_bytes;
        continue;
      }
    }
    index.add(sketch, chunk);
  }
  return reduction;
}

}  // namespace dedupfs::bench
