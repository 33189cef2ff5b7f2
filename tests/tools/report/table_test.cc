#include "report/table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace dedupfs::tools {
namespace {

using testing::HasSubstr;

TEST(HtmlTable, HasItsRowsAndMarksMinorColumns) {
  HtmlTable table({{"Name & more"}, {"Files", true}});
  table.add({"<bdi>a</bdi>", "1"});
  table.add({"b", "2"});

  EXPECT_EQ(table.text(),
            "<table>\n<thead><tr><th>Name &amp; more</th><th class=\"minor\">Files</th></tr></thead>\n<tbody>\n"
            "<tr><td><bdi>a</bdi></td><td class=\"minor\">1</td></tr>\n"
            "<tr><td>b</td><td class=\"minor\">2</td></tr>\n</tbody>\n</table>\n");
}

TEST(HtmlTable, AShareBarStaysInItsFrame) {
  EXPECT_THAT(share_bar(0.25), HasSubstr("width:25.0%"));
  EXPECT_THAT(share_bar(7), HasSubstr("width:100.0%"));
  EXPECT_THAT(share_bar(-1), HasSubstr("width:0.0%"));
}

TEST(HtmlTable, CanBeFoldedUp) {
  EXPECT_EQ(folded("a < b", "x"), "<details><summary>a &lt; b</summary>\nx</details>\n");
}

}  // namespace
}  // namespace dedupfs::tools
