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
#include "show.h"
#include "store/seal/outside_view.h"
#include "store/volume/ownership.h"
#include "store/volume/volume.h"
#include "volume_disk.h"

namespace dedupfs::tools {
namespace {

// What anyone sees who has the folder of an encrypted volume.
Result<nlohmann::json> outside_json_of(const Path& path, bool foreign) {
  DEDUPFS_ASSIGN(const Path volume_path, find_volume(path));
  DEDUPFS_ASSIGN(const auto folder, Volume::open_folder(volume_path, volume_disk(foreign)));
  if (!foreign) DEDUPFS_TRY(require_own(*folder));
  DEDUPFS_ASSIGN(const OutsideView view, view_from_outside(*folder));
  nlohmann::json folders = nlohmann::json::array();
  for (const auto& [name, files] : view.folders)
    folders.push_back({{"name", name}, {"files", files.count}, {"bytes", files.bytes}});
  return nlohmann::json{{"volume", volume_path.string()},
                        {"uuid", view.header.uuid},
                        {"format_version", view.header.clear.format_version},
                        {"incompatible_features", view.header.clear.incompatible},
                        {"read_only_features", view.header.clear.read_only},
                        {"cipher", name_of(view.header.cipher)},
                        {"slots", key_slots_json(view.header)},
                        {"folders", std::move(folders)}};
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
  text += fmt::format("Features {}, cipher {}\n\n", joined(shown.at("incompatible_features")),
                      shown.at("cipher").get<std::string>());
  text += key_slots_screen(shown.at("slots")) + '\n';
  text += fmt::format("{:>10}  {:>10}  {}\n", "files", "size", "folder");
  for (const nlohmann::json& folder : shown.at("folders"))
    text += fmt::format("{:>10}  {:>10}  {}\n", folder.at("files").get<std::uint64_t>(),
                        human_size(folder.at("bytes").get<std::uint64_t>()), folder.at("name").get<std::string>());
  return text;
}

}  // namespace

std::optional<int> show_from_outside(const Path& path, bool foreign, const Console& console) {
  auto outside = outside_json_of(path, foreign);
  if (!outside) return std::nullopt;
  return show(console, "dedupfs-stat-sealed", std::move(*outside), kDone, outside_screen);
}

}  // namespace dedupfs::tools
