#include "fs/transfer/stream_header.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <nlohmann/json.hpp>

#include "base/printable.h"
#include "fs/format/records.h"

namespace dedupfs::transfer {
namespace {

using Json = nlohmann::json;

// As make_uuid() writes it.
bool is_uuid(std::string_view text) {
  constexpr std::string_view kForm = "xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx";
  return std::ranges::equal(text, kForm, [](char c, char form) {
    return form == 'x' ? (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') : c == form;
  });
}

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

// Of bytes that anybody may have written: they go into messages and tokens.
Result<void> check(const SnapshotIdentity& snapshot) {
  if (is_uuid(snapshot.volume) && snapshot.number > 0 && snapshot.number < kEndOfTrees && is_valid_name(snapshot.name))
    return {};
  return corruption("a snapshot that the stream is of has no valid name");
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

// A header has some 500 bytes with names of usual length. One of any depth would take a hundred times its size as JSON.
constexpr std::size_t kMaxTextBytes = 64 << 10;
constexpr int kMaxDepth = 8;

// Applies `read` to the object that the text is.
template <class Read>
auto parsed(std::string_view text, std::string_view what, const Read& read) -> Result<decltype(read(Json()))> {
  if (text.size() > kMaxTextBytes)
    return corruption(fmt::format("{} has {} bytes: no sender writes more than {}", what, text.size(), kMaxTextBytes));
  bool is_deep = false;
  try {
    const Json json = Json::parse(text, [&is_deep](int depth, Json::parse_event_t, const Json&) {
      is_deep |= depth > kMaxDepth;
      return !is_deep;
    });
    if (is_deep) return corruption(fmt::format("{} is malformed: it has a depth of more than {}", what, kMaxDepth));
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
  return fmt::format("{}.{}.{}.{}.{}.{}.{}", volume, snapshot.number, snapshot.created_unix_seconds, base.number,
                     base.created_unix_seconds, position.step, position.offset);
}

Result<ResumeToken> ResumeToken::parse(std::string_view text) {
  const auto malformed = [&] {
    return invalid_argument(fmt::format(
        "'{}' is no token: dedupfs-receive --token prints the one of a receive that was interrupted", printable(text)));
  };
  ResumeToken token;
  const std::size_t dot = text.find('.');
  if (dot == std::string_view::npos || !is_uuid(text.substr(0, dot))) return malformed();
  token.volume = text.substr(0, dot);
  const char* at = text.data() + dot;
  const char* const end = text.data() + text.size();
  const auto take = [&](auto& number) {
    if (at == end || *at != '.') return false;
    const auto [behind, error] = std::from_chars(at + 1, end, number);
    at = behind;
    return error == std::errc();
  };
  const bool has_all = take(token.snapshot.number) && take(token.snapshot.created_unix_seconds) &&
                       take(token.base.number) && take(token.base.created_unix_seconds) && take(token.position.step) &&
                       take(token.position.offset);
  if (!has_all || at != end || token.snapshot.number == 0 || token.snapshot.number >= kEndOfTrees ||
      token.base.number >= kEndOfTrees)
    return malformed();
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
  DEDUPFS_ASSIGN(StreamHeader header, parsed(text, "the header of the stream", [](const Json& json) {
                   StreamHeader read{.snapshot = identity_of(json.at("snapshot")),
                                     .held_until_released = json.at("held_until_released").get<bool>(),
                                     .begin = position_of(json.at("begin"))};
                   if (const Json& until = json.at("held_until_unix_seconds"); !until.is_null())
                     read.held_until_unix_seconds = until.get<std::int64_t>();
                   if (const Json& older = json.at("base"); !older.is_null()) read.base = identity_of(older);
                   return read;
                 }));
  DEDUPFS_TRY(check(header.snapshot));
  if (header.base) DEDUPFS_TRY(check(*header.base));
  if (header.snapshot.created_unix_seconds < 0) return corruption("the snapshot of the stream is dated before 1970");
  if (header.held_until_unix_seconds.value_or(0) > SnapshotHolds::kLastUnixSeconds)
    return corruption("the stream holds its snapshot longer than a hold can last");
  return header;
}

bool ReceivedState::is_of(const SnapshotIdentity& sent, const std::optional<SnapshotIdentity>& sent_base) const {
  const ResumeToken::Snapshot expected =
      sent_base ? ResumeToken::Snapshot{sent_base->number, sent_base->created_unix_seconds} : ResumeToken::Snapshot();
  return snapshot == sent && base == expected;
}

std::string ReceivedState::text() const {
  const Json json{{"version", kVersion},
                  {"snapshot", json_of(snapshot)},
                  {"base", {{"number", base.number}, {"created_unix_seconds", base.created_unix_seconds}}},
                  {"complete", is_complete},
                  {"has_snapshot", has_snapshot},
                  {"position", json_of(position)},
                  {"dated_unix_seconds", dated_unix_seconds},
                  {"made_from", made_from}};
  return json.dump();
}

Result<ReceivedState> ReceivedState::parse(std::string_view text) {
  DEDUPFS_ASSIGN(
      ReceivedState state, parsed(text, fmt::format("the attribute {}", kXattr), [](const Json& json) {
        const Json& older = json.at("base");
        const SnapshotIdentity sent = identity_of(json.at("snapshot"));
        return ReceivedState{
            .snapshot = sent,
            .base = {older.at("number").get<TreeNumber>(), older.at("created_unix_seconds").get<std::int64_t>()},
            .is_complete = json.at("complete").get<bool>(),
            .has_snapshot = json.at("has_snapshot").get<bool>(),
            .position = position_of(json.at("position")),
            .dated_unix_seconds = json.value("dated_unix_seconds", sent.created_unix_seconds),
            .made_from = json.at("made_from").get<InodeNumber>()};
      }));
  DEDUPFS_TRY(check(state.snapshot));
  return state;
}

}  // namespace dedupfs::transfer
