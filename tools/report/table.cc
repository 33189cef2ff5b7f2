#include "report/table.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "report/html.h"

namespace dedupfs::tools {

HtmlTable::HtmlTable(std::vector<Column> columns) : columns_(std::move(columns)) {}

std::string HtmlTable::cell(const char* tag, std::size_t column, const std::string& content) const {
  return fmt::format("<{0}{1}>{2}</{0}>", tag, columns_[column].is_minor ? " class=\"minor\"" : "", content);
}

void HtmlTable::add(const std::vector<std::string>& cells) {
  rows_ += "<tr>";
  for (std::size_t i = 0; i < columns_.size(); ++i) rows_ += cell("td", i, cells.at(i));
  rows_ += "</tr>\n";
}

std::string HtmlTable::text() const {
  std::string head;
  for (std::size_t i = 0; i < columns_.size(); ++i) head += cell("th", i, html(columns_[i].title));
  return fmt::format("<table>\n<thead><tr>{}</tr></thead>\n<tbody>\n{}</tbody>\n</table>\n", head, rows_);
}

std::string folded(const std::string& title, const std::string& content) {
  return fmt::format("<details><summary>{}</summary>\n{}</details>\n", html(title), content);
}

std::string share_bar(double share) {
  return fmt::format("<span class=\"share\"><span style=\"width:{:.1f}%\"></span></span>",
                     100 * std::clamp(share, 0.0, 1.0));
}

}  // namespace dedupfs::tools
