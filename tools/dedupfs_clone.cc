// dedupfs-clone: copies a tree within a mounted dedupfs volume by reference, in the daemon.
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cerrno>
#include <iostream>
#include <nlohmann/json.hpp>
#include <string>

#include "base/size.h"
#include "base/unique_fd.h"
#include "exit_codes.h"
#include "mount/control/control_socket.h"
#include "mount/system/in_time.h"
#include "mount/system/mount_table.h"

namespace {

using namespace dedupfs;  // NOLINT(google-build-using-namespace): a main
using Json = nlohmann::json;

Path without_slash(const Path& path) {
  return path.has_filename() || !path.has_relative_path() ? path : path.parent_path();
}

// As cp has it: into what is a folder already, otherwise under that name.
Result<Path> place_of(const Path& source, const Path& given) {
  const auto status = stat_in_time(given);
  if (!status && status.error().code() == ErrorCode::kInterrupted) return status.error();
  return status && S_ISDIR(status->st_mode) ? given / source.filename() : given;
}

// What programs have written through mappings is with the kernel still.
Result<void> write_back(const Path& parent) {
  return do_in_time("the kernel to write back to " + parent.string(), {}, [&]() -> Result<void> {
    const UniqueFd folder(::open(parent.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (!folder || ::syncfs(folder.get()) != 0) return Error::from_errno(errno, parent.string());
    return {};
  });
}

Result<Json> clone(const Path& from, const Path& to) {
  const Path source = without_slash(from);
  DEDUPFS_ASSIGN(const struct stat source_status, lstat_in_time(source));
  DEDUPFS_ASSIGN(const Path copy, place_of(source, without_slash(to)));
  const Path parent = copy.has_parent_path() ? copy.parent_path() : Path(".");
  DEDUPFS_ASSIGN(const struct stat parent_status, stat_in_time(parent));
  if (lstat_in_time(copy)) return Error{ErrorCode::kExists, copy.string() + " is there already"};

  DEDUPFS_ASSIGN(const auto table, read_mount_table());
  const auto mount = get_dedupfs_mount(table, source_status.st_dev);
  if (!mount) return mount.error().with(source.string());
  if (source_status.st_dev != parent_status.st_dev)
    return Error{ErrorCode::kInvalidArgument,
                 fmt::format("{} and {} are not in the same volume; copy with cp", source.string(), parent.string())};
  DEDUPFS_TRY(write_back(parent));
  return control_request(mount->source, {{"command", "clone"},
                                         {"from", source_status.st_ino},
                                         {"parent", parent_status.st_ino},
                                         {"name", copy.filename().string()}});
}

std::string screen_of(const Json& totals) {
  return fmt::format("{} files ({}), {} directories, {} others\n", totals.at("files").get<std::uint64_t>(),
                     human_size(totals.at("bytes").get<std::uint64_t>()), totals.at("directories").get<std::uint64_t>(),
                     totals.at("others").get<std::uint64_t>());
}

}  // namespace

int main(int argc, char** argv) {
  std::string from;
  std::string to;
  bool as_json = false;
  CLI::App app{"Copies a file or a folder with all that is in it, within a mounted dedupfs volume, by reference."};
  app.add_option("SRC", from, "what to copy; also from a snapshot")->required();
  app.add_option("DST", to, "the copy, or a folder that it goes into")->required();
  app.add_flag("--json", as_json, "print one JSON object");
  app.set_version_flag("-V,--version", "dedupfs-clone " DEDUPFS_VERSION);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? kDone : kUsageError;
  }
  const auto totals = clone(from, to);
  const auto text = !totals ? Result<std::string>(totals.error())
                            : read_answer([&] { return as_json ? totals->dump(2) + "\n" : screen_of(*totals); });
  if (!text) {
    std::cerr << "dedupfs-clone: " << text.error().message() << '\n';
    return kFailed;
  }
  std::cout << *text << std::flush;
  return std::cout ? kDone : kFailed;
}
