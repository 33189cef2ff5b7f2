#include "mount/clients/ask_publicly.h"

#include <linux/limits.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>

#include <algorithm>
#include <cerrno>

#include "mount/system/in_time.h"

namespace dedupfs {
namespace {

Result<MountEntry> mount_of_device(dev_t device, const Path& path) {
  const std::string number = std::to_string(major(device)) + ':' + std::to_string(minor(device));
  DEDUPFS_ASSIGN(const auto table, read_mount_table());
  const auto found = std::ranges::find_if(
      table, [&](const MountEntry& entry) { return entry.type == kMountType && entry.device == number; });
  if (found == table.end())
    return Error{ErrorCode::kInvalidArgument, path.string() + " is not in a mounted dedupfs volume"};
  return *found;
}

Result<std::string> attribute_of(const Path& path, const std::string& name) {
  std::string value(XATTR_SIZE_MAX, '\0');
  const ssize_t size = ::getxattr(path.c_str(), name.c_str(), value.data(), value.size());
  if (size < 0 && (errno == ENODATA || errno == EOPNOTSUPP))
    return Error{ErrorCode::kUnsupported, path.string() + ": its daemon is older and answers only root and its owner"};
  if (size < 0) return Error::from_errno(errno, path.string());
  value.resize(static_cast<std::size_t>(size));
  return value;
}

// The answer goes to a terminal. False: it is nested deeper than any answer of a daemon.
bool drop_control_characters(nlohmann::json& json, int depth_left = 16) {
  if (json.is_string())
    std::erase_if(json.get_ref<std::string&>(), [](unsigned char c) { return c < ' ' || c == 0x7f; });
  if (!json.is_structured()) return true;
  if (depth_left == 0) return false;
  return std::ranges::all_of(json, [&](nlohmann::json& item) { return drop_control_characters(item, depth_left - 1); });
}

}  // namespace

Result<PublicAnswer> ask_publicly(const Path& path, const std::string& question, const Patience& patience) {
  DEDUPFS_ASSIGN(const struct stat status, stat_in_time(path));
  DEDUPFS_ASSIGN(MountEntry mount, mount_of_device(status.st_dev, path));
  DEDUPFS_ASSIGN(const std::string text, ask_in_time("the daemon of " + mount.mountpoint.string(), patience,
                                                     [&] { return attribute_of(path, question); }));
  nlohmann::json json = nlohmann::json::parse(text, nullptr, false);
  if (!json.is_object() || !drop_control_characters(json))
    return Error{ErrorCode::kIo, path.string() + ": the answer of the daemon is not valid"};
  return PublicAnswer{std::move(mount), std::move(json)};
}

Result<PublicAnswer> ask_publicly_instead(const Error& refusal, const Path& path, const std::string& question) {
  const bool has_no_socket = refusal.code() == ErrorCode::kNotFound;
  if (!has_no_socket && refusal.code() != ErrorCode::kAccessDenied) return refusal;
  auto answer = ask_publicly(path, question);
  return !answer && has_no_socket ? refusal : std::move(answer);
}

std::optional<std::string> doubt_about(const MountEntry& mount) {
  if (is_credible(mount)) return std::nullopt;
  return "user " + std::to_string(mount.user.value_or(0)) + " made this mount and answers for it";
}

}  // namespace dedupfs
