// dedupfs-stat: what a volume holds and what deduplication saved; what single files of it take.
#include <sys/stat.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cerrno>
#include <iostream>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "exit_codes.h"
#include "fs/statistics/file_statistics.h"
#include "fs/statistics/statistics.h"
#include "mount/control/control_socket.h"
#include "mount/reports/statistics_report.h"
#include "mount/system/in_time.h"
#include "mount/system/mount_table.h"

namespace {

using namespace dedupfs;  // NOLINT(google-build-using-namespace): a main
using Json = nlohmann::json;

// Of one request to a daemon, which takes requests of some length only.
constexpr std::size_t kMaxFilesPerRequest = 1000;

int fail(const Error& error) {
  std::cerr << "dedupfs-stat: " << error.message() << '\n';
  return kStatFailed;
}

// From the daemon if one has the volume; otherwise read here.
template <class Read>
Result<Json> ask_or_read(const Path& volume_path, bool foreign, const Json& request, Read read) {
  VolumeOptions options;
  options.foreign = foreign;
  options.read_only = true;
  const auto volume = Volume::open(volume_path, options);
  if (volume) return read(**volume);
  if (volume.error().code() == ErrorCode::kBusy) return control_request(volume_path, request);
  return volume.error();
}

Result<Json> statistics_of(const Path& volume_path, bool foreign) {
  DEDUPFS_ASSIGN(
      const Json response,
      ask_or_read(volume_path, foreign, {{"command", "statistics"}}, [](Volume& volume) -> Result<Json> {
        DEDUPFS_ASSIGN(const Statistics statistics, compute_statistics(volume));
        ScrubStatus scrub;
        scrub.last = last_scrub_of(volume.database());
        return Json{{"statistics", statistics_json(statistics, volume.superblock(), scrub, std::nullopt, false)}};
      }));
  const auto table = read_mount_table();
  const auto mount = table ? find_dedupfs_mount(*table, volume_path) : std::nullopt;
  return read_answer([&] {
    Json statistics = response.at("statistics");
    statistics["nfs_export"] =
        mount ? Json(nfs_export_line(mount->mountpoint, statistics.at("uuid").get<std::string>())) : Json(nullptr);
    return statistics;
  });
}

// A file of a mounted volume. The kernel has resolved its path, whatever is mounted where; its inode number names it in the
// volume.
struct FoundFile {
  Path volume;
  InodeNumber inode = 0;
  std::string path;
};

Result<FoundFile> find_file(const std::vector<MountEntry>& mounts, const std::string& path) {
  DEDUPFS_ASSIGN(const struct stat status, stat_in_time(path));
  const auto mount = get_dedupfs_mount(mounts, status.st_dev);
  if (!mount && mount.error().code() == ErrorCode::kInvalidArgument)
    return Error{ErrorCode::kInvalidArgument,
                 path + " is not in a mounted dedupfs volume; to ask for a file, mount its volume"};
  if (!mount) return mount.error().with(path);
  if (S_ISDIR(status.st_mode)) return Error{ErrorCode::kIsDirectory, path + " is a directory, not a file"};
  if (!S_ISREG(status.st_mode)) return Error{ErrorCode::kInvalidArgument, path + " is not a regular file"};
  return FoundFile{mount->source, status.st_ino, path};
}

// Of one volume; each object with its path.
Result<Json> statistics_of(std::span<const FoundFile> files, bool foreign) {
  std::vector<InodeNumber> inodes;
  for (const FoundFile& file : files) inodes.push_back(file.inode);
  const Json request{{"command", "files"}, {"inodes", inodes}};
  DEDUPFS_ASSIGN(Json response,
                 ask_or_read(files.front().volume, foreign, request, [&](Volume& volume) -> Result<Json> {
                   DEDUPFS_ASSIGN(const auto statistics, compute_file_statistics(volume, inodes));
                   return Json{{"files", file_statistics_json(statistics)}};
                 }));
  return read_answer([&] {
    for (std::size_t i = 0; i < files.size(); ++i) response.at("files").at(i)["path"] = files[i].path;
    return response.at("files");
  });
}

void print(const std::string& text) {
  std::cout << text << std::flush;
}

std::string dump(const Json& json) {
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";  // paths need not be UTF-8
}

int show_volume(const std::string& path, bool foreign, bool as_json) {
  const auto volume_path = find_volume(path);
  const auto json = volume_path ? statistics_of(*volume_path, foreign) : Result<Json>(volume_path.error());
  if (!json) return fail(json.error());
  print(as_json ? dump(*json) : statistics_screen(*json));
  return std::cout ? kDone : kStatFailed;
}

// Those that can be shown are shown, whatever the others are.
int show_files(const std::vector<std::string>& paths, bool foreign, bool as_json) {
  const auto mounts = read_mount_table();
  if (!mounts) return fail(mounts.error());
  int status = kDone;
  std::vector<FoundFile> files;
  for (const std::string& path : paths) {
    auto file = find_file(*mounts, path);
    if (file)
      files.push_back(std::move(*file));
    else
      status = fail(file.error());
  }
  std::ranges::stable_sort(files, {}, &FoundFile::volume);
  Json shown = Json::array();
  for (auto first = files.begin(); first != files.end();) {
    const auto last = std::find_if(first, first + std::min<std::ptrdiff_t>(files.end() - first, kMaxFilesPerRequest),
                                   [&](const FoundFile& file) { return file.volume != first->volume; });
    const auto json = statistics_of({first, last}, foreign);
    if (json)
      shown.insert(shown.end(), json->begin(), json->end());
    else
      status = fail(json.error());
    first = last;
  }
  if (as_json)
    print(dump({{"files", shown}}));
  else if (!shown.empty())
    print(file_statistics_screen(shown));
  return std::cout ? status : kStatFailed;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app{"Shows what a dedupfs volume holds and what deduplication saved, or what single files of it take."};
  bool as_json = false;
  bool foreign = false;
  std::string path;
  std::vector<std::string> files;
  app.add_flag("--foreign", foreign, std::string(kForeignHelp));
  app.add_flag("--json", as_json, "print one JSON object with exact numbers");
  CLI::Option* const volume = app.add_option("VOLUME|MOUNTPOINT", path, "a volume, or a folder in a mounted one");
  CLI::Option* const file = app.add_option("--file", files, "files of mounted volumes, instead of a volume");
  file->type_name("PATH")->excludes(volume);
  app.set_version_flag("-V,--version", "dedupfs-stat " DEDUPFS_VERSION);
  try {
    app.parse(argc, argv);
    if (volume->empty() && file->empty()) throw CLI::RequiredError("VOLUME|MOUNTPOINT or --file");
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? kDone : kStatFailed;
  }
  return file->empty() ? show_volume(path, foreign, as_json) : show_files(files, foreign, as_json);
}
