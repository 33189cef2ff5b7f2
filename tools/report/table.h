// A table of the page. Its first column is text, the others are numbers.
//
// Threads: as a value.
#pragma once

#include <string>
#include <vector>

namespace dedupfs::tools {

class HtmlTable {
 public:
  // On a narrow page a minor column is not shown.
  struct Column {
    std::string title;
    bool is_minor = false;
  };

  explicit HtmlTable(std::vector<Column> columns);

  // As many cells as columns. The cells are HTML.
  void add(const std::vector<std::string>& cells);
  std::string text() const;

 private:
  std::string cell(const char* tag, std::size_t column, const std::string& content) const;

  std::vector<Column> columns_;
  std::string rows_;
};

// The content is folded up behind its title.
std::string folded(const std::string& title, const std::string& content);

// A bar of this share (0 to 1) of its width.
std::string share_bar(double share);

}  // namespace dedupfs::tools
