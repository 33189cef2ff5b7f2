// The options that set the properties of a volume: those of mkfs.dedupfs, which dedupfs-estimate has, too.
//
// Threads: free functions, safe from any thread.
#pragma once

#include <string>

#include "base/result.h"
#include "command/command_line.h"
#include "store/volume/volume.h"

namespace dedupfs::tools {

class Command;

// As the user wrote them.
struct VolumeSettingsArguments {
  std::string chunker;
  std::string settled;
  std::string landing;
  std::string delta;
  std::string region;
};

// Adds the options, and a footer that lists chunkers and delta methods. `arguments` must live as long as `app`.
void define_volume_settings(Command& app, VolumeSettingsArguments& arguments);

// The names of chunkers and delta methods, for completions.
ValueWords volume_setting_words();

// kInvalidArgument with a message for the user.
Result<VolumeSettings> parse_volume_settings(const VolumeSettingsArguments& arguments);

}  // namespace dedupfs::tools
