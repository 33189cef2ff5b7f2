#include "volume_settings.h"

#include <fmt/format.h>

#include "base/size.h"
#include "chunkers/registry.h"
#include "command/command.h"
#include "delta/resemblance.h"

namespace dedupfs::tools {
namespace {

std::string chunkers_help() {
  std::string text = fmt::format("Chunkers (NAME:KEY=VALUE,...; default {}):\n", kDefaultChunkerSpec);
  for (const ChunkerInfo& info : chunker_infos()) {
    text += fmt::format("  {:<10} {}\n             {}\n", info.name, info.summary, info.parameters);
  }
  return text;
}

std::string deltas_help() {
  std::string text = fmt::format("Delta methods (METHOD:depth=1..16,neighbours=0..3,index=SIZE; default {}):\n",
                                 format_delta_settings(*parse_delta_settings(kDefaultDeltaSettings)));
  for (const ResemblanceMethodInfo& info : resemblance_method_infos())
    text += fmt::format("  {:<12} {}\n", info.name, info.summary);
  return text;
}

Result<std::uint32_t> parse_region_bytes(const std::string& text) {
  const auto region = parse_size(text);
  if (!region) return region.error().with("--region");
  if (*region < kMinRegionBytes || *region > kMaxRegionPayloadBytes)
    return invalid_argument(fmt::format("--region {} is out of range (allowed: {} to {})", text,
                                        format_size(kMinRegionBytes), format_size(kMaxRegionPayloadBytes)));
  return static_cast<std::uint32_t>(*region);
}

}  // namespace

void define_volume_settings(Command& app, VolumeSettingsArguments& arguments) {
  arguments.delta = kDefaultDeltaSettings;
  app.footer(chunkers_help() + '\n' + deltas_help());
  app.add_option("--chunker", arguments.chunker, "how files are cut into chunks: see below").type_name("SPEC");
  app.add_option("--settled,--compression", arguments.settled,
                 fmt::format("how data is compressed for good, in the background (default {})",
                             format_compression(CompressionTiers().settled)))
      .type_name(compression_forms());
  app.add_option(
         "--landing", arguments.landing,
         fmt::format("how new data is compressed that arrives fast (default {}, or as --settled if that is quicker)",
                     format_compression(CompressionTiers().landing)))
      .type_name(compression_forms());
  app.add_option(
         "--delta", arguments.delta,
         fmt::format("how similar chunks are found and delta-encoded: see below (default {})", kDefaultDeltaSettings))
      .type_name("SPEC|none");
  app.add_option(
         "--region", arguments.region,
         fmt::format("how much data is compressed together (default {}); more saves more disk space, less makes "
                     "random reads faster",
                     format_size(Superblock().region_bytes)))
      .type_name("SIZE");
}

ValueWords volume_setting_words() {
  std::vector<std::string> methods = names_of(resemblance_method_infos());
  methods.emplace_back("none");
  return {{"--chunker", names_of(chunker_infos())}, {"--delta", methods}};
}

Result<VolumeSettings> parse_volume_settings(const VolumeSettingsArguments& arguments) {
  VolumeSettings settings;
  settings.chunker = arguments.chunker;
  if (!arguments.settled.empty()) {
    DEDUPFS_ASSIGN(settings.compression.settled, parse_compression(arguments.settled));
    settings.compression.landing = settings.compression.settled.quick();
  }
  if (!arguments.landing.empty()) {
    DEDUPFS_ASSIGN(settings.compression.landing, parse_compression(arguments.landing));
  }
  if (!settings.compression.are_in_order())
    return invalid_argument(fmt::format("--landing {} is stronger than --settled {}: settling would make data larger",
                                        format_compression(settings.compression.landing),
                                        format_compression(settings.compression.settled)));
  DEDUPFS_ASSIGN(settings.delta, parse_delta_settings(arguments.delta));
  if (!arguments.region.empty()) {
    DEDUPFS_ASSIGN(settings.region_bytes, parse_region_bytes(arguments.region));
  }
  if (!arguments.chunker.empty()) DEDUPFS_TRY(make_chunker(arguments.chunker));
  return settings;
}

}  // namespace dedupfs::tools
