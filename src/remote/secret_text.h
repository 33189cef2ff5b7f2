// A key or a token as text. Copies share it, and it is zeroed when the last of them goes.
//
// Its memory is not locked, as that of store/seal/secret.h is, which belongs to a room above. libcurl has copies of what a request carries for
// as long as the request lasts, and frees them as they are.
#pragma once

#include <string.h>  // NOLINT(modernize-deprecated-headers): explicit_bzero is there

#include <memory>
#include <string>
#include <utility>

namespace dedupfs {

inline void zero_text(std::string& text) {
  ::explicit_bzero(text.data(), text.size());
  text.clear();
}

class SecretText {
 public:
  SecretText() = default;
  explicit SecretText(std::string text)
      : text_(new std::string(std::move(text)), [](std::string* held) {
          zero_text(*held);
          delete held;
        }) {}

  const std::string& text() const {
    static const std::string none;
    return text_ ? *text_ : none;
  }
  bool empty() const { return text().empty(); }
  bool operator==(const SecretText& other) const { return text() == other.text(); }

 private:
  std::shared_ptr<const std::string> text_;
};

}  // namespace dedupfs
