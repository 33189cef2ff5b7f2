#include "store/volume/ownership.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include "store/volume/volume_lock.h"

namespace dedupfs {
namespace {

using Foreign = Result<std::optional<std::string>>;

constexpr std::uint32_t kRootsGroup = 0;
constexpr int kDeepestFolder = 8;  // folders in folders: dedupfs goes into none below

std::optional<std::string> judge(const Path& path, const Backing::Status& status, std::uint32_t user) {
  if (status.type == Backing::Type::kMissing) return std::nullopt;  // removed since it was listed
  if (status.owner != user) return fmt::format("{} belongs to user {}", path.string(), status.owner);
  if (status.type == Backing::Type::kOther)
    return std::nullopt;  // a link's mode means nothing; other strange parts are refused elsewhere
  if ((status.permissions & S_IWOTH) != 0) return fmt::format("{} can be written by everybody", path.string());
  if ((status.permissions & S_IWGRP) != 0 && status.group != kRootsGroup)
    return fmt::format("{} can be written by group {}", path.string(), status.group);
  return std::nullopt;
}

// The folder first: if nobody else can write to it, nobody changes which files it holds while they are looked at.
Foreign foreign_in(BackingFolder& folder, std::uint32_t user, int depth) {
  DEDUPFS_ASSIGN(const Backing::Status itself, folder.status());
  if (auto foreign = judge(folder.path(), itself, user)) return foreign;
  DEDUPFS_ASSIGN(const auto names, folder.list());
  for (const std::string& name : names) {
    DEDUPFS_ASSIGN(const Backing::Status status, folder.status(name));
    if (auto foreign = judge(folder.path() / name, status, user)) return foreign;
    if (status.type != Backing::Type::kDirectory || depth == 0) continue;
    DEDUPFS_ASSIGN(const auto inner, folder.open_folder(name));
    DEDUPFS_ASSIGN(auto foreign, foreign_in(*inner, user, depth - 1));
    if (foreign) return foreign;
  }
  return std::optional<std::string>();
}

}  // namespace

Result<std::optional<std::string>> foreign_part(BackingFolder& volume, std::uint32_t user) {
  return foreign_in(volume, user, kDeepestFolder);
}

Result<void> require_own(BackingFolder& volume) {
  if (::geteuid() != 0) return {};
  DEDUPFS_ASSIGN(const auto foreign, foreign_part(volume, 0));
  if (!foreign) return {};
  return Error{
      ErrorCode::kNotPermitted,
      fmt::format("{}, who can change the volume while root works on it. Give it to root (chown -R root:root {}; "
                  "chmod -R go-w {}), work as its owner, or trust the others: mount with -o foreign, give other "
                  "tools --foreign",
                  *foreign, volume.path().string(), volume.path().string())};
}

Result<void> require_own_or_busy(BackingFolder& volume) {
  auto own = require_own(volume);
  if (!own && own.error().code() == ErrorCode::kNotPermitted) DEDUPFS_TRY(take_lock(volume, /*read_only=*/true));
  return own;
}

}  // namespace dedupfs
