#include "mount/system/mount_holders.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <optional>
#include <system_error>

#include "base/printable.h"
#include "base/text_of_file.h"

namespace dedupfs {
namespace {

constexpr std::size_t kMaxDescribed = 5;

std::optional<pid_t> process_in(const std::string& name) {
  pid_t process = 0;
  const char* const end = name.data() + name.size();
  const auto [parsed_to, error] = std::from_chars(name.data(), end, process);
  if (error != std::errc() || parsed_to != end) return std::nullopt;
  return process;
}

}  // namespace

std::vector<MountHolder> find_mount_holders(const MountEntry& mount, const Path& proc) {
  std::vector<MountHolder> holders;
  std::error_code gone;
  for (std::filesystem::directory_iterator entry(proc, gone), end; !gone && entry != end; entry.increment(gone)) {
    const auto process = process_in(entry->path().filename().string());
    if (!process) continue;
    const auto table = read_mount_table((entry->path() / "mountinfo").c_str());
    if (!table) continue;
    const auto found = std::ranges::find_if(*table, [&](const MountEntry& one) { return is_same_mount(one, mount); });
    if (found == table->end()) continue;
    std::string name = text_of_file(entry->path() / "comm");
    if (name.ends_with('\n')) name.pop_back();
    holders.push_back({*process, std::move(name), found->mountpoint});
  }
  std::ranges::sort(holders, {}, &MountHolder::process);
  return holders;
}

std::string describe(const std::vector<MountHolder>& holders) {
  std::string text;
  const std::size_t described = std::min(holders.size(), kMaxDescribed);
  for (std::size_t i = 0; i < described; ++i)
    // Names are their processes' choice: no control sequence of theirs reaches a terminal.
    text += fmt::format("{}process {} ({}) at {}", i == 0 ? "" : ", ", holders[i].process,
                        without_control_characters(holders[i].name),
                        without_control_characters(holders[i].mountpoint.string()));
  if (holders.size() > described) text += fmt::format(" and {} more", holders.size() - described);
  return text;
}

}  // namespace dedupfs
