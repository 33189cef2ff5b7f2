// Answers about a volume, whether it is mounted or not: of the daemon if one has the volume, otherwise of the volume itself. It is opened
// once, without changing it, and stays open: who asks for several things does not load it for each. Nobody can mount it meanwhile.
//
// Threads: one user at a time.
// Failure: that of the daemon, or of opening and reading the volume. kIo if an answer of a daemon has another form.
#pragma once

#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/backing.h"
#include "base/result.h"
#include "store/volume/volume.h"
#include "volume_disk.h"

namespace dedupfs::tools {

class RequestProgress;

// How a volume is opened that no daemon has.
struct VolumeAccess {
  bool foreign = false;
  std::shared_ptr<Backing> backing = volume_disk();
};

class VolumeSource {
 public:
  VolumeSource(Path volume, VolumeAccess access) : path_(std::move(volume)), access_(std::move(access)) {}

  const Path& path() const { return path_; }

  // What the answer of a daemon to `request` has under `key`. `read` gives the same from an open volume.
  using Read = std::function<Result<nlohmann::json>(Volume&)>;
  // `progress`: shows what the daemon tells. `read` shows its own.
  Result<nlohmann::json> ask(const nlohmann::json& request, const char* key, const Read& read,
                             RequestProgress* progress = nullptr);

  // Of the last commit, as statistics_json() and history_json() have them.
  Result<nlohmann::json> statistics();
  Result<nlohmann::json> history();

 private:
  const Path path_;
  const VolumeAccess access_;
  std::unique_ptr<Volume> volume_;  // none: a daemon has it, or nobody has asked yet
};

}  // namespace dedupfs::tools
