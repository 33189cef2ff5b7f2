#include "mount/control/control_jobs.h"

#include <gtest/gtest.h>

#include <vector>

#include "mount/control/control_socket.h"
#include "support/folder_at.h"
#include "support/temp_dir.h"

namespace dedupfs {
namespace {

using Json = nlohmann::json;

TEST(ControlJobs, AnswerIsTheObjectUnderTheNameOfTheJob) {
  const TempDir volume;
  const auto server =
      ControlServer::start(*folder_at(volume.path()), {{"knit", [](const Json& request) -> Result<Json> {
                                                          return Json{{"knit", {{"asked", request.at("action")}}}};
                                                        }}});

  const auto answer = ask_job(volume.path(), "knit", {{"action", "start"}});

  ASSERT_TRUE(answer);
  EXPECT_EQ(*answer, (Json{{"asked", "start"}}));
}

TEST(ControlJobs, IsAwaitedUntilNoneIsRunning) {
  const TempDir volume;
  int rows = 0;
  const auto server = ControlServer::start(*folder_at(volume.path()),
                                           {{"knit", [&](const Json&) -> Result<Json> {
                                               ++rows;
                                               return Json{{"knit", {{"running", rows < 3}, {"rows", rows}}}};
                                             }}});
  std::vector<int> shown;

  const auto last = await_job(volume.path(), "knit", [&](const Json& answer) {
    shown.push_back(answer.at("rows").get<int>());
    return true;
  });

  ASSERT_TRUE(last);
  EXPECT_EQ(last->at("rows"), 3);
  EXPECT_EQ(shown, (std::vector<int>{1, 2}));
}

TEST(ControlJobs, WaitCanBeGivenUpWhileOneRuns) {
  const TempDir volume;
  int rows = 0;
  const auto server =
      ControlServer::start(*folder_at(volume.path()), {{"knit", [&](const Json&) -> Result<Json> {
                                                          return Json{{"knit", {{"running", true}, {"rows", ++rows}}}};
                                                        }}});

  const auto last = await_job(volume.path(), "knit", [](const Json& answer) { return answer.at("rows") != 2; });

  ASSERT_TRUE(last);
  EXPECT_EQ(*last, (Json{{"running", true}, {"rows", 2}}));
}

TEST(ControlJobs, AnswerThatIsNotUnderstoodEndsTheWait) {
  const TempDir volume;
  const auto server = ControlServer::start(*folder_at(volume.path()), {{"knit", [](const Json&) -> Result<Json> {
                                                                          return Json{{"knit", {{"running", "yes"}}}};
                                                                        }}});

  const auto last = await_job(volume.path(), "knit");

  ASSERT_FALSE(last);
  EXPECT_EQ(last.error().code(), ErrorCode::kIo);
}

TEST(ControlJobs, VolumeWithoutDaemonIsNotFound) {
  const TempDir volume;

  const auto answer = ask_job(volume.path(), "knit", {{"action", "status"}});

  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().code(), ErrorCode::kNotFound);
}

}  // namespace
}  // namespace dedupfs
