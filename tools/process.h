// The parts of a process that a tool needs beside its streams. Tests leave them out, or pass their own.
//
// Threads: call catch_stop_signals() once, before other threads are started; the others may be called from any thread.
#pragma once

#include <functional>

namespace dedupfs::tools {

struct Process {
  bool err_is_terminal = false;  // so progress may be drawn there
  bool out_is_terminal = false;  // so nothing that is not text belongs there
  // From now on the first signal asks the tool to stop in good order. The second one ends the process.
  std::function<void()> catch_stop_signals = [] {};
  std::function<bool()> stop_was_asked_for = [] { return false; };
};

// The process that calls.
Process own_process();

}  // namespace dedupfs::tools
