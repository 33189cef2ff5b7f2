#include "dedupfs_import.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <ctime>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "archive_folder.h"
#include "backup_repository.h"
#include "base/printable.h"
#include "base/size.h"
#include "command/command.h"
#include "command/common_options.h"
#include "exit_codes.h"
#include "fs/format/types.h"
#include "fs/snapshots/snapshots.h"
#include "job_progress.h"
#include "json/document.h"
#include "mount/reports/retention_policy.h"
#include "mount/system/in_time.h"
#include "mount/system/mount_table.h"
#include "snapshot_target.h"

namespace dedupfs::tools {
namespace {

struct ImportArguments {
  std::string kind;
  std::string repository;
  std::string into;
  std::vector<std::string> archives;
  bool accepts_warnings = false;
  bool without_lock = false;
  bool without_snapshots = false;
};

struct Imported {
  BackupArchive archive;
  std::string snapshot;  // empty: none was made
  bool was_there = false;
  std::string failure;         // empty: none
  bool is_incomplete = false;  // it was restored with warnings
};

// A repository on this machine; the program runs in another folder.
std::string absolute_if_local(const std::string& repository) {
  std::error_code ignored;
  return std::filesystem::exists(repository, ignored) ? whole_path(repository).string() : repository;
}

// When the archive was taken, in UTC, and its name: the set of its own.
std::string name_of_snapshot(const BackupArchive& archive) {
  return snapshot_name(archive.unix_seconds, /*in_utc=*/true, archive.name);
}

struct ImportTarget {
  Path folder;
  Path mountpoint;
};

Result<ImportTarget> find_target(const Path& into) {
  ImportTarget target;
  DEDUPFS_ASSIGN(target.folder, canonical_in_time(into));
  DEDUPFS_ASSIGN(const struct stat status, stat_in_time(target.folder));
  DEDUPFS_ASSIGN(const auto table, read_mount_table());
  const auto mount = get_dedupfs_mount(table, status.st_dev);
  if (!mount) return mount.error().with(into.string());
  target.mountpoint = mount->mountpoint;
  return target;
}

// Those that were asked for; all if none was.
Result<std::vector<BackupArchive>> chosen(std::vector<BackupArchive> archives, const std::vector<std::string>& asked) {
  if (asked.empty()) return archives;
  const auto is = [](const BackupArchive& archive, const std::string& text) {
    return archive.name == text || archive.asked_by == text || (text.size() >= 4 && archive.id.starts_with(text));
  };
  for (const std::string& text : asked)
    if (std::ranges::none_of(archives, [&](const auto& archive) { return is(archive, text); }))
      return Error{ErrorCode::kNotFound, fmt::format("the repository has no archive '{}'; none was imported", text)};
  std::erase_if(archives, [&](const auto& archive) {
    return std::ranges::none_of(asked, [&](const std::string& text) { return is(archive, text); });
  });
  return archives;
}

class Import {
 public:
  Import(const ImportArguments& asked, const Console& console, const Process& process)
      : asked_(asked), console_(console), process_(process), progress_(console, process) {}

  Result<std::vector<Imported>> run() {
    DEDUPFS_ASSIGN(target_, find_target(asked_.into));
    repository_ = BackupRepository::make(asked_.kind, absolute_if_local(asked_.repository), !asked_.without_lock);
    DEDUPFS_ASSIGN(auto all, repository_->archives());
    DEDUPFS_ASSIGN(const std::vector<BackupArchive> archives, chosen(std::move(all), asked_.archives));
    DEDUPFS_ASSIGN(const ArchiveFolders folders, ArchiveFolders::open(target_.folder));
    if (::geteuid() != 0) console_.say("not root: owners, devices and some attributes are not kept");
    std::vector<Imported> done;
    for (const BackupArchive& archive : archives) {
      if (process_.stop_was_asked_for()) return stopped();
      place_ = {.name = archive.name, .done = done.size(), .total = archives.size()};
      Imported& one = done.emplace_back(Imported{.archive = archive});
      const auto imported = import(folders, one);
      progress_.clear();
      if (!imported && imported.error().code() == ErrorCode::kInterrupted) return stopped();
      if (!imported) one.failure = imported.error().message();
      tell(one);
    }
    DEDUPFS_TRY(folders.remove_stage());
    return done;
  }

