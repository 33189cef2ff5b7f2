#include "delta/match_finder.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <limits>

namespace dedupfs {
namespace {

// The limits were chosen on consecutive versions of real data by the size of the deltas after zstd: docs/delta.md.

// Matches are looked for by words.
constexpr std::size_t kWord = sizeof(std::uint64_t);
// Differences that are recognised without the table: this many bytes replaced, inserted or removed.
constexpr std::size_t kReplacedBytes = 32;
constexpr std::size_t kShiftedBytes = 64;
// A match as long as this is the right one, however it was found, and so is a shorter one that leads to it. Others mislead
// in rows of similar records: with any match of 96 bytes the deltas of PostgreSQL take 40 % more.
constexpr std::size_t kSureBytes = 128;
constexpr std::size_t kLikelyBytes = 16;
// A shorter match that lies outside of all sure ones in the source is left out: it is mostly there by chance. For the few bytes that it
// saves, the delta would need more of the source, and a reader other chunks.
constexpr std::size_t kStrayBytes = 64;
// If this many short matches begin at a place, the content repeats itself. Then a match says nothing, and comparisons take long.
constexpr int kMaxCandidates = 16;
// The unmatched bytes before a sure match are worth a table from this length on.
constexpr std::size_t kGapBytes = 32;
// Shorter matches cost more than they save when the delta is compressed, unless the match continues in the source.
constexpr std::size_t kMinMatchBytes = 16;
constexpr std::size_t kMinExpectedMatchBytes = 12;
// The table has each word of the source that begins at a multiple of this, or of twice as much and so on in a large source: no
// more words than kMaxSteps.
constexpr std::size_t kStepBytes = 8;
constexpr std::size_t kMinSlots = std::size_t{1} << 10;
constexpr std::size_t kMaxSlots = std::size_t{1} << 17;
constexpr std::size_t kMaxSteps = kMaxSlots / 2;
constexpr std::uint64_t kLastPlace = std::numeric_limits<std::uint32_t>::max();
// A search that found nothing so far takes every second place after as many bytes, then every third and so on.
constexpr std::size_t kPatienceBytes = 64;
// How far a match may reach back into the one before it, which was taken by mistake then.
constexpr std::size_t kReclaimableBytes = 256;

std::uint64_t load_word(const std::uint8_t* p) {
  std::uint64_t word;
  std::memcpy(&word, p, sizeof word);
  return word;
}

std::size_t hash(std::uint64_t word, int shift) {
  return (word * 0x9e3779b97f4a7c15) >> shift;
}

// Of two words that differ: how many bytes of them lie before the end of the last difference.
std::size_t bytes_to_last_difference(std::uint64_t a, std::uint64_t b) {
  const std::uint64_t differences = a ^ b;
  const int equal_bits =
      std::endian::native == std::endian::little ? std::countl_zero(differences) : std::countr_zero(differences);
  return kWord - static_cast<std::size_t>(equal_bits) / 8;
}

// The first of the places [from, end) where the word begins; `end` if there is none. Looks at 16 places at once: whether the first four
// bytes of the word are at one of them.
std::size_t find_word(const std::uint8_t* bytes, std::uint64_t word, std::size_t from, std::size_t end) {
  using Places = std::uint8_t __attribute__((vector_size(16)));
  const auto at = [](const std::uint8_t* p) {
    Places places;
    std::memcpy(&places, p, sizeof places);
    return places;
  };
  const auto first_bytes = std::bit_cast<std::array<std::uint8_t, kWord>>(word);
  std::size_t place = from;
  for (; place + sizeof(Places) <= end; place += sizeof(Places)) {
    const std::uint8_t* const p = bytes + place;
    const auto like = (at(p) == first_bytes[0]) & (at(p + 1) == first_bytes[1]) & (at(p + 2) == first_bytes[2]) &
                      (at(p + 3) == first_bytes[3]);
    const auto any = std::bit_cast<std::array<std::uint64_t, 2>>(like);
    if ((any[0] | any[1]) == 0) continue;
    for (std::size_t i = place; i < place + sizeof(Places); ++i)
      if (load_word(bytes + i) == word) return i;
  }
  while (place < end && load_word(bytes + place) != word) ++place;
  return place;
}

// How many bytes from `a` and `b` on are the same.
std::size_t common_prefix(const std::uint8_t* a, const std::uint8_t* b, std::size_t limit) {
  std::size_t same = 0;
  while (same + kWord <= limit && load_word(a + same) == load_word(b + same)) same += kWord;
  while (same < limit && a[same] == b[same]) ++same;
  return same;
}

// The same for the bytes in front of them.
std::size_t common_suffix(const std::uint8_t* a, const std::uint8_t* b, std::size_t limit) {
  std::size_t same = 0;
  while (same + kWord <= limit && load_word(a - same - kWord) == load_word(b - same - kWord)) same += kWord;
  while (same < limit && *(a - same - 1) == *(b - same - 1)) ++same;
  return same;
}

Match match_of(std::size_t target, std::size_t source, std::size_t bytes) {
  return {static_cast<std::uint32_t>(target), static_cast<std::uint32_t>(source), static_cast<std::uint32_t>(bytes)};
}

}  // namespace

std::optional<std::span<const Match>> MatchFinder::find(ByteSpan source, ByteSpan target, std::size_t likely_offset,
                                                        std::size_t max_unmatched_bytes, std::size_t moved_by) {
  begin_ = moved_by <= source_.size() ? begin_ + moved_by : std::max(begin_ + source_.size(), table_end_);
  source_ = source;
  target_ = target;
  matches_.clear();
  done_ = 0;
  expected_ = likely_offset;
  unmatched_ = 0;
  table_is_complete_ = false;

  while (target.size() - done_ >= kGapBytes && unmatched_ <= max_unmatched_bytes) {
    const auto resumed = resume(done_, expected_, true);
    if (!resumed) {
      const auto found = search(target.size());
      if (!found) break;
      append(*found);
      continue;
    }
    while (resumed->target - done_ >= (table_is_complete_ ? kMinMatchBytes : kGapBytes)) {
      const auto found = search(resumed->target);
      if (!found) break;
      append(*found);
    }
    append(*resumed);
  }
  unmatched_ += target.size() - done_;
  leave_out_strays();
  if (unmatched_ > max_unmatched_bytes) return std::nullopt;
  return matches_;
}

void MatchFinder::leave_out_strays() {
  std::uint32_t begin = std::numeric_limits<std::uint32_t>::max();  // of all sure ones
  std::uint32_t end = 0;
  for (const Match& match : matches_) {
    if (match.bytes < kSureBytes) continue;
    begin = std::min(begin, match.source);
    end = std::max(end, match.source + match.bytes);
  }
  if (begin >= end) return;
  std::erase_if(matches_, [&](const Match& match) {
    const bool is_stray = match.bytes < kStrayBytes && (match.source < begin || match.source + match.bytes > end);
    if (is_stray) unmatched_ += match.bytes;
    return is_stray;
  });
}

std::optional<Match> MatchFinder::resume(std::size_t target, std::size_t source, bool may_be_short) const {
  const std::uint8_t* const target_bytes = target_.data() + target;
  const std::uint8_t* const source_bytes = source_.data() + source;
  const std::size_t target_left = target_.size() - target;
  const std::size_t source_left = source_.size() - source;
  if (target_left < kWord || source_left < kWord) return std::nullopt;
  const std::size_t target_words = target_left - kWord + 1;  // places where one may begin
  const std::size_t source_words = source_left - kWord + 1;

  int candidates = 0;
  Match latest{};
  Match longest{};
  const auto is_sure = [&](std::size_t skip_target, std::size_t skip_source) {
    ++candidates;
    const std::size_t limit = std::min(target_left - skip_target, source_left - skip_source);
    const std::size_t bytes = common_prefix(target_bytes + skip_target, source_bytes + skip_source, limit);
    latest = match_of(target + skip_target, source + skip_source, bytes);
    if (bytes > longest.bytes) longest = latest;
    return bytes >= kSureBytes || skip_target + bytes == target_left;
  };

  const std::size_t replaced = std::min({kReplacedBytes + 1, target_words, source_words});
  for (std::size_t skip = 0; skip < replaced && candidates < kMaxCandidates;) {
    const std::uint64_t here = load_word(target_bytes + skip);
    const std::uint64_t there = load_word(source_bytes + skip);
    if (here != there) {
      skip += bytes_to_last_difference(here, there);
      continue;
    }
    if (is_sure(skip, skip)) return longest;
    skip += latest.bytes + 1;  // behind them is a difference
  }

  const std::uint64_t target_word = load_word(target_bytes);
  const std::size_t removed = std::min(kShiftedBytes + 1, source_words);
  for (std::size_t skip = find_word(source_bytes, target_word, 1, removed);
       skip < removed && candidates < kMaxCandidates; skip = find_word(source_bytes, target_word, skip + 1, removed))
    if (is_sure(0, skip)) return longest;

  const std::uint64_t source_word = load_word(source_bytes);
  const std::size_t inserted = std::min(kShiftedBytes + 1, target_words);
  for (std::size_t skip = find_word(target_bytes, source_word, 1, inserted);
       skip < inserted && candidates < kMaxCandidates; skip = find_word(target_bytes, source_word, skip + 1, inserted))
    if (is_sure(skip, 0)) return longest;

  if (may_be_short && longest.bytes >= kLikelyBytes &&
      resume(longest.target + longest.bytes, longest.source + longest.bytes, false))
    return longest;
  return std::nullopt;
}

std::optional<Match> MatchFinder::search(std::size_t end) {
  if (!table_is_complete_) complete_table();

  for (std::size_t at = done_; at + kWord <= end; at += 1 + (at - done_) / kPatienceBytes) {
    const std::uint64_t word = load_word(&target_[at]);
    Match best{};
    const auto consider = [&](std::size_t source, std::size_t min_bytes) {
      if (source + kWord > source_.size() || load_word(&source_[source]) != word) return;
      const Match match = widened(at, source, end);
      if (match.bytes >= min_bytes && match.bytes > best.bytes) best = match;
    };
    consider(expected_ + (at - done_), kMinExpectedMatchBytes);
    if (const std::uint64_t place = table_[hash(word, hash_shift_)]; place >= begin_)
      consider(place - begin_, kMinMatchBytes);
    if (best.bytes != 0) return best;
  }
  return std::nullopt;
}

// Adds the words that it does not have yet.
void MatchFinder::complete_table() {
  table_is_complete_ = true;
  const std::size_t words = source_.size() < kWord ? 0 : source_.size() - kWord + 1;
  std::size_t step_bytes = kStepBytes;
  while (words / step_bytes > kMaxSteps) step_bytes *= 2;
  const std::size_t steps = words / step_bytes + 1;
  const std::size_t slots = std::clamp(std::bit_ceil(steps + steps / 2), kMinSlots, kMaxSlots);
  // Not for each source that is a little longer or shorter.
  const bool fits = step_bytes <= step_bytes_ && step_bytes_ <= 2 * step_bytes && slots <= table_.size() &&
                    table_.size() <= 4 * slots && begin_ + source_.size() <= kLastPlace;
  if (!fits) {
    step_bytes_ = step_bytes;
    clear_table(slots);
  }

  std::uint64_t place = std::max(begin_, table_end_);
  place = (place + step_bytes_ - 1) / step_bytes_ * step_bytes_;
  // The first of equal words stays: a run of zeros matches from its beginning.
  const auto begin = static_cast<std::uint32_t>(begin_);
  for (; place - begin_ < words; place += step_bytes_) {
    std::uint32_t& slot = table_[hash(load_word(&source_[place - begin_]), hash_shift_)];
    slot = slot >= begin ? slot : static_cast<std::uint32_t>(place);
  }
  table_end_ = place;
}

void MatchFinder::clear_table(std::size_t slots) {
  table_.assign(slots, 0);
  hash_shift_ = 64 - std::countr_zero(slots);
  begin_ = 1;
  table_end_ = 1;
}

Match MatchFinder::widened(std::size_t target, std::size_t source, std::size_t end) const {
  const std::size_t previous = matches_.empty() ? 0 : matches_.back().target;
  const std::size_t begin = done_ - previous <= kReclaimableBytes ? previous : done_;
  const std::size_t before = common_suffix(&target_[target], &source_[source], std::min(target - begin, source));
  const std::size_t after =
      common_prefix(&target_[target], &source_[source], std::min(end - target, source_.size() - source));
  return match_of(target - before, source - before, before + after);
}

void MatchFinder::append(Match match) {
  if (match.target < done_) {
    Match& previous = matches_.back();
    previous.bytes = match.target - previous.target;
    if (previous.bytes < kMinMatchBytes) {
      unmatched_ += previous.bytes;
      matches_.pop_back();
    }
  } else {
    unmatched_ += match.target - done_;
  }
  matches_.push_back(match);
  done_ = match.target + match.bytes;
  expected_ = match.source + match.bytes;
}

}  // namespace dedupfs
