#include "dedupfs.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sched.h>
#include <spdlog/spdlog.h>

#include <cerrno>
#include <filesystem>
#include <thread>
#include <utility>

#include "base/unique_fd.h"
#include "bucket_options.h"
#include "command/command.h"
#include "command/common_options.h"
#include "command/version.h"
#include "log_to.h"
#include "mount/control/closing_daemon.h"
#include "mount/options/memory_limits.h"
#include "replica/eviction/evicting_disk.h"
#include "replica/remote_backing.h"
#include "volume_key.h"

namespace dedupfs::tools {
namespace {

struct MountArguments {
  std::string volume;
  std::string mountpoint;
  std::vector<std::string> option_lists;
  std::string namespace_path;
  bool foreground = false;
  bool sloppy = false;
  bool fake = false;
  bool ignored_flag = false;
  std::string ignored_value;
};

void define_own_options(Command& app, MountArguments& arguments) {
  app.add_flag("-f,--foreground", arguments.foreground, "stay in the foreground and log to standard error");
}

// mount(8) calls its helpers so: TYPE SOURCE TARGET [-sfnv] [-N NAMESPACE] [-o OPTIONS] [-t TYPE.SUBTYPE].
void define_helper_options(Command& app, MountArguments& arguments) {
  app.add_flag("-s", arguments.sloppy, "ignore unknown mount options");
  app.add_flag("-f", arguments.fake, "check the options, but do not mount");
  app.add_flag("-n", arguments.ignored_flag, "accepted for mount(8), no effect");
  app.add_flag("-v", arguments.ignored_flag, "accepted for mount(8), no effect");
  app.add_option("-N", arguments.namespace_path, "mount in this mount namespace: a process id or a path");
  app.add_option("-t", arguments.ignored_value, "accepted for mount(8), no effect");
}

void define_options(Command& app, MountArguments& arguments) {
  app.footer("Mount options of dedupfs, with their defaults:\n" + mount_options_help() +
             "The options of mount(8) are accepted as well. suid and dev are off unless you give them.");
  app.add_option("VOLUME", arguments.volume, "the folder that mkfs.dedupfs created").required();
  app.add_option("MOUNTPOINT", arguments.mountpoint, "the folder in which the files of the volume appear").required();
  app.add_option("-o", arguments.option_lists, "mount options; several lists are joined")
      .type_name("OPTION[,OPTION...]")
      .one_value_each_time();
  define_common_options(app, {{"-o", mount_option_words()}});
}

std::string joined(const std::vector<std::string>& lists) {
  std::string all;
  for (const std::string& list : lists) all += list + ',';
  return all;
}

Result<void> enter_namespace(const std::string& name) {
  const bool is_process = name.find_first_not_of("0123456789") == std::string::npos;
  const std::string path = is_process ? "/proc/" + name + "/ns/mnt" : name;
  const UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd || ::setns(fd.get(), CLONE_NEWNS) != 0) return Error::from_errno(errno, "mount namespace " + path);
  return {};
}

// ---------------------------------------------------------------- the volume

// How the store is reached, if the volume lies in a bucket.
RemoteAddress address_of(const MountRequest& request) {
  return {.address = request.in_bucket ? request.volume.string() : std::string(),
          .endpoint = request.options.endpoint,
          .region = request.options.region,
          .credentials_file = request.options.credentials_file,
          .ca_file = request.options.ca_file};
}

Result<void> check_options(const MountRequest& request) {
  const MountOptions& options = request.options;
  const int sources = static_cast<int>(!options.key_file.empty()) +
                      static_cast<int>(!options.passphrase_command.empty()) +
                      static_cast<int>(!options.keyring.empty());
  if (sources > 1) return invalid_argument("give one of -o key_file, passphrase_command and keyring");
  if (!request.in_bucket && options.remote_follow.count() != 0)
    return invalid_argument(
        fmt::format("-o remote_follow: {} is a folder, and no volume in a bucket", request.volume.string()));
  if (!request.in_bucket) return require_no_store(address_of(request), request.volume.string());
  if (!options.read_only)
    return invalid_argument(
        fmt::format("{0} lies in a bucket, where it can only be read: mount it with -o ro, or make a volume of it with "
                    "dedupfs-remote clone {0} FOLDER",
                    request.volume.string()));
  return {};
}

// Where the volume lies.
std::shared_ptr<Backing> disk_of(MountRequest& request, const OpenBucket& open) {
  const MountOptions& options = request.options;
  const auto parallel = static_cast<std::size_t>(options.remote_parallel);
  if (!request.in_bucket && options.foreign) return Backing::posix();
  if (!request.in_bucket) return std::make_shared<EvictingDisk>(Backing::posix(), open, parallel);
  std::uint64_t cache_bytes = options.remote_cache_bytes;
  if (cache_bytes == 0) cache_bytes = memory_limits_for(memory_of_machine(), std::thread::hardware_concurrency()).cache;
  const auto disk = std::make_shared<RemoteBacking>(
      address_of(request), BucketBacking::Settings{.cache_bytes = cache_bytes, .parallel = parallel}, open);
  request.renew = [disk] { return disk->renew(); };
  return disk;
}

// Opens the volume with its key. What a bucket does not give is said here, and a passphrase is asked for here: the background has nobody.
Result<std::shared_ptr<Backing>> unlocked(const MountRequest& request, const std::shared_ptr<Backing>& disk) {
  const MountOptions& options = request.options;
  const auto root = disk->open_root(request.volume);  // in use until the end, so a bucket is asked for its heads once
  if (!root && request.in_bucket) return root.error();
  // Of a volume that is only read, each file is judged when it is read.
  const auto judge = [reads_only = options.read_only](const Error& difference) -> Result<void> {
    if (!reads_only) return difference;
    spdlog::error("{}", difference.message());
    return {};
  };
  const auto backing =
      keyed_backing({.key_file = options.key_file, .command = options.passphrase_command, .keyring = options.keyring},
                    options.foreign, judge, disk);
  const auto get_key = [&] { return backing->get_key(request.volume); };
  DEDUPFS_TRY(request.in_bucket ? get_key() : when_closed(request.volume, get_key));
  return backing;
}

}  // namespace

