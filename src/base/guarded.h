// The place where exceptions end: an operation that runs out of memory fails, and the program goes on.
//
// An exception that leaves a thread, a task of a pool or a callback ends the program. Each of these runs code that may throw in
// guarded().
#pragma once

#include <exception>
#include <utility>

#include "base/result.h"

namespace dedupfs {

// kNoMemory for std::bad_alloc, kIo for everything else. Needs no memory for the first.
Error error_of(const std::exception& exception) noexcept;

// Returns the Result of `body`. An exception becomes its error.
template <class Body>
auto guarded(Body&& body) noexcept -> decltype(body()) {
  try {
    return std::forward<Body>(body)();
  } catch (const std::exception& exception) {
    return error_of(exception);
  }
}

// Receives reports of failures that no caller waits for. The default writes to standard error.
using ErrorReport = void (*)(const char* where, const Error& error);
void set_error_report(ErrorReport report);
void report_error(const char* where, const Error& error) noexcept;

// Runs `body`. An exception is reported, and this returns false.
template <class Body>
bool survive(const char* where, Body&& body) noexcept {
  const auto done = guarded([&]() -> Result<void> {
    std::forward<Body>(body)();
    return {};
  });
  if (!done) report_error(where, done.error());
  return done.has_value();
}

}  // namespace dedupfs
