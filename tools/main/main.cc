// The one program of dedupfs. It has a name for each tool, and is the tool that it is called by: nearly all of it is the same code in each.

#include <algorithm>
#include <filesystem>
#include <iostream>
#include <string>
#include <string_view>
#include <vector>

#include "base/inherited_files.h"
#include "bench/run.h"
#include "console.h"
#include "dedupfs.h"
#include "dedupfs_clone.h"
#include "dedupfs_estimate.h"
#include "dedupfs_events.h"
#include "dedupfs_extract.h"
#include "dedupfs_gc.h"
#include "dedupfs_import.h"
#include "dedupfs_key.h"
#include "dedupfs_quota.h"
#include "dedupfs_receive.h"
#include "dedupfs_remote.h"
#include "dedupfs_report.h"
#include "dedupfs_scrub.h"
#include "dedupfs_send.h"
#include "dedupfs_snapshot.h"
#include "dedupfs_stat.h"
#include "dedupfs_sync.h"
#include "dedupfs_top.h"
#include "fsck_dedupfs.h"
#include "mkfs_dedupfs.h"
#include "mount/daemon/daemon.h"
#include "mount/options/mount_request.h"
#include "process.h"
#include "terminal.h"
#include "umount_dedupfs.h"

namespace dedupfs::tools {
namespace {

using std::cerr;
using std::cout;

struct Program {
  std::string_view name;
  int (*run)(Arguments arguments);
};

constexpr Program kPrograms[] = {
    {"dedupfs-bench", [](Arguments arguments) { return bench::run_bench(arguments, cout, cerr); }},
    {"dedupfs-clone", [](Arguments arguments) { return run_clone(arguments, cout, cerr, own_process()); }},
    {"dedupfs-estimate", [](Arguments arguments) { return run_estimate(arguments, cout, cerr, own_process()); }},
    {"dedupfs-events", [](Arguments arguments) { return run_events(arguments, cout, cerr); }},
    {"dedupfs-extract", [](Arguments arguments) { return run_extract(arguments, cout, cerr, own_process()); }},
    {"dedupfs-gc", [](Arguments arguments) { return run_gc(arguments, cout, cerr, own_process()); }},
    {"dedupfs-import", [](Arguments arguments) { return run_import(arguments, cout, cerr, own_process()); }},
    {"dedupfs-key", [](Arguments arguments) { return run_key(arguments, cout, cerr); }},
    {"dedupfs-quota", [](Arguments arguments) { return run_quota(arguments, cout, cerr, own_process()); }},
    {"dedupfs-receive", [](Arguments arguments) { return run_receive(arguments, cout, cerr, own_process()); }},
    {"dedupfs-remote", [](Arguments arguments) { return run_remote(arguments, cout, cerr, own_process()); }},
    {"dedupfs-report", [](Arguments arguments) { return run_report(arguments, cout, cerr, own_process()); }},
    {"dedupfs-scrub", [](Arguments arguments) { return run_scrub(arguments, cout, cerr, own_process()); }},
    {"dedupfs-send", [](Arguments arguments) { return run_send(arguments, cout, cerr, own_process()); }},
    {"dedupfs-snapshot", [](Arguments arguments) { return run_snapshot(arguments, cout, cerr, own_process()); }},
    {"dedupfs-stat", [](Arguments arguments) { return run_stat(arguments, cout, cerr, own_process()); }},
    {"dedupfs-sync", [](Arguments arguments) { return run_sync(arguments, cout, cerr); }},
    {"dedupfs-top", [](Arguments arguments) { return run_top(arguments, cout, cerr, own_process(), own_terminal()); }},
    {"fsck.dedupfs", [](Arguments arguments) { return run_fsck(arguments, cout, cerr, own_process()); }},
    {"mkfs.dedupfs", [](Arguments arguments) { return run_mkfs(arguments, cout, cerr); }},
    {"umount.dedupfs", [](Arguments arguments) { return run_umount(arguments, cout, cerr); }},
    {"umount.fuse.dedupfs", [](Arguments arguments) { return run_umount(arguments, cout, cerr); }},
};

// Null for each other name: that is dedupfs itself, which is also mount.dedupfs, and whatever a link of somebody's own is called.
const Program* program_called(std::string_view name) {
  const auto* const found = std::ranges::find(kPrograms, name, &Program::name);
  return found == std::end(kPrograms) ? nullptr : found;
}

int mount(const std::string& called_as, Arguments arguments, const InheritedFiles& inherited) {
  const auto mount_with = [&](MountRequest request) {
    request.inherited = inherited;
    return run_mount(request);
  };
  return run_dedupfs(called_as, arguments, cout, cerr, mount_with);
}

}  // namespace
}  // namespace dedupfs::tools

int main(int argc, char** argv) {
  using namespace dedupfs::tools;  // NOLINT(google-build-using-namespace): a main
  std::vector<std::string> arguments = arguments_of(argc, argv);
  const auto inherited = dedupfs::InheritedFiles::now();
  const std::string called_as = program_of(argc, argv);
  const Program* program = program_called(std::filesystem::path(called_as).filename().string());
  // "dedupfs --completion SHELL PROGRAM": for the build, which may run it in an emulator, by the name that it was built as.
  if (program == nullptr && arguments.size() == 3 && arguments.front() == "--completion") {
    program = program_called(arguments.back());
    if (program == nullptr) {
      cerr << "dedupfs: no program is called " << arguments.back() << '\n';
      return dedupfs::kMountUsage;
    }
    arguments.pop_back();
  }
  return program != nullptr ? program->run(arguments) : mount(called_as, arguments, inherited);
}
