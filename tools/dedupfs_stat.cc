#include "dedupfs_stat.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

#include <algorithm>
#include <chrono>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <utility>

#include "command/command.h"
#include "command/common_options.h"
#include "exit_codes.h"
#include "fs/statistics/file_statistics.h"
#include "fs/statistics/shared_space.h"
#include "log_to.h"
#include "mount/clients/ask_health.h"
#include "mount/clients/ask_publicly.h"
#include "mount/control/control_socket.h"
#include "mount/reports/metrics_report.h"
#include "mount/reports/share_report.h"
#include "mount/reports/statistics_report.h"
#include "mount/reports/statistics_screen.h"
#include "mount/system/in_time.h"
#include "mount/system/mount_table.h"
#include "request_progress.h"
#include "show.h"
#include "stat_history.h"
#include "stat_outside.h"
#include "terminal.h"
#include "volume_key.h"
#include "volume_source.h"
#include "whole_file.h"

namespace dedupfs::tools {
namespace {

// In one request to a daemon, which limits the length of requests.
constexpr std::size_t kMaxFilesPerRequest = 1000;

struct StatArguments {
  std::string path;
  std::vector<std::string> files;
  bool asks_freed = false;
  std::vector<std::string> freed;
  std::vector<std::string> snapshots;  // of the set of --freed
  std::vector<std::string> trees;
  std::string prometheus;
  std::string openmetrics;
  bool asks_history = false;
  std::string since;
  bool as_csv = false;
  bool as_plot = false;
  bool foreign = false;
  KeyArguments key;
  bool verbose = false;
};

VolumeAccess access_of(const StatArguments& asked, const Console& console) {
  return {.foreign = asked.foreign, .backing = reading_backing(asked.key, asked.foreign, console)};
}

// What is shown of a volume.
struct VolumeReport {
  nlohmann::json statistics;
  Path volume;
  std::optional<MountEntry> mount;
};

Result<VolumeReport> report_of(nlohmann::json statistics, Path volume, std::optional<MountEntry> mount) {
  DEDUPFS_TRY(read_answer([&] {
    statistics["nfs_export"] =
        mount ? nlohmann::json(nfs_export_line(mount->mountpoint, statistics.at("uuid").get<std::string>()))
              : nlohmann::json(nullptr);
    return true;
  }));
  return VolumeReport{std::move(statistics), std::move(volume), std::move(mount)};
}

Result<VolumeReport> private_report_of(const StatArguments& asked, const Console& console) {
  DEDUPFS_ASSIGN(Path volume_path, find_volume(asked.path));
  DEDUPFS_ASSIGN(nlohmann::json statistics, VolumeSource(volume_path, access_of(asked, console)).statistics());
  const auto table = read_mount_table();
  auto mount = table ? find_dedupfs_mount(*table, volume_path) : std::nullopt;
  return report_of(std::move(statistics), std::move(volume_path), std::move(mount));
}

// With the statistics that everybody may have who can see the mount.
Result<VolumeReport> public_report_of(const Path& path, const Console& console) {
  DEDUPFS_ASSIGN(PublicAnswer answer, ask_publicly(path, "dedupfs.statistics"));
  if (const auto doubt = doubt_about(answer.mount)) console.say(*doubt);
  Path volume = answer.mount.source;
  return report_of(std::move(answer.json), std::move(volume), std::move(answer.mount));
}

Result<VolumeReport> find_report(const StatArguments& asked, const Console& console) {
  auto found = private_report_of(asked, console);
  // Read from the folder, although it is mounted: the daemon has died, or it has no control socket, as on a disk that is read-only.
  if (found && found->mount && !found->statistics.at("mounted").get<bool>()) {
    const Path& mountpoint = found->mount->mountpoint;
    const auto health = ask_health(*found->mount);
    if (health && !*health) console.say(mountpoint.string() + ": its daemon has died; mount the volume again");
    if (health && *health) {
      if (auto shown = public_report_of(mountpoint, console)) return shown;
    }
  }
  const auto is_to_be_asked_publicly = [](ErrorCode code) {
    return code == ErrorCode::kAccessDenied || code == ErrorCode::kNotPermitted ||  // no key, but the daemon has it
           code == ErrorCode::kUnsupported;                                         // a volume in a bucket
  };
  if (found || !is_to_be_asked_publicly(found.error().code())) return found;
  auto shown = public_report_of(asked.path, console);
  // The first error says more of a path that is in no mount, or in one that lets nobody in.
  const auto is_about_the_path = [](ErrorCode code) {
    return code == ErrorCode::kInvalidArgument || code == ErrorCode::kAccessDenied;
  };
  return !shown && is_about_the_path(shown.error().code()) ? found : shown;
}

// For Prometheus. Where the mount does not answer, what it would say is left out.
MetricsContext context_of(const VolumeReport& report) {
  MetricsContext context{.volume = report.volume.string()};
  if (!report.mount) return context;
  const Path& mountpoint = report.mount->mountpoint;
  context.mountpoint = mountpoint.string();
  const auto space = statvfs_in_time(mountpoint, {.limit = std::chrono::seconds(10)});
  if (!space) return context;
  context.read_only = (space->f_flag & ST_RDONLY) != 0;
  context.available_bytes = std::uint64_t{space->f_bavail} * space->f_frsize;
  return context;
}

// The mount with this path. The kernel resolves it, whatever is mounted where.
Result<MountEntry> mount_of(const std::vector<MountEntry>& mounts, const struct stat& status, const std::string& path) {
  auto mount = get_dedupfs_mount(mounts, status.st_dev);
  if (!mount && mount.error().code() == ErrorCode::kInvalidArgument)
    return Error{ErrorCode::kInvalidArgument,
                 path + " is not in a mounted dedupfs volume: to see what a file takes, mount its volume"};
  if (!mount) return mount.error().with(path);
  return mount;
}

// A file or directory of a mounted volume. Its inode number names it in the volume.
struct FoundFile {
  Path volume;
  InodeNumber inode = 0;
  std::string path;
};

Result<FoundFile> find_file(const std::vector<MountEntry>& mounts, const std::string& path) {
  DEDUPFS_ASSIGN(const struct stat status, stat_in_time(path));
  DEDUPFS_ASSIGN(const MountEntry mount, mount_of(mounts, status, path));
  if (S_ISDIR(status.st_mode)) return Error{ErrorCode::kIsDirectory, path + " is a directory, not a file"};
  if (!S_ISREG(status.st_mode)) return Error{ErrorCode::kInvalidArgument, path + " is not a regular file"};
  return FoundFile{mount.source, status.st_ino, path};
}

// The files are of one volume. Each object gets the path of its file.
Result<nlohmann::json> statistics_of(std::span<const FoundFile> files, const VolumeAccess& access) {
  std::vector<InodeNumber> inodes;
  for (const FoundFile& file : files) inodes.push_back(file.inode);
  VolumeSource source(files.front().volume, access);
  DEDUPFS_ASSIGN(
      nlohmann::json all,
      source.ask({{"command", "files"}, {"inodes", inodes}}, "files", [&](Volume& volume) -> Result<nlohmann::json> {
        DEDUPFS_ASSIGN(const auto statistics, compute_file_statistics(volume, inodes));
        return file_statistics_json(statistics);
      }));
  return read_answer([&] {
    for (std::size_t i = 0; i < files.size(); ++i) all.at(i)["path"] = files[i].path;
    return all;
  });
}

int write_metrics(const VolumeReport& report, const std::string& file, MetricsFormat format, const Console& console) {
  const auto text = read_answer([&] { return metrics_text(report.statistics, context_of(report), format); });
  if (!text) return console.fail(text.error());
  if (file == "-") {
    console.out() << *text;
  } else if (const auto written = replace_whole_file(file, *text); !written) {
    return console.fail(written.error());
  }
  return console.end(kDone);
}

int show_volume(const StatArguments& asked, const Console& console) {
  const auto report = find_report(asked, console);
  const bool asks_metrics = !asked.prometheus.empty() || !asked.openmetrics.empty();
  if (!report && report.error().code() == ErrorCode::kNotPermitted && !asks_metrics && !can_get_passphrase(asked.key)) {
    if (const auto exit_code = show_from_outside(asked.path, asked.foreign, console)) return *exit_code;
  }
  if (!report) return console.fail(report.error());
  if (!asked.prometheus.empty()) return write_metrics(*report, asked.prometheus, MetricsFormat::kPrometheus, console);
  if (!asked.openmetrics.empty())
    return write_metrics(*report, asked.openmetrics, MetricsFormat::kOpenMetrics, console);
  const auto detail = asked.verbose ? ScreenDetail::kFull : ScreenDetail::kShort;
  return show(console, "dedupfs-stat", report->statistics, kDone,
              [&](const nlohmann::json& statistics) { return statistics_screen(statistics, detail); });
}

// What is shown of files: {"files": [...], "failures": [...]}.
void note_failure(const Console& console, nlohmann::json& shown, const Error& error) {
  console.say(error.message());
  shown["failures"].push_back(error.message());
}

// Asks for the files of each volume together. Adds the findings to `shown`.
void collect_files(std::span<const FoundFile> files, const VolumeAccess& access, const Console& console,
                   nlohmann::json& shown) {
  for (auto first = files.begin(); first != files.end();) {
    const auto last = std::find_if(first, first + std::min<std::ptrdiff_t>(files.end() - first, kMaxFilesPerRequest),
                                   [&](const FoundFile& file) { return file.volume != first->volume; });
    const auto json = statistics_of({first, last}, access);
    if (json)
      shown["files"].insert(shown["files"].end(), json->begin(), json->end());
    else
      note_failure(console, shown, json.error());
    first = last;
  }
}

// A file that cannot be shown does not keep the others from being shown.
int show_files(const StatArguments& asked, const Console& console) {
  const auto mounts = read_mount_table();
  if (!mounts) return console.fail(mounts.error());
  nlohmann::json shown{{"files", nlohmann::json::array()}, {"failures", nlohmann::json::array()}};
  std::vector<FoundFile> files;
  for (const std::string& path : asked.files) {
    auto file = find_file(*mounts, path);
    if (file)
      files.push_back(std::move(*file));
    else
      note_failure(console, shown, file.error());
  }
  std::ranges::stable_sort(files, {}, &FoundFile::volume);
  collect_files(files, access_of(asked, console), console, shown);
  return show(console, "dedupfs-stat-file", shown, shown["failures"].empty() ? kDone : kStatFailed,
              [](const nlohmann::json& all) {
                return all["files"].empty() ? std::string() : file_statistics_screen(all["files"]);
              });
}

// ---------------------------------------------------------------- sets and trees

// All paths of one question are in one volume. Empty: none was named yet.
Result<void> join_volume(Path& volume, const Path& another, const std::string& given) {
  if (!volume.empty() && volume != another)
    return Error{ErrorCode::kInvalidArgument, given + " is in another volume: ask for each volume on its own"};
  volume = another;
  return {};
}

// What --freed names, as the volume knows it.
struct FoundSet {
  Path volume;
  DeletedSet deleted;
};

Result<void> add_path(const std::vector<MountEntry>& mounts, const std::string& given, FoundSet& set,
                      std::set<std::pair<InodeNumber, std::string>>& names) {
  Path path = given;
  if (!path.has_filename()) path = path.parent_path();  // "folder/"
  DEDUPFS_ASSIGN(const struct stat status, lstat_in_time(path));
  DEDUPFS_ASSIGN(const MountEntry mount, mount_of(mounts, status, given));
  DEDUPFS_TRY(join_volume(set.volume, mount.source, given));
  DeletedSet::Name name{.inode = status.st_ino};
  if (!S_ISDIR(status.st_mode)) {
    const Path folder = path.parent_path();
    DEDUPFS_ASSIGN(const struct stat parent, stat_in_time(folder.empty() ? Path(".") : folder));
    name.parent = parent.st_ino;
    if (!names.emplace(name.parent, path.filename()).second) return {};  // it was named twice
  }
  set.deleted.names.push_back(name);
  return {};
}

Result<FoundSet> find_set(const StatArguments& asked) {
  FoundSet set{.volume = {}, .deleted = {.names = {}, .snapshots = asked.snapshots}};
  if (!asked.path.empty()) {
    DEDUPFS_ASSIGN(set.volume, find_volume(asked.path));
  }
  DEDUPFS_ASSIGN(const auto mounts, read_mount_table());
  std::set<std::pair<InodeNumber, std::string>> names;
  for (const std::string& path : asked.freed) DEDUPFS_TRY(add_path(mounts, path, set, names));
  return set;
}

Result<nlohmann::json> deletion_of(const FoundSet& set, const VolumeAccess& access, const Console& console,
                                   const Process& process) {
  RequestProgress progress(console, process);
  nlohmann::json names = nlohmann::json::array();
  for (const DeletedSet::Name& name : set.deleted.names) names.push_back({name.inode, name.parent});
  const nlohmann::json request{{"command", "freed"}, {"names", names}, {"snapshots", set.deleted.snapshots}};
  const auto read = [&](Volume& volume) -> Result<nlohmann::json> {
    RunningJobs::Job job = progress.begin("freed");
    DEDUPFS_ASSIGN(const Share share, compute_deletion(volume, set.deleted, progress.watch(job), &job.meter()));
    return deletion_json(share);
  };
  return VolumeSource(set.volume, access).ask(request, "freed", read, &progress);
}

int show_freed(const StatArguments& asked, const Console& console, const Process& process) {
  const auto set = find_set(asked);
  if (!set) return console.fail(set.error());
  const auto json = deletion_of(*set, access_of(asked, console), console, process);
  if (!json) return console.fail(json.error());
  return show(console, "dedupfs-stat-freed", *json, kDone, deletion_screen);
}

// Each object gets the path of its folder in place of its name.
Result<nlohmann::json> folders_of(const StatArguments& asked, const Console& console, const Process& process) {
  DEDUPFS_ASSIGN(const auto mounts, read_mount_table());
  Path volume_path;
  std::vector<InodeNumber> inodes;
  for (const std::string& path : asked.trees) {
    DEDUPFS_ASSIGN(const struct stat status, stat_in_time(path));
    DEDUPFS_ASSIGN(const MountEntry mount, mount_of(mounts, status, path));
    if (!S_ISDIR(status.st_mode)) return Error{ErrorCode::kNotDirectory, path + " is not a folder"};
    DEDUPFS_TRY(join_volume(volume_path, mount.source, path));
    inodes.push_back(status.st_ino);
  }
  RequestProgress progress(console, process);
  const auto read = [&](Volume& volume) -> Result<nlohmann::json> {
    RunningJobs::Job job = progress.begin("folders");
    DEDUPFS_ASSIGN(const auto shares, compute_folder_shares(volume, inodes, progress.watch(job), &job.meter()));
    return folder_shares_json(shares);
  };
  VolumeSource source(volume_path, access_of(asked, console));
  DEDUPFS_ASSIGN(const nlohmann::json folders,
                 source.ask({{"command", "folders"}, {"inodes", inodes}}, "folders", read, &progress));
  return read_answer([&] {
    nlohmann::json rows = nlohmann::json::array();
    for (std::size_t i = 0; i < asked.trees.size(); ++i)
      for (nlohmann::json row : folders.at(i)) {
        const auto name = row.at("name").get<std::string>();
        row["path"] = name.empty() ? asked.trees[i] : (Path(asked.trees[i]) / name).string();
        row.erase("name");
        rows.push_back(std::move(row));
      }
    return rows;
  });
}

int show_trees(const StatArguments& asked, const Console& console, const Process& process) {
  const auto rows = folders_of(asked, console, process);
  if (!rows) return console.fail(rows.error());
  return show(console, "dedupfs-stat-tree", {{"folders", *rows}}, kDone,
              [](const nlohmann::json& shown) { return folder_shares_screen(shown.at("folders")); });
}

Option define_history_options(Command& app, StatArguments& asked) {
  const Option history = app.add_flag("--history", asked.asks_history, "show how the volume has grown");
  app.add_option("--since", asked.since, "with --history: leave out what is older: 30d, 2026-12-24")
      .type_name("TIME")
      .needs(history);
  const Option csv = app.add_flag("--csv", asked.as_csv, "with --history: print comma-separated values");
  const Option plot = app.add_flag("--plot", asked.as_plot, "with --history: draw it in the terminal");
  for (const Option& form : {csv, plot}) form.needs(history).excludes("--json");
  csv.excludes(plot);
  return history;
}

HistoryQuestion history_question_of(const StatArguments& asked, const Console& console) {
  using enum HistoryQuestion::Form;
  return {.path = asked.path,
          .since = asked.since,
          .form = asked.as_csv    ? kCsv
                  : asked.as_plot ? kPlot
                                  : kTable,
          .access = access_of(asked, console)};
}

void define_options(Command& app, StatArguments& asked) {
  app.add_flag("--foreign", asked.foreign, std::string(kForeignHelp));
  define_key_options(app, asked.key);
  const Option json = add_json_flag(app, "print one JSON object with exact numbers");
  const Option verbose =
      app.add_flag("-v,--verbose", asked.verbose, "show each step from the size of the files to the disk space");
  const Option prometheus =
      app.add_option("--prometheus", asked.prometheus,
                     "write metrics for the textfile collector of node_exporter to FILE ('-': print them)");
  const Option openmetrics = app.add_option("--openmetrics", asked.openmetrics,
                                            "write metrics in the format OpenMetrics to FILE ('-': print them)");
  const Option volume = app.add_option("VOLUME|MOUNTPOINT", asked.path, "a volume, or a folder in a mounted one");
  const Option file = app.add_option("--file", asked.files, "show these files of mounted volumes instead");
  file.type_name("PATH").excludes(volume);
  const Option freed =
      app.add_option("--freed", asked.freed, "show what deleting all of these files, folders and snapshots would free");
  freed.type_name("PATH").expected(0, -1).excludes(file).excludes(verbose);
  const Option snapshot =
      app.add_option("--snapshot", asked.snapshots, "with --freed: this snapshot of the volume, too");
  snapshot.type_name("NAME").expected(1).one_value_each_time().needs(freed).take_all();
  const Option tree = app.add_option("--tree", asked.trees, "show what these folders take, and each folder in them");
  tree.type_name("DIR").excludes(volume).excludes(file).excludes(freed).excludes(verbose);
  for (const Option& metrics : {prometheus, openmetrics})
    metrics.type_name("FILE").not_empty().excludes(json).excludes(verbose).excludes(file).excludes(freed).excludes(
        tree);
  prometheus.excludes(openmetrics);
  define_history_options(app, asked)
      .excludes(file)
      .excludes(freed)
      .excludes(tree)
      .excludes(prometheus)
      .excludes(openmetrics)
      .excludes(verbose)
      .needs(volume);
  define_common_options(app);
  app.callback([&asked, volume, file, freed, tree] {
    asked.asks_freed = !freed.empty();
    std::erase(asked.freed, std::string());  // stands there if none was given
    if (asked.asks_freed && asked.freed.empty() && (asked.snapshots.empty() || volume.empty()))
      throw UsageError("PATH, or --snapshot NAME and VOLUME|MOUNTPOINT, with --freed is required");
    if (volume.empty() && file.empty() && freed.empty() && tree.empty())
      throw UsageError("VOLUME|MOUNTPOINT, --file, --freed or --tree is required");
  });
}

}  // namespace

int run_stat(Arguments arguments, std::ostream& out, std::ostream& err, const Process& process) {
  Console console({.name = "dedupfs-stat", .usage_error = kStatFailed, .failed = kStatFailed}, out, err);
  StatArguments asked;
  Command app(
      "Shows what a dedupfs volume holds, what it takes on disk and how healthy it is; or what single files take.",
      "dedupfs-stat");
  app.example("dedupfs-stat /backup");
  define_options(app, asked);
  if (const auto exit_code = console.parse(app, arguments)) return *exit_code;
  const LogTo log(err, "dedupfs-stat", spdlog::level::warn);
  if (asked.asks_history) return show_history(history_question_of(asked, console), console, own_terminal());
  if (asked.asks_freed) return show_freed(asked, console, process);
  if (!asked.trees.empty()) return show_trees(asked, console, process);
  return asked.files.empty() ? show_volume(asked, console) : show_files(asked, console);
}

}  // namespace dedupfs::tools
