#include "dedupfs_report.h"

#include <sys/statvfs.h>

#include <chrono>
#include <ctime>
#include <nlohmann/json.hpp>

#include "command/command.h"
#include "command/common_options.h"
#include "exit_codes.h"
#include "fs/statistics/shared_space.h"
#include "log_to.h"
#include "mount/control/control_socket.h"
#include "mount/reports/history_report.h"
#include "mount/reports/share_report.h"
#include "mount/reports/snapshot_report.h"
#include "mount/system/in_time.h"
#include "mount/system/mount_table.h"
#include "report/page.h"
#include "request_progress.h"
#include "volume_key.h"
#include "volume_source.h"
#include "whole_file.h"

namespace dedupfs::tools {
namespace {

struct ReportArguments {
  std::string path;
  std::string output;
  bool foreign = false;
  KeyArguments key;
};

// Asks for each part of the report: the daemon has limits for one request.
class Facts {
 public:
  Facts(Path volume, VolumeAccess access, const Console& console, const Process& process)
      : source_(std::move(volume), std::move(access)), progress_(console, process) {}

  Result<ReportFacts> gathered() {
    ReportFacts facts{.volume = source_.path().string(), .unix_seconds = std::time(nullptr)};
    progress_.show(job_json({.name = "statistics"}));
    DEDUPFS_ASSIGN(facts.statistics, source_.statistics());
    DEDUPFS_ASSIGN(const nlohmann::json samples, source_.history());
    DEDUPFS_ASSIGN(facts.history, read_answer([&] { return history_of(samples); }));
    DEDUPFS_ASSIGN(facts.folders, folders());
    DEDUPFS_ASSIGN(facts.snapshots, snapshots());
    facts.available_bytes = available_bytes();
    return facts;
  }

 private:
  Result<nlohmann::json> folders() {
    const nlohmann::json roots = {kRootInode};
    DEDUPFS_ASSIGN(const nlohmann::json all, source_.ask(
                                                 {{"command", "folders"}, {"inodes", roots}}, "folders",
                                                 [this](Volume& volume) { return read_folders(volume); }, &progress_));
    return read_answer([&] { return all.at(0); });
  }
  Result<nlohmann::json> read_folders(Volume& volume) {
    RunningJobs::Job job = progress_.begin("folders");
    const auto shares = compute_folder_shares(volume, {kRootInode}, progress_.watch(job), &job.meter());
    if (shares) return folder_shares_json(*shares);
    if (shares.error().code() != ErrorCode::kNotFound) return shares.error();
    return nlohmann::json::array({nlohmann::json::array()});  // it was never mounted, and has no root yet
  }

  Result<nlohmann::json> snapshots() {
    DEDUPFS_ASSIGN(const nlohmann::json list, source_.ask({{"command", "snapshot"}, {"action", "list"}}, "snapshots",
                                                          [](Volume& volume) -> Result<nlohmann::json> {
                                                            return snapshots_json(volume.snapshots().all(), {});
                                                          }));
    DEDUPFS_ASSIGN(const nlohmann::json sizes,
                   source_.ask(
                       {{"command", "snapshot_sizes"}}, "sizes",
                       [this](Volume& volume) -> Result<nlohmann::json> {
                         RunningJobs::Job job = progress_.begin("snapshot_sizes");
                         DEDUPFS_ASSIGN(const auto shares,
                                        compute_snapshot_shares(volume, progress_.watch(job), &job.meter()));
                         return snapshot_shares_json(shares);
                       },
                       &progress_));
    return read_answer([&] { return sized_snapshots_json(snapshots_of(list), holds_of(list), sizes); });
  }

  // For new data: what the mount says, or the disk of the volume.
  std::optional<std::uint64_t> available_bytes() const {
    const auto table = read_mount_table();
    const auto mount = table ? find_dedupfs_mount(*table, source_.path()) : std::nullopt;
    const auto space = statvfs_in_time(mount ? mount->mountpoint : source_.path(), {.limit = std::chrono::seconds(10)});
    if (!space) return std::nullopt;
    return std::uint64_t{space->f_bavail} * space->f_frsize;
  }

  VolumeSource source_;
  RequestProgress progress_;
};

Result<std::string> page_of(const ReportArguments& asked, const Console& console, const Process& process) {
  DEDUPFS_ASSIGN(Path volume, find_volume(asked.path));
  DEDUPFS_ASSIGN(
      const ReportFacts facts,
      Facts(std::move(volume),
            {.foreign = asked.foreign, .backing = reading_backing(asked.key, asked.foreign, console)}, console, process)
          .gathered());
  return read_answer([&] { return report_page(facts); });
}

}  // namespace

int run_report(Arguments arguments, std::ostream& out, std::ostream& err, const Process& process) {
  Console console({.name = "dedupfs-report", .usage_error = kUsageError, .failed = kFailed}, out, err);
  ReportArguments asked;
  Command app(
      "Writes a page about a dedupfs volume: where the space goes, how it grows, what snapshots and folders hold, how "
      "fast it can be read, and how healthy it is.",
      "dedupfs-report");
  app.example("dedupfs-report /backup -o report.html");
  app.add_option("VOLUME|MOUNTPOINT", asked.path, "a volume, or a folder in a mounted one").required();
  app.add_option("-o,--output", asked.output, "the HTML file to write ('-': print it)")
      .type_name("FILE")
      .not_empty()
      .required();
  app.add_flag("--foreign", asked.foreign, std::string(kForeignHelp));
  define_key_options(app, asked.key);
  add_json_flag(app, "print one JSON object: what was written");
  define_progress_flag(app);
  define_common_options(app);
  app.callback([&asked, &app] {
    if (asked.output == "-" && !app.get_option("--json").empty()) throw UsageError("--json excludes --output -");
  });
  if (const auto exit_code = console.parse(app, arguments)) return *exit_code;

  const LogTo log(err, "dedupfs-report", spdlog::level::warn);
  const auto page = page_of(asked, console, process);
  if (!page) return console.fail(page.error());
  if (asked.output == "-") {
    console.out() << *page;
  } else if (const auto written = replace_whole_file(asked.output, *page, FileReaders::kOwner); !written) {
    return console.fail(written.error());
  }
  if (console.as_json()) console.print("dedupfs-report", {{"output", asked.output}, {"written_bytes", page->size()}});
  return console.end(kDone);
}

}  // namespace dedupfs::tools
