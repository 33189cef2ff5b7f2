#include "store/seal/recovery_key.h"

#include <algorithm>
#include <cctype>
#include <optional>
#include <string_view>

#include "store/seal/cipher.h"

namespace dedupfs {
namespace {

constexpr std::string_view kSymbols = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";
constexpr std::size_t kGroup = 4;
constexpr std::size_t kKeySymbols = 32;  // of 5 bits each
constexpr std::size_t kAllSymbols = kKeySymbols + kGroup;
constexpr std::size_t kTextBytes = kAllSymbols + kAllSymbols / kGroup - 1;

// Five bits of each byte count.
void append_symbols(ByteSpan bits, MutableByteSpan symbols) {
  std::ranges::transform(bits, symbols.begin(), [](std::uint8_t each) { return kSymbols[each % kSymbols.size()]; });
}

// The last group, from the others.
void put_check(MutableByteSpan symbols) {
  const Mac check = hmac_sha256(bytes_of("dedupfs recovery key"), symbols.first(kKeySymbols));
  append_symbols(ByteSpan(check).first(kGroup), symbols.subspan(kKeySymbols));
}

Secret printed(ByteSpan symbols) {
  Secret text(kTextBytes);
  auto out = text.bytes().begin();
  for (std::size_t i = 0; i < symbols.size(); ++i) {
    if (i != 0 && i % kGroup == 0) *out++ = '-';
    *out++ = symbols[i];
  }
  return text;
}

std::optional<std::uint8_t> symbol_of(std::uint8_t typed) {
  const char upper = static_cast<char>(std::toupper(typed));
  if (upper == 'O') return '0';
  if (upper == 'I' || upper == 'L') return '1';
  if (kSymbols.find(upper) == std::string_view::npos) return std::nullopt;
  return static_cast<std::uint8_t>(upper);
}

}  // namespace

Secret make_recovery_key() {
  Secret bits(kKeySymbols);
  fill_randomly(bits.bytes());
  Secret symbols(kAllSymbols);
  append_symbols(bits.bytes(), symbols.bytes());
  put_check(symbols.bytes());
  return printed(symbols.bytes());
}

Result<Secret> tidy_recovery_key(ByteSpan typed) {
  Secret symbols(kAllSymbols);
  std::size_t count = 0;
  for (const std::uint8_t each : typed) {
    if (each == '-' || std::isspace(each) != 0) continue;
    const auto symbol = symbol_of(each);
    if (!symbol || count == kAllSymbols)
      return invalid_argument("this is no recovery key: those have nine groups of four letters and digits");
    symbols.bytes()[count++] = *symbol;
  }
  if (count != kAllSymbols)
    return invalid_argument("a part of the recovery key is missing: it has nine groups of four letters and digits");
  Secret right = symbols.copy();
  put_check(right.bytes());
  if (!equal_in_constant_time(right.bytes(), symbols.bytes()))
    return invalid_argument("there is a mistake in the recovery key: compare it with the paper");
  return printed(symbols.bytes());
}

}  // namespace dedupfs
