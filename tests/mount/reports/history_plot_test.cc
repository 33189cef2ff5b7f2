#include "mount/reports/history_plot.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>
#include <string>
#include <vector>

#include "mount/reports/sample_history.h"

namespace dedupfs {
namespace {

using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

std::vector<std::string> plot_lines(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

std::size_t plot_columns(const std::string& line) {
  return static_cast<std::size_t>(
      std::ranges::count_if(line, [](char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; }));
}

TEST(HistoryPlot, DrawsAVolumeThatGrows) {
  const auto lines = plot_lines(history_plot(growing_history(100), {.columns = 60, .has_blocks = false}));

  EXPECT_EQ(lines[0], "On disk");
  EXPECT_THAT(lines[1], StartsWith(" 100.00 MiB "));
  EXPECT_THAT(lines[12], HasSubstr("0 B "));
  for (std::size_t row = 2; row <= 12; ++row)
    EXPECT_GE(std::ranges::count(lines[row], '#'), std::ranges::count(lines[row - 1], '#')) << "row " << row;
  EXPECT_EQ(std::ranges::count(lines[12], '#'), 47) << "all but the first column";
  EXPECT_EQ(lines[15], "Size of the files");
}

TEST(HistoryPlot, NoLineIsLongerThanTheTerminal) {
  for (const bool has_blocks : {false, true})
    for (const std::size_t columns : std::vector<std::size_t>{40, 57, 80, 200}) {
      std::size_t longest = 0;
      for (const std::string& line :
           plot_lines(history_plot(growing_history(77), {.columns = columns, .has_blocks = has_blocks})))
        longest = std::max(longest, plot_columns(line));
      EXPECT_EQ(longest, columns);
    }
}

TEST(HistoryPlot, StaysReadableOnAVeryNarrowTerminal) {
  EXPECT_EQ(plot_columns(plot_lines(history_plot(growing_history(5), {.columns = 1}))[12]),
            HistoryPlotStyle::kMinColumns);
}

TEST(HistoryPlot, OneSampleIsARowOfNumbers) {
  const std::string plot = history_plot(growing_history(1), {.columns = 60, .has_blocks = true});

  EXPECT_THAT(plot, Not(HasSubstr("█")));
  EXPECT_THAT(plot, HasSubstr("This is the first sample."));
}

TEST(HistoryPlot, WithoutSamplesItSaysSo) {
  EXPECT_THAT(history_plot({}, {}), HasSubstr("no sample yet"));
}

TEST(HistoryPlot, SizesOfAnyMagnitudeAreDrawn) {
  History history = growing_history(2);
  history[0].disk_bytes = UINT64_MAX;
  history[1].disk_bytes = 0;
  history[1].counts->logical = UINT64_MAX;

  EXPECT_THAT(history_plot(history, {}), HasSubstr("Size of the files"));
}

}  // namespace
}  // namespace dedupfs