 private:
  static Error stopped() { return {ErrorCode::kInterrupted, "stopped; a further run goes on with this archive"}; }

  void tell(const Imported& one) const {
    if (!one.failure.empty())
      console_.say(printable(one.archive.name) + ": " + printable(one.failure));
    else
      console_.err() << (one.was_there       ? "there already: "
                         : one.is_incomplete ? "imported, with warnings: "
                                             : "imported: ")
                     << printable(one.archive.name) << '\n';
  }

  Result<void> import(const ArchiveFolders& folders, Imported& one) {
    const BackupArchive& archive = one.archive;
    if (!asked_.without_snapshots) DEDUPFS_TRY(Snapshots::check_name(name_of_snapshot(archive)));
    DEDUPFS_ASSIGN(const auto there, folders.mark_at(archive.name));
    if (there && there->id != archive.id)
      return Error{ErrorCode::kExists, folders.path_of(archive.name).string() + " is something else: move it away"};
    one.was_there = there.has_value();
    if (!there) {
      DEDUPFS_ASSIGN(one.is_incomplete, restore(folders, archive));
      DEDUPFS_TRY(folders.finish(archive.name, archive.id, archive.unix_seconds));
    }
    if (there && !there->snapshot.empty()) {
      one.snapshot = there->snapshot;
    } else if (!asked_.without_snapshots) {
      const ArchiveFolders::Mark mark{.id = archive.id, .snapshot = name_of_snapshot(archive)};
      DEDUPFS_TRY(take_snapshot(archive, mark.snapshot));
      DEDUPFS_TRY(folders.note_snapshot(archive.name, mark));
      one.snapshot = mark.snapshot;
    }
    return {};
  }

  // Whether there were warnings.
  Result<bool> restore(const ArchiveFolders& folders, const BackupArchive& archive) {
    show(0, 0, 0);
    std::uint64_t whole = 0;
    if (progress_.is_seen()) {
      DEDUPFS_ASSIGN(whole, repository_->size_of(archive));
    }
    DEDUPFS_ASSIGN(const Path stage, folders.stage());
    DEDUPFS_ASSIGN(ChildProgram program,
                   ChildProgram::start(repository_->restore_to(stage.string(), archive), ChildProgram::Output::kNone));
    const Clock::time_point begun = Clock::now();
    DEDUPFS_ASSIGN(const int status, program.wait([&](std::uint64_t bytes) {
      if (progress_.is_due()) show(bytes, whole, std::chrono::duration<double>(Clock::now() - begun).count());
      return !process_.stop_was_asked_for();
    }));
    progress_.clear();
    if (process_.stop_was_asked_for()) return stopped();
    if (status == 0) return false;
    std::error_code ignored;
    if (asked_.accepts_warnings && repository_->is_warning(status) && !std::filesystem::is_empty(stage, ignored))
      return true;
    DEDUPFS_TRY(folders.remove_stage());
    return Error{ErrorCode::kIo,
                 fmt::format("{} ended with status {}{}", asked_.kind, status,
                             repository_->is_warning(status) ? ", warnings; --accept-warnings takes it" : "")};
  }

  // It has the date of the archive, or now if that is of a clock that was fast. One that is there already, from a run that was
  // killed, must hold this very folder.
  Result<void> take_snapshot(const BackupArchive& archive, const std::string& name) const {
    DEDUPFS_ASSIGN(SnapshotTarget snapshots,
                   SnapshotTarget::open(target_.mountpoint, SnapshotTarget::Access::kChange, /*foreign=*/false));
    const auto made = snapshots.create(name, std::clamp<std::int64_t>(archive.unix_seconds, 0, std::time(nullptr)));
    if (made) return {};
    if (made.error().code() != ErrorCode::kExists) return made.error().with("no snapshot of it was made");
    const Path inside = target_.mountpoint / kSnapshotsName / name /
                        target_.folder.lexically_relative(target_.mountpoint) / archive.name;
    std::error_code ignored;
    if (std::filesystem::exists(inside, ignored)) return {};
    return made.error();
  }

