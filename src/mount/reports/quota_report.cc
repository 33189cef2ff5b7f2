#include "mount/reports/quota_report.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <string_view>

#include "base/printable.h"
#include "base/size.h"
#include "json/document.h"

namespace dedupfs {
namespace {

std::string bytes_text(std::uint64_t bytes) {
  return human_size(bytes);
}

std::string files_text(std::uint64_t files) {
  return std::to_string(files);
}

std::string line(std::string_view name, std::uint64_t used, const nlohmann::json& limit,
                 std::string (*text)(std::uint64_t)) {
  std::string of;
  if (!limit.is_null()) {
    const auto most = limit.get<std::uint64_t>();
    const double percent = most == 0 ? 100.0 : 100.0 * static_cast<double>(used) / static_cast<double>(most);
    of = fmt::format(" of {} ({:.0f} %)", text(most), percent);
  }
  return fmt::format("  {:<9}{}{}\n", name, text(used), of);
}

}  // namespace

nlohmann::json quotas_json(const std::vector<QuotaStatus>& quotas, const std::map<InodeNumber, std::string>& paths) {
  nlohmann::json all = nlohmann::json::array();
  for (const QuotaStatus& quota : quotas) {
    const auto path = paths.find(quota.directory);
    all.push_back({{"inode", quota.directory},
                   {"path", path == paths.end() ? nlohmann::json(nullptr) : nlohmann::json(path->second)},
                   {"logical_bytes", quota.logical_bytes},
                   {"logical_limit_bytes", or_null(quota.limits.logical_bytes)},
                   {"stored_bytes", quota.stored_bytes},
                   {"unmeasured_bytes", quota.unmeasured_bytes},
                   {"stored_limit_bytes", or_null(quota.limits.stored_bytes)},
                   {"files", quota.files},
                   {"files_limit", or_null(quota.limits.files)}});
  }
  return all;
}

std::string quotas_screen(const nlohmann::json& quotas) {
  std::string screen;
  for (const nlohmann::json& quota : quotas) {
    const nlohmann::json& path = quota.at("path");
    screen += path.is_null() ? fmt::format("Quota of inode {}\n", quota.at("inode").get<std::uint64_t>())
                             : fmt::format("Quota of {}\n", printable(path.get<std::string>()));
    screen +=
        line("logical", quota.at("logical_bytes").get<std::uint64_t>(), quota.at("logical_limit_bytes"), bytes_text);
    if (const nlohmann::json& limit = quota.at("stored_limit_bytes"); !limit.is_null()) {
      screen += line("stored", quota.at("stored_bytes").get<std::uint64_t>(), limit, bytes_text);
      if (const auto more = quota.at("unmeasured_bytes").get<std::uint64_t>(); more != 0)
        screen += fmt::format("  {:<9}{} written since stored bytes were measured\n", "", human_size(more));
    }
    screen += line("files", quota.at("files").get<std::uint64_t>(), quota.at("files_limit"), files_text);
  }
  return screen;
}

}  // namespace dedupfs
