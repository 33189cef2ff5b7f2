// One line on the terminal that tells how far a tool is; nothing if there is no terminal.
//
// Threads: one.
// Ownership: refers to the stream.
#pragma once

#include <ostream>
#include <string_view>
#include <utility>

namespace dedupfs::tools {

class ProgressLine {
 public:
  ProgressLine(std::ostream& err, bool is_terminal) : err_(err), is_terminal_(is_terminal) {}

  // In place of the line before.
  void show(std::string_view line) {
    if (!is_terminal_) return;
    err_ << kClear << line << std::flush;
    is_shown_ = true;
  }
  void clear() {
    if (std::exchange(is_shown_, false)) err_ << kClear << std::flush;
  }

 private:
  static constexpr std::string_view kClear = "\r\x1b[K";

  std::ostream& err_;
  const bool is_terminal_;
  bool is_shown_ = false;
};

}  // namespace dedupfs::tools
