// dedupfs-snapshot: makes, lists and deletes the snapshots of a dedupfs volume, and goes back to one; asks the daemon of a
// mounted volume, and does it itself where there is none.
#include <fcntl.h>
#include <fmt/chrono.h>
#include <fmt/format.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <ctime>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/unique_fd.h"
#include "exit_codes.h"
#include "fs/namespace/filesystem.h"
#include "mount/control/control_socket.h"
#include "mount/reports/retention_policy.h"
#include "mount/reports/snapshot_report.h"
#include "mount/system/in_time.h"
#include "mount/system/mount_table.h"

namespace {

using namespace dedupfs;  // NOLINT(google-build-using-namespace): a main
using Snapshots = std::vector<SnapshotRecord>;

struct Asked {
  std::string action;
  std::string path;
  std::vector<std::string> names;
  RetentionPolicy keep;
  bool is_dry_run = false;
  bool as_json = false;
  bool foreign = false;
};

// The snapshots of a volume, mounted or not. Each function returns those that there are then.
class Target {
 public:
  static Result<Target> open(const Path& path, bool foreign) {
    Target target;
    DEDUPFS_ASSIGN(target.volume_, find_whole_volume(path));
    const auto daemon = ControlClient::connect(target.volume_);
    if (daemon) return target;
    if (daemon.error().code() != ErrorCode::kNotFound) return daemon.error();
    spdlog::set_default_logger(spdlog::stderr_logger_mt("dedupfs-snapshot"));
    spdlog::set_level(spdlog::level::warn);
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

  // What programs have written through mappings is with the kernel still.
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
  std::unique_ptr<Filesystem> filesystem_;  // of a volume that is not mounted
};

std::string name_of_now() {
  return fmt::format("{:%Y-%m-%d_%H-%M-%S}", fmt::localtime(std::time(nullptr)));
}

Result<Snapshots> remove_all(Target& target, const std::vector<std::string>& names, bool is_dry_run) {
  for (const std::string& name : names) {
    if (!is_dry_run) DEDUPFS_TRY(target.remove(name));
    std::cerr << (is_dry_run ? "would delete " : "deleted ") << name << '\n';
  }
  return target.list();
}

bool is_there(const Snapshots& snapshots, const std::string& name) {
  return std::ranges::find(snapshots, name, &SnapshotRecord::name) != snapshots.end();
}

// All of them or none; each name once.
Result<Snapshots> remove_named(Target& target, const Asked& asked) {
  DEDUPFS_ASSIGN(const Snapshots there, target.list());
  std::vector<std::string> names;
  for (const std::string& name : asked.names) {
    if (!is_there(there, name))
      return Error{ErrorCode::kNotFound, fmt::format("there is no snapshot '{}'; none was deleted", name)};
    if (std::ranges::find(names, name) == names.end()) names.push_back(name);
  }
  return remove_all(target, names, asked.is_dry_run);
}

// As if it had been made: what the rules are to judge.
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

Result<Snapshots> act(Target& target, const Asked& asked) {
  if (asked.action == "create") {
    const std::string name = asked.names.empty() ? name_of_now() : asked.names[0];
    DEDUPFS_ASSIGN(const Snapshots there, asked.is_dry_run ? pretend_to_create(target, name) : target.create(name));
    std::cerr << (asked.is_dry_run ? "would create " : "created ") << name << '\n';
    return remove_all(target, asked.keep.any() ? not_kept(asked.keep, there) : std::vector<std::string>(),
                      asked.is_dry_run);
  }
  if (asked.action == "delete") {
    if (!asked.keep.any()) return remove_named(target, asked);
    DEDUPFS_ASSIGN(const Snapshots there, target.list());
    return remove_all(target, not_kept(asked.keep, there), asked.is_dry_run);
  }
  if (asked.action == "rollback") return target.roll_back(asked.names[0]);
  return target.list();
}

Result<Snapshots> run(const Asked& asked) {
  DEDUPFS_ASSIGN(Target target, Target::open(asked.path, asked.foreign));
  DEDUPFS_ASSIGN(Snapshots snapshots, act(target, asked));
  DEDUPFS_TRY(target.close());
  return snapshots;
}

CLI::App* add_action(CLI::App& app, Asked& asked, const std::string& action, const std::string& meaning) {
  CLI::App* const command = app.add_subcommand(action, meaning);
  command->callback([&asked, action] { asked.action = action; });
  command->add_option("MOUNTPOINT|VOLUME", asked.path, "where the volume is mounted, or the volume")->required();
  command->add_flag("--foreign", asked.foreign, std::string(kForeignHelp));
  command->add_flag("--json", asked.as_json, "print the snapshots that there are then as one JSON array");
  return command;
}

CLI::Option_group* add_rules(CLI::App& command, Asked& asked) {
  auto* const rules = command.add_option_group("rules", "which snapshots to keep; the others are deleted");
  rules->add_option("--keep-last", asked.keep.last, "so many of the last ones");
  rules->add_option("--keep-daily", asked.keep.daily, "the last one of each of so many days");
  rules->add_option("--keep-weekly", asked.keep.weekly, "the last one of each of so many weeks");
  rules->add_option("--keep-monthly", asked.keep.monthly, "the last one of each of so many months");
  command.add_flag("--dry-run", asked.is_dry_run, "create and delete nothing, but say what would be");
  return rules;
}

}  // namespace

int main(int argc, char** argv) {
  Asked asked;
  CLI::App app{"Makes, lists and deletes the snapshots of a dedupfs volume, and goes back to one."};
  app.set_version_flag("-V,--version", "dedupfs-snapshot " DEDUPFS_VERSION);
  app.require_subcommand(1);
  CLI::App* const create = add_action(app, asked, "create", "make one, named after the time if no name is given");
  create->add_option("NAME", asked.names)->expected(0, 1);
  add_rules(*create, asked);
  add_action(app, asked, "list", "show them, the oldest first");
  CLI::App* const remove = add_action(app, asked, "delete", "delete those named, or those that no rule keeps");
  CLI::Option* const names = remove->add_option("NAME", asked.names);
  add_rules(*remove, asked)->excludes(names);
  CLI::App* const rollback = add_action(app, asked, "rollback", "make all files what they were then");
  rollback->add_option("NAME", asked.names)->required()->expected(1);
  try {
    app.parse(argc, argv);
    if (remove->parsed() && asked.names.empty() && !asked.keep.any())
      throw CLI::ValidationError("delete", "name the snapshots to delete, or give a rule which to keep");
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? kDone : kUsageError;
  }
  const auto snapshots = run(asked);
  if (!snapshots) {
    std::cerr << "dedupfs-snapshot: " << snapshots.error().message() << '\n';
    return kFailed;
  }
  if (asked.as_json)
    std::cout << snapshots_json(*snapshots).dump(2) << '\n';
  else if (asked.action == "list")
    std::cout << snapshots_screen(*snapshots);
  return std::cout.flush() ? kDone : kFailed;
}
