#include "dedupfs_snapshot.h"

#include <fcntl.h>
#include <fmt/chrono.h>
#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <ctime>
#include <memory>
#include <nlohmann/json.hpp>

#include "base/unique_fd.h"
#include "command/common_options.h"
#include "exit_codes.h"
#include "fs/namespace/filesystem.h"
#include "log_to.h"
#include "mount/control/control_socket.h"
#include "mount/reports/retention_policy.h"
#include "mount/reports/snapshot_report.h"
#include "mount/system/in_time.h"
#include "mount/system/mount_table.h"

namespace dedupfs::tools {
namespace {

using Snapshots = std::vector<SnapshotRecord>;

struct SnapshotArguments {
  std::string action;
  std::string path;
  std::vector<std::string> names;
  RetentionPolicy keep;
  bool is_dry_run = false;
  bool as_json = false;
  bool foreign = false;
};

// The snapshots of a volume, mounted or not. Each function returns the list after its change.
class Target {
 public:
  static Result<Target> open(const Path& path, bool foreign) {
    Target target;
    DEDUPFS_ASSIGN(target.volume_, find_whole_volume(path));
    const auto daemon = ControlClient::connect(target.volume_);
    if (daemon) return target;
    if (daemon.error().code() != ErrorCode::kNotFound) return daemon.error();
    DEDUPFS_ASSIGN(auto volume, Volume::open(target.volume_, {.foreign = foreign}));
    DEDUPFS_ASSIGN(target.filesystem_, Filesystem::open(std::move(volume), {}));
    return target;
  }

  Result<Snapshots> list() { return filesystem_ ? filesystem_->snapshots() : ask({{"action", "list"}}); }

  Result<Snapshots> create(const std::string& name) {
    if (!filesystem_) {
      DEDUPFS_TRY(write_back());
      return ask({{"action", "create"}, {"name", name}});
    }
    DEDUPFS_TRY(filesystem_->create_snapshot(name));
    return list();
  }

  Result<Snapshots> remove(const std::string& name) {
    if (!filesystem_) return ask({{"action", "delete"}, {"name", name}});
    DEDUPFS_TRY(filesystem_->delete_snapshot(name));
    return list();
  }

  Result<Snapshots> roll_back(const std::string& name) {
    if (!filesystem_) return ask({{"action", "rollback"}, {"name", name}});
    DEDUPFS_TRY(filesystem_->roll_back(name));
    return list();
  }

  Result<void> close() { return filesystem_ ? filesystem_->close() : Result<void>(); }

 private:
  Result<Snapshots> ask(nlohmann::json request) const {
    request["command"] = "snapshot";
    DEDUPFS_ASSIGN(const nlohmann::json answer, control_request(volume_, request));
    return read_answer([&] { return snapshots_of(answer.at("snapshots")); });
  }

