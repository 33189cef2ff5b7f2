#include "base/printable.h"

#include <algorithm>

#include <fmt/format.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>

namespace dedupfs {
namespace {

constexpr std::array kEscapes{std::pair{'\n', 'n'}, std::pair{'\t', 't'}, std::pair{'\r', 'r'}, std::pair{'\\', '\\'}};

// A character at the start of the bytes, as RFC 3629 has it: neither overlong nor a surrogate. Length 0: there is none.
struct Character {
  std::uint32_t code = 0;
  std::size_t length = 0;
};

Character first_character(std::string_view bytes) {
  const auto at = [&](std::size_t i) { return static_cast<std::uint8_t>(bytes[i]); };
  const std::uint8_t lead = at(0);
  if (lead < 0x80) return {lead, 1};
  const std::size_t length = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
  if (lead < 0xc2 || lead > 0xf4 || bytes.size() < length) return {};
  std::uint32_t code = lead & (0x7fU >> length);
  for (std::size_t i = 1; i < length; ++i) {
    if ((at(i) & 0xc0) != 0x80) return {};
    code = code << 6 | (at(i) & 0x3fU);
  }
  constexpr std::array<std::uint32_t, 5> kLeast{0, 0, 0x80, 0x800, 0x10000};
  if (code < kLeast[length] || code > 0x10ffff || (code >= 0xd800 && code <= 0xdfff)) return {};
  return {code, length};
}

// Of ASCII and of the "C1" block, which some terminals obey, and what turns the direction of text.
bool is_control(std::uint32_t code) {
  return code < 0x20 || (code >= 0x7f && code < 0xa0) || (code >= 0x200e && code <= 0x200f) ||
         (code >= 0x2028 && code <= 0x202e) || (code >= 0x2066 && code <= 0x2069);
}

std::string escaped(std::string_view bytes) {
  for (const auto& [byte, letter] : kEscapes)
    if (bytes[0] == byte) return {'\\', letter};
  std::string text;
  for (const char byte : bytes) text += fmt::format("\\{:03o}", static_cast<std::uint8_t>(byte));
  return text;
}

}  // namespace

bool is_utf8(std::string_view bytes) {
  while (!bytes.empty()) {
    const std::size_t length = first_character(bytes).length;
    if (length == 0) return false;
    bytes.remove_prefix(length);
  }
  return true;
}

std::string printable(std::string_view bytes) {
  std::string text;
  while (!bytes.empty()) {
    const Character character = first_character(bytes);
    const bool is_plain = character.length != 0 && !is_control(character.code) && character.code != '\\';
    const std::string_view piece = bytes.substr(0, character.length == 0 ? 1 : character.length);
    text += is_plain ? std::string(piece) : escaped(piece);
    bytes.remove_prefix(piece.size());
  }
  return text;
}

std::string without_control_characters(std::string_view text) {
  std::string line(text);
  std::ranges::replace_if(
      line, [](unsigned char c) { return c < ' ' || c == 0x7f; }, '?');
  return line;
}

}  // namespace dedupfs
