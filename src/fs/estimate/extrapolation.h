// From a sample to the whole.
//
// A column of a sample costs less than it would alone, since the columns before it have some of its data already. What it costs alone
// grows with the data: its mean is known from the sample. What it saves by others grows faster: the larger the sample, the more of its
// data has been seen elsewhere. Data of which every piece occurs k + 1 times, at random places, in a share w of all data saves
// w * (1 - (1 - q)^k) where a share q is in the sample already. That law is fitted to both halves of the sample.
//
// Threads: free functions of values.
#pragma once

#include <cstdint>
#include <span>

namespace dedupfs {

struct ColumnCost {
  double bytes = 0;  // of data
  double alone = 0;  // what it would take by itself
  double saved = 0;  // of that, by what other columns before it have
};

struct Extrapolation {
  double value = 0;   // what the whole takes
  double margin = 0;  // it takes at most so much more or less, with a probability of about 95 %
};

// `columns` in the order of the sample, `total_bytes` of the whole. A sample that is all has no margin. Without one, it is
// between nothing and total_bytes.
Extrapolation extrapolate(std::span<const ColumnCost> columns, double total_bytes);

}  // namespace dedupfs
