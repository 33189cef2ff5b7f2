#include "bench/input.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "temp_folder.h"

namespace dedupfs::bench {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::vector<std::string> contents(const Input& input) {
  std::vector<std::string> all;
  for (const ByteSpan file : input.files) all.emplace_back(text_of(file));
  return all;
}

Result<Input> load(const std::string& name) {
  DEDUPFS_ASSIGN(const auto plan, plan_input(name));
  return load_input(plan);
}

TEST(Input, AFolderHasItsFilesSortedByPathAtAnyDepth) {
  const TempFolder folder;
  folder.write("b", "second");
  folder.write("a/z", "first");
  folder.write("c", "third");
  folder.write("empty", "");
  std::filesystem::create_symlink(folder.path() / "b", folder.path() / "link");

  const auto input = load(folder.path().string());

  ASSERT_TRUE(input) << input.error().message();
  EXPECT_THAT(contents(*input), ElementsAre("first", "second", "third"));
  EXPECT_EQ(input->bytes.size(), 16u);
}

TEST(Input, AFileIsOneFile) {
  const TempFolder folder;
  const std::string path = folder.write("data.bin", "content");

  const auto input = load(path);

  ASSERT_TRUE(input) << input.error().message();
  EXPECT_THAT(contents(*input), ElementsAre("content"));
  EXPECT_EQ(input->short_name, "data.bin");
}

TEST(Input, RandomIsTheGeneratorOfTheGoldenLists) {
  const auto input = load("random:12");

  ASSERT_TRUE(input) << input.error().message();
  EXPECT_THAT(input->bytes, ElementsAre(0x7a, 0x48, 0x21, 0x9a, 0xe2, 0xb3, 0x83, 0x0d, 0x67, 0x9d, 0xfe, 0xf1));
}

TEST(Input, ZerosAreZeros) {
  const auto input = load("zeros:3m");

  ASSERT_TRUE(input) << input.error().message();
  EXPECT_EQ(input->bytes.size(), 3u << 20);
  EXPECT_TRUE(all_zero(input->bytes));
}

TEST(Input, WhatCannotBeMeasuredIsRefusedByName) {
  const TempFolder folder;
  const std::string empty_file = folder.write("empty", "");
  for (const auto& [name, message] :
       std::vector<std::pair<std::string, std::string>>{{"random:", "needs a size"},
                                                        {"random", "needs a size"},
                                                        {"zeros:", "needs a size"},
                                                        {"random:many", "'many' is not a size"},
                                                        {"random:0", "is empty"},
                                                        {"random:9000000t", "must fit into memory"},
                                                        {empty_file, "is empty"},
                                                        {folder.path().string(), "is empty"},
                                                        {(folder.path() / "none").string(), "No such file"},
                                                        {"/dev/null", "neither a regular file nor a folder"}}) {
    const auto plan = plan_input(name);

    ASSERT_FALSE(plan) << name;
    EXPECT_THAT(plan.error().message(), HasSubstr(message));
    EXPECT_THAT(plan.error().message(), HasSubstr("'" + name + "'"));
  }
}

TEST(Input, NamesInFiguresArePlainAndDistinct) {
  const TempFolder folder;
  const std::string one = folder.write("a/my images/x", "1");
  const std::string other = folder.write("b/my images/x", "2");
  std::vector<InputPlan> plans;
  for (const std::string& name :
       {folder.path().string() + "/a/my images/", folder.path().string() + "/b/my images", std::string("random:64k")})
    plans.push_back(*plan_input(name));

  give_distinct_short_names(plans);

  EXPECT_EQ(plans[0].short_name, "my-images");
  EXPECT_EQ(plans[1].short_name, "my-images-2");
  EXPECT_EQ(plans[2].short_name, "random-64k");
}

}  // namespace
}  // namespace dedupfs::bench
