// Bytes that wait until the other end of a connection takes them.
//
// Threads: values, one thread each.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

namespace dedupfs {

class Outbox {
 public:
  bool empty() const { return sent_ == text_.size(); }
  void put(std::string text) {
    text_ = std::move(text);
    sent_ = 0;
  }
  void append(std::string_view text) { text_ += text; }
  std::string_view rest() const { return std::string_view(text_).substr(sent_); }
  void take(std::size_t bytes) {
    sent_ += bytes;
    if (!empty()) return;
    text_.clear();  // keeps its memory for what comes next
    sent_ = 0;
  }

 private:
  std::string text_;
  std::size_t sent_ = 0;  // of it: an answer of many MB leaves in many pieces
};

}  // namespace dedupfs
