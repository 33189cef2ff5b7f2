// The sources of deltas, each one piece of memory. The next chunk of a stream mostly has the source of the one before, moved on
// by a chunk: what both have in common is not copied, nor looked at by the match finder, again.
//
// Threads:   one user per object.
// Ownership: keeps copies, and no chunk alive.
// Memory:    at most kWindows times 2 * kMaxKeptBytes and a MatchFinder; once, the largest source that is longer.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/bytes.h"
#include "base/raw_buffer.h"
#include "delta/match_finder.h"
#include "store/chunks/joined_chunks.h"
#include "store/format/types.h"

namespace dedupfs {

class SourceWindows {
 public:
  static constexpr std::size_t kMaxKeptBytes = std::size_t{384} << 10;
  // Streams, or places in one, that take turns.
  static constexpr std::size_t kWindows = 2;

  struct View {
    ByteSpan bytes;  // all of the source; valid as long as that is, until the next call
    MatchFinder& finder;
    std::size_t moved_by = MatchFinder::kAnew;  // for MatchFinder::find(), which is to be called before the next view
  };
  // `ids` name the chunks of the source: what a name stands for never changes.
  View view(std::span<const ChunkId> ids, const JoinedChunks& source);

 private:
  struct Part {
    ChunkId id{};
    std::size_t bytes = 0;

    bool operator==(const Part&) const = default;
  };
  struct Window {
    std::vector<Part> copied;  // these begin at `begin` of the buffer
    std::size_t begin = 0;
    RawBuffer buffer;
    std::vector<Part> found_in;  // the source of the finder
    MatchFinder finder;
    std::uint64_t last_use = 0;
  };

  static std::size_t moved_by(const std::vector<Part>& before, const std::vector<Part>& now);
  Window& window_for(const std::vector<Part>& parts);
  static ByteSpan copied(Window& window, const std::vector<Part>& parts, const JoinedChunks& source);

  std::array<Window, kWindows> windows_;
  std::uint64_t uses_ = 0;
  std::vector<Part> parts_;  // of the source that is asked for
};

}  // namespace dedupfs
