#include "report/page.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <regex>

#include "report/sample_facts.h"
#include "report/sections.h"

namespace dedupfs::tools {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

TEST(ReportPage, HasItsSectionsAndFigures) {
  const std::string page = report_page(sample_facts());

  EXPECT_THAT(page, AllOf(testing::StartsWith("<!DOCTYPE html>"), testing::EndsWith("</html>\n")));
  for (const auto* part : {"Where the space goes", "Growth", "Snapshots", "Folders", "Fragmentation and restore speed",
                           "Health", "/srv/volume", "<b>400.00 GiB</b>", "<b>4.0 : 1</b>", "75.0 % saved"})
    EXPECT_THAT(page, HasSubstr(part));
}

TEST(ReportPage, LoadsNothingAndRunsNothing) {
  const std::string page = report_page(sample_facts());

  EXPECT_THAT(page, HasSubstr("default-src 'none'"));
  for (const auto* part :
       {"<script", "src=", "href=", "url(", "@import", "http://", "https://", "javascript:", "<iframe"})
    EXPECT_THAT(page, Not(HasSubstr(part)));
  EXPECT_FALSE(std::regex_search(page, std::regex(R"(<[^>]* on[a-z]+=)"))) << "no handler of an event";
}

TEST(ReportPage, HostileNamesAreText) {
  ReportFacts facts = sample_facts();
  facts.volume = kHostileName;
  facts.statistics["label"] = kHostileName;
  facts.snapshots[0]["name"] = kHostileName;
  const std::string page = report_page(facts);

  EXPECT_THAT(page, Not(HasSubstr("<script")));
  for (const char* const part : {"\x1b", "\u202e", "\xff"}) EXPECT_THAT(page, Not(HasSubstr(part)));
  EXPECT_THAT(page, HasSubstr("&lt;script&gt;alert(1)"));
}

TEST(ReportPage, AnEmptyVolumeHasAPage) {
  ReportFacts facts = sample_facts();
  facts.statistics = statistics_json(Statistics{}, Superblock{}, ScrubStatus{}, std::nullopt, false);
  facts.history.clear();
  facts.folders = folder_shares_json({{{"", {}}}})[0];
  facts.snapshots = nlohmann::json::array();
  facts.available_bytes.reset();

  const std::string page = report_page(facts);

  EXPECT_THAT(page, HasSubstr("There is no history yet"));
  for (const auto* part : {"<h2>Snapshots", "<h2>Folders", "<h2>Fragmentation", "nan", "inf%"})
    EXPECT_THAT(page, Not(HasSubstr(part))) << part;
}

TEST(ReportPage, FactsOfAnotherFormAreRefused) {
  ReportFacts facts = sample_facts();
  facts.statistics.erase("disk_bytes");
  EXPECT_THROW((void)report_page(facts), nlohmann::json::exception);
}

TEST(SpaceSection, EachBarBeginsWhereTheOneBeforeEnds) {
  const std::string section = space_section(sample_facts());

  EXPECT_THAT(section, HasSubstr("left:0.00%;width:100.00%")) << "the files";
  EXPECT_THAT(section, HasSubstr("left:50.00%;width:50.00%")) << "duplicates: 200 of 400";
  EXPECT_THAT(section, HasSubstr("left:37.50%;width:12.50%")) << "deltas: 50 down to 150";
  EXPECT_THAT(section, HasSubstr("left:15.00%;width:22.50%")) << "compression: 90 down to 60";
  EXPECT_THAT(section, HasSubstr("left:15.00%;width:5.00%")) << "snapshots: 20 on top";
  EXPECT_THAT(section, HasSubstr("left:0.00%;width:25.00%")) << "on disk";
  EXPECT_THAT(section, HasSubstr("files 60.00 GiB (60.0 %)"));
}

TEST(GrowthSection, SaysWhenTheDiskIsFullAndDrawsTheForecast) {
  const ReportFacts facts = sample_facts();

  EXPECT_EQ(full_text(facts), "in 62 days");
  EXPECT_THAT(growth_section(facts),
              AllOf(HasSubstr("Grows by 1.00 GiB a day (median of 60 days). The disk is full in 62 days"),
                    HasSubstr("line ahead"), HasSubstr("<summary>The samples as a table")));
}

TEST(GrowthSection, AVolumeThatShrinksHasNoForecast) {
  ReportFacts facts = sample_facts();
  for (HistorySample& sample : facts.history) sample.disk_bytes = (200ULL << 30) - sample.disk_bytes;

  EXPECT_EQ(full_text(facts), std::nullopt);
  EXPECT_THAT(growth_section(facts), AllOf(HasSubstr("Shrinks by"), Not(HasSubstr("line ahead"))));
}

TEST(GrowthSection, SamplesWithoutCountsAreDrawnAsFarAsTheyGo) {
  ReportFacts facts = sample_facts();
  for (HistorySample& sample : facts.history) sample.counts.reset();

  EXPECT_THAT(growth_section(facts), AllOf(HasSubstr("<h3>On disk"), Not(HasSubstr("<h3>Size of the files"))));
}

TEST(RestoreSection, DrawsBothDisks) {
  EXPECT_THAT(restore_section(sample_facts()),
              AllOf(HasSubstr("at about 50 MB/s from a hard disk"), HasSubstr("from an SSD")));
  ReportFacts facts = sample_facts();
  for (HistorySample& sample : facts.history) sample.restore.reset();
  EXPECT_THAT(restore_section(facts), IsEmpty());
}

TEST(SnapshotsSection, HasTheNewestFirstAndWhatEachWouldFree) {
  const std::string section = snapshots_section(sample_facts());

  EXPECT_LT(section.find("tuesday"), section.find("monday"));
  EXPECT_THAT(section, HasSubstr("<bdi>tuesday</bdi> <small>held</small>"));
  EXPECT_THAT(section,
              AllOf(HasSubstr("6.00 GiB"), HasSubstr("2.00 GiB<span class=\"share\"><span style=\"width:100.0%\">"),
                    HasSubstr("1.00 GiB<span class=\"share\"><span style=\"width:50.0%\">")));
}

TEST(SnapshotsSection, IsBounded) {
  ReportFacts facts = sample_facts();
  const nlohmann::json one = facts.snapshots[0];
  for (int i = 0; i < 500; ++i) facts.snapshots.push_back(one);

  const std::string section = snapshots_section(facts);

  EXPECT_THAT(section, HasSubstr("And 402 more."));
  EXPECT_LT(section.size(), 40'000);
}

TEST(FoldersSection, HasTheLargestFirstWithoutTheRoot) {
  const std::string section = folders_section(sample_facts());

  EXPECT_LT(section.find("music"), section.find("&lt;script"));
  EXPECT_THAT(section, AllOf(HasSubstr("4.00 GiB"), HasSubstr("3.00 GiB"), Not(HasSubstr("<bdi></bdi>"))));
}

TEST(HealthSection, SaysWhatIsKnownOfDamage) {
  ReportFacts facts = sample_facts();
  EXPECT_STREQ(health_of(facts).css_class, "good");
  EXPECT_THAT(health_section(facts), HasSubstr("(a day ago)"));

  facts.unix_seconds += 40 * kReportDay;
  EXPECT_STREQ(health_of(facts).css_class, "warn");
  facts.statistics["damaged_chunks"] = 1;
  EXPECT_STREQ(health_of(facts).css_class, "bad");
  EXPECT_THAT(health_of(facts).text, HasSubstr("1 chunk cannot be read"));

  facts = sample_facts();
  facts.statistics["scrub"]["last"]["other_damage"] = 2;
  EXPECT_STREQ(health_of(facts).css_class, "bad");
  facts.statistics["scrub"]["last"]["other_damage"] = 0;
  facts.statistics["scrub"]["last"]["complete"] = false;
  EXPECT_STREQ(health_of(facts).css_class, "warn");
  facts.statistics["scrub"]["last"] = nullptr;
  EXPECT_STREQ(health_of(facts).css_class, "warn");
  EXPECT_THAT(health_section(facts), HasSubstr("never: run dedupfs-scrub"));
}

}  // namespace
}  // namespace dedupfs::tools
