#include "command/shell_text.h"

namespace dedupfs::tools {

std::string joined(const std::vector<std::string>& words, std::string_view between) {
  std::string text;
  for (const std::string& word : words) {
    if (!text.empty()) text += between;
    text += word;
  }
  return text;
}

std::string shell_quoted(std::string_view text) {
  std::string result = "'";
  for (const char c : text) {
    if (c == '\'')
      result += R"('\'')";
    else
      result += c;
  }
  return result + "'";
}

std::string fish_quoted(std::string_view text) {
  return "'" + escaped(text, R"(\')") + "'";
}

std::string escaped(std::string_view text, std::string_view special) {
  std::string result;
  for (const char c : text) {
    if (special.find(c) != std::string_view::npos) result += '\\';
    result += c;
  }
  return result;
}

}  // namespace dedupfs::tools
