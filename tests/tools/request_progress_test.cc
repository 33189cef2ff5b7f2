#include "request_progress.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <sstream>

#include "mount/control/control_socket.h"
#include "support/folder_at.h"
#include "support/temp_dir.h"

namespace dedupfs::tools {
namespace {

using testing::EndsWith;
using testing::HasSubstr;

// A daemon with the command "work", which takes as long as its client should hear something.
struct RequestProgressTest : testing::Test {
  Result<nlohmann::json> work(bool is_terminal) {
    const Process process{.err_is_terminal = is_terminal};
    RequestProgress progress(console, process);
    return progress.request(volume.path(), {{"command", "work"}});
  }
  static Result<nlohmann::json> answer(const nlohmann::json& request, const ControlServer::StillWanted&,
                                       const ControlServer::Tell& tell) {
    bool is_told = !request.value("progress", false);
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (!is_told && std::chrono::steady_clock::now() < end)
      tell([&] {
        is_told = true;
        return job_json({.name = "clone", .done = 25, .total = 100, .seconds = 5});
      });
    return nlohmann::json{{"files", 100}};
  }

  TempDir volume;
  std::unique_ptr<ControlServer> server = ControlServer::start(*folder_at(volume.path()), {{"work", answer}}).value();
  std::ostringstream out, err;
  Console console{{.name = "tool", .usage_error = 1, .failed = 2}, out, err};
};

TEST_F(RequestProgressTest, ATerminalShowsHowFarItIsAndNothingAfterwards) {
  const auto answer = work(/*is_terminal=*/true);

  ASSERT_TRUE(answer);
  EXPECT_EQ(*answer, (nlohmann::json{{"files", 100}}));
  EXPECT_THAT(err.str(), HasSubstr("cloning 25 %, 15 seconds left; 25 of 100, 5/s"));
  EXPECT_THAT(err.str(), EndsWith("\r\x1b[K"));
}

TEST_F(RequestProgressTest, APipeShowsNothing) {
  ASSERT_TRUE(work(/*is_terminal=*/false));
  EXPECT_EQ(out.str() + err.str(), "");
}

TEST_F(RequestProgressTest, AnObjectOfAnotherFormIsNotShown) {
  const Process process{.err_is_terminal = true};
  RequestProgress progress(console, process);
  progress.show({{"name", 7}});
  EXPECT_EQ(err.str(), "");
}

TEST_F(RequestProgressTest, WorkOfThisProcessIsShownWhenItAsks) {
  const Process process{.err_is_terminal = true};
  RunningJobs jobs;
  RunningJobs::Job job(jobs, "folders");
  job.meter().set(1, 2);
  RequestProgress progress(console, process);
  EXPECT_TRUE(progress.watch(job)());
  EXPECT_THAT(err.str(), HasSubstr("counting what folders take 50 %"));
}

}  // namespace
}  // namespace dedupfs::tools