  void show(std::uint64_t bytes, std::uint64_t whole, double seconds) {
    JobState state = state_of_copy("restore", bytes, whole, seconds);
    state.item = place_.name;
    state.items_done = place_.done;
    state.items_total = place_.total;
    std::string text = fmt::format("{} of {}, {}", place_.done + 1, place_.total, printable(place_.name));
    if (whole != 0)
      text += fmt::format(": {} of {}{}", human_size(bytes), human_size(whole), rate_and_time_left(state));
    progress_.show(text, state);
  }

  using Clock = std::chrono::steady_clock;

  const ImportArguments& asked_;
  const Console& console_;
  const Process& process_;
  JobProgress progress_;
  struct {
    std::string name;
    std::size_t done = 0;
    std::size_t total = 0;
  } place_;  // the archive, and where it is among all
  ImportTarget target_;
  std::unique_ptr<BackupRepository> repository_;
};

nlohmann::json json_of(const std::vector<Imported>& done) {
  nlohmann::json archives = nlohmann::json::array();
  for (const Imported& one : done)
    archives.push_back(
        with_time({{"name", one.archive.name},
                   {"id", one.archive.id},
                   {"snapshot", one.snapshot.empty() ? nlohmann::json(nullptr) : nlohmann::json(one.snapshot)},
                   {"was_there", one.was_there},
                   {"incomplete", one.is_incomplete},
                   {"failure", one.failure.empty() ? nlohmann::json(nullptr) : nlohmann::json(one.failure)}},
                  "taken", one.archive.unix_seconds));
  return {{"archives", archives}};
}

void define_options(Command& app, ImportArguments& asked) {
  define_common_options(app);
  app.add_option("borg|restic", asked.kind, "the program that made the repository")
      .required()
      .one_of({"borg", "restic"})
      .type_name("");
  app.add_option("REPOSITORY", asked.repository, "the repository, as that program takes it").required();
  app.add_option("--into", asked.into, "a folder in the mounted volume, or the mount point")
      .type_name("DIR")
      .required();
  app.add_option("--archive", asked.archives, "import only these archives: names, or beginnings of ids")
      .type_name("NAME");
  app.add_flag("--accept-warnings", asked.accepts_warnings,
               "keep an archive that was restored with warnings: its program says what is missing");
  app.add_flag("--no-lock", asked.without_lock,
               "write nothing to the repository; by itself where it cannot be written to");
  app.add_flag("--no-snapshots", asked.without_snapshots, "only make the folders");
  add_json_flag(app, "print one JSON object with what was done");
  define_progress_flag(app);
}

}  // namespace

int run_import(Arguments arguments, std::ostream& out, std::ostream& err, const Process& process) {
  Console console({.name = "dedupfs-import", .usage_error = kUsageError, .failed = kFailed}, out, err);
  ImportArguments asked;
  Command app(
      "Copies the archives of a borg or restic repository into a mounted dedupfs volume: each as a folder and a "
      "snapshot.",
      "dedupfs-import");
  app.example("dedupfs-import borg /srv/borg --into /backup");
  define_options(app, asked);
  if (const auto exit_code = console.parse(app, arguments)) return *exit_code;

  process.catch_stop_signals();
  const auto done = Import(asked, console, process).run();
  if (!done) return console.fail(done.error(), done.error().code() == ErrorCode::kInterrupted ? kUnfinished : kFailed);
  if (console.as_json()) console.print("dedupfs-import", json_of(*done));
  const bool failed = std::ranges::any_of(*done, [](const Imported& one) { return !one.failure.empty(); });
  return console.end(failed ? kUnfinished : kDone);
}

}  // namespace dedupfs::tools
