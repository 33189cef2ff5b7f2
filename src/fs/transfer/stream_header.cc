#include "fs/transfer/stream_header.h"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <nlohmann/json.hpp>

#include "base/printable.h"
#include "store/format/checked_json.h"

namespace dedupfs::transfer {
namespace {

using Json = nlohmann::json;

constexpr int kVersion = 1;

// Names are bytes, and JSON has only text.
std::string hex_of(std::string_view bytes) {
  std::string hex;
  hex.reserve(2 * bytes.size());
  for (const char byte : bytes) hex += fmt::format("{:02x}", static_cast<unsigned char>(byte));
  return hex;
}

std::string bytes_of_hex(const std::string& hex) {
  std::string bytes;
  for (std::size_t i = 0; i + 1 < hex.size(); i += 2) {
    std::uint8_t byte = 0;
    const auto [end, error] = std::from_chars(hex.data() + i, hex.data() + i + 2, byte, 16);
    if (error != std::errc() || end != hex.data() + i + 2) return {};
    bytes += static_cast<char>(byte);
  }
  return bytes;
}

Json json_of(const SnapshotIdentity& snapshot) {
  return {{"volume", snapshot.volume},
          {"number", snapshot.number},
          {"name_hex", hex_of(snapshot.name)},
          {"created_unix_seconds", snapshot.created_unix_seconds}};
}

SnapshotIdentity identity_of(const Json& json) {
  SnapshotIdentity snapshot{.volume = json.at("volume").get<std::string>(),
                            .number = json.at("number").get<TreeNumber>(),
                            .name = bytes_of_hex(json.at("name_hex").get<std::string>()),
                            .created_unix_seconds = json.at("created_unix_seconds").get<std::int64_t>()};
  return snapshot;
}

Json json_of(const Position& position) {
  return {{"step", position.step}, {"offset", position.offset}};
}

Position position_of(const Json& json) {
  return {.step = json.at("step").get<std::uint64_t>(), .offset = json.at("offset").get<std::uint64_t>()};
}

// Applies `read` to the object that the text is.
template <class Read>
auto parsed(std::string_view text, std::string_view what, const Read& read) -> Result<decltype(read(Json()))> {
  try {
    const Json json = Json::parse(text);
    const int version = json.at("version").get<int>();
    if (version > kVersion)
      return Error{ErrorCode::kVersion, fmt::format("{} has version {}, and this program knows {}: install a newer one",
                                                    what, version, kVersion)};
    return read(json);
  } catch (const Json::exception& error) {
    return corruption(fmt::format("{} is malformed: {}", what, printable(error.what())));
  }
}

}  // namespace

std::string ResumeToken::text() const {
  return fmt::format("{}.{}.{}.{}.{}", volume, snapshot, base, position.step, position.offset);
}

Result<ResumeToken> ResumeToken::parse(std::string_view text) {
  const auto malformed = [&] {
    return invalid_argument(fmt::format(
        "'{}' is no token: dedupfs-receive --token prints the one of a receive that was interrupted", printable(text)));
  };
  ResumeToken token;
  const std::size_t dot = text.find('.');
  if (dot == 0 || dot == std::string_view::npos) return malformed();
  token.volume = text.substr(0, dot);
  std::array<std::uint64_t, 4> numbers{};
  const char* at = text.data() + dot;
  const char* const end = text.data() + text.size();
  for (std::uint64_t& number : numbers) {
    if (at == end || *at != '.') return malformed();
    const auto [behind, error] = std::from_chars(at + 1, end, number);
    if (error != std::errc()) return malformed();
    at = behind;
  }
  if (at != end || numbers[0] == 0 || numbers[0] >= kEndOfTrees || numbers[1] >= kEndOfTrees) return malformed();
  token.snapshot = static_cast<TreeNumber>(numbers[0]);
  token.base = static_cast<TreeNumber>(numbers[1]);
  token.position = {.step = numbers[2], .offset = numbers[3]};
  return token;
}

std::string StreamHeader::text() const {
  Json json{{"version", kVersion},
            {"snapshot", json_of(snapshot)},
            {"held_until_released", held_until_released},
            {"held_until_unix_seconds", nullptr},
            {"base", nullptr},
            {"begin", json_of(begin)}};
  if (held_until_unix_seconds) json["held_until_unix_seconds"] = *held_until_unix_seconds;
  if (base) json["base"] = json_of(*base);
  return json.dump();
}

Result<StreamHeader> StreamHeader::parse(std::string_view text) {
  return parsed(text, "the header of the stream", [](const Json& json) {
    StreamHeader header{.snapshot = identity_of(json.at("snapshot")),
                        .held_until_released = json.at("held_until_released").get<bool>(),
                        .begin = position_of(json.at("begin"))};
    if (const Json& until = json.at("held_until_unix_seconds"); !until.is_null())
      header.held_until_unix_seconds = until.get<std::int64_t>();
    if (const Json& older = json.at("base"); !older.is_null()) header.base = identity_of(older);
    return header;
  });
}

std::string ReceivedState::text() const {
  const Json json{{"version", kVersion},
                  {"snapshot", json_of(snapshot)},
                  {"base", base},
                  {"complete", is_complete},
                  {"position", json_of(position)}};
  return json.dump();
}

Result<ReceivedState> ReceivedState::parse(std::string_view text) {
  return parsed(text, fmt::format("the attribute {}", kXattr), [](const Json& json) {
    return ReceivedState{.snapshot = identity_of(json.at("snapshot")),
                         .base = json.at("base").get<TreeNumber>(),
                         .is_complete = json.at("complete").get<bool>(),
                         .position = position_of(json.at("position"))};
  });
}

}  // namespace dedupfs::transfer
