#include "dedupfs_events.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <ctime>
#include <filesystem>
#include <iterator>

#include "base/printable.h"
#include "base/text_of_file.h"
#include "base/unique_fd.h"
#include "command/command.h"
#include "command/common_options.h"
#include "exit_codes.h"
#include "file_lock.h"
#include "json/document.h"
#include "mount/clients/ask_health.h"
#include "mount/events/event_hooks.h"
#include "mount/events/event_watch.h"
#include "mount/system/mount_table.h"
#include "whole_file.h"

namespace dedupfs::tools {
namespace {

struct EventArguments {
  std::vector<std::string> mountpoints;  // none: all
  std::string hooks = "/etc/dedupfs/event.d";
  bool names_hooks = false;  // the folder was given: it must be there
  std::string state = "/run/dedupfs/events.json";
  double nearly_full = 5;
  unsigned limit_seconds = 30;
  std::string failed;
  bool job = false;  // a job has failed, not the unit that mounts
  bool test = false;
};

// Only those whose daemon runs as root or as this user: a program of the administrator runs for what they say.
std::vector<MountEntry> trusted_mounts(const std::vector<MountEntry>& table) {
  std::vector<MountEntry> mounts;
  for (const MountEntry& entry : table) {
    // A mount on top hides it, whosever that is: whoever is on top would answer.
    std::erase_if(mounts, [&](const MountEntry& below) { return below.mountpoint == entry.mountpoint; });
    if (entry.type != kMountType || !entry.user || (*entry.user != 0 && *entry.user != ::geteuid())) continue;
    mounts.push_back(entry);
  }
  return mounts;
}

// A state that does not parse is none: everything that lasts is told once more.
nlohmann::json state_of(const std::string& file) {
  nlohmann::json state = nlohmann::json::parse(text_of_file(file), nullptr, false);
  return state.is_object() ? state : nlohmann::json::object();
}

class EventRun {
 public:
  EventRun(const Console& console, const EventArguments& asked) : console_(console), asked_(asked) {}

  int run() {
    if (const auto there = require_hooks(); !there)
      status_ = console_.fail(there.error());
    else if (asked_.test)
      tell({"test", "/srv/volume", "/backup", "a test of the programs in " + asked_.hooks, nullptr});
    else if (!asked_.failed.empty() && asked_.job)
      tell({"job_failed", "", asked_.failed, "one of its jobs has failed: systemctl --failed names it", nullptr});
    else if (!asked_.failed.empty())
      tell({"daemon_died", "", asked_.failed, "its service has failed: systemctl status has the reason", nullptr});
    else if (const auto looked = look_at_all(); !looked)
      status_ = console_.fail(looked.error());
    return console_.end(status_);
  }

 private:
  Result<void> require_hooks() const {
    if (!asked_.names_hooks) return {};
    struct stat status {};
    if (::stat(asked_.hooks.c_str(), &status) != 0) return Error::from_errno(errno, asked_.hooks);
    if (S_ISDIR(status.st_mode)) return {};
    return Error{ErrorCode::kNotDirectory, asked_.hooks + " is no folder"};
  }

  Result<void> look_at_all() {
    DEDUPFS_ASSIGN(const FileLock lock, lock_state());
    DEDUPFS_ASSIGN(const auto table, read_mount_table());
    nlohmann::json state = state_of(asked_.state);
    std::vector<Event> events;
    DEDUPFS_ASSIGN(const std::vector<Path> wanted, wanted_mountpoints());
    const std::vector<MountEntry> mounts = trusted_mounts(table);
    for (const Path& mountpoint : wanted) {
      if (std::ranges::find(mounts, mountpoint, &MountEntry::mountpoint) != mounts.end()) continue;
      status_ = console_.fail(
          {ErrorCode::kNotFound,
           mountpoint.string() + " is not the mount point of a volume that root or this user has mounted"});
    }
    for (const MountEntry& mount : mounts) {
      if (!wanted.empty() && std::ranges::find(wanted, mount.mountpoint) == wanted.end()) continue;
      const auto health = ask_health(mount);
      if (!health) {
        status_ = console_.fail(health.error().with(mount.mountpoint.string()));
        continue;
      }
      auto found = look_for_events({mount.source, mount.mountpoint.string(), *health}, asked_.nearly_full,
                                   state[printable(mount.mountpoint.string())]);
      std::ranges::move(found, std::back_inserter(events));
    }
    // Before the programs run: one that kills this process must not be told of the same event for ever.
    DEDUPFS_TRY(replace_whole_file(asked_.state, text_of_json(state, JsonLayout::kLine)));
    for (const Event& event : events) tell(event);
    return {};
  }

