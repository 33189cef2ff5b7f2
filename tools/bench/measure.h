// Times chunkers on an input that is in memory, beside the limit that reading the memory sets.
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
  std::string label;      // as the user named the chunker
  std::string algorithm;  // the registry's name
  std::string spec;       // canonical
  std::string isa;        // that serves the chunker; narrower than was asked for where that has no kernel of its own
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
  double read_limit_seconds = 0;  // the median pass of reading alone, on as many threads
  double scalar_seconds = 0;      // the median pass of the scalar form, on as many threads
  ChunkStatistics chunks;

  double gb_per_s() const { return static_cast<double>(bytes) / seconds / 1e9; }
  double read_limit_gb_per_s() const { return static_cast<double>(bytes) / read_limit_seconds / 1e9; }
  double read_limit_fraction() const { return read_limit_seconds / seconds; }
  double speedup_over_scalar() const { return scalar_seconds / seconds; }
};

// One record for each instruction set that serves the selected chunker when those of `selected` are asked for: where two of
// them come down to the same kernels there is one record. After a warm-up, the reading limit, the scalar form and the others
// take turns, so that a disturbance meets them alike. A pass over little data is repeated until it has lasted a while.
// kCorruption if two instruction sets cut differently, which is a bug.
Result<std::vector<Record>> measure(const Input& input, const Selected& selected, const MeasureOptions& options);

// All cuts of the files; `cuts` is overwritten. Without a pool each file is handed to the chunker as the filesystem does: in
// windows of about 1 MiB, the unfinished chunk at the end of one again at the start of the next. With one, the threads of the
// pool and the caller cut as chunkers/parallel.h has it: segments of one file, or several files.
void cut(const Chunker& chunker, const std::vector<ByteSpan>& files, ThreadPool* pool, Cuts& cuts);

}  // namespace dedupfs::bench
