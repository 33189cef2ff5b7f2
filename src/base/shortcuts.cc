#include "base/shortcuts.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <string>
#include <utility>

namespace dedupfs {
namespace {

constexpr std::array<std::pair<std::string_view, Shortcut>, 5> kShortcuts = {{
    {"sample", Shortcut::kSample},
    {"windows", Shortcut::kWindows},
    {"in-place", Shortcut::kInPlace},
    {"needed-sources", Shortcut::kNeededSources},
    {"small-files", Shortcut::kSmallFiles},
}};

Error unknown(std::string_view name) {
  std::string names;
  for (const auto& [known, shortcut] : kShortcuts) names.append(names.empty() ? "" : ", ").append(known);
  return {ErrorCode::kInvalidArgument, fmt::format("there is no shortcut '{}' (there are: {})", name, names)};
}

}  // namespace

Result<Shortcuts> Shortcuts::of_environment() {
  const char* const names = std::getenv(kVariable);
  if (names == nullptr) return Shortcuts();
  auto shortcuts = without(std::string_view(names));
  if (!shortcuts) return shortcuts.error().with(kVariable);
  return shortcuts;
}

Result<Shortcuts> Shortcuts::without(std::string_view names) {
  Shortcuts shortcuts;
  while (!names.empty()) {
    const std::string_view name = names.substr(0, names.find(','));
    names.remove_prefix(std::min(name.size() + 1, names.size()));
    const auto* const known = std::ranges::find(kShortcuts, name, [](const auto& entry) { return entry.first; });
    if (known == kShortcuts.end()) return unknown(name);
    shortcuts = shortcuts.without(known->second);
  }
  return shortcuts;
}

}  // namespace dedupfs
