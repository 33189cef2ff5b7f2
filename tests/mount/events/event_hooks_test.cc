#include "mount/events/event_hooks.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <chrono>
#include <string>

#include "support/files.h"
#include "support/json_contract.h"
#include "support/temp_dir.h"

namespace dedupfs {
namespace {

using namespace std::chrono_literals;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

struct EventHooks : testing::Test {
  void make(const std::string& name, const std::string& script, mode_t mode = 0755) const {
    overwrite(hooks / name, "#!/bin/sh\n" + script + "\n");
    ASSERT_EQ(::chmod((hooks / name).c_str(), mode), 0);
  }
  std::vector<std::string> run(std::chrono::milliseconds limit = 20s) const {
    return run_event_hooks(hooks, event, limit);
  }
  std::string written() const { return content_of(out); }

  EventHooks() {
    std::filesystem::create_directory(hooks);
    ::chmod(hooks.c_str(), 0755);
    overwrite(out, "");
  }

  TempDir folder;
  const std::filesystem::path hooks = folder.path() / "event.d";
  const std::filesystem::path out = folder.path() / "out";
  Event event{"damage_found", "/srv/vol\nume", "/back up; $(touch x)", "2 damaged chunks", {{"damaged_chunks", 2}}};
};

TEST_F(EventHooks, RunInTheOrderOfTheirNames) {
  make("20-second", "echo second >>" + out.string());
  make("10-first", "echo first >>" + out.string());
  EXPECT_THAT(run(), IsEmpty());
  EXPECT_EQ(written(), "first\nsecond\n");
}

TEST_F(EventHooks, GetTheEventAsEnvironmentAndNothingElse) {
  make("hook", "env >" + out.string() + "; echo \"arguments: $#\" >>" + out.string());
  ::setenv("SECRET", "of the caller", 1);
  EXPECT_THAT(run(), IsEmpty());
  EXPECT_THAT(written(), AllOf(HasSubstr("DEDUPFS_EVENT=damage_found\n"), HasSubstr("DEDUPFS_VOLUME=/srv/vol?ume\n"),
                               HasSubstr("DEDUPFS_MOUNTPOINT=/back up; $(touch x)\n"),
                               HasSubstr("DEDUPFS_MESSAGE=2 damaged chunks\n"), HasSubstr("DEDUPFS_TIME=20"),
                               HasSubstr("arguments: 0\n"), Not(HasSubstr("SECRET"))));
}

TEST_F(EventHooks, GetTheEventAsJson) {
  make("hook", "cat >" + out.string());
  EXPECT_THAT(run(), IsEmpty());
  EXPECT_EQ(contract_findings(written()), "");
  const auto json = nlohmann::json::parse(written());
  EXPECT_EQ(json.at("event"), "damage_found");
  EXPECT_EQ(json.at("volume"), "/srv/vol\nume");
  EXPECT_EQ(json.at("facts").at("damaged_chunks"), 2);
}

TEST_F(EventHooks, OneThatHangsIsKilledWithItsChildrenAndTheNextRuns) {
  make("10-hangs", "sleep 600 & echo $! >" + out.string() + "; wait");
  make("20-next", "echo next >>" + out.string());
  const auto failures = run(500ms);
  ASSERT_EQ(failures.size(), 1u);
  EXPECT_THAT(failures[0], AllOf(HasSubstr("10-hangs"), HasSubstr("killed after 0.5 s")));
  EXPECT_THAT(written(), HasSubstr("next"));
  const pid_t sleeper = std::stoi(written());
  const auto end = std::chrono::steady_clock::now() + 20s;
  const auto is_gone = [&] {
    const std::string stat = content_of("/proc/" + std::to_string(sleeper) + "/stat");
    return stat.empty() || stat.find(") Z") != std::string::npos;
  };
  while (!is_gone() && std::chrono::steady_clock::now() < end) ::usleep(10'000);
  EXPECT_TRUE(is_gone());
}

TEST_F(EventHooks, AreAwaitedWithoutADescriptorOfTheirProcess) {
  std::filesystem::copy_file("/bin/true", hooks / "hook");
  ::chmod((hooks / "hook").c_str(), 0755);
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  const int next = ::dup(STDERR_FILENO);
  ::close(next);
  rlimit one_more = before;
  one_more.rlim_cur = static_cast<rlim_t>(next) + 1;  // for the input of the program
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &one_more), 0);

  const auto failures = run(2s);

