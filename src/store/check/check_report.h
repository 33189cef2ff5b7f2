// The findings of a check of a volume.
//
// Threads: one user at a time.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "base/result.h"

namespace dedupfs {

// How far a long walk is: `pass` as the program counts them, `current` of `max` steps. An Error (kInterrupted) ends the walk.
using Progress = std::function<Result<void>(int pass, std::uint64_t current, std::uint64_t max)>;

inline Result<void> no_progress(int /*pass*/, std::uint64_t /*current*/, std::uint64_t /*max*/) {
  return {};
}

// The limit for one file. If a file has more, its last range covers all the rest, up to the end of the last lost range.
inline constexpr std::size_t kMaxLostRanges = 1000;
// The limit for all files together. Beyond it, each file has one range.
inline constexpr std::size_t kMaxLostRangesTotal = 100'000;

// A range of a file that cannot be read, and never will be unless the same content is written again.
struct LostRange {
  std::uint64_t offset = 0;
  std::uint64_t length = 0;
  std::string why;
};

class CheckReport {
 public:
  // `print` gets every finding as one line without its end.
  explicit CheckReport(std::function<void(const std::string&)> print) : print_(std::move(print)) {}

  // Something is wrong that a repair puts right: a structure is damaged or contradicts itself.
  void error(const std::string& message) {
    ++errors_;
    print_("error: " + message);
  }
  // Content of a file is gone, and no repair brings it back. Ranges of a file come in order.
  void lost(std::uint64_t inode, LostRange range) {
    print_(fmt::format("lost: inode {} at {}, {} bytes: {}", inode, range.offset, range.length, range.why));
    std::vector<LostRange>& ranges = lost_[inode];
    if (!ranges.empty() && ranges.back().offset + ranges.back().length == range.offset)
      ranges.back().length += range.length;
    else if (ranges.size() >= kMaxLostRanges || (!ranges.empty() && lost_ranges_ >= kMaxLostRangesTotal))
      ranges.back() = {.offset = ranges.back().offset,
                       .length = range.offset + range.length - ranges.back().offset,
                       .why = "in many places; not all of it is lost"};
    else {
      ranges.push_back(std::move(range));
      ++lost_ranges_;
    }
  }
  // Worth knowing, but harmless, such as leftovers of a crash.
  void note(const std::string& message) { print_("note: " + message); }

  std::uint64_t errors() const { return errors_; }
  // By inode; neighbouring ranges are one, and a file has no more than kMaxLostRanges.
  const std::map<std::uint64_t, std::vector<LostRange>>& lost() const { return lost_; }

 private:
  std::function<void(const std::string&)> print_;
  std::uint64_t errors_ = 0;
  std::size_t lost_ranges_ = 0;
  std::map<std::uint64_t, std::vector<LostRange>> lost_;
};

}  // namespace dedupfs
