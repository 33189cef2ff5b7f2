// The hashless chunkers that look for an extreme byte: ae-max, ae-min, ram, maxp. The algorithms are told where their
// definitions are (reference/ae.h, ram.h, maxp.h); vectorised after VectorCDC (Udayashankar, Baba, Al-Kiswany, FAST '25).
#include <cmath>

#include "chunkers/algorithms.h"
#include "chunkers/windowed.h"

namespace dedupfs {
namespace {

// The largest of 256 values is met within 256 random bytes on average, before the window of AE and behind that of RAM.
std::uint64_t window_beside_search(std::uint64_t avg_bytes) {
  constexpr std::uint64_t kMeanSearchBytes = 256;
  return avg_bytes > kMeanSearchBytes ? avg_bytes - kMeanSearchBytes : 0;
}

// A random byte is 255 and larger than the `window` bytes after it with probability (255/256)^window / 256, and then it
// is a local maximum: nothing in front of it is larger. (With smaller windows lesser bytes are maxima too.)
std::uint64_t window_of_maxp(std::uint64_t avg_bytes) {
  return avg_bytes > 256 ? static_cast<std::uint64_t>(256 * std::log(static_cast<double>(avg_bytes) / 256)) : 0;
}

}  // namespace

Result<std::unique_ptr<Chunker>> make_ae_max(const Spec& spec, Isa isa) {
  return make_windowed({"ae-max", &simd::Kernels::ae_max, window_beside_search}, spec, isa);
}

Result<std::unique_ptr<Chunker>> make_ae_min(const Spec& spec, Isa isa) {
  return make_windowed({"ae-min", &simd::Kernels::ae_min, window_beside_search}, spec, isa);
}

Result<std::unique_ptr<Chunker>> make_ram(const Spec& spec, Isa isa) {
  return make_windowed({"ram", &simd::Kernels::ram, window_beside_search}, spec, isa);
}

Result<std::unique_ptr<Chunker>> make_maxp(const Spec& spec, Isa isa) {
  return make_windowed({"maxp", &simd::Kernels::maxp, window_of_maxp}, spec, isa);
}

}  // namespace dedupfs
