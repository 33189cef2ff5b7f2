#include "backup_repository.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cstdio>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <utility>

namespace dedupfs::tools {
namespace {

constexpr std::size_t kMostOutput = 64 << 20;
constexpr std::size_t kShortId = 8;
constexpr std::size_t kMostConfig = 64 << 10;
constexpr std::size_t kMostName = 200;  // bytes: a snapshot has the time in front of it
constexpr int kMostDepth = 32;          // of JSON

bool is_hexadecimal(const std::string& text) {
  return !text.empty() && std::ranges::all_of(text, [](unsigned char c) { return std::isxdigit(c) != 0; });
}

// Arrays in arrays take many times their length in memory.
bool is_deep(std::string_view json) {
  int depth = 0;
  bool in_text = false;
  for (std::size_t i = 0; i < json.size(); ++i) {
    if (in_text && json[i] == '\\') {
      ++i;
    } else if (json[i] == '"') {
      in_text = !in_text;
    } else if (!in_text && (json[i] == '[' || json[i] == '{')) {
      if (++depth > kMostDepth) return true;
    } else if (!in_text && (json[i] == ']' || json[i] == '}')) {
      --depth;
    }
  }
  return false;
}

// Reads what the program printed.
template <class Read>
auto read_json(const ChildSettings& asked, Read&& read) -> Result<decltype(read(nlohmann::json()))> {
  DEDUPFS_ASSIGN(const std::string output, output_of(asked, kMostOutput));
  if (is_deep(output))
    return Error{ErrorCode::kIo,
                 fmt::format("cannot read what {} says: its depth is more than {}", asked.command[0], kMostDepth)};
  try {
    return read(nlohmann::json::parse(output));
  } catch (const nlohmann::json::exception& error) {
    return Error{ErrorCode::kIo, fmt::format("cannot read what {} says: {}", asked.command[0], error.what())};
  }
}

// A name that a folder and a snapshot can have. Programs allow others: a host of restic may have a slash.
std::string usable_name(const BackupArchive& archive) {
  std::string name = archive.name;
  for (char& c : name)
    if (c == '/' || static_cast<unsigned char>(c) < ' ' || c == '\x7f') c = '_';
  if (name.starts_with('.')) name[0] = '_';
  if (name == archive.name && name.size() <= kMostName && !name.empty()) return name;
  name.resize(std::min(name.size(), kMostName));
  return name + '-' + archive.id.substr(0, kShortId);
}

bool is_read_only(const std::string& location) {
  std::error_code ignored;
  return std::filesystem::is_directory(location, ignored) && ::access(location.c_str(), W_OK) != 0;
}

// With their times as the program prints them.
using Listed = std::vector<std::pair<BackupArchive, std::string>>;

Result<std::vector<BackupArchive>> sorted(Result<Listed> listed) {
  if (!listed) return listed.error();
  std::vector<BackupArchive> archives;
  for (auto& [archive, time] : *listed) {
    if (!is_hexadecimal(archive.id)) return Error{ErrorCode::kIo, "'" + archive.id + "' is not the id of an archive"};
    DEDUPFS_ASSIGN(archive.unix_seconds, parse_time(time));
    if (archive.asked_by.empty()) archive.asked_by = archive.name;
    archive.name = usable_name(archive);
    archives.push_back(std::move(archive));
  }
  std::ranges::stable_sort(archives, {}, &BackupArchive::unix_seconds);
  return archives;
}

// What made a repository.
enum class Maker {
  kBorg1,
  kBorg2,
  kRestic,
  kNobody,     // a folder that is none of these
  kElsewhere,  // no folder on this machine: only the program itself can tell
};

std::string begin_of(const std::filesystem::path& file, std::size_t most) {
  std::string text(most, '\0');
  std::ifstream in(file, std::ios::binary);
  in.read(text.data(), static_cast<std::streamsize>(most));
  text.resize(static_cast<std::size_t>(in.gcount()));
  return text;
}

Maker maker_of(const std::filesystem::path& folder) {
  std::error_code ignored;
  if (!std::filesystem::is_directory(folder, ignored)) return Maker::kElsewhere;
  const std::filesystem::path config = folder / "config";
  // Early betas of borg 2 have a file as borg 1 has, with another version.
  if (std::filesystem::is_regular_file(config / "version", ignored)) return Maker::kBorg2;
  if (!std::filesystem::is_regular_file(config, ignored)) return Maker::kNobody;
  const std::string text = begin_of(config, kMostConfig);
  if (text.find("[repository]\n") != std::string::npos) {
    const std::size_t version = text.find("\nversion = ");
    const bool is_1 = version == std::string::npos || text.substr(version).starts_with("\nversion = 1\n");
    return is_1 ? Maker::kBorg1 : Maker::kBorg2;
  }
  const bool is_restic = std::filesystem::is_directory(folder / "keys", ignored) &&
                         std::filesystem::is_directory(folder / "snapshots", ignored);
  return is_restic ? Maker::kRestic : Maker::kNobody;
}

// A program that is given the repository of another one may end with no more than a traceback.
Result<void> expect_maker(Maker expected, const std::string& location) {
  const Maker maker = maker_of(location);
  if (maker == expected || maker == Maker::kElsewhere) return {};
  const auto refused = [&](std::string_view what) {
    return Error{ErrorCode::kUnsupported, location + std::string(what)};
  };
  switch (maker) {
    case Maker::kBorg2:
      return refused(
          " is a repository of borg 2, and only those of borg 1 can be imported: in a folder of the mount, run "
          "'borg -r REPOSITORY extract ARCHIVE' of borg 2, then 'dedupfs-snapshot create'; dedupfs-import(8) has the "
          "commands");
    case Maker::kBorg1: return refused(" is a repository of borg: use 'dedupfs-import borg'");
    case Maker::kRestic: return refused(" is a repository of restic: use 'dedupfs-import restic'");
    default:
      return refused(expected == Maker::kBorg1
                         ? " is no repository of borg: its file 'config' is missing, or not one of borg"
                         : " is no repository of restic: 'config', 'keys' or 'snapshots' is missing");
  }
}

class BorgRepository final : public BackupRepository {
 public:
  BorgRepository(std::string location, bool locks) : location_(std::move(location)), locks_(locks) {}

