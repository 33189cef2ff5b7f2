#include "mkfs_dedupfs.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "command/command.h"
#include "command/common_options.h"
#include "exit_codes.h"
#include "store/volume/volume.h"
#include "volume_settings.h"

namespace dedupfs::tools {
namespace {

struct MkfsArguments {
  std::string volume;
  VolumeSettingsArguments settings;
  std::string label;
  std::string ignored;
  bool foreign = false;
};

void define_options(Command& app, MkfsArguments& arguments) {
  define_common_options(app, volume_setting_words());
  app.add_option("VOLUME", arguments.volume, "a folder that is empty or does not exist yet").required();
  define_volume_settings(app, arguments.settings);
  app.add_option("-L,--label", arguments.label, "a name for people").type_name("LABEL");
  app.add_flag("--foreign", arguments.foreign, std::string(kForeignHelp));
  add_json_flag(app, "print one JSON object with the properties of the volume");
  app.add_option("-t", arguments.ignored, "accepted for mkfs(8), no effect");
}

// Keys as those of dedupfs-stat.
nlohmann::json json_of(const std::string& volume, const Superblock& superblock) {
  return {{"volume", volume},
          {"uuid", superblock.uuid},
          {"label", superblock.label},
          {"format_version", superblock.format_version},
          {"chunker", superblock.chunker},
          {"fingerprint", superblock.fingerprint},
          {"delta", format_delta_settings(superblock.delta)},
          {"compression", format_compression(superblock.compression.settled)},
          {"landing", format_compression(superblock.compression.landing)}};
}

std::string screen_of(const std::string& volume, const Superblock& superblock) {
  return fmt::format(
      "Created a volume in {}: chunker {}, delta {}, compression {} ({} at first), uuid {}.\n"
      "Mount it with: dedupfs {} MOUNTPOINT\n",
      volume, superblock.chunker, format_delta_settings(superblock.delta),
      format_compression(superblock.compression.settled), format_compression(superblock.compression.landing),
      superblock.uuid, volume);
}

}  // namespace

int run_mkfs(Arguments arguments, std::ostream& out, std::ostream& err) {
  Console console({.name = "mkfs.dedupfs", .usage_error = kMkfsUsageError, .failed = kMkfsOperationalError}, out, err);
  MkfsArguments asked;
  Command app("Creates a dedupfs volume in a new or empty folder.", "mkfs.dedupfs");
  app.example("mkfs.dedupfs /srv/volume");
  define_options(app, asked);
  if (const auto exit_code = console.parse(app, arguments)) return *exit_code;

  auto settings = parse_volume_settings(asked.settings);
  if (!settings) return console.fail(settings.error(), kMkfsUsageError);
  settings->label = asked.label;
  settings->foreign = asked.foreign;
  const auto superblock = Volume::create(asked.volume, *settings);
  if (!superblock) return console.fail(superblock.error());
  if (console.as_json())
    console.print("mkfs.dedupfs", json_of(asked.volume, *superblock));
  else
    out << screen_of(asked.volume, *superblock);
  return console.end(kDone);
}

}  // namespace dedupfs::tools
