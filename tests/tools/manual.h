// The manuals in man/, to be compared with the programs.
#pragma once

#include <fstream>
#include <iterator>
#include <regex>
#include <string>

namespace dedupfs::tools {

inline std::string manual_text(const std::string& name) {
  std::ifstream file(std::string(DEDUPFS_MAN_DIR) + "/" + name);
  return {std::istreambuf_iterator<char>(file), {}};
}

// Whether the manual has `word` in roff, as ".Fl -wait" or ".Va running , paused".
inline bool has_word(const std::string& manual, const std::string& word) {
  return std::regex_search(manual, std::regex("[ .]" + word + "[= \n]"));
}

// The keys of a JSON object that the manual does not name. Those that all documents have are in docs/json.md.
template <class Json>
std::string keys_missing_in(const std::string& manual, const Json& object) {
  std::string missing;
  for (const auto& [key, value] : object.items())
    if (key != "schema" && key != "schema_version" && !has_word(manual, key)) missing += key + ' ';
  return missing;
}

}  // namespace dedupfs::tools
