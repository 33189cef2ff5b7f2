#include "bench/resemble_accuracy.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace dedupfs::bench {
namespace {

// The hash of a window is a polynomial of its bytes with 64 bits. Collisions are unlikely.
constexpr std::uint64_t kBase = 6364136223846793005;

}  // namespace

WindowSet windows_of(ByteSpan chunk, std::size_t window_bytes) {
  const std::size_t window = std::min(window_bytes, chunk.size());
  std::uint64_t highest = 1;  // kBase to the power of the window
  std::uint64_t hash = 0;
  for (std::size_t i = 0; i < window; ++i) {
    hash = hash * kBase + chunk[i] + 1;
    highest *= kBase;
  }
  WindowSet windows = {hash};
  windows.reserve(chunk.size() - window + 1);
  for (std::size_t i = window; i < chunk.size(); ++i) {
    hash = hash * kBase + chunk[i] + 1 - highest * (chunk[i - window] + std::uint64_t{1});
    windows.push_back(hash);
  }
  std::sort(windows.begin(), windows.end());
  windows.erase(std::unique(windows.begin(), windows.end()), windows.end());
  return windows;
}

double resemblance(const WindowSet& a, const WindowSet& b) {
  std::size_t common = 0;
  for (auto i = a.begin(), j = b.begin(); i != a.end() && j != b.end();) {
    if (*i < *j) {
      ++i;
    } else if (*j < *i) {
      ++j;
    } else {
      ++common, ++i, ++j;
    }
  }
  return static_cast<double>(common) / static_cast<double>(a.size() + b.size() - common);
}

double estimated_resemblance(const Features& a, const Features& b) {
  std::size_t equal = 0;
  for (std::size_t i = 0; i < kFeatures; ++i) equal += a[i] == b[i];
  return static_cast<double>(equal) / kFeatures;
}

ByteBuffer modified(ByteSpan chunk, const Modification& modification, std::mt19937_64& random) {
  const std::size_t length = modification.length;
  const std::size_t places = chunk.size() / length;
  const auto wanted = static_cast<std::size_t>(std::llround(modification.rate * static_cast<double>(places)));
  std::size_t to_do = std::clamp<std::size_t>(wanted, 1, std::max<std::size_t>(places, 1));

  ByteBuffer copy;
  copy.reserve(2 * chunk.size());
  const auto add_noise = [&] { std::generate_n(std::back_inserter(copy), length, [&] { return random() >> 56; }); };
  const auto keep = [&](ByteSpan bytes) { copy.insert(copy.end(), bytes.begin(), bytes.end()); };
  for (std::size_t place = 0; place < places; ++place) {
    const ByteSpan bytes = chunk.subspan(place * length, length);
    // Selection sampling (Knuth, TAOCP 3.4.2, algorithm S): each set of places is as likely as any other.
    if (random() % (places - place) >= to_do) {
      keep(bytes);
      continue;
    }
    --to_do;
    switch (random() % 3) {
      case 0: add_noise(); break;
      case 1:
        add_noise();
        keep(bytes);
        break;
      default: break;  // removed
    }
  }
  keep(chunk.subspan(places * length));
  return copy;
}

void EstimatingError::add(double truth, double estimate) {
  const double error = estimate - truth;
  ++pairs;
  true_sum += truth;
  signed_sum += error;
  absolute_sum += std::abs(error);
  square_sum += error * error;
}

EstimatingError& EstimatingError::operator+=(const EstimatingError& other) {
  pairs += other.pairs;
  true_sum += other.true_sum;
  signed_sum += other.signed_sum;
  absolute_sum += other.absolute_sum;
  square_sum += other.square_sum;
  return *this;
}

double EstimatingError::deviation() const {
  return std::sqrt(std::max(0.0, square_sum / static_cast<double>(pairs) - mean() * mean()));
}

Result<std::vector<AccuracyRecord>> measure_accuracy(const Input& input, std::uint32_t chunk_bytes,
                                                     const Detectors& detectors, const AccuracyOptions& options) {
  if (input.bytes.size() < chunk_bytes)
    return Error{ErrorCode::kInvalidArgument,
                 fmt::format("input '{}' is shorter than a chunk of {} bytes", input.name, chunk_bytes)};
  const std::size_t longest = *std::max_element(options.lengths.begin(), options.lengths.end());
  if (longest > chunk_bytes)
    return Error{ErrorCode::kInvalidArgument,
                 fmt::format("a modification of {} bytes does not fit into a chunk of {}", longest, chunk_bytes)};

  std::vector<AccuracyRecord> records;
  for (const std::size_t length : options.lengths)
    for (const double rate : options.rates)
      for (const auto& detector : detectors)
        records.push_back(
            {input.name, input.short_name, std::string(detector->name()), chunk_bytes, {length, rate}, {}});

  std::mt19937_64 random(1);  // the same in each run
  for (std::size_t pair = 0; pair < options.pairs; ++pair) {
    const ByteSpan chunk = input.bytes.subspan((input.bytes.size() - chunk_bytes) / options.pairs * pair, chunk_bytes);
    const WindowSet windows = windows_of(chunk, options.window_bytes);
    std::vector<Features> features;
    for (const auto& detector : detectors) features.push_back(detector->features(chunk));
    for (auto record = records.begin(); record != records.end();) {
      const ByteBuffer copy = modified(chunk, record->modification, random);
      const double truth = resemblance(windows, windows_of(copy, options.window_bytes));
      for (std::size_t i = 0; i < detectors.size(); ++i, ++record)
        record->error.add(truth, estimated_resemblance(features[i], detectors[i]->features(copy)));
    }
  }
  return records;
}

}  // namespace dedupfs::bench