int run_dedupfs(const std::string& program, Arguments arguments, std::ostream& out, std::ostream& err,
                const Mount& mount, const OpenBucket& open) {
  Console console({.name = "dedupfs", .usage_error = kMountUsage, .failed = kMountSystemError}, out, err);
  const std::string name = std::filesystem::path(program).filename().string();
  MountArguments asked;
  Command app("Mounts a dedupfs volume.", name);
  app.example("dedupfs /srv/volume /backup");
  define_options(app, asked);
  if (name.starts_with("mount."))
    define_helper_options(app, asked);
  else
    define_own_options(app, asked);
  if (const auto exit_code = console.parse(app, arguments)) return *exit_code;

  const auto options = parse_mount_options(joined(asked.option_lists), asked.sloppy);
  if (!options) return console.fail(options.error(), kMountUsage);
  if (asked.fake) return kMounted;
  if (!asked.namespace_path.empty()) {
    if (const auto entered = enter_namespace(asked.namespace_path); !entered) return console.fail(entered.error());
  }
  MountRequest request{.volume = asked.volume,
                       .in_bucket = is_bucket_address(asked.volume),
                       .mountpoint = asked.mountpoint,
                       .options = *options,
                       .foreground = asked.foreground,
                       .version = std::string(project_version())};
  if (!options->remount) {
    if (const auto checked = check_options(request); !checked) return console.fail(checked.error(), kMountUsage);
    const LogTo log(err, "dedupfs", spdlog::level::warn);
    const auto disk = disk_of(request, open);
    if (options->core_dump && find_key_header(request.volume, disk))
      return console.fail(invalid_argument("-o core_dump: the volume is encrypted, and a core file would hold its key"),
                          kMountUsage);
    const auto backing = unlocked(request, disk);
    if (!backing) return console.fail(backing.error(), kMountFailed);
    request.backing = *backing;
  }
  return mount(request);
}

}  // namespace dedupfs::tools
