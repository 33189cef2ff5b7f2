#include "stat_outside.h"

#include <fmt/format.h>

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "base/printable.h"
#include "base/size.h"
#include "exit_codes.h"
#include "key_slots_json.h"
#include "mount/system/mount_table.h"
#include "replica/remote_file.h"
#include "show.h"
#include "store/seal/outside_view.h"
#include "store/volume/ownership.h"
#include "store/volume/volume.h"

namespace dedupfs::tools {
namespace {

// remote.json is in clear: it is written by whoever ships, without a key. Null: the volume has no bucket.
nlohmann::json remote_json(BackingFolder& folder, const OutsideView& view) {
  const auto record = load_remote_record(folder, view.header.uuid);
  if (!record && record.error().code() == ErrorCode::kNotFound) return nullptr;
  nlohmann::json json = {{"address", nullptr}, {"endpoint", nullptr}, {"credentials_file", nullptr},
                         {"epoch", nullptr},   {"head", nullptr},     {"error", nullptr}};
  if (!record) {
    json["error"] = record.error().message();
    return json;
  }
  const RemoteAddress& where = record->where;
  json["address"] = where.address;
  if (!where.endpoint.empty()) json["endpoint"] = where.endpoint;
  if (!where.credentials_file.empty()) json["credentials_file"] = where.credentials_file;
  json["epoch"] = record->position.epoch;
  json["head"] = record->position.head ? record->position.head->sequence : 0;
  return json;
}

std::string remote_text(const nlohmann::json& remote) {
  if (remote.is_null()) return {};
  if (!remote.at("error").is_null())
    return fmt::format("Remote: {}\n", printable(remote.at("error").get<std::string>()));
  std::string text = "Remote: " + printable(remote.at("address").get<std::string>());
  if (!remote.at("endpoint").is_null()) text += " at " + printable(remote.at("endpoint").get<std::string>());
  text += fmt::format(", epoch {}, newest head {}", remote.at("epoch").get<std::uint64_t>(),
                      remote.at("head").get<std::uint64_t>());
  if (!remote.at("credentials_file").is_null())
    text += ", credentials in " + printable(remote.at("credentials_file").get<std::string>());
  return text + '\n';
}

std::string evicted_text(const nlohmann::json& evicted) {
  const auto containers = evicted.at("containers").get<std::uint64_t>();
  if (containers == 0) return {};
  return fmt::format("{} of {} {} evicted: {} of that on this disk, the rest in the bucket only\n",
                     containers == 1 ? "1 container" : fmt::format("{} containers", containers),
                     human_size(evicted.at("bytes").get<std::uint64_t>()), containers == 1 ? "is" : "are",
                     human_size(evicted.at("here_bytes").get<std::uint64_t>()));
}

// What anyone sees who has the folder of an encrypted volume.
Result<nlohmann::json> outside_json_of(const Path& path, bool foreign) {
  DEDUPFS_ASSIGN(const Path volume_path, find_volume(path));
  DEDUPFS_ASSIGN(const auto folder, Volume::open_folder(volume_path));
  if (!foreign) DEDUPFS_TRY(require_own(*folder));
  DEDUPFS_ASSIGN(const OutsideView view, view_from_outside(*folder));
  nlohmann::json folders = nlohmann::json::array();
  for (const auto& [name, files] : view.folders)
    folders.push_back({{"name", name}, {"files", files.count}, {"bytes", files.bytes}});
  return nlohmann::json{
      {"volume", volume_path.string()},
      {"uuid", view.header.uuid},
      {"format_version", view.header.clear.format_version},
      {"incompatible_features", view.header.clear.incompatible},
      {"read_only_features", view.header.clear.read_only},
      {"cipher", name_of(view.header.cipher)},
      {"key_number", view.header.key_number},
      {"former_keys", former_keys_json(view.header)},
      {"slots", key_slots_json(view.header)},
      {"folders", std::move(folders)},
      {"evicted",
       {{"containers", view.evicted.count}, {"bytes", view.evicted.bytes}, {"here_bytes", view.evicted_here_bytes}}},
      {"remote", remote_json(*folder, view)}};
}

std::string joined(const nlohmann::json& words) {
  std::string list;
  for (const nlohmann::json& word : words) list += (list.empty() ? "" : ", ") + printable(word.get<std::string>());
  return list;
}

std::string outside_screen(const nlohmann::json& shown) {
  std::string text =
      fmt::format("{} is encrypted: without its key, this is all that is to be seen\n\nVolume {}, format {}\n",
                  printable(shown.at("volume").get<std::string>()), shown.at("uuid").get<std::string>(),
                  shown.at("format_version").get<std::uint32_t>());
  text += fmt::format("Features {}, cipher {}\n{}\n\n", joined(shown.at("incompatible_features")),
                      shown.at("cipher").get<std::string>(), master_key_text(shown));
  text += key_slots_screen(shown.at("slots")) + '\n';
  text += fmt::format("{:>10}  {:>10}  {}\n", "files", "size", "folder");
  for (const nlohmann::json& folder : shown.at("folders"))
    text += fmt::format("{:>10}  {:>10}  {}\n", folder.at("files").get<std::uint64_t>(),
                        human_size(folder.at("bytes").get<std::uint64_t>()), folder.at("name").get<std::string>());
  const std::string elsewhere = evicted_text(shown.at("evicted")) + remote_text(shown.at("remote"));
  return elsewhere.empty() ? text : text + '\n' + elsewhere;
}

}  // namespace

std::optional<int> show_from_outside(const Path& path, bool foreign, const Console& console) {
  auto outside = outside_json_of(path, foreign);
  if (!outside) return std::nullopt;
  return show(console, "dedupfs-stat-sealed", std::move(*outside), kDone, outside_screen);
}

}  // namespace dedupfs::tools
