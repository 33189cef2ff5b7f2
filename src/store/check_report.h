// What a check of a volume found.
//
// Threads: one user at a time.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

namespace dedupfs {

class CheckReport {
 public:
  // `print` gets every finding as one line without its end.
  explicit CheckReport(std::function<void(const std::string&)> print) : print_(std::move(print)) {}

  // Something is wrong: data or structure is lost or contradicts itself.
  void error(const std::string& message) {
    ++errors_;
    print_("error: " + message);
  }
  // Worth knowing, harmless: what a crash leaves behind.
  void note(const std::string& message) { print_("note: " + message); }

  std::uint64_t errors() const { return errors_; }

 private:
  std::function<void(const std::string&)> print_;
  std::uint64_t errors_ = 0;
};

}  // namespace dedupfs
