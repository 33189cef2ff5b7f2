#include "mount/fuse/public_answers.h"

#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <memory>
#include <optional>
#include <thread>
#include <vector>

#include "fs/test_filesystem.h"

namespace dedupfs {
namespace {

using namespace std::chrono_literals;

// A question whose maker counts its calls, and stops at a gate if there is one.
struct PublicAnswersTest : testing::Test {
  std::atomic<std::int64_t> milliseconds{0};
  std::atomic<int> made{0};
  std::atomic<int> cost{0};
  std::promise<void> gate;
  std::shared_future<void> open = gate.get_future().share();
  std::atomic<bool> gated{false};
  std::atomic<bool> fails{false};
  std::atomic<ErrorCode> failure{ErrorCode::kIo};

  std::optional<PublicAnswers> answers{
      std::in_place,
      PublicAnswers::Makers{{"dedupfs.number",
                             [this]() -> Result<std::string> {
                               if (gated) open.wait();
                               milliseconds += cost.load();
                               const int number = ++made;
                               if (fails) return Error{failure.load(), "no"};
                               return std::to_string(number);
                             }}},
      [this] { return PublicAnswers::Clock::time_point(std::chrono::milliseconds(milliseconds.load())); }};

  std::future<Result<std::string>> begin(std::string_view name = "dedupfs.number", uid_t user = 1000) {
    auto promise = std::make_shared<std::promise<Result<std::string>>>();
    auto answer = promise->get_future();
    answers->ask(name, user, [promise](const Result<std::string>& value) { promise->set_value(value); });
    return answer;
  }
  Result<std::string> ask(std::string_view name = "dedupfs.number") { return begin(name).get(); }
  static bool is_there(const std::future<Result<std::string>>& answer) {
    return answer.wait_for(0s) == std::future_status::ready;
  }
};

TEST_F(PublicAnswersTest, AnAnswerServesForASecond) {
  EXPECT_EQ(value_of(ask()), "1");
  milliseconds += 999;
  EXPECT_EQ(value_of(ask()), "1");
  milliseconds += 1;
  EXPECT_EQ(value_of(ask()), "2");
}

TEST_F(PublicAnswersTest, OneThatTakesLongServesLongerSoThatNobodyKeepsTheDaemonBusy) {
  cost = 1000;
  EXPECT_EQ(value_of(ask()), "1");
  milliseconds += 19'999;
  EXPECT_EQ(value_of(ask()), "1");
  milliseconds += 1;
  EXPECT_EQ(value_of(ask()), "2");
}

TEST_F(PublicAnswersTest, AFailureIsNotTriedAgainAtOnceEither) {
  fails = true;
  EXPECT_EQ(ask().error().code(), ErrorCode::kIo);
  EXPECT_EQ(ask().error().code(), ErrorCode::kIo);
  EXPECT_EQ(made, 1);
  milliseconds += 1000;
  fails = false;
  EXPECT_EQ(value_of(ask()), "2");
}

TEST_F(PublicAnswersTest, EveryFailureIsAnAnswer) {
  fails = true;
  for (const ErrorCode code : {ErrorCode::kInterrupted, ErrorCode::kBusy, ErrorCode::kNoData}) {
    failure = code;
    EXPECT_EQ(ask().error().code(), code);
    EXPECT_EQ(ask().error().code(), code) << "the one that is kept";
    milliseconds += 1000;
  }
}

TEST_F(PublicAnswersTest, OtherNamesAreNotThere) {
  EXPECT_EQ(ask("dedupfs.other").error().code(), ErrorCode::kNoData);
  EXPECT_EQ(made, 0);
}

TEST_F(PublicAnswersTest, AllWhoWaitGetOneAnswer) {
  gated = true;
  auto first = begin(), second = begin("dedupfs.number", 1001);
  EXPECT_FALSE(is_there(first));
  gate.set_value();
  EXPECT_EQ(value_of(first.get()), "1");
  EXPECT_EQ(value_of(second.get()), "1");
}

TEST_F(PublicAnswersTest, AUserWhoAsksTooMuchIsRefusedAndOthersAreNot) {
  gated = true;
  std::vector<std::future<Result<std::string>>> many;
  for (std::size_t i = 0; i < PublicAnswers::kMaxWaitingOfUser; ++i) many.push_back(begin());
  EXPECT_EQ(ask().error().code(), ErrorCode::kBusy);
  auto other = begin("dedupfs.number", 1001);
  EXPECT_FALSE(is_there(other));
  gate.set_value();
  EXPECT_EQ(value_of(other.get()), "1");
  for (auto& one : many) EXPECT_TRUE(one.get());
}

TEST_F(PublicAnswersTest, ManyUsersTogetherHaveALimit) {
  gated = true;
  std::vector<std::future<Result<std::string>>> many;
  for (std::size_t i = 0; i < PublicAnswers::kMaxWaiting; ++i)
    many.push_back(begin("dedupfs.number", static_cast<uid_t>(i)));
  EXPECT_EQ(ask().error().code(), ErrorCode::kBusy);
  gate.set_value();
  for (auto& one : many) EXPECT_TRUE(one.get());
}

TEST_F(PublicAnswersTest, AtTheEndNobodyIsLeftWaiting) {
  gated = true;
  auto first = begin();
  std::thread ending([&] { answers->stop(); });
  gate.set_value();
  ending.join();
  const Result<std::string> answer = first.get();
  EXPECT_TRUE(answer || answer.error().code() == ErrorCode::kStale);
  EXPECT_EQ(ask().error().code(), ErrorCode::kStale);
}

}  // namespace
}  // namespace dedupfs
