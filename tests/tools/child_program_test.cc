#include "child_program.h"

#include <gtest/gtest.h>

#include <chrono>

#include "fs/test_filesystem.h"
#include "support/temp_dir.h"

namespace dedupfs::tools {
namespace {

ChildSettings shell(const std::string& script) {
  return {.command = {"sh", "-c", script}};
}

bool for_ever(std::uint64_t /*written*/) {
  return true;
}

TEST(ChildPrograms, GiveTheirOutput) {
  const TempDir folder;
  ChildSettings settings = shell("echo \"$GREETING\"; pwd");
  settings.environment = {{"GREETING", "hello"}};
  settings.folder = folder.path();

  EXPECT_EQ(value_of(output_of(settings, 10'000)), "hello\n" + folder.path().string() + "\n");
}

TEST(ChildPrograms, TellHowTheyEnded) {
  EXPECT_EQ(value_of(value_of(ChildProgram::start(shell("exit 3"), ChildProgram::Output::kNone)).wait(for_ever)), 3);
  EXPECT_EQ(value_of(value_of(ChildProgram::start(shell("kill -9 $$"), ChildProgram::Output::kNone)).wait(for_ever)),
            128 + 9);
  EXPECT_TRUE(fails_with(ErrorCode::kIo, output_of(shell("exit 1"), 100)));
}

TEST(ChildPrograms, EndWhenTheyAreTold) {
  ChildProgram program = value_of(ChildProgram::start(shell("exec sleep 60"), ChildProgram::Output::kNone));

  EXPECT_EQ(value_of(program.wait([](std::uint64_t) { return false; })), 128 + 15);
}

TEST(ChildPrograms, EndWithTheirObject) {
  const auto begun = std::chrono::steady_clock::now();
  { const auto program = ChildProgram::start(shell("exec sleep 60"), ChildProgram::Output::kNone); }
  EXPECT_LT(std::chrono::steady_clock::now() - begun, std::chrono::seconds(30));
}

TEST(ChildPrograms, AreNamedIfTheyAreMissing) {
  const auto missing = ChildProgram::start({.command = {"no-such-program-here"}}, ChildProgram::Output::kNone);

  ASSERT_TRUE(fails_with(ErrorCode::kNotFound, missing));
  EXPECT_EQ(missing.error().message(), "no-such-program-here is not installed");
}

TEST(ChildPrograms, MayNotPrintWithoutEnd) {
  EXPECT_TRUE(fails_with(ErrorCode::kTooLarge, output_of(shell("exec yes"), 100'000)));
  EXPECT_TRUE(fails_with(ErrorCode::kTooLarge, output_of(shell("trap '' TERM; exec yes"), 100'000)));
}

}  // namespace
}  // namespace dedupfs::tools
