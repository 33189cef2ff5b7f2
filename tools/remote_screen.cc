#include "remote_screen.h"

#include <fmt/format.h>

#include <cstdint>
#include <nlohmann/json.hpp>

#include "base/printable.h"
#include "base/size.h"

namespace dedupfs::tools {
namespace {

std::string size_of(const nlohmann::json& object, const char* key) {
  return human_size(object.at(key).get<std::uint64_t>());
}
std::uint64_t number_of(const nlohmann::json& object, const char* key) {
  return object.at(key).get<std::uint64_t>();
}

std::string head_screen(const nlohmann::json& head) {
  if (head.is_null()) return "Nothing is there yet.\n";
  return fmt::format("Head {} of epoch {}, shipped {}: {} files, {}\n", number_of(head, "sequence"),
                     number_of(head, "epoch"), head.at("shipped").get<std::string>(), number_of(head, "files"),
                     size_of(head, "bytes"));
}

// How far the mount is, and what it asks of the store.
std::string mount_screen(const nlohmann::json& mount) {
  if (mount.is_null()) return {};
  const nlohmann::json& lag = mount.at("lag_seconds");
  std::string text = lag.is_null()
                         ? "The mount has shipped nothing yet"
                         : fmt::format("The mount has shipped all of {} seconds ago", lag.get<std::uint64_t>());
  if (const auto lacking = number_of(mount, "lacking_bytes"); lacking != 0)
    text += fmt::format("; the bucket lacks {} of content", human_size(lacking));
  const nlohmann::json& requests = mount.at("requests");
  return text + fmt::format(".\nIn {} minutes it sent {} PUT, {} LIST, {} GET, {} HEAD and {} DELETE requests.\n",
                            number_of(mount, "requests_seconds") / 60, number_of(requests, "put"),
                            number_of(requests, "list"), number_of(requests, "get"), number_of(requests, "head"),
                            number_of(requests, "delete"));
}

std::string role_screen(const nlohmann::json& shown) {
  const nlohmann::json& role = shown.at("role");
  if (role.is_null()) return {};
  if (role == "writer") return fmt::format("This volume writes there, with epoch {}.\n", number_of(shown, "epoch"));
  if (role == "copy") return "This volume is a copy, and does not write there. dedupfs-remote takeover changes that.\n";
  return "Another machine writes there now. Nothing of this volume is shipped any more.\n";
}

}  // namespace

std::string remote_screen(const nlohmann::json& shown) {
  std::string text = fmt::format("{}\n", printable(shown.at("address").get<std::string>()));
  const std::string action = shown.at("action").get<std::string>();
  if (action == "attach") return text + "The volume is attached. dedupfs-remote push ships it.\n";
  if (action == "set") text += "From the next mount on, the store is reached so.\n";
  text += head_screen(shown.at("head")) + role_screen(shown) + mount_screen(shown.at("mount"));
  if (const auto& shipped = shown.at("shipped"); !shipped.is_null())
    text += number_of(shipped, "head_bytes") == 0
                ? "Nothing has changed since.\n"
                : fmt::format("Shipped {} in {} objects, and a head of {}.\n", size_of(shipped, "bytes"),
                              number_of(shipped, "objects"), size_of(shipped, "head_bytes"));
  if (const auto& deleted = shown.at("deleted");
      !deleted.is_null() && number_of(deleted, "objects") + number_of(deleted, "heads") != 0)
    text += fmt::format("Deleted {} objects ({}) and {} heads that nobody needs.\n", number_of(deleted, "objects"),
                        size_of(deleted, "bytes"), number_of(deleted, "heads"));
  if (const auto& deleted = shown.at("deleted"); !deleted.is_null() && number_of(deleted, "refused_objects") != 0)
    text +=
        fmt::format("The store keeps {} objects ({}) that nobody needs: {}\n", number_of(deleted, "refused_objects"),
                    size_of(deleted, "refused_bytes"), printable(deleted.at("refusal").get<std::string>()));
  if (action == "clone")
    text += fmt::format("The volume is in {}.\n", printable(shown.at("volume").get<std::string>()));
  if (const auto& check = shown.at("check"); !check.is_null()) {
    for (const nlohmann::json& finding : check.at("findings")) text += printable(finding.get<std::string>()) + "\n";
    text +=
        fmt::format("{} {} objects, {}: {} missing or damaged\n", check.at("read").get<bool>() ? "Read" : "Looked for",
                    number_of(check, "objects"), size_of(check, "bytes"), number_of(check, "bad_objects"));
    if (!check.at("put_back").is_null() && number_of(check, "bad_objects") != 0)
      text += fmt::format("{} of them were put back from the volume\n", number_of(check, "put_back"));
  }
  if (const auto& usage = shown.at("usage"); !usage.is_null())
    text += fmt::format("{} objects, {}; the newest head needs {} of them, {}\n", number_of(usage, "objects"),
                        size_of(usage, "bytes"), number_of(usage, "needed_objects"), size_of(usage, "needed_bytes"));
  if (const auto& usage = shown.at("usage"); !usage.is_null()) {
    const auto& cost = usage.at("cost");
    const auto dollars = [&](const char* key) { return cost.at(key).get<double>(); };
    text +=
        fmt::format("about {:.2f} $ a month to keep at {} $ a GB; {:.2f} $ to clone once at {} $ a GB\n",
                    dollars("storage_a_month"), dollars("storage_price"), dollars("clone"), dollars("egress_price"));
    if (!cost.at("requests_a_month").is_null())
      text += fmt::format("about {:.2f} $ a month for requests, if they go on so, at {} $ a thousand PUTs\n",
                          dollars("requests_a_month"), dollars("put_price"));
  }
  return text;
}

nlohmann::json deleted_json(const Shipper::Collected& collected) {
  const bool is_refused = collected.refused_objects != 0;
  return {{"objects", collected.objects},
          {"bytes", collected.bytes},
          {"heads", collected.heads},
          {"refused_objects", collected.refused_objects},
          {"refused_bytes", collected.refused_bytes},
          {"refusal", is_refused ? nlohmann::json(collected.refusal) : nlohmann::json(nullptr)}};
}

}  // namespace dedupfs::tools
