// The accuracy of features as an estimate of resemblance, measured on chunks and modified copies with a known resemblance.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"
#include "bench/input.h"
#include "delta/resemblance.h"

namespace dedupfs::bench {

// The hashes of the different windows of a chunk, sorted. A chunk that is shorter than a window is one window.
using WindowSet = std::vector<std::uint64_t>;
WindowSet windows_of(ByteSpan chunk, std::size_t window_bytes);

// Broder (On the resemblance and containment of documents, 1997): the windows in both / the windows in at least one.
double resemblance(const WindowSet& a, const WindowSet& b);

// The estimate: the fraction of features that are equal.
double estimated_resemblance(const Features& a, const Features& b);

// Modifications of `length` bytes that change the fraction `rate` of the chunk, at least one. Each replaces, inserts or removes
// `length` bytes, with equal odds, at a multiple of `length`.
struct Modification {
  std::size_t length;
  double rate;  // above 0, up to 1
};
ByteBuffer modified(ByteSpan chunk, const Modification& modification, std::mt19937_64& random);

// Sums over pairs. The estimating error is |estimated - true resemblance|.
struct EstimatingError {
  std::uint64_t pairs = 0;
  double true_sum = 0;
  double signed_sum = 0;
  double absolute_sum = 0;
  double square_sum = 0;

  void add(double truth, double estimate);
  EstimatingError& operator+=(const EstimatingError& other);

  double mean_resemblance() const { return true_sum / static_cast<double>(pairs); }
  double mean() const { return absolute_sum / static_cast<double>(pairs); }
  double deviation() const;                                                // standard
  double bias() const { return signed_sum / static_cast<double>(pairs); }  // above 0 if estimates are too high
};

struct AccuracyOptions {
  // The size of the windows that define the true resemblance: about the length of a match that a delta coder finds. The methods
  // have windows of their own (Odess+ 32 bytes, Odess 47, N-Transform and Finesse 48). With many short modifications, a method
  // with wider windows estimates too low.
  std::size_t window_bytes = 32;
  std::vector<std::size_t> lengths = {8, 32, 128, 512};
  std::vector<double> rates = {0.01, 0.05, 0.1, 0.2};
  std::size_t pairs = 100;  // for each length and rate
};

struct AccuracyRecord {
  std::string input;
  std::string input_short;
  std::string method;
  std::uint32_t chunk_bytes = 0;
  Modification modification{};
  EstimatingError error;
};

using Detectors = std::vector<std::unique_ptr<ResemblanceDetector>>;

// A record for each length, rate and detector, in this order. Chunks are pieces of `chunk_bytes` of the input, at even distances.
// Chunks and modifications are the same for each detector and in each run.
// Failure: kInvalidArgument if the input, or a chunk, is too short.
Result<std::vector<AccuracyRecord>> measure_accuracy(const Input& input, std::uint32_t chunk_bytes,
                                                     const Detectors& detectors, const AccuracyOptions& options);

}  // namespace dedupfs::bench
