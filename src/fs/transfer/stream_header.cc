#include "fs/transfer/stream_header.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <nlohmann/json.hpp>

#include "base/printable.h"
#include "base/uuid.h"
#include "fs/format/records.h"

namespace dedupfs::transfer {
namespace {

using Json = nlohmann::json;

constexpr int kVersion = 1;
constexpr std::string_view kNoBase = "0";  // in a token

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
          {"created_unix_seconds", snapshot.created_unix_seconds},
          {"uuid", snapshot.uuid}};
}

// Of bytes that anybody may have written: they go into messages and tokens.
Result<void> check(const SnapshotIdentity& snapshot) {
  if (is_uuid(snapshot.volume) && is_uuid(snapshot.uuid) && snapshot.number > 0 && snapshot.number < kEndOfTrees &&
      is_valid_name(snapshot.name))
    return {};
  return corruption("a snapshot that the stream is of has no valid name, number or UUID");
}

SnapshotIdentity identity_of(const Json& json) {
  SnapshotIdentity snapshot{.volume = json.at("volume").get<std::string>(),
                            .number = json.at("number").get<TreeNumber>(),
                            .name = bytes_of_hex(json.at("name_hex").get<std::string>()),
                            .created_unix_seconds = json.at("created_unix_seconds").get<std::int64_t>()};
  snapshot.uuid = json.value("uuid", uuid_without(snapshot.number, snapshot.created_unix_seconds));
  return snapshot;
}

// Of what a folder says of itself. Older builds wrote the number and the date, and the number 0 for none.
std::string base_of(const Json& json) {
  if (const auto uuid = json.find("base_uuid"); uuid != json.end()) return uuid->get<std::string>();
  const auto number = json.at("base").at("number").get<TreeNumber>();
  return number == 0 ? std::string()
                     : uuid_without(number, json.at("base").at("created_unix_seconds").get<std::int64_t>());
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
  return fmt::format("{}.{}.{}.{}.{}", volume, snapshot, base.empty() ? kNoBase : base, position.step, position.offset);
}

Result<ResumeToken> ResumeToken::parse(std::string_view text) {
  std::string_view left = text;
  const auto take = [&left] {
    const std::string_view field = left.substr(0, left.find('.'));
    left.remove_prefix(std::min(field.size() + 1, left.size()));
    return field;
  };
  const auto take_number = [&](std::uint64_t& number) {
    const std::string_view field = take();
    const auto [end, error] = std::from_chars(field.data(), field.data() + field.size(), number);
    return error == std::errc() && end == field.data() + field.size();
  };
  ResumeToken token{.volume = std::string(take()), .snapshot = std::string(take()), .base = std::string(take())};
  if (token.base == kNoBase) token.base.clear();
  const bool has_all = is_uuid(token.volume) && is_uuid(token.snapshot) &&
                       (token.base.empty() || is_uuid(token.base)) && take_number(token.position.step) &&
                       take_number(token.position.offset);
  if (has_all && left.empty() && text == token.text()) return token;
  return invalid_argument(fmt::format(
      "'{}' is no token: dedupfs-receive --token prints the one of a receive that was interrupted", printable(text)));
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
  return snapshot == sent && base == (sent_base ? sent_base->uuid : std::string());
}

std::string ReceivedState::text() const {
  const Json json{{"version", kVersion},
                  {"snapshot", json_of(snapshot)},
                  {"base_uuid", base},
                  {"complete", is_complete},
                  {"has_snapshot", has_snapshot},
                  {"position", json_of(position)},
                  {"stopped", is_stopped},
                  {"dated_unix_seconds", dated_unix_seconds},
                  {"made_from", made_from}};
  return json.dump();
}

Result<ReceivedState> ReceivedState::parse(std::string_view text) {
  DEDUPFS_ASSIGN(ReceivedState state, parsed(text, fmt::format("the attribute {}", kXattr), [](const Json& json) {
                   const SnapshotIdentity sent = identity_of(json.at("snapshot"));
                   return ReceivedState{
                       .snapshot = sent,
                       .base = base_of(json),
                       .is_complete = json.at("complete").get<bool>(),
                       .has_snapshot = json.at("has_snapshot").get<bool>(),
                       .position = position_of(json.at("position")),
                       .is_stopped = json.value("stopped", false),
                       .dated_unix_seconds = json.value("dated_unix_seconds", sent.created_unix_seconds),
                       .made_from = json.at("made_from").get<InodeNumber>()};
                 }));
  DEDUPFS_TRY(check(state.snapshot));
  if (!state.base.empty() && !is_uuid(state.base))
    return corruption(fmt::format("the attribute {} has no valid base", kXattr));
  return state;
}

}  // namespace dedupfs::transfer
