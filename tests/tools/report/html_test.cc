#include "report/html.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "report/sample_facts.h"

namespace dedupfs::tools {
namespace {

using testing::HasSubstr;
using testing::Not;

TEST(Html, TextIsText) {
  EXPECT_EQ(html("a < b && \"c\" > 'd'"), "a &lt; b &amp;&amp; &quot;c&quot; &gt; &#39;d&#39;");
  EXPECT_EQ(html("Grüße"), "Grüße");
}

TEST(Html, WhatIsNotPrintableIsShownAsItsBytes) {
  const std::string text = html(kHostileName);

  for (const char* const part : {"<", "\"", "'", "\x1b", "\u202e", "\xff"}) EXPECT_THAT(text, Not(HasSubstr(part)));
  EXPECT_THAT(text, HasSubstr("\\033"));
  EXPECT_THAT(text, HasSubstr("\\377&amp;amp;"));
}

TEST(Html, ANameIsKeptApart) {
  EXPECT_EQ(html_name("<b>"), "<bdi>&lt;b&gt;</bdi>");
}

TEST(Html, PercentOfNothingIsNothing) {
  EXPECT_EQ(percent_text(1, 3), "33.3 %");
  EXPECT_EQ(percent_text(1, 0), "0.0 %");
}

}  // namespace
}  // namespace dedupfs::tools
