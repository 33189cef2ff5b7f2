#include "backup_repository.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cstdio>
#include <ctime>
#include <nlohmann/json.hpp>
#include <utility>

namespace dedupfs::tools {
namespace {

constexpr std::size_t kMostOutput = 64 << 20;
constexpr std::size_t kShortId = 8;

bool is_hexadecimal(const std::string& text) {
  return !text.empty() && std::ranges::all_of(text, [](unsigned char c) { return std::isxdigit(c) != 0; });
}

// Reads what the program printed.
template <class Read>
auto read_json(const ChildSettings& asked, Read&& read) -> Result<decltype(read(nlohmann::json()))> {
  DEDUPFS_ASSIGN(const std::string output, output_of(asked, kMostOutput));
  try {
    return read(nlohmann::json::parse(output));
  } catch (const nlohmann::json::exception& error) {
    return Error{ErrorCode::kIo, fmt::format("cannot read what {} says: {}", asked.command[0], error.what())};
  }
}

// With their times as the program prints them.
using Listed = std::vector<std::pair<BackupArchive, std::string>>;

Result<std::vector<BackupArchive>> sorted(Result<Listed> listed) {
  if (!listed) return listed.error();
  std::vector<BackupArchive> archives;
  for (auto& [archive, time] : *listed) {
    if (!is_hexadecimal(archive.id)) return Error{ErrorCode::kIo, "'" + archive.id + "' is not the id of an archive"};
    DEDUPFS_ASSIGN(archive.unix_seconds, parse_time(time));
    archives.push_back(std::move(archive));
  }
  std::ranges::stable_sort(archives, {}, &BackupArchive::unix_seconds);
  return archives;
}

class BorgRepository final : public BackupRepository {
 public:
  explicit BorgRepository(std::string location) : location_(std::move(location)) {}

  Result<std::vector<BackupArchive>> archives() const override {
    // Without TZ its times would be local ones of the machine.
    return sorted(read_json(command({"borg", "list", "--json"}), [](const nlohmann::json& json) {
      Listed found;
      for (const auto& one : json.at("archives"))
        found.push_back({{.id = one.at("id"), .name = one.at("name")}, one.at("start").get<std::string>()});
      return found;
    }));
  }

  Result<std::uint64_t> size_of(const BackupArchive& archive) const override {
    return read_json(command({"borg", "info", "--json", "::" + archive.name}), [](const nlohmann::json& json) {
      return json.at("archives").at(0).at("stats").at("original_size").get<std::uint64_t>();
    });
  }

  ChildSettings restore_to(const std::string& folder, const BackupArchive& archive) const override {
    ChildSettings settings = command({"borg", "extract", "--numeric-ids", "--sparse", "::" + archive.name});
    settings.folder = folder;
    return settings;
  }

  bool is_warning(int exit_status) const override { return exit_status == 1; }

 private:
  ChildSettings command(std::vector<std::string> words) const {
    return {.command = std::move(words), .environment = {{"BORG_REPO", location_}, {"TZ", "UTC"}}};
  }

  const std::string location_;
};

class ResticRepository final : public BackupRepository {
 public:
  explicit ResticRepository(std::string location) : location_(std::move(location)) {}

  Result<std::vector<BackupArchive>> archives() const override {
    return sorted(read_json(command({"restic", "snapshots", "--json"}), [](const nlohmann::json& json) {
      Listed found;
      for (const auto& one : json) {
        const std::string id = one.at("id");
        const std::string host = one.value("hostname", "unknown");
        found.push_back({{.id = id, .name = host + '-' + id.substr(0, kShortId)}, one.at("time").get<std::string>()});
      }
      return found;
    }));
  }

  Result<std::uint64_t> size_of(const BackupArchive& archive) const override {
    return read_json(command({"restic", "stats", "--json", "--mode", "restore-size", archive.id}),
                     [](const nlohmann::json& json) { return json.at("total_size").get<std::uint64_t>(); });
  }

  ChildSettings restore_to(const std::string& folder, const BackupArchive& archive) const override {
    return command({"restic", "restore", archive.id, "--target", folder});
  }

  bool is_warning(int /*exit_status*/) const override { return false; }

 private:
  ChildSettings command(std::vector<std::string> words) const {
    return {.command = std::move(words), .environment = {{"RESTIC_REPOSITORY", location_}}};
  }

  const std::string location_;
};

}  // namespace

std::unique_ptr<BackupRepository> BackupRepository::make(std::string_view kind, std::string location) {
  if (kind == "borg") return std::make_unique<BorgRepository>(std::move(location));
  return std::make_unique<ResticRepository>(std::move(location));
}

Result<std::int64_t> parse_time(std::string_view text) {
  const Error wrong = invalid_argument(fmt::format("'{}' is not a time", text));
  const std::string copy(text);
  std::tm time{};
  const char* const behind = ::strptime(copy.c_str(), "%Y-%m-%dT%H:%M:%S", &time);
  if (behind == nullptr) return wrong;
  std::string_view rest = behind;
  if (rest.starts_with('.')) {
    const std::size_t end = rest.find_first_not_of("0123456789", 1);
    rest = end == std::string_view::npos ? std::string_view() : rest.substr(end);
  }
  std::tm offset{};
  if (!rest.empty() && rest != "Z") {
    if ((rest[0] != '+' && rest[0] != '-') || ::strptime(rest.data() + 1, "%H:%M", &offset) == nullptr) return wrong;
  }
  const std::int64_t east = (rest.starts_with('-') ? -60 : 60) * (offset.tm_hour * 60 + offset.tm_min);
  return ::timegm(&time) - east;
}

}  // namespace dedupfs::tools
