// mkfs.dedupfs(8): makes a volume.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <string>

#include "base/size.h"
#include "chunkers/registry.h"
#include "delta/resemblance.h"
#include "exit_codes.h"
#include "store/volume/volume.h"

namespace dedupfs {
namespace {

struct Arguments {
  std::string volume;
  std::string chunker;
  std::string compression;
  std::string delta{kDefaultDeltaSettings};
  std::string region;
  std::string label;
  std::string ignored;
  bool foreign = false;
};

std::string chunkers_help() {
  std::string text = fmt::format("Chunkers (NAME:KEY=VALUE,...; default {}):\n", kDefaultChunkerSpec);
  for (const ChunkerInfo& info : chunker_infos()) {
    text += fmt::format("  {:<10} {}\n             {}\n", info.name, info.summary, info.parameters);
  }
  return text;
}

std::string deltas_help() {
  std::string text = fmt::format("Deltas (METHOD:depth=1..16,neighbours=0..3,index=SIZE; default {}):\n",
                                 format_delta_settings(*parse_delta_settings(kDefaultDeltaSettings)));
  for (const ResemblanceMethodInfo& info : resemblance_method_infos())
    text += fmt::format("  {:<12} {}\n", info.name, info.summary);
  return text;
}

int fail(int exit_code, const Error& error) {
  fmt::print(stderr, "mkfs.dedupfs: {}\n", error.message());
  return exit_code;
}

int make(const Arguments& arguments) {
  VolumeSettings settings;
  settings.chunker = arguments.chunker;
  settings.label = arguments.label;
  settings.foreign = arguments.foreign;
  if (!arguments.compression.empty()) {
    const auto compression = parse_compression(arguments.compression);
    if (!compression) return fail(kMkfsUsageError, compression.error());
    settings.compression = *compression;
  }
  auto delta = parse_delta_settings(arguments.delta);
  if (!delta) return fail(kMkfsUsageError, delta.error());
  settings.delta = std::move(*delta);
  if (!arguments.region.empty()) {
    const auto region = parse_size(arguments.region);
    if (!region) return fail(kMkfsUsageError, region.error().with("--region"));
    if (*region < kMinRegionBytes || *region > kMaxRegionPayloadBytes)
      return fail(kMkfsUsageError,
                  Error{ErrorCode::kInvalidArgument,
                        fmt::format("--region {} is out of range (allowed: {} to {})", arguments.region,
                                    format_size(kMinRegionBytes), format_size(kMaxRegionPayloadBytes))});
    settings.region_bytes = static_cast<std::uint32_t>(*region);
  }
  if (!arguments.chunker.empty()) {
    if (const auto chunker = make_chunker(arguments.chunker); !chunker) return fail(kMkfsUsageError, chunker.error());
  }
  const auto superblock = Volume::create(arguments.volume, settings);
  if (!superblock) return fail(kMkfsOperationalError, superblock.error());
  fmt::print(
      "Made a volume in {}: chunker {}, delta {}, compression {}, uuid {}.\nMount it with: dedupfs {} MOUNTPOINT\n",
      arguments.volume, superblock->chunker, format_delta_settings(superblock->delta),
      format_compression(superblock->compression), superblock->uuid, arguments.volume);
  return kDone;
}

int run(int argc, char** argv) {
  Arguments arguments;
  CLI::App app("Makes a volume of dedupfs in a new or empty folder.");
  app.footer(chunkers_help() + '\n' + deltas_help());
  app.set_version_flag("-V,--version", "mkfs.dedupfs " DEDUPFS_VERSION);
  app.add_option("VOLUME", arguments.volume, "a folder, empty or not there yet")->required();
  app.add_option("--chunker", arguments.chunker, "how files are cut into chunks, see below")->type_name("SPEC");
  app.add_option("--compression", arguments.compression,
                 fmt::format("of what is stored (default {})", format_compression({})))
      ->type_name("zstd[:LEVEL]|none");
  app.add_option(
         "--delta", arguments.delta,
         fmt::format("how near-duplicates are found and encoded, see below (default {})", kDefaultDeltaSettings))
      ->type_name("SPEC|none");
  app.add_option("--region", arguments.region,
                 fmt::format("how much is compressed together: larger takes less disk, smaller reads faster at random "
                             "(default {})",
                             format_size(Superblock().region_bytes)))
      ->type_name("SIZE");
  app.add_option("-L,--label", arguments.label, "a name for people")->type_name("LABEL");
  app.add_flag("--foreign", arguments.foreign, std::string(kForeignHelp));
  app.add_option("-t", arguments.ignored, "as mkfs(8) passes it on: nothing");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? kDone : kMkfsUsageError;
  }
  return make(arguments);
}

}  // namespace
}  // namespace dedupfs

int main(int argc, char** argv) {
  return dedupfs::run(argc, argv);
}
