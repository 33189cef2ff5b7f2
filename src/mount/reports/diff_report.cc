#include "mount/reports/diff_report.h"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <nlohmann/json.hpp>
#include <string_view>

#include "base/printable.h"
#include "fs/format/mode.h"
#include "json/document.h"

namespace dedupfs {
namespace {

using Json = nlohmann::json;

constexpr std::size_t kBytesBesidePaths = 300;  // of a change

// In the order of TreeChange::Kind.
constexpr std::array<std::string_view, 4> kKinds{"added", "removed", "modified", "renamed"};

std::string_view type_name(std::uint32_t type) {
  if (is_regular(type)) return "file";
  if (is_directory(type)) return "directory";
  if (is_symlink(type)) return "symlink";
  if (is_device(type)) return "device";
  return type_bits(type) == S_IFIFO ? "fifo" : "socket";
}

void put_path(Json& object, const std::string& key, const std::string& path) {
  object[key] = path;
  if (is_utf8(path)) return;
  std::string hex;
  for (const char byte : path) hex += fmt::format("{:02x}", static_cast<unsigned char>(byte));
  object[key + "_hex"] = hex;
}

std::string path_in(const Json& object, const std::string& key) {
  const auto hex = object.find(key + "_hex");
  if (hex == object.end()) return object.at(key).get<std::string>();
  const auto digits = hex->get<std::string>();
  std::string path;
  for (std::size_t i = 0; i + 1 < digits.size(); i += 2) {
    unsigned char byte = 0;
    std::from_chars(digits.data() + i, digits.data() + i + 2, byte, 16);
    path += static_cast<char>(byte);
  }
  return path;
}

Json change_json(const TreeChange& change) {
  Json object{{"change", kKinds[static_cast<std::size_t>(change.kind)]},
              {"type", type_name(change.type)},
              {"inode", change.inode}};
  put_path(object, "path", change.path);
  if (change.size) object["size"] = *change.size;
  if (change.old_size) object["old_size"] = *change.old_size;
  if (change.kind == TreeChange::Kind::kRenamed) put_path(object, "old_path", change.old_path);
  if (change.kind != TreeChange::Kind::kModified) return object;
  object["content"] = change.content;
  object["attributes"] = change.attributes;
  if (change.old_inode != 0) object["old_inode"] = change.old_inode;
  return object;
}

Json snapshot_json(const SnapshotRecord& snapshot) {
  return with_time({{"name", snapshot.name}, {"number", snapshot.number}}, "created", snapshot.created_unix_seconds);
}

// What of it was modified: "content, mode".
std::string facets(const Json& change) {
  std::string text;
  const auto add = [&](const std::string& facet) { text += (text.empty() ? "" : ", ") + facet; };
  if (change.contains("old_inode")) add("replaced");
  if (change.at("content").get<bool>()) add("content");
  for (const Json& attribute : change.at("attributes")) add(attribute.get<std::string>());
  return text;
}

std::string line_of_change(const Json& change) {
  const std::string path = printable(path_in(change, "path"));
  const auto kind = change.at("change").get<std::string>();
  if (kind == "added") return "+ " + path;
  if (kind == "removed") return "- " + path;
  if (kind == "renamed") return fmt::format("R {} -> {}", printable(path_in(change, "old_path")), path);
  return fmt::format("M {}  ({})", path, facets(change));
}

}  // namespace

nlohmann::json changes_json(const TreeDiff& diff, std::size_t first, std::size_t most_bytes) {
  Json changes = Json::array();
  std::size_t bytes = 0;
  for (std::size_t i = first; i < diff.changes.size() && bytes < most_bytes; ++i) {
    const TreeChange& change = diff.changes[i];
    bytes +=
        kBytesBesidePaths + 8 * (change.path.size() + change.old_path.size());  // a byte takes "\u0001" and two digits
    changes.push_back(change_json(change));
  }
  return changes;
}

nlohmann::json compared_json(const TreeDiff& diff) {
  return {{"from", snapshot_json(diff.from)}, {"to", diff.to ? snapshot_json(*diff.to) : Json(nullptr)}};
}

std::string diff_screen(const nlohmann::json& changes) {
  std::string screen;
  for (const Json& change : changes) screen += line_of_change(change) + '\n';
  return screen;
}

}  // namespace dedupfs
