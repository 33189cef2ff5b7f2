#include "base/guarded.h"

#include <atomic>
#include <cstdio>
#include <new>
#include <string>

namespace dedupfs {
namespace {

// So short that std::string holds it without an allocation.
constexpr const char* kNoMemoryMessage = "out of memory";

std::atomic<ErrorReport> error_report = nullptr;

}  // namespace

Error error_of(const std::exception& exception) noexcept {
  if (dynamic_cast<const std::bad_alloc*>(&exception) != nullptr) return {ErrorCode::kNoMemory, kNoMemoryMessage};
  try {
    return {ErrorCode::kIo, std::string("unexpected: ") + exception.what()};
  } catch (const std::bad_alloc&) {
    return {ErrorCode::kNoMemory, kNoMemoryMessage};
  }
}

void set_error_report(ErrorReport report) {
  error_report = report;
}

void report_error(const char* where, const Error& error) noexcept {
  try {
    if (const ErrorReport report = error_report) return report(where, error);
  } catch (const std::exception&) {  // standard error it is
  }
  std::fprintf(stderr, "%s: %s\n", where, error.message().c_str());
}

}  // namespace dedupfs
