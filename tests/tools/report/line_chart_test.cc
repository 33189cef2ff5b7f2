#include "report/line_chart.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace dedupfs::tools {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

LineChart chart_of(std::vector<std::pair<std::int64_t, double>> points) {
  LineChart chart{
      .title = "Size < time", .lines = {}, .value_text = [](double value) { return fmt::format("{} B", value); }};
  chart.lines.push_back({.name = "on disk", .css_class = "one", .points = std::move(points), .is_filled = true});
  return chart;
}

TEST(LineChart, DrawsFromTheLowerLeftToTheUpperRight) {
  const std::string drawn = line_chart(chart_of({{0, 0}, {500'000, 40}, {1'000'000, 80}}));

  EXPECT_THAT(drawn, HasSubstr("class=\"line one\" d=\"M0.0 200.0L500.0 100.0L1000.0 0.0\""));
  EXPECT_THAT(drawn, HasSubstr("<span>80 B</span><span>40 B</span><span>0 B</span>"));
  EXPECT_THAT(drawn, HasSubstr("<title>on disk: 40 B, 1970-01-06"));
  EXPECT_THAT(drawn, HasSubstr("aria-label=\"Size &lt; time\""));
  EXPECT_THAT(drawn, Not(HasSubstr("legend"))) << "one line needs none";
}

TEST(LineChart, TheScaleEndsAtARoundNumber) {
  EXPECT_THAT(line_chart(chart_of({{0, 0}, {1, 81}})), HasSubstr("<span>100 B</span>"));
  EXPECT_THAT(line_chart(chart_of({{0, 0}, {1, 1.2e9}})), HasSubstr("<span>1500000000 B</span>"));
}

TEST(LineChart, SeveralLinesHaveALegend) {
  LineChart chart = chart_of({{0, 1}, {10, 2}});
  chart.lines.push_back({.name = "forecast", .css_class = "ahead", .points = {{10, 2}, {20, 4}}});

  const std::string drawn = line_chart(chart);

  EXPECT_THAT(drawn, HasSubstr("<i class=\"key one\"></i>on disk"));
  EXPECT_THAT(drawn, HasSubstr("<i class=\"key ahead\"></i>forecast"));
  EXPECT_THAT(drawn, HasSubstr("class=\"line one\" d=\"M0.0 150.0L500.0 100.0\"")) << "both have one scale";
}

TEST(LineChart, APointIsNoLine) {
  EXPECT_THAT(line_chart(chart_of({{5, 1}})), IsEmpty());
  EXPECT_THAT(line_chart(chart_of({})), IsEmpty());
}

TEST(LineChart, NothingAtAllIsALineOnTheGround) {
  EXPECT_THAT(line_chart(chart_of({{0, 0}, {10, 0}})), HasSubstr("d=\"M0.0 200.0L1000.0 200.0\""));
}

}  // namespace
}  // namespace dedupfs::tools
