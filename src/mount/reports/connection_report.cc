#include "mount/reports/connection_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/size.h"
#include "json/document.h"

namespace dedupfs {
namespace {

std::string protocol_text(const FuseProtocol& protocol) {
  return fmt::format("{}.{}", protocol.major, protocol.minor);
}

std::string listed(const std::vector<std::string>& names) {
  std::string list;
  for (const std::string& name : names) list += (list.empty() ? "" : ", ") + name;
  return list.empty() ? "nothing" : list;
}

}  // namespace

nlohmann::json connection_json(const std::optional<KernelConnection>& connection) {
  if (!connection) return nullptr;
  std::optional<std::string> daemon_protocol;
  if (connection->daemon_protocol) daemon_protocol = protocol_text(*connection->daemon_protocol);
  return {{"libfuse_version", connection->libfuse_version},
          {"kernel_protocol", protocol_text(connection->kernel_protocol)},
          {"daemon_protocol", or_null(daemon_protocol)},
          {"offered", connection->offered},
          {"used", connection->used},
          {"largest_request_bytes", connection->largest_request_bytes},
          {"largest_read_ahead_bytes", connection->largest_read_ahead_bytes},
          {"max_background", connection->max_background},
          {"io_uring", connection->io_uring}};
}

std::vector<std::string> connection_facts(const nlohmann::json& connection) {
  if (!connection.is_object()) return {};
  const auto names = [&](const char* key) { return connection.at(key).get<std::vector<std::string>>(); };
  const auto bytes = [&](const char* key) { return human_size(connection.at(key).get<std::uint64_t>()); };
  const std::vector<std::string> used = names("used");
  std::vector<std::string> unused = names("offered");
  std::erase_if(unused, [&](const std::string& name) { return std::ranges::find(used, name) != used.end(); });
  const nlohmann::json& daemon_protocol = connection.at("daemon_protocol");
  return {fmt::format(
              "libfuse {}, protocol {} of the kernel{}, io_uring {}",
              connection.at("libfuse_version").get<std::string>(), connection.at("kernel_protocol").get<std::string>(),
              daemon_protocol.is_null() ? "" : fmt::format(" and {} of libfuse", daemon_protocol.get<std::string>()),
              connection.at("io_uring").get<bool>() ? "on" : "off"),
          fmt::format("requests of at most {}, read-ahead of at most {}, {} requests in the background",
                      bytes("largest_request_bytes"), bytes("largest_read_ahead_bytes"),
                      connection.at("max_background").get<unsigned>()),
          "used: " + listed(used), "offered and not used: " + listed(unused)};
}

}  // namespace dedupfs