  // The kernel still holds changes that programs made through mappings.
  Result<void> write_back() const {
    DEDUPFS_ASSIGN(const auto table, read_mount_table());
    const auto mount = find_dedupfs_mount(table, volume_);
    if (!mount) return {};
    const std::string mountpoint = mount->mountpoint.string();
    return do_in_time("the kernel to write back to " + mountpoint, {}, [&]() -> Result<void> {
      const UniqueFd root(::open(mountpoint.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
      if (!root || ::syncfs(root.get()) != 0) return Error::from_errno(errno, mountpoint);
      return {};
    });
  }

  Path volume_;
  std::unique_ptr<Filesystem> filesystem_;  // null if the volume is mounted
};

std::string name_of_now() {
  return fmt::format("{:%Y-%m-%d_%H-%M-%S}", fmt::localtime(std::time(nullptr)));
}

Result<Snapshots> remove_all(Target& target, const std::vector<std::string>& names, bool is_dry_run,
                             std::ostream& err) {
  for (const std::string& name : names) {
    if (!is_dry_run) DEDUPFS_TRY(target.remove(name));
    err << (is_dry_run ? "would delete " : "deleted ") << name << '\n';
  }
  return target.list();
}

bool is_there(const Snapshots& snapshots, const std::string& name) {
  return std::ranges::find(snapshots, name, &SnapshotRecord::name) != snapshots.end();
}

// Deletes all of them or none; a name may be given twice.
Result<Snapshots> remove_named(Target& target, const SnapshotArguments& asked, std::ostream& err) {
  DEDUPFS_ASSIGN(const Snapshots there, target.list());
  std::vector<std::string> names;
  for (const std::string& name : asked.names) {
    if (!is_there(there, name))
      return Error{ErrorCode::kNotFound, fmt::format("there is no snapshot '{}'; none was deleted", name)};
    if (std::ranges::find(names, name) == names.end()) names.push_back(name);
  }
  return remove_all(target, names, asked.is_dry_run, err);
}

// The list as if the snapshot had been created, for the retention policy of a dry run.
Result<Snapshots> pretend_to_create(Target& target, const std::string& name) {
  DEDUPFS_TRY(Filesystem::check_snapshot_name(name));
  DEDUPFS_ASSIGN(Snapshots there, target.list());
  if (is_there(there, name)) return Error{ErrorCode::kExists, fmt::format("there is a snapshot '{}' already", name)};
  SnapshotRecord record;
  record.number = there.empty() ? 1 : there.back().number + 1;
  record.name = name;
  record.created_unix_seconds = std::time(nullptr);
  there.push_back(std::move(record));
  return there;
}

Result<Snapshots> act(Target& target, const SnapshotArguments& asked, std::ostream& err) {
  if (asked.action == "create") {
    const std::string name = asked.names.empty() ? name_of_now() : asked.names[0];
    DEDUPFS_ASSIGN(const Snapshots there, asked.is_dry_run ? pretend_to_create(target, name) : target.create(name));
    err << (asked.is_dry_run ? "would create " : "created ") << name << '\n';
    return remove_all(target, asked.keep.any() ? not_kept(asked.keep, there) : std::vector<std::string>(),
                      asked.is_dry_run, err);
  }
  if (asked.action == "delete") {
    if (!asked.keep.any()) return remove_named(target, asked, err);
    DEDUPFS_ASSIGN(const Snapshots there, target.list());
    return remove_all(target, not_kept(asked.keep, there), asked.is_dry_run, err);
  }
  if (asked.action == "rollback") return target.roll_back(asked.names[0]);
  return target.list();
}

Result<Snapshots> act_on_volume(const SnapshotArguments& asked, std::ostream& err) {
  const LogTo log(err, "dedupfs-snapshot", spdlog::level::warn);
  DEDUPFS_ASSIGN(Target target, Target::open(asked.path, asked.foreign));
  DEDUPFS_ASSIGN(Snapshots snapshots, act(target, asked, err));
  DEDUPFS_TRY(target.close());
  return snapshots;
}

CLI::App& add_action(CLI::App& app, SnapshotArguments& asked, const std::string& action, const std::string& meaning) {
  CLI::App& command = *app.add_subcommand(action, meaning);
  command.callback([&asked, action] { asked.action = action; });
  command.add_option("MOUNTPOINT|VOLUME", asked.path, "the mount point of the volume, or its folder")->required();
  command.add_flag("--foreign", asked.foreign, std::string(kForeignHelp));
  command.add_flag("--json", asked.as_json, "print the resulting list of snapshots as one JSON array");
  return command;
}

CLI::Option_group& add_retention_policy(CLI::App& command, SnapshotArguments& asked) {
  auto& policy = *command.add_option_group("retention policy", "which snapshots to keep; all others are deleted");
  const auto add_rule = [&](const std::string& name, std::uint32_t& count, const std::string& meaning) {
    policy.add_option(name, count, meaning)->type_name("N");
  };
  add_rule("--keep-last", asked.keep.last, "keep the newest N snapshots");
  add_rule("--keep-daily", asked.keep.daily, "keep the newest snapshot of each of the last N days that have one");
  add_rule("--keep-weekly", asked.keep.weekly, "the same for weeks, which begin on Monday");
  add_rule("--keep-monthly", asked.keep.monthly, "the same for months");
  command.add_flag("--dry-run", asked.is_dry_run, "change nothing; print what would be created and deleted");
  return policy;
}

void define_commands(CLI::App& app, SnapshotArguments& asked) {
  define_common_options(app);
  app.require_subcommand(1);
  CLI::App& create = add_action(app, asked, "create", "create a snapshot");
  create.add_option("NAME", asked.names, "its name (default: the current time)")->expected(0, 1);
  add_retention_policy(create, asked);
  add_action(app, asked, "list", "list the snapshots, the oldest first");
  CLI::App& remove =
      add_action(app, asked, "delete", "delete the named snapshots, or those that the retention policy does not keep");
  CLI::Option* const names = remove.add_option("NAME", asked.names, "the snapshots to delete");
  add_retention_policy(remove, asked).excludes(names);
  CLI::App& rollback = add_action(app, asked, "rollback", "set all files back to their state in a snapshot");
  rollback.add_option("NAME", asked.names, "the snapshot")->required()->expected(1);
  app.callback([&asked] {
    if (asked.action == "delete" && asked.names.empty() && !asked.keep.any())
      throw CLI::ValidationError("delete", "name the snapshots to delete, or say with --keep-... which to keep");
  });
}

}  // namespace

int run_snapshot(Arguments arguments, std::ostream& out, std::ostream& err) {
  const Console console({.name = "dedupfs-snapshot", .usage_error = kUsageError, .failed = kFailed}, out, err);
  SnapshotArguments asked;
  CLI::App app("Creates, lists and deletes snapshots of a dedupfs volume, and rolls the volume back to one.",
               "dedupfs-snapshot");
  define_commands(app, asked);
  if (const auto exit_code = console.parse(app, arguments)) return *exit_code;

  const auto snapshots = act_on_volume(asked, err);
  if (!snapshots) return console.fail(snapshots.error());
  if (asked.as_json)
    out << snapshots_json(*snapshots).dump(2) << '\n';
  else if (asked.action == "list")
    out << snapshots_screen(*snapshots);
  return console.end(kDone);
}

}  // namespace dedupfs::tools
