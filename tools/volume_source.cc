#include "volume_source.h"

#include <unistd.h>

#include <ctime>
#include <optional>
#include <utility>

#include "fs/history/history_series.h"
#include "fs/statistics/statistics.h"
#include "mount/control/control_socket.h"
#include "mount/reports/history_report.h"
#include "mount/reports/statistics_report.h"
#include "request_progress.h"

namespace dedupfs::tools {

Result<nlohmann::json> VolumeSource::ask(const nlohmann::json& request, const char* key, const Read& read,
                                         RequestProgress* progress) {
  const auto ask_daemon = [&]() -> Result<nlohmann::json> {
    DEDUPFS_ASSIGN(const nlohmann::json answer,
                   progress != nullptr ? progress->request(path_, request) : control_request(path_, request));
    return read_answer([&] { return answer.at(key); });
  };
  if (volume_ == nullptr) {
    // A daemon that only reads leaves the volume to other readers, but knows more than they: the key, and what its mount did. That of
    // somebody else is asked only where the volume itself may be trusted, which its opening finds out.
    const auto daemon = ControlClient::connect(path_);
    if (daemon && (daemon->daemon_user() == 0 || daemon->daemon_user() == ::geteuid())) return ask_daemon();
    VolumeOptions options;
    options.foreign = access_.foreign;
    options.read_only = true;
    auto opened = Volume::open(path_, options, access_.backing);
    if (!opened && opened.error().code() == ErrorCode::kBusy) return ask_daemon();
    if (!opened) return opened.error();
    volume_ = std::move(*opened);
  }
  return read(*volume_);
}

Result<nlohmann::json> VolumeSource::statistics() {
  return ask({{"command", "statistics"}}, "statistics", [](Volume& volume) -> Result<nlohmann::json> {
    DEDUPFS_ASSIGN(const Statistics counted, compute_statistics(volume));
    ScrubStatus scrub;
    scrub.last = last_scrub_of(volume.database());
    nlohmann::json json = statistics_json(counted, volume.superblock(), scrub, std::nullopt, false);
    json["encryption"] = encryption_json(*volume.folder());
    return json;
  });
}

Result<nlohmann::json> VolumeSource::history() {
  return ask({{"command", "history"}}, "samples", [](Volume& volume) -> Result<nlohmann::json> {
    DEDUPFS_ASSIGN(const History samples, read_history(volume.metadata(), std::time(nullptr)));
    return history_json(samples);
  });
}

}  // namespace dedupfs::tools
