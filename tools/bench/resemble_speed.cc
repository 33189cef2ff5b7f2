#include "bench/resemble_speed.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <string_view>
#include <utility>

#include "bench/timed.h"
#include "delta/resemblance.h"

namespace dedupfs::bench {
namespace {

constexpr std::string_view kNTransform = "n-transform";

struct Sample {
  std::span<const ByteSpan> chunks;
  std::uint64_t bytes = 0;
};

// The first chunks with at least `bytes` in all, or all chunks.
Sample first(std::span<const ByteSpan> chunks, std::size_t bytes) {
  Sample sample;
  std::size_t count = 0;
  for (; count < chunks.size() && sample.bytes < bytes; ++count) sample.bytes += chunks[count].size();
  sample.chunks = chunks.first(count);
  return sample;
}

std::vector<Sketch> sketches_of(std::span<const ByteSpan> chunks, const ResemblanceDetector& detector) {
  std::vector<Sketch> sketches;
  sketches.reserve(chunks.size());
  for (const ByteSpan chunk : chunks) sketches.push_back(detector.sketch_of(chunk));
  return sketches;
}

// Copies of some chunks that fit into the L2 cache of current CPUs.
class Slice {
 public:
  // Copies the first of `chunks`, as many as fit, but at least one. Replaces the copies of the last call.
  std::span<const ByteSpan> take(std::span<const ByteSpan> chunks) {
    constexpr std::size_t kBytes = 256 << 10;
    std::size_t bytes = 0;
    copies_.clear();
    for (const ByteSpan chunk : chunks) {
      if (bytes > 0 && bytes + chunk.size() > kBytes) break;
      if (memory_.size() < std::max(kBytes, chunk.size())) memory_.resize(std::max(kBytes, chunk.size()));
      std::copy(chunk.begin(), chunk.end(), memory_.begin() + static_cast<std::ptrdiff_t>(bytes));
      copies_.push_back(ByteSpan(memory_).subspan(bytes, chunk.size()));
      bytes += chunk.size();
    }
    return copies_;
  }

 private:
  ByteBuffer memory_;
  std::vector<ByteSpan> copies_;
};

double fastest(const std::vector<double>& seconds) {
  return *std::min_element(seconds.begin(), seconds.end());
}

// A look at the clock is a system call: some percent of the time of the fastest detector for a slice.
double seconds_to_ask_the_clock() {
  static const double kSeconds = [] {
    double least = 1;
    for (int i = 0; i < 1000; ++i) {
      const double start = thread_seconds();
      least = std::min(least, thread_seconds() - start);
    }
    return least;
  }();
  return kSeconds;
}

volatile std::uint64_t sink;  // keeps the compiler from removing the timed work

// Runs a detector on its sample as in the filesystem, where the data was just written and is in the CPU cache. Each slice of chunks
// is copied into the cache, and timed as a whole, once. On data that it has seen, a CPU predicts branches too well.
class DetectorTrial {
 public:
  DetectorTrial(std::unique_ptr<ResemblanceDetector> detector, std::span<const ByteSpan> chunks,
                const SpeedOptions& options)
      : detector_(std::move(detector)),
        sample_(first(chunks, detector_->name() == kNTransform ? options.n_transform_bytes : options.bytes)) {}

  void pass() {
    features_.push_back(seconds([this](ByteSpan chunk) { return detector_->features(chunk)[0]; }));
    sketches_.push_back(seconds([this](ByteSpan chunk) { return detector_->sketch_of(chunk).super_features[0]; }));
  }

  double feature_gb_per_s() const { return static_cast<double>(sample_.bytes) / fastest(features_) / 1e9; }

  SpeedRecord record(double n_transform_gb_per_s) const {
    return {.input = {},
            .input_short = {},
            .method = std::string(detector_->name()),
            .isa = std::string(name_of(detector_->isa())),
            .bytes = sample_.bytes,
            .feature_seconds = fastest(features_),
            .feature_seconds_median = median(features_),
            .sketch_seconds = fastest(sketches_),
            .n_transform_gb_per_s = n_transform_gb_per_s};
  }

 private:
  // The seconds of one pass over the sample.
  template <class OfChunk>
  double seconds(OfChunk of_chunk) {
    constexpr double kMinPassSeconds = 0.02;
    double total = 0;
    std::size_t times = 0;
    for (; total < kMinPassSeconds; ++times)
      for (std::size_t begin = 0; begin < sample_.chunks.size();) {
        const auto chunks = slice_.take(sample_.chunks.subspan(begin));
        begin += chunks.size();
        const double start = thread_seconds();
        std::uint64_t sum = 0;
        for (const ByteSpan chunk : chunks) sum += of_chunk(chunk);
        sink = sum;
        total += thread_seconds() - start - seconds_to_ask_the_clock();
      }
    return total / static_cast<double>(times);
  }

  std::unique_ptr<ResemblanceDetector> detector_;
  Sample sample_;
  Slice slice_;
  std::vector<double> features_;
  std::vector<double> sketches_;
};

// One detector for each instruction set in use for the method.
Result<std::vector<std::unique_ptr<ResemblanceDetector>>> detectors_of(const std::string& method,
                                                                       std::span<const Isa> isas) {
  std::vector<std::unique_ptr<ResemblanceDetector>> detectors;
  for (const Isa isa : isas) {
    DEDUPFS_ASSIGN(auto detector, make_resemblance_detector(method, isa));
    if (std::none_of(detectors.begin(), detectors.end(),
                     [&](const auto& other) { return other->isa() == detector->isa(); }))
      detectors.push_back(std::move(detector));
  }
  return detectors;
}

}  // namespace

Result<std::vector<SpeedRecord>> measure_speed(std::span<const ByteSpan> chunks, std::span<const std::string> methods,
                                               std::span<const Isa> isas, const SpeedOptions& options) {
  const auto compared = first(chunks, options.n_transform_bytes).chunks;
  std::vector<DetectorTrial> variants;
  DEDUPFS_ASSIGN(auto baseline, make_resemblance_detector(kNTransform, Isa::kScalar));
  variants.emplace_back(std::move(baseline), chunks, options);
  for (const std::string& method : methods) {
    DEDUPFS_ASSIGN(const auto definition, make_resemblance_detector(method, Isa::kScalar));
    const auto expected = sketches_of(compared, *definition);
    DEDUPFS_ASSIGN(auto detectors, detectors_of(method, isas));
    for (auto& detector : detectors) {
      if (detector->isa() != Isa::kScalar && sketches_of(compared, *detector) != expected)
        return Error{ErrorCode::kCorruption, fmt::format("{} gives other sketches with {} than in scalar code: a bug",
                                                         method, name_of(detector->isa()))};
      variants.emplace_back(std::move(detector), chunks, options);
    }
  }
  for (std::size_t pass = 0; pass < options.repeat; ++pass)
    for (DetectorTrial& variant : variants) variant.pass();

  std::vector<SpeedRecord> records;
  for (auto variant = variants.begin() + 1; variant != variants.end(); ++variant)
    records.push_back(variant->record(variants.front().feature_gb_per_s()));
  return records;
}

}  // namespace dedupfs::bench
