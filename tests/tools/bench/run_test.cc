#include "bench/run.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "bench/report.h"
#include "bench_outcome.h"
#include "chunkers/registry.h"
#include "temp_folder.h"

namespace dedupfs::bench {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

std::vector<std::string> lines(const std::string& text) {
  std::vector<std::string> all;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) all.push_back(line);
  return all;
}

TEST(DedupfsBench, JsonHasARecordForEachChunkerAverageAndInput) {
  const Outcome outcome = bench({"chunk", "--algorithm", "ram,gear:avg=4k,norm=1", "--avg", "4k,8k", "--isa", "scalar",
                                 "--repeat", "1", "--json", "random:300k", "zeros:100k"});

  ASSERT_EQ(outcome.exit_code, kDone) << outcome.err;
  const auto records = nlohmann::json::parse(outcome.out).at("records");
  ASSERT_EQ(records.size(), 6u);
  EXPECT_EQ(records[0]["algorithm"], "ram");
  EXPECT_EQ(records[0]["avg"], 4096);
  EXPECT_EQ(records[1]["avg"], 8192);
  EXPECT_EQ(records[2]["spec"], "gear:min=1k,avg=4k,max=16k,norm=1");
  EXPECT_EQ(records[2]["label"], "gear:avg=4k,norm=1");
  EXPECT_EQ(records[3]["input"], "zeros:100k");
}

TEST(DedupfsBench, AJsonRecordHasAllThatTheManualNames) {
  const Outcome outcome = bench({"chunk", "--algorithm", "gear", "--repeat", "2", "--json", "random:1m"});

  ASSERT_EQ(outcome.exit_code, kDone) << outcome.err;
  const auto record = nlohmann::json::parse(outcome.out).at("records")[0];
  for (const char* key : {"label",
                          "algorithm",
                          "spec",
                          "isa",
                          "avg",
                          "threads",
                          "input",
                          "files",
                          "bytes",
                          "repeat",
                          "seconds",
                          "seconds_min",
                          "seconds_max",
                          "gb_per_s",
                          "read_limit_gb_per_s",
                          "read_limit_fraction",
                          "speedup_over_scalar",
                          "chunks",
                          "mean_chunk",
                          "percentiles",
                          "cdf",
                          "savings_percent",
                          "cpu"})
    EXPECT_TRUE(record.contains(key)) << key;
  EXPECT_EQ(record["bytes"], 1 << 20);
  EXPECT_EQ(record["threads"], 1);
  EXPECT_EQ(record["repeat"], 2);
  EXPECT_NEAR(record["gb_per_s"].get<double>() * record["seconds"].get<double>(), (1 << 20) / 1e9, 1e-9);
  EXPECT_NEAR(record["gb_per_s"].get<double>() / record["read_limit_gb_per_s"].get<double>(),
              record["read_limit_fraction"].get<double>(), 1e-6);
  EXPECT_NEAR(record["mean_chunk"].get<double>() * record["chunks"].get<double>(), 1 << 20, 1e-3);
  EXPECT_EQ(record["percentiles"]["50"], record["cdf"][100]);
  EXPECT_EQ(record["cdf"].size(), 201u);
}

TEST(DedupfsBench, SavingsCountTheChunksOfAllFilesOfAFolderTogether) {
  const TempFolder folder;
  folder.write("a", std::string(4096, 'x') + std::string(4096, 'y'));
  folder.write("b", std::string(4096, 'y') + std::string(4096, 'z'));

  const Outcome outcome =
      bench({"chunk", "--algorithm", "fixed", "--avg", "4k", "--repeat", "1", "--json", folder.path().string()});

  ASSERT_EQ(outcome.exit_code, kDone) << outcome.err;
  const auto record = nlohmann::json::parse(outcome.out).at("records")[0];
  EXPECT_EQ(record["files"], 2);
  EXPECT_EQ(record["chunks"], 4);
  EXPECT_EQ(record["savings_percent"], 25);
}

TEST(DedupfsBench, OffsetsAreThoseOfTheGoldenLists) {
  const auto golden = nlohmann::json::parse(std::ifstream(std::string(DEDUPFS_GOLDEN_DIR) + "/chunkers/cuts.json"));
  const auto& list = golden["lists"]["seq_8kb"]["xs64"];

  const Outcome outcome = bench({"chunk", "--offsets", "--algorithm", "seq_8kb", "random:16m"});

  ASSERT_EQ(outcome.exit_code, kDone) << outcome.err;
  const auto printed = lines(outcome.out);
  ASSERT_EQ(printed.size(), list["chunks"].get<std::size_t>());
  for (std::size_t i = 0; i < list["first20"].size(); ++i)
    EXPECT_EQ(printed[i], std::to_string(list["first20"][i].get<std::uint64_t>()));
  EXPECT_EQ(printed.back(), std::to_string(16 << 20));
}

TEST(DedupfsBench, OffsetsGoOnFromFileToFile) {
  const TempFolder folder;
  folder.write("a", std::string(150, 'x'));
  folder.write("b", std::string(100, 'y'));

  const Outcome outcome = bench({"chunk", "--offsets", "--algorithm", "fixed:size=100", folder.path().string()});

  EXPECT_EQ(outcome.out, "100\n150\n250\n");
}

