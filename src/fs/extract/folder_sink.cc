#include "fs/extract/folder_sink.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "base/write_all.h"
#include "fs/format/mode.h"
#include "fs/namespace/posix_acl.h"

namespace dedupfs {
namespace {

constexpr int kFolderFlags = O_RDONLY | O_DIRECTORY | O_CLOEXEC;
constexpr std::uint32_t kSetIds = S_ISUID | S_ISGID;

// For objects that are open by O_PATH only, which is all that special files allow.
std::string proc_path(int fd) {
  return fmt::format("/proc/self/fd/{}", fd);
}

Result<void> write_at(int fd, std::uint64_t offset, ByteSpan bytes) {
  return write_all_at(fd, offset, text_of(bytes)) ? Result<void>() : Error::from_errno(errno, "writing");
}

bool is_acl_name(const std::string& name) {
  return name == kAccessAclName || name == kDefaultAclName;
}

bool needs_root(const std::string& name) {
  return name.starts_with("trusted.") || name.starts_with("security.");
}

timespec timespec_of(const Timestamp& time) {
  return {.tv_sec = time.seconds, .tv_nsec = static_cast<long>(time.nanoseconds)};
}

}  // namespace

FolderSink::FolderSink(UniqueFd folder, const Settings& settings)
    : overwrites_(settings.overwrites), keeps_damaged_(settings.keeps_damaged), is_root_(settings.is_root) {
  folders_.push_back({.fd = std::move(folder), .is_new = false});
}

Result<std::unique_ptr<FolderSink>> FolderSink::open(const Settings& settings) {
  const char* const path = settings.folder.c_str();
  if (::mkdir(path, 0777) != 0 && errno != EEXIST) return Error::from_errno(errno, settings.folder.string());
  UniqueFd folder(::open(path, kFolderFlags));
  if (!folder) return Error::from_errno(errno, settings.folder.string());
  return std::unique_ptr<FolderSink>(new FolderSink(std::move(folder), settings));
}

Result<void> FolderSink::checked(Result<void> result) {
  is_full_ |= !result && result.error().code() == ErrorCode::kNoSpace;
  return result;
}

template <class Make>
Result<void> FolderSink::make(const std::string& name, const Make& make_it) {
  if (make_it()) return {};
  if (errno == EEXIST && !overwrites_)
    return Error{ErrorCode::kExists, "there is something at this place already; --overwrite replaces it"};
  if (errno == EEXIST && ::unlinkat(top(), name.c_str(), 0) == 0 && make_it()) return {};
  return Error::from_errno(errno, "making it");
}

Result<void> FolderSink::begin_folder(const ExtractEntry& folder, EntrySource& /*source*/) {
  const char* const name = folder.name.c_str();
  bool is_new = ::mkdirat(top(), name, 0700) == 0;
  if (!is_new && errno != EEXIST) return checked(Error::from_errno(errno, "making it"));
  UniqueFd fd(::openat(top(), name, kFolderFlags | O_NOFOLLOW));
  if (!fd && !is_new && (errno == ENOTDIR || errno == ELOOP)) {  // not a folder
    DEDUPFS_TRY(checked(make(folder.name, [&] { return ::mkdirat(top(), name, 0700) == 0; })));
    is_new = true;
    fd = UniqueFd(::openat(top(), name, kFolderFlags | O_NOFOLLOW));
  }
  if (!fd) return Error::from_errno(errno, "opening it");
  folders_.push_back({.fd = std::move(fd), .is_new = is_new});
  return {};
}

Result<void> FolderSink::end_folder(const ExtractEntry& folder, EntrySource& source) {
  const Made made = std::move(folders_.back());
  folders_.pop_back();
  if (!made.is_new && !folder.is_asked_for) return {};
  return checked(restore(made.fd.get(), folder, source));
}

Result<void> FolderSink::put(const ExtractEntry& entry, EntrySource& source) {
  return checked(is_regular(entry.attributes.mode) ? put_file(entry, source) : put_special(entry, source));
}

Result<void> FolderSink::put_file(const ExtractEntry& entry, EntrySource& source) {
  UniqueFd fd;
  DEDUPFS_TRY(make(entry.name, [&] {
    fd = UniqueFd(::openat(top(), entry.name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
    return static_cast<bool>(fd);
  }));
  const auto fill = [&]() -> Result<void> {
    DEDUPFS_TRY(
        source.read_all([&](std::uint64_t offset, ByteSpan bytes) { return write_at(fd.get(), offset, bytes); }));
    if (::ftruncate(fd.get(), static_cast<off_t>(entry.attributes.size)) != 0)
      return Error::from_errno(errno, "setting its size");
    return {};
  };
  auto done = fill();
  if (!done && keeps_damaged_ && source.failure() && done.error().code() != ErrorCode::kInterrupted)
    done = keep_damaged(fd.get(), entry, source);
  if (!done) {
    (void)::unlinkat(top(), entry.name.c_str(), 0);  // if it still has its name
    return done;
  }
  DEDUPFS_TRY(restore(fd.get(), entry, source));
  if (::close(fd.release()) != 0) return Error::from_errno(errno, "writing");
  return {};
}

// Always an Error, which says what there is.
Result<void> FolderSink::keep_damaged(int fd, const ExtractEntry& entry, EntrySource& source) {
  const std::string name = entry.name + ".damaged";
  if (::renameat2(top(), entry.name.c_str(), top(), name.c_str(), overwrites_ ? 0 : RENAME_NOREPLACE) != 0)
    return Error::from_errno(errno, name);
  DEDUPFS_ASSIGN(const std::uint64_t missing, source.read_readable([&](std::uint64_t offset, ByteSpan bytes) {
    return write_at(fd, offset, bytes);
  }));
  if (::ftruncate(fd, static_cast<off_t>(entry.attributes.size)) != 0)
    return Error::from_errno(errno, "setting its size");
  DEDUPFS_TRY(restore(fd, entry, source));
  return source.failure()->with(fmt::format("{} of its bytes are missing in {}", missing, name));
}

Result<void> FolderSink::put_special(const ExtractEntry& entry, EntrySource& source) {
  const Attributes& attributes = entry.attributes;
  const char* const name = entry.name.c_str();
  if (is_symlink(attributes.mode)) {
    DEDUPFS_ASSIGN(const std::string target, source.symlink_target());
    DEDUPFS_TRY(make(entry.name, [&] { return ::symlinkat(target.c_str(), top(), name) == 0; }));
  } else {
    if (is_device(attributes.mode) && !is_root_) return Error{ErrorCode::kNotPermitted, "only root can make devices"};
    DEDUPFS_TRY(make(entry.name, [&] {
      return ::mknodat(top(), name, type_bits(attributes.mode) | 0600, static_cast<dev_t>(attributes.device)) == 0;
    }));
  }
  const UniqueFd fd(::openat(top(), name, O_PATH | O_NOFOLLOW | O_CLOEXEC));
  struct stat made {};
  if (!fd || ::fstat(fd.get(), &made) != 0) return Error::from_errno(errno, "opening it");
  if (type_bits(made.st_mode) != type_bits(attributes.mode))
    return Error{ErrorCode::kExists, "something else has taken its place"};
  return restore(fd.get(), entry, source);
}

Result<UniqueFd> FolderSink::open_parent(const std::string& path) const {
  UniqueFd folder(::openat(folders_.front().fd.get(), ".", kFolderFlags));
  std::size_t begin = 0;
  for (std::size_t slash; folder && (slash = path.find('/', begin)) != std::string::npos; begin = slash + 1)
    folder = UniqueFd(::openat(folder.get(), path.substr(begin, slash - begin).c_str(), kFolderFlags | O_NOFOLLOW));
  if (!folder) return Error::from_errno(errno, "the other name " + path);
  return folder;
}

Result<void> FolderSink::put_link(const ExtractEntry& entry, const std::string& first) {
  DEDUPFS_ASSIGN(const UniqueFd parent, open_parent(first));
  const std::string name = first.substr(first.rfind('/') + 1);
  return checked(
      make(entry.name, [&] { return ::linkat(parent.get(), name.c_str(), top(), entry.name.c_str(), 0) == 0; }));
}

// The owner first, since a change of it takes set-id bits and capabilities away. ACLs behind the mode, which would change them.
// The times last.
Result<void> FolderSink::restore(int fd, const ExtractEntry& entry, EntrySource& source) const {
  const Attributes& attributes = entry.attributes;
  const bool is_path = !is_regular(attributes.mode) && !is_directory(attributes.mode);
  DEDUPFS_ASSIGN(const EntrySource::Xattrs xattrs, source.xattrs());
  if (is_root_ && ::fchownat(fd, "", attributes.uid, attributes.gid, AT_EMPTY_PATH) != 0)
    return Error::from_errno(errno, "setting its owner");
  DEDUPFS_TRY(restore_xattrs(fd, /*acls=*/false, entry, xattrs));
  std::uint32_t permissions = attributes.mode & kPermissionBits;
  if (!is_root_ && (attributes.uid != ::geteuid() || attributes.gid != ::getegid())) permissions &= ~kSetIds;
  if (!is_symlink(attributes.mode) &&
      (is_path ? ::chmod(proc_path(fd).c_str(), permissions) : ::fchmod(fd, permissions)) != 0)
    return Error::from_errno(errno, "setting its mode");
  DEDUPFS_TRY(restore_xattrs(fd, /*acls=*/true, entry, xattrs));
  const timespec times[] = {timespec_of(attributes.atime), timespec_of(attributes.mtime)};
  if ((is_path ? ::utimensat(fd, "", times, AT_EMPTY_PATH) : ::futimens(fd, times)) != 0)
    return Error::from_errno(errno, "setting its times");
  return {};
}

Result<void> FolderSink::restore_xattrs(int fd, bool acls, const ExtractEntry& entry,
                                        const EntrySource::Xattrs& xattrs) const {
  const bool is_path = !is_regular(entry.attributes.mode) && !is_directory(entry.attributes.mode);
  for (const auto& [name, value] : xattrs) {
    if (is_acl_name(name) != acls || (!is_root_ && needs_root(name))) continue;
    const int done = is_path ? ::setxattr(proc_path(fd).c_str(), name.c_str(), value.data(), value.size(), 0)
                             : ::fsetxattr(fd, name.c_str(), value.data(), value.size(), 0);
    if (done != 0) return Error::from_errno(errno, "setting its attribute " + name);
  }
  return {};
}

}  // namespace dedupfs