  Result<std::vector<BackupArchive>> archives() const override {
    DEDUPFS_TRY(expect_maker(Maker::kBorg1, location_));
    DEDUPFS_TRY(expect_borg_1());
    // Without TZ its times would be local ones of the machine.
    return sorted(read_json(command({"borg", "list", "--json"}), [](const nlohmann::json& json) {
      Listed found;
      for (const auto& one : json.at("archives"))
        found.push_back({{.id = one.at("id"), .name = one.at("name")}, one.at("start").get<std::string>()});
      return found;
    }));
  }

  Result<std::uint64_t> size_of(const BackupArchive& archive) const override {
    return read_json(command({"borg", "info", "--json", "::" + archive.asked_by}), [](const nlohmann::json& json) {
      return json.at("archives").at(0).at("stats").at("original_size").get<std::uint64_t>();
    });
  }

  ChildSettings restore_to(const std::string& folder, const BackupArchive& archive) const override {
    ChildSettings settings = command({"borg", "extract", "--numeric-ids", "--sparse", "::" + archive.asked_by});
    settings.folder = folder;
    return settings;
  }

  // With BORG_EXIT_CODES=modern, warnings are 100 to 127.
  bool is_warning(int exit_status) const override {
    return exit_status == 1 || (exit_status >= 100 && exit_status <= 127);
  }

 private:
  // Borg 2 has other commands, and reads no repository of borg 1.
  Result<void> expect_borg_1() const {
    DEDUPFS_ASSIGN(std::string version, output_of(command({"borg", "--version"}), kMostConfig));
    if (version.starts_with("borg 1.")) return {};
    version.resize(std::min(version.find('\n'), version.size()));
    return Error{
        ErrorCode::kUnsupported,
        fmt::format("the program 'borg' says that it is '{}', and the import needs borg 1: install it (the package "
                    "borgbackup), or put its folder first in PATH",
                    version)};
  }

  ChildSettings command(std::vector<std::string> words) const {
    if (!locks_ && words[1] != "--version") words.insert(words.begin() + 2, "--bypass-lock");
    return {.command = std::move(words), .environment = {{"BORG_REPO", location_}, {"TZ", "UTC"}}};
  }

  const std::string location_;
  const bool locks_;
};

class ResticRepository final : public BackupRepository {
 public:
  ResticRepository(std::string location, bool locks) : location_(std::move(location)), locks_(locks) {}

  Result<std::vector<BackupArchive>> archives() const override {
    DEDUPFS_TRY(expect_maker(Maker::kRestic, location_));
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

  // It has restored what it could, or could do nothing at all: what is in the folder tells.
  bool is_warning(int exit_status) const override { return exit_status == 1; }

 private:
  ChildSettings command(std::vector<std::string> words) const {
    if (!locks_) words.insert(words.begin() + 1, "--no-lock");
    return {.command = std::move(words), .environment = {{"RESTIC_REPOSITORY", location_}}};
  }

  const std::string location_;
  const bool locks_;
};

}  // namespace

std::unique_ptr<BackupRepository> BackupRepository::make(std::string_view kind, std::string location, bool locks) {
  locks = locks && !is_read_only(location);
  if (kind == "borg") return std::make_unique<BorgRepository>(std::move(location), locks);
  return std::make_unique<ResticRepository>(std::move(location), locks);
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
