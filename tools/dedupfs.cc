// dedupfs(8): mounts a volume. Called as mount.dedupfs or mount.fuse.dedupfs it is a helper of mount(8).
#include <fcntl.h>
#include <sched.h>

#include <CLI/CLI.hpp>
#include <cerrno>
#include <filesystem>
#include <string>
#include <vector>

#include "base/unique_fd.h"
#include "mount/daemon/daemon.h"
#include "mount/daemon/daemonize.h"

namespace dedupfs {
namespace {

// What the command line says before it is understood.
struct Arguments {
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

void define_own_options(CLI::App& app, Arguments& arguments) {
  app.add_flag("-f,--foreground", arguments.foreground, "stay in the foreground and log to standard error");
}

// As mount(8) calls its helpers: TYPE SOURCE TARGET [-sfnv] [-N NAMESPACE] [-o OPTIONS] [-t TYPE.SUBTYPE].
void define_helper_options(CLI::App& app, Arguments& arguments) {
  app.add_flag("-s", arguments.sloppy, "ignore unknown mount options");
  app.add_flag("-f", arguments.fake, "check the options, but do not mount");
  app.add_flag("-n", arguments.ignored_flag, "there is no mtab: nothing");
  app.add_flag("-v", arguments.ignored_flag, "nothing");
  app.add_option("-N", arguments.namespace_path, "mount in this mount namespace: a process id or a path");
  app.add_option("-t", arguments.ignored_value, "nothing");
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
  if (!fd || ::setns(fd.get(), CLONE_NEWNS) != 0) return Error::from_errno(errno, "namespace " + path);
  return {};
}

int mount_with(const Arguments& arguments) {
  const auto options = parse_mount_options(joined(arguments.option_lists), arguments.sloppy);
  if (!options) {
    print_error(options.error().message());
    return kMountUsage;
  }
  if (arguments.fake) return kMounted;
  if (!arguments.namespace_path.empty()) {
    if (const auto entered = enter_namespace(arguments.namespace_path); !entered) {
      print_error(entered.error().message());
      return kMountSystemError;
    }
  }
  return run_mount({arguments.volume, arguments.mountpoint, *options, arguments.foreground, DEDUPFS_VERSION});
}

int run(int argc, char** argv) {
  const bool is_helper = std::filesystem::path(argv[0]).filename().string().starts_with("mount.");
  Arguments arguments;
  CLI::App app("Mounts a volume of dedupfs.");
  app.footer("Mount options, with their defaults:\n" + mount_options_help() +
             "and those of mount(8). suid and dev must be asked for.");
  app.add_option("VOLUME", arguments.volume, "the folder that mkfs.dedupfs has made")->required();
  app.add_option("MOUNTPOINT", arguments.mountpoint, "where its files appear")->required();
  app.add_option("-o", arguments.option_lists, "mount options; given again, the lists are joined")
      ->type_name("OPTION[,OPTION...]")
      ->allow_extra_args(false);
  app.set_version_flag("-V,--version", "dedupfs " DEDUPFS_VERSION);
  if (is_helper) {
    define_helper_options(app, arguments);
  } else {
    define_own_options(app, arguments);
  }
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? kMounted : kMountUsage;
  }
  return mount_with(arguments);
}

}  // namespace
}  // namespace dedupfs

int main(int argc, char** argv) {
  return dedupfs::run(argc, argv);
}
