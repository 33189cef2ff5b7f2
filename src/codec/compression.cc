#include "codec/compression.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <vector>

#include "base/spec.h"
#include "codec/none_codec.h"

namespace dedupfs {
namespace {

std::optional<int> parse_level(std::string_view text, const CodecLevels& levels) {
  int level = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), level);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  if (!levels.are_choosable() || level < levels.lowest || level > levels.highest) return std::nullopt;
  return level;
}

// "none, zstd, or zstd:1 to zstd:19"
std::string allowed_specs() {
  std::vector<std::string> specs;
  for (const Codec* codec : codecs()) {
    const CodecInfo& info = codec->info();
    specs.emplace_back(info.name);
    if (info.levels.are_choosable())
      specs.push_back(fmt::format("{0}:{1} to {0}:{2}", info.name, info.levels.lowest, info.levels.highest));
  }
  specs.back().insert(0, "or ");
  return comma_separated(std::vector<std::string_view>(specs.begin(), specs.end()));
}

}  // namespace

Compression Compression::none() {
  return {.codec = &none_codec()};
}

Compression Compression::quick() const {
  return {.codec = codec, .level = std::min(level, codec->info().levels.quick)};
}

Result<Compression> parse_compression(std::string_view spec) {
  const std::size_t colon = spec.find(':');
  if (const Codec* codec = find_codec(spec.substr(0, colon))) {
    if (colon == std::string_view::npos) return Compression{.codec = codec};
    if (const auto level = parse_level(spec.substr(colon + 1), codec->info().levels))
      return Compression{.codec = codec, .level = *level};
  }
  return Error{ErrorCode::kInvalidArgument, fmt::format("'{}' is not a compression ({})", spec, allowed_specs())};
}

std::string format_compression(const Compression& compression) {
  const CodecInfo& info = compression.codec->info();
  if (!info.levels.are_choosable()) return std::string(info.name);
  return fmt::format("{}:{}", info.name, compression.level);
}

std::string compression_forms() {
  std::string forms;
  for (const Codec* codec : codecs())
    if (codec != &none_codec())
      forms += fmt::format("{}{}|", codec->info().name, codec->info().levels.are_choosable() ? "[:LEVEL]" : "");
  return forms.append(none_codec().info().name);
}

}  // namespace dedupfs
