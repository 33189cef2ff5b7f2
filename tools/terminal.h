// The terminal of a live view: its size, whether it has colors, and the key that ends the view. Tests leave it out, or pass their own.
//
// Threads: one.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>

namespace dedupfs::tools {

struct TerminalSize {
  std::size_t columns = 80;
  std::size_t lines = 0;  // 0: no end
};

struct Terminal {
  bool is_terminal = false;  // of the output; otherwise it is a pipe or a file
  bool has_color = false;
  bool has_utf8 = false;  // by the locale
  std::function<TerminalSize()> size = [] { return TerminalSize(); };
  // Until the result is gone, keys come one by one, and are not shown.
  std::function<std::shared_ptr<void>()> read_keys = [] { return nullptr; };
  // Waits so long, or less if a key or a signal comes. Whether that key was q.
  std::function<bool(std::chrono::milliseconds)> wait_for_quit = [](std::chrono::milliseconds) { return false; };
};

// That of the calling process. It has no color if NO_COLOR is set, or TERM is dumb.
Terminal own_terminal();

}  // namespace dedupfs::tools
