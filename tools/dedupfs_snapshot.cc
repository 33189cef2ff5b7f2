#include "dedupfs_snapshot.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <ctime>
#include <nlohmann/json.hpp>
#include <optional>

#include "command/command.h"
#include "command/common_options.h"
#include "exit_codes.h"
#include "fs/namespace/filesystem.h"
#include "fs/snapshots/tree_diff.h"
#include "json/document.h"
#include "log_to.h"
#include "mount/control/control_socket.h"
#include "mount/reports/diff_report.h"
#include "mount/reports/retention_policy.h"
#include "mount/reports/snapshot_report.h"
#include "point_in_time.h"
#include "request_progress.h"
#include "show.h"
#include "snapshot_target.h"
#include "volume_key.h"

namespace dedupfs::tools {
namespace {

using Snapshots = SnapshotTarget::Snapshots;

struct SnapshotArguments {
  std::string action;
  std::string path;
  std::vector<std::string> names;
  std::string from;  // of diff
  std::string to{kPresentName};
  std::string set;  // of the new one, and of those that the policy is for
  RetentionPolicy keep;
  std::optional<std::int64_t> until_unix_seconds;  // of a hold; nothing: until it is released
  bool is_dry_run = false;
  bool in_utc = false;  // the time that is the name of a new one
  bool foreign = false;
  KeyArguments key;
  bool is_quick = false;
};

// What was done, or with --dry-run would have been; each is said at once.
class Deeds {
 public:
  Deeds(std::ostream& err, bool is_dry_run) : err_(err), is_dry_run_(is_dry_run) {}

  void note_created(const std::string& name) {
    err_ << (is_dry_run_ ? "would create " : "created ") << name << '\n';
    created_ = name;
  }
  void note_deleted(const std::string& name) {
    err_ << (is_dry_run_ ? "would delete " : "deleted ") << name << '\n';
    deleted_.push_back(name);
  }
  void say(const std::string& line) { err_ << line << '\n'; }

  nlohmann::json json() const {
    return {{"dry_run", is_dry_run_}, {"created_name", or_null(created_)}, {"deleted", deleted_}};
  }

