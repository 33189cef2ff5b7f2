// Jobs behind a real control socket, with clients of all kinds.
#include "mount/control/stream_jobs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <list>
#include <new>

#include "stream_ends.h"

namespace dedupfs {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;
using Json = nlohmann::json;
using Clock = std::chrono::steady_clock;

constexpr const char* kGive = "{\"command\":\"give\"}\n";
constexpr const char* kTake = "{\"command\":\"take\"}\n";

StreamJobs::Jobs takes(StreamJobs::Work work) {
  return {{"take", {StreamDirection::kFromClient, std::move(work)}}};
}
StreamJobs::Jobs gives(StreamJobs::Work work) {
  return {{"give", {StreamDirection::kToClient, std::move(work)}}};
}

Result<Json> count_data(const Json& /*request*/, ControlStream& stream, const GoOn& /*go_on*/) {
  DEDUPFS_TRY(stream.accept(Json::object()));
  DEDUPFS_ASSIGN(const std::string data, read_all([&](MutableByteSpan out) { return stream.read(out); }));
  return Json{{"got", data.size()}};
}

Result<Json> give_endlessly(const Json& /*request*/, ControlStream& stream, const GoOn& /*go_on*/) {
  DEDUPFS_TRY(stream.accept(Json::object()));
  for (const std::string data = noise(100'000);;) DEDUPFS_TRY(stream.write(bytes_of(data)));
}

TEST(StreamJobs, AJobGetsItsRequestAndWhatCameWithIt) {
  const StreamingDaemon daemon(takes([](const Json& request, ControlStream& stream, const GoOn& go_on) -> Result<Json> {
    DEDUPFS_ASSIGN(Json counted, count_data(request, stream, go_on));
    counted["name"] = request.at("name");
    return counted;
  }));
  const RawClient client(daemon.volume.path());

  ASSERT_TRUE(client.send("{\"command\":\"take\",\"name\":\"x\"}\n" + frame("abc") + kCleanEnd));

  EXPECT_EQ(client.receive(3), answer_line(Json::object()) + answer_line(Json{{"got", 3}, {"name", "x"}}))
      << "and then the connection ends";
}

TEST(StreamJobs, ARequestMayComeInPiecesAndBehindOthers) {
  const StreamingDaemon daemon(takes(count_data));
  const RawClient client(daemon.volume.path());

  ASSERT_TRUE(client.send("{\"command\":\"echo\",\"text\":\"x\"}\n{\"command\":"));
  ASSERT_THAT(client.receive(1), HasSubstr("echo"));
  ASSERT_TRUE(client.send("\"take\"}\n" + frame("abc")));
  ASSERT_TRUE(client.send(kCleanEnd));

  EXPECT_THAT(client.receive(2), HasSubstr("\"got\":3"));
}

TEST(StreamJobs, OthersAreAnsweredMeanwhile) {
  const StreamingDaemon daemon(takes(count_data));
  const RawClient client(daemon.volume.path());
  ASSERT_TRUE(client.send(kTake));
  ASSERT_THAT(client.receive(1), HasSubstr("true"));

  EXPECT_TRUE(ask_echo(daemon.volume.path()));

  ASSERT_TRUE(client.send(kCleanEnd));
  EXPECT_THAT(client.receive(1), HasSubstr("\"got\":0"));
}

TEST(StreamJobs, MoreJobsThanRunAtOnceAreRefused) {
  const StreamingDaemon daemon(takes(count_data));
  std::list<RawClient> running;
  for (std::size_t i = 0; i < StreamJobs::kMaxJobs; ++i) {
    ASSERT_TRUE(running.emplace_back(daemon.volume.path()).send(kTake));
    ASSERT_THAT(running.back().receive(1), HasSubstr("true"));
  }
  const RawClient refused(daemon.volume.path());
  ASSERT_TRUE(refused.send(kTake));
  EXPECT_THAT(refused.receive(2), HasSubstr("2 streams of this volume are running"));

  ASSERT_TRUE(running.front().send(kCleanEnd));
  ASSERT_THAT(running.front().receive(1), HasSubstr("got"));

  const RawClient next(daemon.volume.path());
  ASSERT_TRUE(next.send(kTake + kCleanEnd));
  EXPECT_THAT(next.receive(2), HasSubstr("got")) << "there is room when the outcome has come";
}

TEST(StreamJobs, ManyJobsOneAfterTheOther) {
  const StreamingDaemon daemon(takes(count_data));
  for (int i = 0; i < 100; ++i) {
    const RawClient client(daemon.volume.path());
    ASSERT_TRUE(client.send(kTake + kCleanEnd));
    ASSERT_THAT(client.receive(2), HasSubstr("got"));
  }
}

// Their jobs have ended, but the outcomes are longer than what a socket holds.
TEST(StreamJobs, ClientsThatDoNotTakeTheOutcomeAreBounded) {
  const StreamingDaemon daemon(gives([](const Json&, ControlStream&, const GoOn&) -> Result<Json> {
    return Json{{"text", std::string(8 << 20, 'x')}};
  }));
  std::list<RawClient> slow;
  for (std::size_t i = 0; i < StreamJobs::kMaxConnections; ++i) {
    ASSERT_TRUE(slow.emplace_back(daemon.volume.path()).send(kGive));
    ASSERT_THAT(slow.back().receive(1), HasSubstr("\"ok\":true"));
  }
  const RawClient refused(daemon.volume.path());

  ASSERT_TRUE(refused.send(kGive));

  EXPECT_THAT(refused.receive(2), HasSubstr("8 streams of this volume are running"));
}

TEST(StreamJobs, TheEndDoesNotWaitForClientsThatDoNothing) {
  StreamJobs::Jobs table = takes(count_data);
  table.merge(gives(give_endlessly));
  const StreamingDaemon daemon(std::move(table));
  const RawClient silent(daemon.volume.path());
  const RawClient deaf(daemon.volume.path());
  ASSERT_TRUE(silent.send(kTake));
  ASSERT_TRUE(deaf.send(kGive));
  ASSERT_THAT(silent.receive(1), HasSubstr("true"));
  ASSERT_THAT(deaf.receive(1), HasSubstr("true"));
  const auto begun = Clock::now();

  daemon.server->end_requests();
  daemon.jobs->end_all();

  EXPECT_LT(Clock::now() - begun, kSoon);
  EXPECT_THAT(silent.receive(1), HasSubstr("is being unmounted"));
  const RawClient late(daemon.volume.path());
  ASSERT_TRUE(late.send(kTake));
  EXPECT_THAT(late.receive(1), HasSubstr("is being unmounted"));
}

TEST(StreamJobs, NoneBeginsAfterTheEnd) {
  std::atomic<bool> was_run = false;
  const StreamingDaemon daemon(takes([&](const Json&, ControlStream&, const GoOn&) -> Result<Json> {
    was_run = true;
    return Json::object();
  }));

  daemon.jobs->end_all();
  const RawClient late(daemon.volume.path());
  ASSERT_TRUE(late.send(kTake));

  EXPECT_THAT(late.receive(2), HasSubstr("is being unmounted"));
  EXPECT_FALSE(was_run);
}

// Works without the stream until it is not wanted any more.
StreamJobs::Work counting_work(std::promise<void>& begun, std::promise<std::string>& ended) {
  return [&](const Json&, ControlStream&, const GoOn& go_on) -> Result<Json> {
    begun.set_value();
    for (;;)
      if (const auto wanted = go_on(); !wanted) {
        ended.set_value(wanted.error().message());
        return wanted.error();
      }
  };
}

TEST(StreamJobs, LongWorkEndsWithTheClient) {
  std::promise<void> begun;
  std::promise<std::string> ended;
  const StreamingDaemon daemon(gives(counting_work(begun, ended)));
  {
    const RawClient client(daemon.volume.path());
    ASSERT_TRUE(client.send(kGive));
    begun.get_future().wait();
  }
  EXPECT_THAT(ended.get_future().get(), HasSubstr("nobody waits"));
}

TEST(StreamJobs, LongWorkEndsWithTheMount) {
  std::promise<void> begun;
  std::promise<std::string> ended;
  const StreamingDaemon daemon(gives(counting_work(begun, ended)));
  const RawClient client(daemon.volume.path());
  ASSERT_TRUE(client.send(kGive));
  begun.get_future().wait();

  daemon.jobs->end_all();

  EXPECT_THAT(ended.get_future().get(), HasSubstr("being unmounted"));
  EXPECT_THAT(client.receive(2), HasSubstr("being unmounted"));
}

TEST(StreamJobs, AnExceptionIsTheErrorOfItsJob) {
  StreamJobs::Jobs table =
      takes([](const Json& request, ControlStream&, const GoOn&) -> Result<Json> { return request.at("missing"); });
  table.merge(gives([](const Json&, ControlStream&, const GoOn&) -> Result<Json> { throw std::bad_alloc(); }));
  const StreamingDaemon daemon(std::move(table));
  for (const auto& [request, reason] : {std::pair(kTake, "missing"), std::pair(kGive, "out of memory")}) {
    const RawClient client(daemon.volume.path());
    ASSERT_TRUE(client.send(request));
    EXPECT_THAT(client.receive(2), HasSubstr(reason));
  }
}

TEST(StreamJobs, AClientThatDiesEndsItsJob) {
  std::promise<Error> ended;
  const StreamingDaemon daemon(
      takes([&](const Json& request, ControlStream& stream, const GoOn& go_on) -> Result<Json> {
        auto counted = count_data(request, stream, go_on);
        if (!counted) ended.set_value(counted.error());
        return counted;
      }));
  {
    const RawClient client(daemon.volume.path());
    ASSERT_TRUE(client.send(kTake + frame("abc")));
    ASSERT_THAT(client.receive(1), HasSubstr("true"));
  }
  EXPECT_THAT(ended.get_future().get().message(), HasSubstr("closed the connection"));
}

TEST(StreamJobs, NonsenseInsteadOfFramesIsAnError) {
  const StreamingDaemon daemon(takes(count_data));
  const RawClient client(daemon.volume.path());

  ASSERT_TRUE(client.send(kTake + std::string("{\"command\":\"echo\"}\n")));

  EXPECT_THAT(client.receive(3), HasSubstr("\"ok\":false"));
}

}  // namespace
}  // namespace dedupfs
