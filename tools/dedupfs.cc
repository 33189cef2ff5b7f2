#include "dedupfs.h"

#include <fcntl.h>
#include <sched.h>
#include <spdlog/spdlog.h>

#include <cerrno>
#include <filesystem>

#include "base/unique_fd.h"
#include "command/command.h"
#include "command/common_options.h"
#include "command/version.h"
#include "log_to.h"
#include "mount/control/closing_daemon.h"
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

}  // namespace

int run_dedupfs(const std::string& program, Arguments arguments, std::ostream& out, std::ostream& err,
                const Mount& mount) {
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
  MountRequest request{asked.volume, asked.mountpoint, *options, asked.foreground, std::string(project_version())};
  if (!options->remount) {
    if (options->core_dump && find_key_header(asked.volume))
      return console.fail(invalid_argument("-o core_dump: the volume is encrypted, and a core file would hold its key"),
                          kMountUsage);
    const int sources = static_cast<int>(!options->key_file.empty()) +
                        static_cast<int>(!options->passphrase_command.empty()) +
                        static_cast<int>(!options->keyring.empty());
    if (sources > 1)
      return console.fail(invalid_argument("give one of -o key_file, passphrase_command and keyring"), kMountUsage);
    const LogTo log(err, "dedupfs", spdlog::level::warn);
    // Of a volume that is only read, each file is judged when it is read.
    const auto judge = [reads_only = options->read_only](const Error& difference) -> Result<void> {
      if (!reads_only) return difference;
      spdlog::error("{}", difference.message());
      return {};
    };
    const auto backing = keyed_backing(
        {.key_file = options->key_file, .command = options->passphrase_command, .keyring = options->keyring},
        options->foreign, judge);
    // Here, where somebody can be asked, and not in the background.
    const auto got = when_closed(asked.volume, [&] { return backing->get_key(asked.volume); });
    if (!got) return console.fail(got.error(), kMountFailed);
    request.backing = backing;
  }
  return mount(request);
}

}  // namespace dedupfs::tools
