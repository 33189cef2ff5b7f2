#include "mount/daemon/head_follower.h"

#include <spdlog/spdlog.h>

#include <utility>
#include <vector>

#include "base/guarded.h"

namespace dedupfs {

HeadFollower::HeadFollower(FuseMount& mount, std::unique_ptr<Filesystem> first, Settings settings)
    : mount_(mount), settings_(std::move(settings)) {
  {
    const QuiesceGate::Closure alone(mount_.requests());
    mount_.replace(std::move(first));
  }
  thread_.start({.name = "follower",
                 .doing = "following the volume",
                 .first = settings_.interval,
                 .interval = settings_.interval},
                [this] { note(guarded([this] { return follow(); })); });
}

Result<void> HeadFollower::follow() {
  if (!is_behind_) {
    DEDUPFS_ASSIGN(is_behind_, settings_.renew());
  }
  if (!is_behind_) return {};
  DEDUPFS_ASSIGN(std::shared_ptr<Filesystem> next, settings_.open());
  const auto older = mount_.hold_filesystem();                 // closed at the end, when requests are served again
  std::vector<ChangedName> known{{kRootInode, std::nullopt}};  // the kernel knows it without a look-up
  {
    const QuiesceGate::Closure alone(mount_.requests());
    DEDUPFS_ASSIGN(const auto held, next->adopt_holders(*older));
    for (const InodeNumber inode : held) known.push_back({inode, std::nullopt});
    mount_.replace(std::move(next));
  }
  mount_.invalidate(known);
  is_behind_ = false;
  spdlog::info("a newer state of the volume is shown");
  return {};
}

void HeadFollower::note(const Result<void>& followed) {
  if (followed) {
    if (std::exchange(failure_, std::nullopt)) spdlog::info("the volume is followed again");
    return;
  }
  if (!failure_) spdlog::warn("the volume is not followed, and this is tried again: {}", followed.error().message());
  failure_ = followed.error().message();
}

}  // namespace dedupfs
