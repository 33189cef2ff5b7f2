// One question about a volume, whether it is mounted or not.
#pragma once

#include <nlohmann/json.hpp>

#include "base/backing.h"
#include "base/result.h"
#include "mount/control/control_socket.h"
#include "store/volume/volume.h"

namespace dedupfs::tools {

// Sends the request to the daemon if one has the volume. Otherwise opens the volume, without changing it, and gives it to `read`, which
// returns what the daemon would answer: a Result<nlohmann::json>.
template <class Read>
Result<nlohmann::json> ask_or_read(const Path& volume_path, bool foreign, const nlohmann::json& request, Read read) {
  VolumeOptions options;
  options.foreign = foreign;
  options.read_only = true;
  const auto volume = Volume::open(volume_path, options);
  if (volume) return read(**volume);
  if (volume.error().code() == ErrorCode::kBusy) return control_request(volume_path, request);
  return volume.error();
}

}  // namespace dedupfs::tools
