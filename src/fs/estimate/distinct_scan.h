// Which bytes of a sequence of columns are distinct: how many a column has, and how many of these the columns before it had. No
// content is kept: chunks are known by their fingerprints. If they become too many, only those in a share of the space of
// fingerprints are looked at, the same share of each content. So the counts stay unbiased.
//
// Threads: one user at a time.
// Memory:  about 100 bytes for each of max_chunks, and for the chunks of the columns that others are asked about.
#pragma once

#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "base/bytes.h"
#include "fs/estimate/extrapolation.h"

namespace dedupfs {

class DistinctScan {
 public:
  // The shares() of the first columns, so many, are wanted.
  DistinctScan(std::size_t max_chunks, std::size_t shared_columns)
      : max_chunks_(max_chunks), chunks_of_(shared_columns) {}

  void begin_column();
  void add(std::uint64_t fingerprint, std::uint32_t length);  // evenly distributed, as a good hash is

  // Of each column: its bytes, its distinct bytes, and those of them that earlier columns have.
  const std::vector<ColumnCost>& columns() const { return columns_; }
  // Of each of the first columns, what of its distinct bytes is its own if each chunk is shared out among the columns that have it.
  std::vector<double> shares() const;

 private:
  struct Chunk {
    std::uint32_t length = 0;
    std::uint32_t columns = 0;
    std::uint32_t last_column = 0;
  };
  void drop_half();

  const std::size_t max_chunks_;
  double rate_ = 1;
  std::uint64_t limit_ = UINT64_MAX;  // fingerprints above it are not looked at
  std::unordered_map<std::uint64_t, Chunk> chunks_;
  std::vector<std::vector<std::uint64_t>> chunks_of_;
  std::vector<ColumnCost> columns_;
};

}  // namespace dedupfs
