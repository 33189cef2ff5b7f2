#include "fs/inodes/damage_log.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include "base/mutex.h"

namespace dedupfs {

Error DamageLog::note(Inode& inode, Error error) {
  if (error.code() != ErrorCode::kCorruption && error.code() != ErrorCode::kIo) return error;
  {
    const MutexLock lock(inode.mutex);
    if (inode.last_logged_damage == error.message()) return error;
    inode.last_logged_damage = error.message();
  }
  spdlog::error("inode {} ({}): {}", inode.number, path_of(inode), error.message());
  return error;
}

std::string DamageLog::path_of(Inode& inode) {
  constexpr int kDeepest = 64;
  std::string path;
  InodeNumber parent = 0;
  {
    const MutexLock lock(inode.mutex);
    path = inode.last_name.empty() ? "name unknown" : inode.last_name;
    parent = inode.last_parent;
  }
  for (int depth = 0; depth < kDeepest && parent != 0 && inode_of(parent) != kRootInode; ++depth) {
    const Result<InodePtr> directory = table_.get_directory(parent);
    if (!directory) break;
    Inode& at = **directory;
    const MutexLock lock(at.mutex);
    path = fmt::format("{}/{}", at.last_name.empty() ? fmt::format("[{}]", parent) : at.last_name, path);
    parent = at.record.attributes.parent;
  }
  if (inode_of(parent) != kRootInode) return path;
  const auto snapshot = snapshots_.find(tree_of(parent));
  return snapshot ? fmt::format("/{}/{}/{}", kSnapshotsName, snapshot->name, path) : "/" + path;
}

}  // namespace dedupfs
