#include "dedupfs_quota.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/size.h"
#include "command/common_options.h"
#include "exit_codes.h"
#include "mount/clients/ask_publicly.h"
#include "mount/control/control_socket.h"
#include "mount/reports/quota_report.h"
#include "mount/system/in_time.h"
#include "mount/system/mount_table.h"
#include "show.h"

namespace dedupfs::tools {
namespace {

struct QuotaArguments {
  std::string action;
  std::string path;
  std::string logical;  // sizes as they were given; empty: no limit
  std::string stored;
  std::optional<std::uint64_t> files;
};

// A directory in a mount.
struct Place {
  Path path;  // canonical
  struct stat status {};
  MountEntry mount;
};

Result<nlohmann::json> limit_of(const std::string& given) {
  if (given.empty()) return nlohmann::json(nullptr);
  DEDUPFS_ASSIGN(const std::uint64_t bytes, parse_size(given));
  return nlohmann::json(bytes);
}

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
    for (nlohmann::json& quota : quotas)
      if (nlohmann::json& path = quota.at("path"); path.is_string())
        path = path == "." ? mountpoint.string() : (mountpoint / path.get<std::string>()).string();
    return quotas;
  });
}

Result<nlohmann::json> ask_for_all(const Place& place) {
  auto answer = control_request(place.mount.source, {{"command", "quota"}, {"action", "list"}});
  if (answer) return quotas_in(std::move(*answer), place.mount.mountpoint);
  if (answer.error().code() != ErrorCode::kAccessDenied) return answer.error();
  DEDUPFS_ASSIGN(PublicAnswer shown, ask_publicly(place.path, "dedupfs.quotas"));
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

Result<nlohmann::json> set_quota(const Place& place, const QuotaArguments& asked) {
  nlohmann::json request{{"command", "quota"}, {"action", "set"}, {"inode", place.status.st_ino}, {"files", nullptr}};
  DEDUPFS_ASSIGN(request["logical_bytes"], limit_of(asked.logical));
  DEDUPFS_ASSIGN(request["stored_bytes"], limit_of(asked.stored));
  if (asked.files) request["files"] = *asked.files;
  DEDUPFS_ASSIGN(auto answer, control_request(place.mount.source, request));
  DEDUPFS_ASSIGN(const auto quotas, quotas_in(std::move(answer), place.mount.mountpoint));
  return quota_above(place, quotas);
}

Result<nlohmann::json> act(const QuotaArguments& asked) {
  DEDUPFS_ASSIGN(const Place place, find_place(asked.path));
  if (asked.action == "set") return set_quota(place, asked);
  if (asked.action == "remove") {
    DEDUPFS_ASSIGN(auto answer,
                   control_request(place.mount.source,
                                   {{"command", "quota"}, {"action", "remove"}, {"inode", place.status.st_ino}}));
    return quotas_in(std::move(answer), place.mount.mountpoint);
  }
  DEDUPFS_ASSIGN(auto quotas, ask_for_all(place));
  return asked.action == "show" ? quota_above(place, quotas) : quotas;
}

CLI::App& add_action(CLI::App& app, QuotaArguments& asked, const std::string& action, const std::string& place,
                     const std::string& meaning) {
  CLI::App& command = *app.add_subcommand(action, meaning);
  command.callback([&asked, action] { asked.action = action; });
  command.add_option(place, asked.path, "a directory of a mounted volume")->required();
  add_json_flag(command, "print one JSON object");
  return command;
}

void define_commands(CLI::App& app, QuotaArguments& asked) {
  define_common_options(app);
  app.require_subcommand(1);
  CLI::App& set = add_action(app, asked, "set", "DIR", "limit a directory with all that is in it");
  set.add_option("--logical", asked.logical, "the data of its files, as du counts them: 500m, 20g")->type_name("SIZE");
  set.add_option("--stored", asked.stored, "the disk space of what its files need, as dedupfs-stat --tree shows it")
      ->type_name("SIZE");
  set.add_option("--files", asked.files, "its files and directories")->type_name("N");
  add_action(app, asked, "show", "DIR", "show the quota that holds for a directory");
  add_action(app, asked, "list", "MOUNTPOINT", "list all quotas of a volume");
  add_action(app, asked, "remove", "DIR", "remove the quota of a directory");
  app.callback([&asked] {
    if (asked.action == "set" && asked.logical.empty() && asked.stored.empty() && !asked.files)
      throw CLI::ValidationError("set", "give a limit: --logical, --stored or --files");
    for (const auto& [option, given] : {std::pair("--logical", &asked.logical), std::pair("--stored", &asked.stored)})
      if (!given->empty() && !parse_size(*given))
        throw CLI::ValidationError(option, "'" + *given + "' is not a size: give bytes, such as 500m or 20g");
  });
}

}  // namespace

int run_quota(Arguments arguments, std::ostream& out, std::ostream& err) {
  Console console({.name = "dedupfs-quota", .usage_error = kUsageError, .failed = kFailed}, out, err);
  QuotaArguments asked;
  CLI::App app("Limits how much a directory of a mounted dedupfs volume may hold, and shows what it uses.",
               "dedupfs-quota");
  define_commands(app, asked);
  if (const auto exit_code = console.parse(app, arguments)) return *exit_code;

  const auto quotas = act(asked);
  if (!quotas) return console.fail(quotas.error());
  return show(console, "dedupfs-quota", {{"quotas", *quotas}}, kDone, [&asked](const nlohmann::json& shown) {
    return asked.action == "remove" ? std::string() : quotas_screen(shown.at("quotas"));
  });
}

}  // namespace dedupfs::tools
