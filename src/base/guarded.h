// The end of exceptions: memory that runs out is an error of the one thing that needed it.
//
// A thread of ours, a task of a pool and a callback must not be left by an exception, or the program ends. Each of them runs
// what may throw in guarded().
#pragma once

#include <exception>
#include <utility>

#include "base/result.h"

namespace dedupfs {

// kNoMemory for std::bad_alloc, kIo for everything else. Needs no memory for the first.
Error error_of(const std::exception& exception) noexcept;

// What `body` returns, a Result; an exception becomes its error.
template <class Body>
auto guarded(Body&& body) noexcept -> decltype(body()) {
  try {
    return std::forward<Body>(body)();
  } catch (const std::exception& exception) {
    return error_of(exception);
  }
}

// Where that is told which nobody waits for: standard error, unless somebody set another place.
using ErrorReport = void (*)(const char* where, const Error& error);
void set_error_report(ErrorReport report);
void report_error(const char* where, const Error& error) noexcept;

// Runs `body`; what it throws is reported, and whoever called goes on. False then.
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
