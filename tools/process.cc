#include "process.h"

#include <unistd.h>

#include <csignal>

namespace dedupfs::tools {
namespace {

volatile std::sig_atomic_t stop_signal_came = 0;

void catch_signals() {
  struct sigaction action {};
  action.sa_handler = [](int) { stop_signal_came = 1; };
  action.sa_flags = static_cast<int>(SA_RESETHAND);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) ::sigaction(signal, &action, nullptr);
  std::signal(SIGPIPE, SIG_IGN);  // the work goes on when nobody reads the output any more
}

}  // namespace

Process own_process() {
  return {.err_is_terminal = ::isatty(STDERR_FILENO) != 0,
          .out_is_terminal = ::isatty(STDOUT_FILENO) != 0,
          .catch_stop_signals = catch_signals,
          .stop_was_asked_for = [] { return stop_signal_came != 0; }};
}

}  // namespace dedupfs::tools
