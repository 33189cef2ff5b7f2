// The common part of AE, RAM and MAXP: one kernel cuts a chunk, and a window is its only parameter.
#pragma once

#include <memory>

#include "base/isa.h"
#include "base/result.h"
#include "chunkers/chunker.h"
#include "chunkers/kernels/kernels.h"
#include "chunkers/spec.h"

namespace dedupfs {

struct WindowedAlgorithm {
  std::string_view name;
  simd::WindowCut* simd::Kernels::*kernel;
  // The window for this average size on random data; 0 where the average is too small for one.
  std::uint64_t (*window_for)(std::uint64_t avg_bytes);
};

// Takes the keys min, avg, max and window. The window is itself a minimum: a smaller `min` is kept in the spec but moves
// no boundary; a larger one is refused.
Result<std::unique_ptr<Chunker>> make_windowed(const WindowedAlgorithm& algorithm, const Spec& spec, Isa isa);

}  // namespace dedupfs