 private:
  std::ostream& err_;
  const bool is_dry_run_;
  std::optional<std::string> created_;
  std::vector<std::string> deleted_;
};

// The list after the action, and what they take, if that was asked for: the object of snapshot_shares_json().
struct Outcome {
  Snapshots snapshots;
  nlohmann::json sizes = nlohmann::json::object();
};

Result<Snapshots> remove_all(SnapshotTarget& target, const std::vector<std::string>& names, bool is_dry_run,
                             Deeds& deeds) {
  for (const std::string& name : names) {
    if (!is_dry_run) DEDUPFS_TRY(target.remove(name));
    deeds.note_deleted(name);
  }
  return target.list();
}

bool is_there(const Snapshots& there, const std::string& name) {
  return std::ranges::find(there.all, name, &SnapshotRecord::name) != there.all.end();
}

std::optional<HoldStatus> hold_of(const Snapshots& there, const std::string& name) {
  const auto snapshot = std::ranges::find(there.all, name, &SnapshotRecord::name);
  if (snapshot == there.all.end()) return std::nullopt;
  const auto hold = there.holds.find(snapshot->number);
  return hold == there.holds.end() ? std::nullopt : std::optional(hold->second);
}

// A policy that runs each time leaves nothing that is due. So if some were due already when `newest` was made, another policy has kept them,
// or this one was another then.
void note_overdue(const SnapshotArguments& asked, std::vector<SnapshotRecord> members, const std::string& newest,
                  const std::vector<std::string>& due, Deeds& deeds) {
  std::erase_if(members, [&](const SnapshotRecord& snapshot) { return snapshot.name == newest; });
  const auto due_before = not_kept(asked.keep, std::move(members), std::time(nullptr));
  const auto overdue = std::ranges::count_if(
      due, [&](const std::string& name) { return std::ranges::find(due_before, name) != due_before.end(); });
  if (overdue == 0) return;
  deeds.say(fmt::format(
      "note: {} of {} to delete {} kept by another policy of the set '{}', or by this one before it changed; each "
      "policy needs a set of its own",
      overdue, due.size(), overdue == 1 ? "was" : "were", asked.set));
}

// Those of the set that the policy does not keep, and nothing holds. `created`: the one that was made now; nothing if none was.
std::vector<std::string> due_by_policy(const SnapshotArguments& asked, const Snapshots& there,
                                       const std::optional<std::string>& created, Deeds& deeds) {
  if (!asked.keep.any()) return {};
  std::vector<SnapshotRecord> members = snapshots_of_set(asked.set, there.all);
  if (members.empty()) deeds.say(fmt::format("the set '{}' has no snapshots", asked.set));
  std::vector<std::string> due;
  for (std::string& name : not_kept(asked.keep, members, std::time(nullptr))) {
    if (const auto hold = hold_of(there, name))
      deeds.say(fmt::format("kept {}: {}", name, hold_text(*hold)));
    else
      due.push_back(std::move(name));
  }
  if (created) note_overdue(asked, std::move(members), *created, due, deeds);
  return due;
}

// Deletes all of them or none; a name may be given twice.
Result<Snapshots> remove_named(SnapshotTarget& target, const SnapshotArguments& asked, Deeds& deeds) {
  DEDUPFS_ASSIGN(const Snapshots there, target.list());
  std::vector<std::string> names;
  for (const std::string& name : asked.names) {
    if (!is_there(there, name))
      return Error{ErrorCode::kNotFound, fmt::format("there is no snapshot '{}'; none was deleted", name)};
    if (const auto hold = hold_of(there, name))
      return Error{ErrorCode::kNotPermitted,
                   fmt::format("snapshot '{}' is {}; none was deleted", name, hold_text(*hold))};
    if (std::ranges::find(names, name) == names.end()) names.push_back(name);
  }
  return remove_all(target, names, asked.is_dry_run, deeds);
}

// The list as if the snapshot had been created, for the retention policy of a dry run.
Result<Snapshots> pretend_to_create(SnapshotTarget& target, const std::string& name) {
  DEDUPFS_TRY(Filesystem::check_snapshot_name(name));
  DEDUPFS_ASSIGN(Snapshots there, target.list());
  if (is_there(there, name)) return Error{ErrorCode::kExists, fmt::format("there is a snapshot '{}' already", name)};
  SnapshotRecord record;
  record.number = there.all.empty() ? 1 : there.all.back().number + 1;
  record.name = name;
  record.created_unix_seconds = std::time(nullptr);
  record.is_dated_here = true;
  there.all.push_back(std::move(record));
  return there;
}

Result<Snapshots> hold_named(SnapshotTarget& target, const SnapshotArguments& asked, Deeds& deeds) {
  DEDUPFS_ASSIGN(Snapshots there, target.hold(asked.names[0], asked.until_unix_seconds));
  if (const auto hold = hold_of(there, asked.names[0]))
    deeds.say(fmt::format("{} is {}", asked.names[0], hold_text(*hold)));
  return there;
}

// The time that is its name. Where another job of the set has taken that second, the next one that is free.
Result<std::string> free_name(SnapshotTarget& target, const SnapshotArguments& asked) {
  DEDUPFS_ASSIGN(const Snapshots there, target.list());
  for (std::int64_t time = std::time(nullptr);; ++time)
    if (std::string name = snapshot_name(time, asked.in_utc, asked.set); !is_there(there, name)) return name;
}

// Sets `name` to that of the snapshot.
Result<Snapshots> create_named(SnapshotTarget& target, const SnapshotArguments& asked, std::string& name) {
  for (;;) {
    if (asked.names.empty()) {
      DEDUPFS_ASSIGN(name, free_name(target, asked));
    } else {
      name = asked.names[0];
    }
    auto there = asked.is_dry_run ? pretend_to_create(target, name) : target.create(name);
    // Another job may have taken the name at this very moment.
    if (there || !asked.names.empty() || there.error().code() != ErrorCode::kExists) return there;
  }
}

Result<Snapshots> act(SnapshotTarget& target, const SnapshotArguments& asked, Deeds& deeds) {
  if (asked.action == "create") {
    std::string name;
    DEDUPFS_ASSIGN(const Snapshots there, create_named(target, asked, name));
    deeds.note_created(name);
    return remove_all(target, due_by_policy(asked, there, name, deeds), asked.is_dry_run, deeds);
  }
  if (asked.action == "delete") {
    if (!asked.keep.any()) return remove_named(target, asked, deeds);
    DEDUPFS_ASSIGN(const Snapshots there, target.list());
    return remove_all(target, due_by_policy(asked, there, std::nullopt, deeds), asked.is_dry_run, deeds);
  }
  if (asked.action == "rollback") return target.roll_back(asked.names[0]);
  if (asked.action == "hold") return hold_named(target, asked, deeds);
  if (asked.action == "release") return target.release(asked.names[0]);
  return target.list();
}

Result<SnapshotTarget> target_of(const SnapshotArguments& asked, const Console& console) {
  const bool only_reads = asked.action == "list" || asked.action == "diff" || asked.is_dry_run;
  if (only_reads)
    return SnapshotTarget::open(asked.path, SnapshotTarget::Access::kRead, asked.foreign,
                                reading_backing(asked.key, asked.foreign, console));
  return SnapshotTarget::open(asked.path, SnapshotTarget::Access::kChange, asked.foreign,
                              keyed_backing(asked.key, asked.foreign));
}

Result<Outcome> act_on_volume(const SnapshotArguments& asked, const Console& console, const Process& process,
                              Deeds& deeds) {
  const LogTo log(console.err(), "dedupfs-snapshot", spdlog::level::warn);
  DEDUPFS_ASSIGN(SnapshotTarget target, target_of(asked, console));
  Outcome outcome;
  DEDUPFS_ASSIGN(outcome.snapshots, act(target, asked, deeds));
  if (asked.action == "list" && !asked.is_quick && !outcome.snapshots.all.empty()) {
    auto sizes = [&] {
      RequestProgress progress(console, process);
      return target.sizes(progress);
    }();
    // The list is worth something without them.
    if (sizes)
      outcome.sizes = std::move(*sizes);
    else
      console.err() << "dedupfs-snapshot: sizes are not shown: " << sizes.error().message() << '\n';
  }
  DEDUPFS_TRY(target.close());
  return outcome;
}

Result<nlohmann::json> difference(const SnapshotArguments& asked, const Console& console) {
  const LogTo log(console.err(), "dedupfs-snapshot", spdlog::level::warn);
  DEDUPFS_ASSIGN(SnapshotTarget target, target_of(asked, console));
  const bool is_to_present = asked.to == kPresentName;
  DEDUPFS_ASSIGN(nlohmann::json diff, target.diff(asked.from, is_to_present ? std::nullopt : std::optional(asked.to)));
  DEDUPFS_TRY(target.close());
  return diff;
}

int show_diff(const SnapshotArguments& asked, const Console& console) {
  const auto diff = difference(asked, console);
  if (!diff) return console.fail(diff.error());
  return show(console, "dedupfs-snapshot-diff", *diff, kDone,
              [](const nlohmann::json& shown) { return diff_screen(shown.at("changes")); });
}

int show_outcome(const SnapshotArguments& asked, const Console& console, const Process& process) {
  Deeds deeds(console.err(), asked.is_dry_run);
  const auto outcome = act_on_volume(asked, console, process, deeds);
  if (!outcome) return console.fail(outcome.error());
  const Snapshots& snapshots = outcome->snapshots;
  const nlohmann::json& sizes = outcome->sizes;
  nlohmann::json document = deeds.json();
  document["action"] = asked.action;
  document["snapshots"] = sized_snapshots_json(snapshots.all, snapshots.holds, sizes);
  return show(console, "dedupfs-snapshot", document, kDone, [&](const nlohmann::json&) {
    return asked.action == "list" ? snapshots_screen(snapshots.all, snapshots.holds, sizes) : std::string();
  });
}

Command& add_action(Command& app, SnapshotArguments& asked, const std::string& action, const std::string& meaning) {
  Command& command = app.add_subcommand(action, meaning);
  command.callback([&asked, action] { asked.action = action; });
  command.add_option("MOUNTPOINT|VOLUME", asked.path, "the mount point of the volume, or its folder").required();
  command.add_flag("--foreign", asked.foreign, std::string(kForeignHelp));
  define_key_options(command, asked.key);
  add_json_flag(command, "print what was done, and the resulting list of snapshots, as one JSON object");
  return command;
}

Command& add_retention_policy(Command& command, SnapshotArguments& asked) {
  Command& policy =
      command.add_option_group("retention policy", "which snapshots of a set to keep; its others are deleted");
  policy.add_option("--set", asked.set, "the set: its snapshots have names such as 2026-11-29_02-00-00_SET")
      .type_name("SET")
      .not_empty();
  const auto add_rule = [&](const std::string& name, std::uint32_t& count, const std::string& meaning) {
    policy.add_option(name, count, meaning).type_name("N");
  };
  add_rule("--keep-last", asked.keep.last, "keep the newest N snapshots of the set");
  add_rule("--keep-hourly", asked.keep.hourly, "keep the newest snapshot of each of the last N hours that have one");
  add_rule("--keep-daily", asked.keep.daily, "the same for days");
  add_rule("--keep-weekly", asked.keep.weekly, "the same for weeks, which begin on Monday");
  add_rule("--keep-monthly", asked.keep.monthly, "the same for months");
  command.add_flag("--dry-run", asked.is_dry_run, "change nothing; print what would be created and deleted");
  return policy;
}

void define_commands(Command& app, SnapshotArguments& asked) {
  define_common_options(app);
  app.require_subcommand();
  Command& create = add_action(app, asked, "create", "create a snapshot");
  create.add_option("NAME", asked.names, "its name (default: the current time)").expected(0, 1);
  create.add_flag("--utc", asked.in_utc, "name it by the time in UTC, as Samba expects, and not by the local time");
  add_retention_policy(create, asked);
  Command& list = add_action(app, asked, "list", "list the snapshots, the first made first, and what they take");
  list.add_flag("--quick", asked.is_quick, "do not count what they take, which reads the index");
  Command& remove = add_action(app, asked, "delete",
                               "delete the named snapshots, or those of a set that the retention policy does not keep");
  const Option names = remove.add_option("NAME", asked.names, "the snapshots to delete");
  add_retention_policy(remove, asked).excludes(names);
  Command& rollback = add_action(app, asked, "rollback", "set all files back to their state in a snapshot");
  rollback.add_option("NAME", asked.names, "the snapshot").required().expected(1);
  Command& hold = add_action(app, asked, "hold", "keep a snapshot from being deleted");
  hold.add_option("NAME", asked.names, "the snapshot").required().expected(1);
  const auto note_until = [&asked](const std::string& text) {
    const auto until = parse_time(text, std::time(nullptr));
    if (!until) throw UsageError("--until: " + until.error().message());
    asked.until_unix_seconds = *until;
  };
  hold.add_option_function("--until", note_until, "nobody can release it before: 2026-12-24, '2026-12-24 18:00', 30d")
      .type_name("DATE");
  Command& release = add_action(app, asked, "release", "end the hold of a snapshot");
  release.add_option("NAME", asked.names, "the snapshot").required().expected(1);
  Command& diff = add_action(app, asked, "diff", "list what changed between two snapshots, or since one");
  diff.get_option("--json").description("print one JSON object");
  diff.add_option("FROM", asked.from, "the older snapshot").required();
  diff.add_option("TO", asked.to, "the newer one").capture_default_str();
  app.callback([&asked] {
    if (asked.in_utc && !asked.names.empty()) throw UsageError("create: --utc excludes NAME");
    if (!asked.set.empty() && !asked.names.empty()) throw UsageError("create: --set excludes NAME");
    if (asked.keep.any() && asked.set.empty())
      throw UsageError(asked.action + ": say with --set which snapshots --keep-... is for; it deletes no others");
    if (asked.action == "delete" && asked.names.empty() && !asked.keep.any())
      throw UsageError("delete: name the snapshots to delete, or say with --set and --keep-... which to keep");
  });
}

}  // namespace

int run_snapshot(Arguments arguments, std::ostream& out, std::ostream& err, const Process& process) {
  Console console({.name = "dedupfs-snapshot", .usage_error = kUsageError, .failed = kFailed}, out, err);
  SnapshotArguments asked;
  Command app(
      "Creates, lists, compares, holds and deletes snapshots of a dedupfs volume, and rolls the volume back to one.",
      "dedupfs-snapshot");
  app.example("dedupfs-snapshot create /backup --set nightly --keep-daily 7 --keep-monthly 12");
  define_commands(app, asked);
  if (const auto exit_code = console.parse(app, arguments)) return *exit_code;

  return asked.action == "diff" ? show_diff(asked, console) : show_outcome(asked, console, process);
}

}  // namespace dedupfs::tools
