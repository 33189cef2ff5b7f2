#include "report/html.h"

#include <fmt/format.h>

#include "base/printable.h"

namespace dedupfs::tools {

std::string html(std::string_view text) {
  std::string escaped;
  for (const char c : printable(text)) {
    switch (c) {
      case '&': escaped += "&amp;"; break;
      case '<': escaped += "&lt;"; break;
      case '>': escaped += "&gt;"; break;
      case '"': escaped += "&quot;"; break;
      case '\'': escaped += "&#39;"; break;
      default: escaped += c;
    }
  }
  return escaped;
}

std::string html_name(std::string_view name) {
  return "<bdi>" + html(name) + "</bdi>";
}

std::string percent_text(double part, double whole) {
  return fmt::format("{:.1f} %", whole == 0 ? 0.0 : 100 * part / whole);
}

}  // namespace dedupfs::tools