TEST(DedupfsBench, OffsetsOfSeveralChunkersAreRefused) {
  for (const std::vector<std::string>& more :
       {std::vector<std::string>{"--algorithm", "ram,gear"}, {"--algorithm", "ram", "--avg", "4k,8k"}, {"zeros:2k"}}) {
    std::vector<std::string> arguments = {"chunk", "--offsets", "zeros:1k"};
    arguments.insert(arguments.end(), more.begin(), more.end());

    const Outcome outcome = bench(arguments);

    EXPECT_EQ(outcome.exit_code, kUsageError);
    EXPECT_THAT(outcome.err, HasSubstr("--offsets takes exactly one"));
  }
}

TEST(DedupfsBench, TheTableHasAnAlignedLineForEachRecord) {
  const Outcome outcome = bench(
      {"chunk", "--algorithm", "ram,gear16", "--isa", "scalar", "--repeat", "1", "--threads", "2", "random:200k"});

  ASSERT_EQ(outcome.exit_code, kDone) << outcome.err;
  const auto printed = lines(outcome.out);
  ASSERT_EQ(printed.size(), 4u);
  EXPECT_THAT(printed[0], StartsWith("random:200k: 1 file, 0.00 GB; 2 threads; reading alone "));
  EXPECT_THAT(printed[0], HasSubstr("median of 1 pass"));
  EXPECT_THAT(printed[1], StartsWith("chunker  avg  isa "));
  EXPECT_THAT(printed[2], StartsWith("ram      8k   scalar  "));
  EXPECT_THAT(printed[3], StartsWith("gear16   8k   scalar  "));
  EXPECT_EQ(printed[2].size(), printed[1].size());
  EXPECT_EQ(printed[3].size(), printed[1].size());
}

TEST(DedupfsBench, WrongArgumentsAreUsageErrors) {
  for (const std::vector<std::string>& arguments : {std::vector<std::string>{},
                                                    {"chunk"},
                                                    {"chunk", "--algorithm", "geer", "zeros:1k"},
                                                    {"chunk", "--isa", "mmx", "zeros:1k"},
                                                    {"chunk", "--avg", "x", "zeros:1k"},
                                                    {"chunk", "random:"},
                                                    {"chunk", "--threads", "0", "zeros:1k"},
                                                    {"chunk", "--repeat", "0", "zeros:1k"},
                                                    {"chunk", "--offsets", "--json", "zeros:1k"},
                                                    {"isa", "more"}}) {
    const Outcome outcome = bench(arguments);

    EXPECT_EQ(outcome.exit_code, kUsageError) << outcome.err;
    EXPECT_EQ(outcome.out.empty(), !std::ranges::count(arguments, "--json")) << "with --json the error is a document";
    EXPECT_NE(outcome.err, "");
  }
}

TEST(DedupfsBench, AFileThatIsNotThereIsAFailure) {
  const Outcome outcome = bench({"chunk", "/nowhere/at/all"});

  EXPECT_EQ(outcome.exit_code, kFailed);
  EXPECT_EQ(outcome.err, "dedupfs-bench: input '/nowhere/at/all': No such file or directory\n");
}

TEST(DedupfsBench, WithoutGnuplotNothingIsMeasuredAndThePackageIsNamed) {
  const std::string path = ::getenv("PATH");
  ::setenv("PATH", "/nowhere", 1);

  const Outcome outcome = bench({"chunk", "--plot", "/nowhere/figures", "zeros:1k"});

  ::setenv("PATH", path.c_str(), 1);
  EXPECT_EQ(outcome.exit_code, kNoGnuplot);
  EXPECT_EQ(outcome.out, "");
  EXPECT_THAT(outcome.err, HasSubstr("gnuplot-nox"));
}

TEST(DedupfsBench, HelpListsAlgorithmsAndParameterSets) {
  const Outcome outcome = bench({"chunk", "--help"});

  EXPECT_EQ(outcome.exit_code, kDone);
  for (const ChunkerInfo& info : chunker_infos()) EXPECT_THAT(outcome.out, HasSubstr("\n  " + info.name));
  EXPECT_THAT(outcome.out, HasSubstr("seq_8kb            seqcdc:mode=inc,length=5"));
  EXPECT_THAT(outcome.out, HasSubstr("belongs to the spec in front of it"));
}

TEST(DedupfsBench, IsaListsKernels) {
  const Outcome table = bench({"isa"});
  const Outcome json = bench({"isa", "--json"});

  EXPECT_EQ(table.exit_code, kDone);
  EXPECT_THAT(table.out, HasSubstr("Instruction sets: scalar"));
  EXPECT_THAT(table.out, HasSubstr("seqcdc_increasing"));
  EXPECT_EQ(json.exit_code, kDone);
  EXPECT_EQ(nlohmann::json::parse(json.out)["cpu"], cpu_model());
}

}  // namespace
}  // namespace dedupfs::bench
