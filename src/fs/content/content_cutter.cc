#include "fs/content/content_cutter.h"

#include <algorithm>
#include <optional>

namespace dedupfs {
namespace {

constexpr std::size_t kProbeBytes = 64;
// A run of kHoleRunBytes covers at least one whole probe, so looking at every probe finds every run.
constexpr std::size_t kProbeStride = kHoleRunBytes / 2;

struct ZeroRun {
  std::size_t begin = 0;
  std::size_t end = 0;

  std::size_t length() const { return end - begin; }
};

std::size_t zeros_before(ByteSpan bytes, std::size_t position) {
  std::size_t begin = position;
  while (begin >= kProbeBytes && all_zero(bytes.subspan(begin - kProbeBytes, kProbeBytes))) begin -= kProbeBytes;
  while (begin > 0 && bytes[begin - 1] == 0) --begin;
  return position - begin;
}

std::size_t zeros_from(ByteSpan bytes, std::size_t position) {
  std::size_t end = position;
  while (end + kProbeBytes <= bytes.size() && all_zero(bytes.subspan(end, kProbeBytes))) end += kProbeBytes;
  while (end < bytes.size() && bytes[end] == 0) ++end;
  return end - position;
}

// The first run in `bytes` that is long enough, as far as `bytes` shows it.
std::optional<ZeroRun> find_zero_run(ByteSpan bytes) {
  for (std::size_t probe = 0; probe + kProbeBytes <= bytes.size();) {
    if (!all_zero(bytes.subspan(probe, kProbeBytes))) {
      probe += kProbeStride;
      continue;
    }
    const ZeroRun run{probe - zeros_before(bytes, probe), probe + zeros_from(bytes, probe)};
    if (run.length() >= kHoleRunBytes) return run;
    probe = std::max(probe + kProbeStride, run.end / kProbeStride * kProbeStride);
  }
  return std::nullopt;
}

}  // namespace

std::size_t ContentCutter::cut(ByteSpan window, bool last, std::vector<Piece>& pieces) const {
  std::vector<std::size_t> ends;
  std::size_t position = 0;
  while (position < window.size()) {
    const ByteSpan rest = window.subspan(position);
    const auto run = find_zero_run(rest);
    const ByteSpan before_run = rest.first(run ? run->begin : rest.size());
    const bool end_is_certain = run || last;

    ends.clear();
    if (!before_run.empty()) chunker_.split(before_run, end_is_certain, ends);
    // Zeros at the end of the window may be the start of a run, and the chunk before must end at that start.
    const std::size_t certain =
        end_is_certain ? before_run.size() : before_run.size() - zeros_before(rest, rest.size());
    std::size_t begin = 0;
    for (const std::size_t end : ends) {
      if (end > certain) break;
      pieces.push_back({end - begin, false});
      begin = end;
    }
    position += begin;
    if (!run) return position;

    // If a run goes on behind the window, enough of it stays uncut that the next call sees a run again.
    const bool goes_on = run->end == rest.size() && !last;
    const std::size_t hole = goes_on ? run->length() - kHoleRunBytes : run->length();
    if (hole != 0) pieces.push_back({hole, true});
    position += hole;
    if (goes_on) return position;
  }
  return position;
}

}  // namespace dedupfs