  Result<std::vector<Path>> wanted_mountpoints() const {
    std::vector<Path> wanted;
    for (const std::string& given : asked_.mountpoints) {
      DEDUPFS_ASSIGN(Path canonical, canonical_mountpoint(given));
      wanted.push_back(std::move(canonical));
    }
    return wanted;
  }

  // One at a time. A timer comes again, so this run does not wait long for another one's programs.
  Result<FileLock> lock_state() const {
    const Path file = asked_.state + ".lock";
    std::error_code ignored;
    std::filesystem::create_directories(file.parent_path(), ignored);
    UniqueFd opened(::open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
    if (!opened) return Error::from_errno(errno, file.string());
    return FileLock::take(std::move(opened), file,
                          "another dedupfs-events has " + file.string() + ": nothing was looked at",
                          std::chrono::seconds(10));
  }

  void tell(const Event& event) {
    if (console_.as_json())
      console_.print_line("dedupfs-events", event_json(event, std::time(nullptr)));
    else
      console_.out() << event.name << ' ' << event.mountpoint << ": " << event.message << std::endl;
    const HookOutput output = console_.as_json() ? HookOutput::kStandardError : HookOutput::kStandardOutput;
    for (const std::string& failure :
         run_event_hooks(asked_.hooks, event, std::chrono::seconds(asked_.limit_seconds), output))
      status_ = console_.fail({ErrorCode::kIo, failure});
  }

  const Console& console_;
  const EventArguments& asked_;
  int status_ = kDone;
};

void define_options(Command& app, EventArguments& asked) {
  app.add_option("MOUNTPOINT", asked.mountpoints, "look at these mounts only");
  const Option hooks = app.add_option("--hooks", asked.hooks, "the folder of the programs to run")
                           .type_name("DIR")
                           .not_empty()
                           .capture_default_str();
  app.callback([&asked, hooks] { asked.names_hooks = !hooks.empty(); });
  app.add_option("--state", asked.state, "the file that remembers the last look")
      .type_name("FILE")
      .not_empty()
      .capture_default_str();
  app.add_option("--nearly-full", asked.nearly_full, "a disk is nearly full with less than this available")
      .type_name("PERCENT")
      .in_range(0.0, 100.0)
      .capture_default_str();
  app.add_option("--limit", asked.limit_seconds, "kill a program that runs longer than this")
      .type_name("SECONDS")
      .in_range(1U, 86'400U)
      .capture_default_str();
  const Option failed = app.add_option("--failed", asked.failed, "do not look: the service of this mount has failed")
                            .type_name("MOUNTPOINT");
  app.add_flag("--job", asked.job, "with --failed: a job has failed, not the service that mounts").needs(failed);
  app.add_flag("--test", asked.test, "do not look: run the programs for an event named 'test'").excludes(failed);
  add_json_flag(app, "print each event as one line of JSON");
  define_common_options(app);
}

}  // namespace

int run_events(Arguments arguments, std::ostream& out, std::ostream& err) {
  Console console({.name = "dedupfs-events", .usage_error = kUsageError, .failed = kFailed}, out, err);
  EventArguments asked;
  Command app(
      "Looks once at the mounted dedupfs volumes, and runs the programs of a folder for each thing that has happened.",
      "dedupfs-events");
  app.example("dedupfs-events --test");
  define_options(app, asked);
  if (const auto exit_code = console.parse(app, arguments)) return *exit_code;
  return EventRun(console, asked).run();
}

}  // namespace dedupfs::tools
