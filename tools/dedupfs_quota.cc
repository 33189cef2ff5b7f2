#include "dedupfs_quota.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <nlohmann/json.hpp>
#include <optional>

#include "base/size.h"
#include "command/command.h"
#include "command/common_options.h"
#include "exit_codes.h"
#include "json/document.h"
#include "mount/clients/ask_publicly.h"
#include "mount/control/control_socket.h"
#include "mount/reports/quota_report.h"
#include "mount/system/in_time.h"
#include "mount/system/mount_table.h"
#include "request_progress.h"
#include "show.h"

namespace dedupfs::tools {
namespace {

struct QuotaArguments {
  std::string action;
  std::string path;
  std::optional<std::uint64_t> logical;  // none: no limit
  std::optional<std::uint64_t> stored;
  std::optional<std::uint64_t> files;
};

// A directory in a mount.
struct Place {
  Path path;  // canonical
  struct stat status {};
  MountEntry mount;
};

Result<Place> find_place(const std::string& given) {
  Place place;
  DEDUPFS_ASSIGN(place.path, canonical_in_time(given));
  DEDUPFS_ASSIGN(place.status, stat_in_time(place.path));
  if (!S_ISDIR(place.status.st_mode))
    return Error{ErrorCode::kNotDirectory, given + " is not a directory; a quota belongs to one"};
  DEDUPFS_ASSIGN(const auto table, read_mount_table());
  auto mount = get_dedupfs_mount(table, place.status.st_dev);
  if (!mount) return mount.error().with(given);
  place.mount = std::move(*mount);
  return place;
}

// With their paths as users see them. Only root and the owner of the daemon get paths.
Result<nlohmann::json> quotas_in(nlohmann::json answer, const Path& mountpoint) {
  return read_answer([&] {
    nlohmann::json quotas = answer.at("quotas");
    for (nlohmann::json& quota : quotas) {
      (void)quota.at("inode").get<InodeNumber>();  // quota_above() compares it
      if (nlohmann::json& path = quota.at("path"); path.is_string())
        path = path == "." ? mountpoint.string() : (mountpoint / path.get<std::string>()).string();
    }
    return quotas;
  });
}

Result<nlohmann::json> ask_for_all(const Place& place, const Console& console) {
  auto answer = control_request(place.mount.source, {{"command", "quota"}, {"action", "list"}});
  if (answer) return quotas_in(std::move(*answer), place.mount.mountpoint);
  DEDUPFS_ASSIGN(PublicAnswer shown, ask_publicly_instead(answer.error(), place.path, "dedupfs.quotas"));
  if (const auto doubt = doubt_about(shown.mount)) console.say(*doubt);
  return quotas_in(std::move(shown.json), place.mount.mountpoint);
}

// The quota of a directory: its own, or that of one above it.
Result<nlohmann::json> quota_above(const Place& place, const nlohmann::json& quotas) {
  for (Path at = place.path;; at = at.parent_path()) {
    DEDUPFS_ASSIGN(const struct stat status, stat_in_time(at));
    if (status.st_dev != place.status.st_dev) break;
    for (nlohmann::json quota : quotas) {
      if (quota.at("inode") != status.st_ino) continue;
      quota["path"] = at.string();
      return nlohmann::json::array({quota});
    }
    if (!at.has_relative_path()) break;
  }
  return Error{ErrorCode::kNotFound, fmt::format("no quota holds for {}", place.path.string())};
}

Result<nlohmann::json> set_quota(const Place& place, const QuotaArguments& asked, RequestProgress& progress) {
  DEDUPFS_ASSIGN(auto answer, progress.request(place.mount.source, {{"command", "quota"},
                                                                    {"action", "set"},
                                                                    {"inode", place.status.st_ino},
                                                                    {"logical_bytes", or_null(asked.logical)},
                                                                    {"stored_bytes", or_null(asked.stored)},
                                                                    {"files", or_null(asked.files)}}));
  DEDUPFS_ASSIGN(const auto quotas, quotas_in(std::move(answer), place.mount.mountpoint));
  return quota_above(place, quotas);
}

Result<nlohmann::json> act(const QuotaArguments& asked, const Console& console, const Process& process) {
  DEDUPFS_ASSIGN(const Place place, find_place(asked.path));
  if (asked.action == "set") {
    RequestProgress progress(console, process);
    return set_quota(place, asked, progress);
  }
  if (asked.action == "remove") {
    DEDUPFS_ASSIGN(auto answer,
                   control_request(place.mount.source,
                                   {{"command", "quota"}, {"action", "remove"}, {"inode", place.status.st_ino}}));
    return quotas_in(std::move(answer), place.mount.mountpoint);
  }
  DEDUPFS_ASSIGN(auto quotas, ask_for_all(place, console));
  return asked.action == "show" ? quota_above(place, quotas) : quotas;
}

Command& add_action(Command& app, QuotaArguments& asked, const std::string& action, const std::string& place,
                    const std::string& meaning) {
  Command& command = app.add_subcommand(action, meaning);
  command.callback([&asked, action] { asked.action = action; });
  command.add_option(place, asked.path, "a directory of a mounted volume").required();
  add_json_flag(command, "print one JSON object");
  return command;
}

void add_size(Command& command, const std::string& name, std::optional<std::uint64_t>& limit,
              const std::string& meaning) {
  const auto take = [&limit, name](const std::string& given) {
    const auto bytes = parse_size(given);
    if (!bytes) throw UsageError(name + ": " + bytes.error().message());
    limit = *bytes;
  };
  command.add_option_function(name, take, meaning).type_name("SIZE");
}

void define_commands(Command& app, QuotaArguments& asked) {
  define_common_options(app);
  app.require_subcommand();
  Command& set = add_action(app, asked, "set", "DIR", "limit a directory with all that is in it");
  define_progress_flag(set);
  add_size(set, "--logical", asked.logical, "the data of its files, as du counts them: 500m, 20g");
  add_size(set, "--stored", asked.stored, "the disk space of what its files need, as dedupfs-stat --tree shows it");
  set.add_option("--files", asked.files, "its files and directories").type_name("N");
  add_action(app, asked, "show", "DIR", "show the quota that holds for a directory");
  add_action(app, asked, "list", "MOUNTPOINT", "list all quotas of a volume");
  add_action(app, asked, "remove", "DIR", "remove the quota of a directory");
  app.callback([&asked] {
    if (asked.action == "set" && !asked.logical && !asked.stored && !asked.files)
      throw UsageError("set: give a limit: --logical, --stored or --files");
  });
}

}  // namespace

int run_quota(Arguments arguments, std::ostream& out, std::ostream& err, const Process& process) {
  Console console({.name = "dedupfs-quota", .usage_error = kUsageError, .failed = kFailed}, out, err);
  QuotaArguments asked;
  Command app("Limits how much a directory of a mounted dedupfs volume may hold, and shows what it uses.",
              "dedupfs-quota");
  app.example("dedupfs-quota set /backup/anna --logical 500g");
  define_commands(app, asked);
  if (const auto exit_code = console.parse(app, arguments)) return *exit_code;

  const auto quotas = act(asked, console, process);
  if (!quotas) return console.fail(quotas.error());
  return show(console, "dedupfs-quota", {{"quotas", *quotas}}, kDone, [&asked](const nlohmann::json& shown) {
    return asked.action == "remove" ? std::string() : quotas_screen(shown.at("quotas"));
  });
}

}  // namespace dedupfs::tools
