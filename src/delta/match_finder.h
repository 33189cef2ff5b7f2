// Finds the common parts of a target and a source: the first half of a delta encoder.
//
// It is made for near-duplicates, whose bytes nearly always continue in the source. It follows the source from a likely offset.
// After a difference it first looks whether the same offset fits again, or one shifted by a small insertion or deletion. Only if
// that fails, or leaves much unmatched, it builds a hash table of the source. For a source that is wider than the target, the
// table costs more than everything else. Words that a source shares with the source before it stay in the table.
//
// Threads: one user per object; different objects are independent. An object keeps its memory from call to call.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/bytes.h"

namespace dedupfs {

// `bytes` bytes at `target` in the target are the same as those at `source` in the source.
struct Match {
  std::uint32_t target;
  std::uint32_t source;
  std::uint32_t bytes;
};

class MatchFinder {
 public:
  static constexpr std::size_t kAnew = static_cast<std::size_t>(-1);

  // In the order of the target, without overlap; valid until the next call. Nothing if more than `max_unmatched_bytes` of
  // the target are in no match. Both buffers are shorter than 4 GiB, and `likely_offset` lies within the source.
  // `moved_by`: the source of the last call without so many bytes at its beginning is the beginning of this one; where that is
  // not true, fewer matches may be found. kAnew: it has nothing to do with that one.
  std::optional<std::span<const Match>> find(ByteSpan source, ByteSpan target, std::size_t likely_offset,
                                             std::size_t max_unmatched_bytes, std::size_t moved_by = kAnew);

 private:
  // The next match behind a pair of places, if it can be told without the table: one that is long, or one that is followed
  // by such a one, where `may_be_short`.
  std::optional<Match> resume(std::size_t target, std::size_t source, bool may_be_short) const;

  // The next match in the target up to `end`, by the table.
  std::optional<Match> search(std::size_t end);
  void complete_table();
  void clear_table(std::size_t slots);
  // The longest match around two words that are the same.
  Match widened(std::size_t target, std::size_t source, std::size_t end) const;

  void append(Match match);
  void leave_out_strays();

  ByteSpan source_;
  ByteSpan target_;
  std::vector<Match> matches_;
  std::size_t done_ = 0;       // where the latest match ends in the target
  std::size_t expected_ = 0;   // the expected continuation of the target in the source: the end of that match there
  std::size_t unmatched_ = 0;  // bytes of the target before done_ that are in no match; at last, all of them

  // By hash of a word: where it begins, counted from before the first source that the table was made for. Sources follow one
  // another in that count, so that a place below begin_ is of an earlier one: its slot is free.
  std::vector<std::uint32_t> table_;
  std::uint64_t begin_ = 1;      // of the source
  std::uint64_t table_end_ = 1;  // of what the table has
  bool table_is_complete_ = false;
  std::size_t step_bytes_ = 0;
  int hash_shift_ = 0;
};

}  // namespace dedupfs
