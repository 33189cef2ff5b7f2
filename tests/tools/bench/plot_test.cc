#include "bench/plot.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include "temp_folder.h"

namespace dedupfs::bench {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

Record record(const std::string& label, const std::string& isa, const std::string& input, std::uint32_t avg = 8192) {
  Record record;
  record.label = label;
  record.algorithm = label;
  record.isa = isa;
  record.avg_bytes = avg;
  record.input = record.input_short = input;
  record.bytes = 1000000000;
  record.seconds = 0.5;
  record.read_limit_seconds = 0.1;
  record.scalar_seconds = isa == "scalar" ? 0.5 : 2;
  record.chunks.cdf.assign(kCdfSteps + 1, 8192);
  record.chunks.savings_percent = 12.5;
  return record;
}

std::vector<std::string> names(const std::vector<Figure>& figures) {
  std::vector<std::string> all;
  for (const Figure& figure : figures) all.push_back(figure.name);
  return all;
}

TEST(Plot, ThereAreFiguresForEachInputAndAverageAndOneOfSavings) {
  const std::vector<Record> records = {record("ram", "avx2", "vm"), record("ram", "avx2", "src"),
                                       record("ram", "avx2", "vm", 4096)};

  EXPECT_THAT(
      names(figures_of(records)),
      ElementsAre("throughput-vm-4k", "speedup-vm-4k", "cdf-vm-4k", "savings-4k", "throughput-vm-8k", "speedup-vm-8k",
                  "cdf-vm-8k", "throughput-src-8k", "speedup-src-8k", "cdf-src-8k", "savings-8k"));
}

TEST(Plot, WhatOnlyRanAsScalarCodeHasNoSpeedUp) {
  EXPECT_THAT(names(figures_of(std::vector{record("ram", "scalar", "vm")})),
              ElementsAre("throughput-vm-8k", "cdf-vm-8k", "savings-8k"));
}

TEST(Plot, FixedHasNoSpeed) {
  const auto figures = figures_of(std::vector{record("ram", "scalar", "vm"), record("fixed", "scalar", "vm")});

  ASSERT_EQ(figures[0].name, "throughput-vm-8k");
  EXPECT_THAT(figures[0].script, Not(HasSubstr("'fixed'")));
  EXPECT_THAT(figures.back().script, HasSubstr("'fixed'"));
}

TEST(Plot, TheLegendGoesFromNarrowToWideVectors) {
  const auto figures = figures_of(
      std::vector{record("gear", "avx512", "vm"), record("ram", "avx2", "vm"), record("ram", "scalar", "vm")});

  const std::string& script = figures[0].script;
  EXPECT_LT(script.find("title 'scalar'"), script.find("title 'avx2'"));
  EXPECT_LT(script.find("title 'avx2'"), script.find("title 'avx512'"));
}

TEST(Plot, NamesAreTakenLiterally) {
  EXPECT_THAT(figures_of(std::vector{record("it's", "scalar", "vm")})[0].script, HasSubstr("'it''s'"));
}

TEST(Plot, GnuplotDrawsEachFigure) {
  if (!find_gnuplot()) GTEST_SKIP() << "gnuplot is not installed";
  const TempFolder folder;
  const auto figures = figures_of(std::vector{record("it's 5 %", "scalar", "vm"), record("ram_8kb", "avx2", "vm"),
                                              record("ram_8kb", "scalar", "vm")});

  const auto drawn = draw(figures, folder.path() / "new" / "figures");

  ASSERT_TRUE(drawn) << drawn.error().message();
  for (const Figure& figure : figures) {
    std::ifstream file(folder.path() / "new" / "figures" / (figure.name + ".svg"));
    const std::string svg{std::istreambuf_iterator<char>(file), {}};
    EXPECT_THAT(svg, HasSubstr("</svg>")) << figure.name;
    EXPECT_THAT(svg, HasSubstr("ram_8kb")) << figure.name;
  }
}

TEST(Plot, AFigureThatGnuplotRefusesIsAnError) {
  if (!find_gnuplot()) GTEST_SKIP() << "gnuplot is not installed";
  const TempFolder folder;

  const auto drawn = draw(std::vector<Figure>{{"bad", "no such command\n"}}, folder.path());

  ASSERT_FALSE(drawn);
  EXPECT_THAT(drawn.error().message(), HasSubstr("bad.gp"));
}

}  // namespace
}  // namespace dedupfs::bench