  ::setrlimit(RLIMIT_NOFILE, &before);
  EXPECT_THAT(failures, IsEmpty());
}

TEST_F(EventHooks, GetNoFilesOfTheCaller) {
  if (::syscall(SYS_close_range, ~0U, ~0U, 0) != 0) GTEST_SKIP() << "this kernel has no close_range(2)";
  const int inherited = ::open("/dev/null", O_RDONLY);  // without O_CLOEXEC, as a caller may have got it
  ASSERT_EQ(::dup2(inherited, 77), 77);
  make("hook", "if [ -e /proc/self/fd/77 ]; then echo bad; else echo good; fi >" + out.string());

  EXPECT_THAT(run(), IsEmpty());

  ::close(77);
  ::close(inherited);
  EXPECT_EQ(written(), "good\n");
}

TEST_F(EventHooks, GetTheEventFromACallerWithoutStandardInput) {
  make("hook", "cat >" + out.string());
  const int input = ::dup(STDIN_FILENO);
  ::close(STDIN_FILENO);

  const auto failures = run();

  ::dup2(input, STDIN_FILENO);
  ::close(input);
  EXPECT_THAT(failures, IsEmpty());
  EXPECT_THAT(written(), HasSubstr("damage_found"));
}

TEST_F(EventHooks, AFailureIsNamedAndTheNextRuns) {
  make("10-fails", "exit 3");
  make("20-dies", "kill -SEGV $$");
  overwrite(hooks / "30-no-program",
            "\x7f"
            "ELF");
  ::chmod((hooks / "30-no-program").c_str(), 0755);
  make("40-next", "echo next >>" + out.string());
  EXPECT_THAT(run(), ElementsAre(HasSubstr("exit code 3"), HasSubstr("20-dies: Segmentation fault"),
                                 HasSubstr("could not be run")));
  EXPECT_EQ(written(), "next\n");
}

TEST_F(EventHooks, WhatIsNotMeantToRunIsSkipped) {
  for (const char* name : {".hidden", "copy~", "old.dpkg-old", "new.rpmnew", "save.bak"})
    make(name, "echo bad >>" + out.string());
  make("README", "echo bad >>" + out.string(), 0644);
  std::filesystem::create_directory(hooks / "folder");
  EXPECT_THAT(run(), IsEmpty());
  EXPECT_EQ(written(), "");
}

TEST_F(EventHooks, WhatOthersCanChangeIsNotRun) {
  make("hook", "echo bad >>" + out.string(), 0777);
  EXPECT_THAT(run(), ElementsAre(HasSubstr("can be changed by others")));
  make("hook", "echo bad >>" + out.string());
  ::chmod(hooks.c_str(), 0777);
  EXPECT_THAT(run(), ElementsAre(HasSubstr("can be changed by others")));
  EXPECT_EQ(written(), "");
}

// Whoever can change a folder can exchange what lies in it.
TEST_F(EventHooks, WhatLiesInAFolderThatOthersCanChangeIsNotRun) {
  const Path elsewhere = folder.path() / "elsewhere";
  std::filesystem::create_directory(elsewhere);
  overwrite(elsewhere / "program", "#!/bin/sh\necho ran >>" + out.string() + "\n");
  ASSERT_EQ(::chmod((elsewhere / "program").c_str(), 0755), 0);
  std::filesystem::create_symlink(elsewhere / "program", hooks / "link");

  ASSERT_EQ(::chmod(elsewhere.c_str(), 0777), 0);
  EXPECT_THAT(run(), ElementsAre(AllOf(HasSubstr("elsewhere can be changed by others"), Not(HasSubstr("program")))));
  ASSERT_EQ(::chmod(elsewhere.c_str(), 01777), 0);
  EXPECT_THAT(run(), IsEmpty()) << "as /tmp is";
  ASSERT_EQ(::chmod(elsewhere.c_str(), 0755), 0);
  EXPECT_THAT(run(), IsEmpty());
  EXPECT_EQ(written(), "ran\nran\n");

  ASSERT_EQ(::chmod(folder.path().c_str(), 0777), 0);
  EXPECT_THAT(run(), ElementsAre(HasSubstr(" can be changed by others"))) << "the folder above the hooks";
}

TEST_F(EventHooks, AMissingFolderIsNoFailure) {
  EXPECT_THAT(run_event_hooks(folder.path() / "none", event, 1s), IsEmpty());
}

}  // namespace
}  // namespace dedupfs
