// How well features tell how much chunks have in common: on pairs of a chunk and a modified copy, whose resemblance is known.
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

// The different windows of so many bytes that a chunk has, by hash, sorted. A chunk that is shorter is one window.
using WindowSet = std::vector<std::uint64_t>;
WindowSet windows_of(ByteSpan chunk, std::size_t window_bytes);

// Broder (On the resemblance and containment of documents, 1997): of all windows that either has, the part that both have.
double resemblance(const WindowSet& a, const WindowSet& b);

// What features say of it: the part of them that is equal.
double estimated_resemblance(const Features& a, const Features& b);

// Modifications of `length` bytes, so many that they concern `rate` of the chunk, but at least one. Each replaces so many bytes
// by noise, inserts so many or takes so many out, with equal odds, at a place that is a multiple of `length`.
struct Modification {
  std::size_t length;
  double rate;  // above 0, up to 1
};
ByteBuffer modified(ByteSpan chunk, const Modification& modification, std::mt19937_64& random);

// Of the estimating error, which is |estimated - true resemblance|, over pairs.
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
  // True resemblance is that of sets of windows of so many bytes: about what a match must have for a delta coder to find it.
  // Methods look at windows of their own (Odess+ 32 bytes, Odess 47, N-Transform and Finesse 48); where modifications are
  // short and many, those of a wider one estimate too low.
  std::size_t window_bytes = 32;
  std::vector<std::size_t> lengths = {8, 32, 128, 512};
  std::vector<double> rates = {0.01, 0.05, 0.1, 0.2};
  std::size_t pairs = 100;  // with each length and rate
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

// A record for each length, rate and detector, in this order. Chunks are pieces of the input, of `chunk_bytes` and at even
// distances; the same ones, modified in the same ways, for each detector and in each run. kInvalidArgument if the input is
// shorter than a chunk, or a modification longer.
Result<std::vector<AccuracyRecord>> measure_accuracy(const Input& input, std::uint32_t chunk_bytes,
                                                     const Detectors& detectors, const AccuracyOptions& options);

}  // namespace dedupfs::bench
