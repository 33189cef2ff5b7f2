#include "dedupfs_clone.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <nlohmann/json.hpp>

#include "base/size.h"
#include "base/unique_fd.h"
#include "command/command.h"
#include "command/common_options.h"
#include "exit_codes.h"
#include "mount/control/control_socket.h"
#include "mount/system/in_time.h"
#include "mount/system/mount_table.h"
#include "request_progress.h"
#include "show.h"

namespace dedupfs::tools {
namespace {

Path without_slash(const Path& path) {
  return path.has_filename() || !path.has_relative_path() ? path : path.parent_path();
}

// As cp does it: an existing folder takes the copy, any other path is its name.
Result<Path> place_of(const Path& source, const Path& given) {
  const auto status = stat_in_time(given);
  if (!status && status.error().code() == ErrorCode::kInterrupted) return status.error();
  return status && S_ISDIR(status->st_mode) ? given / source.filename() : given;
}

// The kernel still holds changes that programs made through mappings.
Result<void> write_back(const Path& parent) {
  return do_in_time("the kernel to write back to " + parent.string(), {}, [&]() -> Result<void> {
    const UniqueFd folder(::open(parent.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (!folder || ::syncfs(folder.get()) != 0) return Error::from_errno(errno, parent.string());
    return {};
  });
}

Result<nlohmann::json> clone(const Path& from, const Path& to, RequestProgress& progress) {
  const Path source = without_slash(from);
  DEDUPFS_ASSIGN(const struct stat source_status, lstat_in_time(source));
  DEDUPFS_ASSIGN(const Path copy, place_of(source, without_slash(to)));
  const Path parent = copy.has_parent_path() ? copy.parent_path() : Path(".");
  DEDUPFS_ASSIGN(const struct stat parent_status, stat_in_time(parent));
  if (lstat_in_time(copy))
    return Error{ErrorCode::kExists, copy.string() + " is there already: remove it, or choose another name"};

  DEDUPFS_ASSIGN(const auto table, read_mount_table());
  const auto mount = get_dedupfs_mount(table, source_status.st_dev);
  if (!mount) return mount.error().with(source.string());
  if (source_status.st_dev != parent_status.st_dev)
    return invalid_argument(
        fmt::format("{} and {} are not in the same volume: copy with cp", source.string(), parent.string()));
  DEDUPFS_TRY(write_back(parent));
  return progress.request(mount->source, {{"command", "clone"},
                                          {"from", source_status.st_ino},
                                          {"parent", parent_status.st_ino},
                                          {"name", copy.filename().string()}});
}

std::string clone_screen(const nlohmann::json& totals) {
  const auto count = [&](const char* key) { return totals.at(key).get<std::uint64_t>(); };
  return fmt::format("{} files ({}), {} directories, {} others\n", count("files"), human_size(count("bytes")),
                     count("directories"), count("others"));
}

}  // namespace

int run_clone(Arguments arguments, std::ostream& out, std::ostream& err, const Process& process) {
  Console console({.name = "dedupfs-clone", .usage_error = kUsageError, .failed = kFailed}, out, err);
  std::string from;
  std::string to;
  Command app("Copies a file or a folder within a mounted dedupfs volume. The copy shares all data with the original.",
              "dedupfs-clone");
  app.example("dedupfs-clone /backup/vm/disk.img /backup/vm/disk-2.img");
  app.add_option("SRC", from, "the file or folder to copy; it may be in a snapshot").required();
  app.add_option("DST", to, "the name of the copy, or an existing folder to put it into").required();
  add_json_flag(app, "print one JSON object");
  define_progress_flag(app);
  define_common_options(app);
  if (const auto exit_code = console.parse(app, arguments)) return *exit_code;

  const auto totals = [&] {
    RequestProgress progress(console, process);
    return clone(from, to, progress);
  }();
  if (!totals) return console.fail(totals.error());
  return show(console, "dedupfs-clone", *totals, kDone, clone_screen);
}

}  // namespace dedupfs::tools
