// Times chunkers on an input in memory, and compares them with the speed of reading that memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/thread_pool.h"
#include "bench/chunk_statistics.h"
#include "bench/input.h"
#include "bench/selection.h"
#include "chunkers/chunker.h"

namespace dedupfs::bench {

struct MeasureOptions {
  std::size_t threads = 1;
  std::size_t repeat = 5;
};

// One chunker with one instruction set on one input.
struct Record {
  std::string label;      // the name that the user gave
  std::string algorithm;  // the registry's name
  std::string spec;       // canonical
  std::string isa;        // in use; narrower than the requested one if that has no kernel
  std::uint32_t avg_bytes = 0;
  std::size_t threads = 1;
  std::size_t repeat = 1;
  std::string input;
  std::string input_short;
  std::size_t files = 0;
  std::uint64_t bytes = 0;
  double seconds = 0;  // the median pass
  double seconds_min = 0;
  double seconds_max = 0;
  double read_limit_seconds = 0;  // the median pass of reading only, with the same threads
  double scalar_seconds = 0;      // the median pass of the scalar code, with the same threads
  ChunkStatistics chunks;

  double gb_per_s() const { return static_cast<double>(bytes) / seconds / 1e9; }
  double read_limit_gb_per_s() const { return static_cast<double>(bytes) / read_limit_seconds / 1e9; }
  double read_limit_fraction() const { return read_limit_seconds / seconds; }
  double speedup_over_scalar() const { return scalar_seconds / seconds; }
};

// One record for each instruction set in use when those of `selected` are asked for. Two of them with the same kernels give one
// record. After a warm-up, the reading limit, the scalar code and the others take turns, so that a disturbance hits all of them.
// A pass over little data is repeated until it is long enough.
// Failure: kCorruption if two instruction sets cut differently, which is a bug.
Result<std::vector<Record>> measure(const Input& input, const Selected& selected, const MeasureOptions& options);

// All cuts of the files; overwrites `cuts`. Without a pool, a chunker gets each file as in the filesystem: in windows of about
// 1 MiB, where the unfinished chunk at the end of a window comes again at the start of the next. With a pool, its threads and the
// caller cut segments of one file, or several files, in parallel (chunkers/parallel.h).
void cut(const Chunker& chunker, const std::vector<ByteSpan>& files, ThreadPool* pool, Cuts& cuts);

}  // namespace dedupfs::bench
