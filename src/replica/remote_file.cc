#include "replica/remote_file.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <utility>

#include "base/uuid.h"
#include "remote/text.h"
#include "store/format/checked_json.h"
#include "store/volume/capture.h"

namespace dedupfs {
namespace {

constexpr std::string_view kRemoteMagic = "dedupfs remote";
constexpr std::uint32_t kRemoteVersion = 1;
constexpr std::uint64_t kMaxRemoteFileBytes = 256 << 10;

std::optional<std::uint8_t> digit_of(char c) {
  if (c >= '0' && c <= '9') return static_cast<std::uint8_t>(c - '0');
  if (c >= 'a' && c <= 'f') return static_cast<std::uint8_t>(c - 'a' + 10);
  return std::nullopt;
}

std::optional<Sha256Digest> parse_digest(std::string_view hex) {
  Sha256Digest digest{};
  if (hex.size() != 2 * digest.size()) return std::nullopt;
  for (std::size_t i = 0; i < digest.size(); ++i) {
    const auto high = digit_of(hex[2 * i]);
    const auto low = digit_of(hex[2 * i + 1]);
    if (!high || !low) return std::nullopt;
    digest[i] = static_cast<std::uint8_t>(*high << 4 | *low);
  }
  return digest;
}

nlohmann::ordered_json json_of(const RemotePosition::Known& head) {
  return {{"sequence", head.sequence}, {"sha256", hex_of(ByteSpan(head.sha256))}};
}

std::optional<RemotePosition::Known> known_in(const nlohmann::json& json) {
  if (!json.is_object()) return std::nullopt;
  JsonMembers members(json);
  RemotePosition::Known head;
  head.sequence = static_cast<std::uint64_t>(members.integer<std::int64_t>("sequence", 1, kMaxSequence));
  const auto digest = parse_digest(members.text("sha256"));
  if (!digest || members.error()) return std::nullopt;
  head.sha256 = *digest;
  return head;
}

nlohmann::ordered_json json_of(const ShippedContainers& containers) {
  nlohmann::ordered_json bytes = nlohmann::ordered_json::array();
  for (const auto& [number, length] : containers.bytes) bytes.push_back({number, length});
  return {{"first", containers.first}, {"bytes", std::move(bytes)}};
}

std::optional<ShippedContainers> containers_in(const nlohmann::json& json) {
  if (!json.is_object()) return std::nullopt;
  JsonMembers members(json);
  ShippedContainers containers{.first = members.integer<std::uint32_t>("first", 1, UINT32_MAX)};
  const auto list = json.find("bytes");
  if (members.error() || list == json.end() || !list->is_array()) return std::nullopt;
  for (const nlohmann::json& each : *list) {
    if (!each.is_array() || each.size() != 2 || !each[0].is_number_unsigned() || !each[1].is_number_unsigned())
      return std::nullopt;
    const auto number = each[0].get<std::uint64_t>();
    if (number < containers.first || number > UINT32_MAX) return std::nullopt;
    containers.bytes.emplace(static_cast<std::uint32_t>(number), each[1].get<std::uint64_t>());
  }
  return containers;
}

}  // namespace

std::string encode_remote_record(const RemoteRecord& record) {
  nlohmann::ordered_json tried = nlohmann::ordered_json::array();
  for (const RemotePosition::Known& head : record.position.tried) tried.push_back(json_of(head));
  nlohmann::ordered_json heads = nlohmann::ordered_json::array();
  if (record.position.head) heads.push_back(json_of(*record.position.head));
  nlohmann::ordered_json json = {{"magic", kRemoteMagic},
                                 {"version", kRemoteVersion},
                                 {"volume", record.volume},
                                 {"address", record.where.address},
                                 {"endpoint", record.where.endpoint},
                                 {"region", record.where.region},
                                 {"credentials_file", record.where.credentials_file},
                                 {"ca_file", record.where.ca_file},
                                 {"bytes_per_second", record.where.bytes_per_second},
                                 {"epoch", record.position.epoch},
                                 {"head", std::move(heads)},
                                 {"tried", std::move(tried)}};
  if (record.containers) json["containers"] = json_of(*record.containers);
  return encode_checked_json(json);
}

Result<RemoteRecord> decode_remote_record(std::string_view text) {
  DEDUPFS_ASSIGN(const nlohmann::json json, decode_checked_json(text));
  JsonMembers members(json);
  if (members.text("magic") != kRemoteMagic) return corruption("it does not name a bucket");
  if (const auto version = members.integer<std::int64_t>("version", 0, INT64_MAX); version != kRemoteVersion)
    return Error{ErrorCode::kVersion, fmt::format("its version is {}, and this program reads {}; take a newer dedupfs",
                                                  version, kRemoteVersion)};
  RemoteRecord record;
  record.volume = members.text("volume");
  record.where.address = members.text("address");
  record.where.endpoint = members.text("endpoint");
  record.where.region = members.text("region");
  record.where.credentials_file = members.text("credentials_file");
  record.where.ca_file = members.text("ca_file");
  record.where.bytes_per_second =
      static_cast<std::uint64_t>(members.integer<std::int64_t>("bytes_per_second", 0, INT64_MAX));
  record.position.epoch = static_cast<std::uint64_t>(members.integer<std::int64_t>("epoch", 0, kMaxEpoch));
  if (const auto error = members.error()) return *error;
  if (!is_uuid(record.volume)) return corruption("its uuid is none");
  const auto read_heads = [&](const char* name, std::vector<RemotePosition::Known>& heads) {
    const auto list = json.find(name);
    if (list == json.end() || !list->is_array()) return false;
    for (const nlohmann::json& each : *list) {
      const auto head = known_in(each);
      if (!head) return false;
      heads.push_back(*head);
    }
    return true;
  };
  std::vector<RemotePosition::Known> heads;
  if (!read_heads("head", heads) || heads.size() > 1 || !read_heads("tried", record.position.tried))
    return corruption("its heads are damaged");
  if (!heads.empty()) record.position.head = heads.front();
  if (const auto containers = json.find("containers"); containers != json.end()) {  // older versions know nothing of it
    record.containers = containers_in(*containers);
    if (!record.containers) return corruption("its list of containers is damaged");
  }
  return record;
}

Result<RemoteRecord> load_remote_record(BackingFolder& folder) {
  const auto text = read_file(folder, kRemoteFile, kMaxRemoteFileBytes);
  if (!text && text.error().code() == ErrorCode::kNotFound)
    return Error{ErrorCode::kNotFound,
                 folder.path().string() + " is not replicated to a bucket; dedupfs-remote attach begins that"};
  if (!text) return text.error();
  auto record = decode_remote_record(*text);
  if (!record) return record.error().with((folder.path() / kRemoteFile).string());
  return record;
}

Result<RemoteRecord> load_remote_record(BackingFolder& folder, const UuidText& uuid) {
  auto record = load_remote_record(folder);
  if (!record || record->volume == uuid) return record;
  return corruption((folder.path() / kRemoteFile).string() + " is that of another volume; remove it");
}

Result<void> save_remote_record(BackingFolder& folder, const RemoteRecord& record) {
  return replace_file(folder, kRemoteFile, bytes_of(encode_remote_record(record)));
}

}  // namespace dedupfs
