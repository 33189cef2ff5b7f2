// For programs that can be told to stop at any time: the first signal asks them to, the second one ends them.
//
// Threads: call catch_stop_signals() once, before others are started.
#pragma once

#include <csignal>

namespace dedupfs {

inline volatile std::sig_atomic_t stop_was_asked_for = 0;

inline void catch_stop_signals() {
  struct sigaction action {};
  action.sa_handler = [](int) { stop_was_asked_for = 1; };
  action.sa_flags = static_cast<int>(SA_RESETHAND);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) ::sigaction(signal, &action, nullptr);
  std::signal(SIGPIPE, SIG_IGN);  // those who watched may go
}

}  // namespace dedupfs
