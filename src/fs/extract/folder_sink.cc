#include "fs/extract/folder_sink.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>
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

Error in_the_way() {
  return {ErrorCode::kExists, "there is something at this place already; --overwrite replaces it"};
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

bool FolderSink::is_there(const std::string& name) const {
  struct stat status {};
  return ::fstatat(top(), name.c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0;
}

// Of an extraction that was stopped: it has put there only what was whole.
Result<bool> FolderSink::has_already(const ExtractEntry& entry, EntrySource& source) const {
  const Attributes& wanted = entry.attributes;
  struct stat there {};
  if (overwrites_ || ::fstatat(top(), entry.name.c_str(), &there, AT_SYMLINK_NOFOLLOW) != 0) return false;
  if (type_bits(there.st_mode) != type_bits(wanted.mode)) return false;
  if (is_symlink(wanted.mode)) {
    DEDUPFS_ASSIGN(const std::string target, source.symlink_target());
    std::string target_there(target.size() + 1, '\0');
    const ssize_t length = ::readlinkat(top(), entry.name.c_str(), target_there.data(), target_there.size());
    return length >= 0 && target_there.substr(0, static_cast<std::size_t>(length)) == target;
  }
  if (is_device(wanted.mode)) return there.st_rdev == static_cast<dev_t>(wanted.device);
  if (!is_regular(wanted.mode)) return true;
  // Some disks have whole seconds.
  const bool has_time = there.st_mtim.tv_sec == wanted.mtime.seconds &&
                        (there.st_mtim.tv_nsec == 0 || there.st_mtim.tv_nsec == timespec_of(wanted.mtime).tv_nsec);
  return has_time && static_cast<std::uint64_t>(there.st_size) == wanted.size;
}

template <class Make>
Result<std::string> FolderSink::make_beside(const std::string& name, const Make& make_it) {
  if (!overwrites_ && is_there(name)) return in_the_way();
  for (;;) {
    std::string beside = fmt::format(".dedupfs-extract-{}-{}", ::getpid(), ++made_);
    if (make_it(beside.c_str())) return beside;
    if (errno != EEXIST) return Error::from_errno(errno, "making it");
  }
}

Result<void> FolderSink::put_in_place(const std::string& beside, const std::string& name) {
  const char* const from = beside.c_str();
  const char* const to = name.c_str();
  bool done = ::renameat2(top(), from, top(), to, overwrites_ ? 0 : RENAME_NOREPLACE) == 0;
  const bool knows_no_flag = !done && errno == EINVAL && !overwrites_;  // NFS
  if (knows_no_flag)
    done = ::linkat(top(), from, top(), to, 0) == 0 || (errno == EPERM && ::renameat(top(), from, top(), to) == 0);
  if (!done && errno == ENOTDIR && overwrites_)  // a folder does not take the place of a file by itself
    done = ::unlinkat(top(), to, 0) == 0 && ::renameat(top(), from, top(), to) == 0;
  const int failure = errno;
  // A rename leaves both of two names of one file.
  const bool may_be_left = !done || knows_no_flag || overwrites_;
  if (may_be_left && ::unlinkat(top(), from, 0) != 0 && errno == EISDIR) (void)::unlinkat(top(), from, AT_REMOVEDIR);
  if (done) return {};
  return failure == EEXIST ? in_the_way() : Error::from_errno(failure, "putting it in its place");
}

Result<void> FolderSink::begin_folder(const ExtractEntry& folder, EntrySource& /*source*/) {
  const char* const name = folder.name.c_str();
  bool is_new = ::mkdirat(top(), name, 0700) == 0;
  if (!is_new && errno != EEXIST) return checked<void>(Error::from_errno(errno, "making it"));
  UniqueFd fd(::openat(top(), name, kFolderFlags | O_NOFOLLOW));
  if (!fd && !is_new && (errno == ENOTDIR || errno == ELOOP)) {  // not a folder
    DEDUPFS_ASSIGN(const std::string beside, checked(make_beside(folder.name, [&](const char* beside_name) {
                     return ::mkdirat(top(), beside_name, 0700) == 0;
                   })));
    DEDUPFS_TRY(checked(put_in_place(beside, folder.name)));
    is_new = true;
    fd = UniqueFd(::openat(top(), name, kFolderFlags | O_NOFOLLOW));
  }
  if (!fd) return Error::from_errno(errno, "opening it");
  folders_.push_back({.fd = std::move(fd), .is_new = is_new});
  return {};
}

Result<Taken> FolderSink::end_folder(const ExtractEntry& folder, EntrySource& source) {
  const Made made = std::move(folders_.back());
  folders_.pop_back();
  if (!made.is_new && !folder.is_asked_for) return Taken();
  return restore(made.fd.get(), folder, source);
}

Result<Taken> FolderSink::put(const ExtractEntry& entry, EntrySource& source) {
  DEDUPFS_ASSIGN(const bool is_done, has_already(entry, source));
  if (is_done) return Taken{.lacks = {}, .was_there = true};
  return checked(is_regular(entry.attributes.mode) ? put_file(entry, source) : put_special(entry, source));
}

Result<Taken> FolderSink::put_if_made(Result<Taken> made, const std::string& beside, const std::string& name) {
  if (made)
    DEDUPFS_TRY(put_in_place(beside, name));
  else
    (void)::unlinkat(top(), beside.c_str(), 0);
  return made;
}

Result<Taken> FolderSink::complete(int fd, const std::string& name, const ExtractEntry& entry,
                                   EntrySource& source) const {
  if (::ftruncate(fd, static_cast<off_t>(entry.attributes.size)) != 0)
    return Error::from_errno(errno, "setting its size");
  DEDUPFS_ASSIGN(Taken taken, restore(fd, entry, source));
  if (is_there(name) && ::fsync(fd) != 0) return Error::from_errno(errno, "writing");
  return taken;
}

Result<Taken> FolderSink::put_file(const ExtractEntry& entry, EntrySource& source) {
  UniqueFd fd;
  DEDUPFS_ASSIGN(const std::string beside, make_beside(entry.name, [&](const char* name) {
                   fd = UniqueFd(::openat(top(), name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
                   return static_cast<bool>(fd);
                 }));
  const auto fill = [&]() -> Result<Taken> {
    DEDUPFS_TRY(
        source.read_all([&](std::uint64_t offset, ByteSpan bytes) { return write_at(fd.get(), offset, bytes); }));
    DEDUPFS_ASSIGN(Taken taken, complete(fd.get(), entry.name, entry, source));
    if (::close(fd.release()) != 0) return Error::from_errno(errno, "writing");
    return taken;
  };
  auto done = fill();
  if (!done && fd && keeps_damaged_ && source.failure() && done.error().code() != ErrorCode::kInterrupted)
    return keep_damaged(fd.get(), beside, entry, source);
  return put_if_made(std::move(done), beside, entry.name);
}

// Always an Error, which says what there is.
Result<Taken> FolderSink::keep_damaged(int fd, const std::string& beside, const ExtractEntry& entry,
                                       EntrySource& source) {
  const std::string name = entry.name + ".damaged";
  std::uint64_t missing = 0;
  const auto fill = [&]() -> Result<Taken> {
    DEDUPFS_ASSIGN(missing, source.read_readable(
                                [&](std::uint64_t offset, ByteSpan bytes) { return write_at(fd, offset, bytes); }));
    return complete(fd, name, entry, source);
  };
  if (const auto put = put_if_made(fill(), beside, name); !put) return put.error().with(name);
  return source.failure()->with(fmt::format("{} of its bytes are missing in {}", missing, name));
}

Result<Taken> FolderSink::put_special(const ExtractEntry& entry, EntrySource& source) {
  const Attributes& attributes = entry.attributes;
  std::string target;
  if (is_symlink(attributes.mode)) {
    DEDUPFS_ASSIGN(target, source.symlink_target());
  } else if (is_device(attributes.mode) && !is_root_) {
    return Error{ErrorCode::kNotPermitted, "only root can make devices"};
  }
  DEDUPFS_ASSIGN(const std::string beside, make_beside(entry.name, [&](const char* name) {
                   return is_symlink(attributes.mode) ? ::symlinkat(target.c_str(), top(), name) == 0
                                                      : ::mknodat(top(), name, type_bits(attributes.mode) | 0600,
                                                                  static_cast<dev_t>(attributes.device)) == 0;
                 }));
  const auto fill = [&]() -> Result<Taken> {
    const UniqueFd fd(::openat(top(), beside.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC));
    struct stat made {};
    if (!fd || ::fstat(fd.get(), &made) != 0) return Error::from_errno(errno, "opening it");
    if (type_bits(made.st_mode) != type_bits(attributes.mode))
      return Error{ErrorCode::kExists, "something else has taken its place"};
    return restore(fd.get(), entry, source);
  };
  return put_if_made(fill(), beside, entry.name);
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
  struct stat other {};
  struct stat there {};
  const bool is_done = !overwrites_ && ::fstatat(parent.get(), name.c_str(), &other, AT_SYMLINK_NOFOLLOW) == 0 &&
                       ::fstatat(top(), entry.name.c_str(), &there, AT_SYMLINK_NOFOLLOW) == 0 &&
                       other.st_ino == there.st_ino && other.st_dev == there.st_dev;
  if (is_done) return {};
  DEDUPFS_ASSIGN(const std::string beside, checked(make_beside(entry.name, [&](const char* new_name) {
                   return ::linkat(parent.get(), name.c_str(), top(), new_name, 0) == 0;
                 })));
  return checked(put_in_place(beside, entry.name));
}

// The owner first, since a change of it takes set-id bits and capabilities away. ACLs behind the mode, which would change them.
// The times last. An Error: the watcher wants no more.
Result<Taken> FolderSink::restore(int fd, const ExtractEntry& entry, EntrySource& source) const {
  const Attributes& attributes = entry.attributes;
  const bool is_path = !is_regular(attributes.mode) && !is_directory(attributes.mode);
  Taken taken;
  std::size_t lacking = 0;
  const auto lack = [&](const std::string& what, const std::string& why) {
    constexpr std::size_t kMostNamed = 3;
    if (++lacking <= kMostNamed) taken.lacks += fmt::format("{}{} ({})", lacking == 1 ? "" : ", ", what, why);
    if (lacking == kMostNamed + 1) taken.lacks += " and more";
  };
  const auto set = [&](const std::string& what, int result) {
    if (result != 0) lack(what, std::system_category().message(errno));
    return result == 0;
  };
  EntrySource::Xattrs xattrs;
  if (auto read = source.xattrs(); read)
    xattrs = *std::move(read);
  else if (read.error().code() == ErrorCode::kInterrupted)
    return read.error();
  else
    lack("its extended attributes", read.error().message());
  const auto set_xattrs = [&](bool acls) {
    for (const auto& [name, value] : xattrs) {
      if (is_acl_name(name) != acls || (!is_root_ && needs_root(name))) continue;
      set("the attribute " + name, is_path
                                       ? ::setxattr(proc_path(fd).c_str(), name.c_str(), value.data(), value.size(), 0)
                                       : ::fsetxattr(fd, name.c_str(), value.data(), value.size(), 0));
    }
  };

  const bool has_owner = is_root_ ? set("its owner", ::fchownat(fd, "", attributes.uid, attributes.gid, AT_EMPTY_PATH))
                                  : attributes.uid == ::geteuid() && attributes.gid == ::getegid();
  set_xattrs(/*acls=*/false);
  const std::uint32_t permissions = attributes.mode & kPermissionBits & (has_owner ? ~0U : ~kSetIds);
  if (!is_symlink(attributes.mode))
    set("its mode", is_path ? ::chmod(proc_path(fd).c_str(), permissions) : ::fchmod(fd, permissions));
  set_xattrs(/*acls=*/true);
  const timespec times[] = {timespec_of(attributes.atime), timespec_of(attributes.mtime)};
  set("its times", is_path ? ::utimensat(fd, "", times, AT_EMPTY_PATH) : ::futimens(fd, times));
  return taken;
}

}  // namespace dedupfs
