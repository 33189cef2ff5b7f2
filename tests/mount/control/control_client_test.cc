// The client against daemons that nobody would want.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <optional>
#include <thread>
#include <vector>

#include "control_ends.h"
#include "mount/control/control_socket.h"
#include "mount/private_mounts.h"
#include "support/temp_dir.h"

namespace dedupfs {
namespace {

using ::testing::HasSubstr;
using Json = nlohmann::json;

Patience short_patience() {
  return {std::chrono::milliseconds(200), [](const std::string&) {}};
}

// A client, and the other end of its connection, which a test writes answers to.
struct AnsweredByHand : testing::Test {
  TempDir volume;
  UniqueFd listener = silent_socket(volume.path());
  std::optional<ControlClient> client;
  UniqueFd daemon;

  void SetUp() override {
    auto connected = ControlClient::connect(volume.path(), short_patience());
    ASSERT_TRUE(connected);
    client.emplace(std::move(*connected));
    daemon = UniqueFd(::accept(listener.get(), nullptr, nullptr));
  }
  void answer(std::string_view text) const {
    ASSERT_EQ(::send(daemon.get(), text.data(), text.size(), MSG_NOSIGNAL), static_cast<ssize_t>(text.size()));
  }
};

TEST(ControlClient, WithoutASocketNothingIsMounted) {
  const TempDir volume;

  const auto client = ControlClient::connect(volume.path());

  ASSERT_FALSE(client);
  EXPECT_EQ(client.error().code(), ErrorCode::kNotFound);
  EXPECT_THAT(client.error().message(), HasSubstr("is not mounted"));
}

// On a read-only disk no daemon can make a socket.
TEST(ControlClient, AMountWithoutASocketIsNotSaidToBeUnmounted) {
  const TempDir volume, place;
  in_private_mounts([&] {
    const SilentMount mount(volume.path(), place.path());

    const auto writable = ControlClient::connect(volume.path());
    ASSERT_EQ(::mount(nullptr, place.path().c_str(), nullptr, MS_REMOUNT | MS_RDONLY, nullptr), 0);
    const auto read_only = ControlClient::connect(volume.path());

    ASSERT_FALSE(writable);
    EXPECT_EQ(writable.error().code(), ErrorCode::kNotFound);
    EXPECT_THAT(writable.error().message(), HasSubstr("is mounted at " + place.path().string()));
    ASSERT_FALSE(read_only);
    EXPECT_EQ(read_only.error().code(), ErrorCode::kNotFound) << "no daemon keeps others from the volume";
    EXPECT_THAT(read_only.error().message(), HasSubstr("is mounted read-only at " + place.path().string()));
  });
}

TEST(ControlClient, ASocketThatADeadDaemonLeftIsNoMount) {
  const TempDir volume;
  silent_socket(volume.path()).reset();

  EXPECT_EQ(ControlClient::connect(volume.path()).error().code(), ErrorCode::kNotFound);
}

TEST(ControlClient, AnswersThatCannotBeUnderstoodAreErrors) {
  const TempDir volume;
  const UniqueFd listener = silent_socket(volume.path());

  for (const std::string_view answer : {"", "\n", "7\n", "{}\n", "{\"ok\":1}\n", "{\"ok\":false}\n",
                                        "{\"ok\":false,\"error\":7}\n", "{\"ok\":true", "\xff\n"}) {
    auto client = ControlClient::connect(volume.path());
    ASSERT_TRUE(client);
    {
      const UniqueFd daemon(::accept(listener.get(), nullptr, nullptr));
      ASSERT_EQ(::send(daemon.get(), answer.data(), answer.size(), 0), static_cast<ssize_t>(answer.size()));
    }

    const auto received = client->receive();

    ASSERT_FALSE(received) << answer;
    EXPECT_EQ(received.error().code(), ErrorCode::kIo);
  }
  const Json answer = {{"pid", "seven"}};
  EXPECT_FALSE(read_answer([&] { return answer.value("pid", 0); }));
}

TEST(ControlClient, ADaemonThatNeverAnswersIsGivenUp) {
  const TempDir volume;
  const UniqueFd listener = silent_socket(volume.path());
  auto client = ControlClient::connect(volume.path(), short_patience());
  ASSERT_TRUE(client);

  const auto answer = client->request({{"command", "info"}});

  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().code(), ErrorCode::kInterrupted);
  EXPECT_THAT(answer.error().message(), HasSubstr("to answer"));
}

TEST(ControlClient, ADaemonThatTricklesIsGivenUpToo) {
  const TempDir volume;
  const UniqueFd listener = silent_socket(volume.path());
  auto client = ControlClient::connect(volume.path(), short_patience());
  ASSERT_TRUE(client);
  const UniqueFd daemon(::accept(listener.get(), nullptr, nullptr));
  std::atomic<bool> done = false;
  std::thread trickle([&] {
    while (!done && ::send(daemon.get(), " ", 1, MSG_NOSIGNAL) == 1)
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
  });

  const auto answer = client->receive();
  done = true;
  trickle.join();

  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().code(), ErrorCode::kInterrupted);
}

TEST(ControlClient, AQueueThatNobodyServesIsGivenUp) {
  const TempDir volume;
  const UniqueFd listener = silent_socket(volume.path());
  std::vector<ControlClient> waiting;
  for (int i = 0; i < 16; ++i) {
    auto client = ControlClient::connect(volume.path(), short_patience());
    if (!client) {
      EXPECT_EQ(client.error().code(), ErrorCode::kInterrupted);
      return;
    }
    waiting.push_back(std::move(*client));
  }
  FAIL() << "the queue takes everybody";
}

TEST(ControlClient, AProcessOfSomebodyElseIsNotAsked) {
  if (::geteuid() != 0) GTEST_SKIP() << "another user's process needs root";
  const TempDir volume;
  ASSERT_EQ(::chmod(volume.path().c_str(), 0777), 0);
  int ready[2];
  ASSERT_EQ(::pipe(ready), 0);
  const pid_t other = ::fork();
  if (other == 0) {
    constexpr uid_t kNobody = 65534;
    if (::setresuid(kNobody, kNobody, kNobody) == 0) {
      const UniqueFd listener = silent_socket(volume.path());
      (void)!::write(ready[1], "x", 1);
      ::pause();
    }
    ::_exit(1);
  }
  char byte = 0;
  ASSERT_EQ(::read(ready[0], &byte, 1), 1);

  const auto client = ControlClient::connect(volume.path());
  ::kill(other, SIGKILL);
  ::waitpid(other, nullptr, 0);

  ASSERT_FALSE(client);
  EXPECT_EQ(client.error().code(), ErrorCode::kAccessDenied);
  EXPECT_THAT(client.error().message(), HasSubstr("of user 65534"));
}

TEST(ControlClient, TellsThoseWhoWantItWhatTakesSoLong) {
  const TempDir volume;
  auto server = start_server(volume.path());
  const RawClient old(volume.path());
  ASSERT_TRUE(old.send("{\"command\": \"await_unmount\"}\n"));
  auto client = ControlClient::connect(volume.path());
  ASSERT_TRUE(client);
  ASSERT_TRUE(send_await_unmount(*client));
  // Both are known to wait once somebody who came later was answered.
  ASSERT_TRUE(control_request(volume.path(), {{"command", "echo"}, {"text", ""}}));

  std::vector<std::string> shown;
  server->report("half");
  const auto wait_for_more = [](int socket) -> Result<void> {
    pollfd polled{socket, POLLIN, 0};
    return ::poll(&polled, 1, 10'000) == 1 ? Result<void>() : Error{ErrorCode::kInterrupted, "no answer"};
  };
  const auto outcome = receive_await_unmount(*client, wait_for_more, [&](const std::string& text) {
    shown.push_back(text);
    server->finish({}, "no checkpoint");
  });

  ASSERT_TRUE(outcome) << outcome.error().message();
  EXPECT_THAT(shown, ::testing::ElementsAre("half"));
  EXPECT_EQ(outcome->value("warning", ""), "no checkpoint");
  EXPECT_THAT(old.receive(1), ::testing::Not(HasSubstr("half"))) << "it did not ask for progress";
}

TEST_F(AnsweredByHand, AnAnswerMayComeInPieces) {
  answer("{\"ok\":tr");
  std::thread rest([&] { answer("ue,\"a\":1}\n"); });

  const auto received = client->receive();
  rest.join();

  ASSERT_TRUE(received);
  EXPECT_EQ(*received, (Json{{"a", 1}}));
}

TEST_F(AnsweredByHand, TwoAnswersInOnePieceAreTwo) {
  answer("{\"ok\":true,\"a\":1}\n{\"ok\":true,\"a\":2}\n");

  EXPECT_EQ(client->receive()->at("a"), 1);
  EXPECT_EQ(client->receive()->at("a"), 2);
}

TEST_F(AnsweredByHand, AnAnswerWithoutEndIsGivenUp) {
  std::thread endless([&] {
    const std::string text(1 << 20, ' ');
    while (::send(daemon.get(), text.data(), text.size(), MSG_NOSIGNAL) > 0) continue;
  });

  const auto received = client->receive([](int socket) -> Result<void> {
    pollfd polled{socket, POLLIN, 0};
    ::poll(&polled, 1, 1000);
    return {};
  });
  client.reset();  // so that the daemon ends
  endless.join();

  ASSERT_FALSE(received);
  EXPECT_EQ(received.error().code(), ErrorCode::kIo);
  EXPECT_THAT(received.error().message(), HasSubstr("too long"));
}

TEST_F(AnsweredByHand, ADaemonThatTakesNoRequestIsGivenUp) {
  const auto sent = client->send({{"command", "echo"}, {"text", std::string(8 << 20, 'x')}});

  ASSERT_FALSE(sent);
  EXPECT_EQ(sent.error().code(), ErrorCode::kInterrupted);
  EXPECT_THAT(sent.error().message(), HasSubstr("to take a request"));
}

TEST_F(AnsweredByHand, ADaemonThatGoesIsAnErrorAndNoSignal) {
  daemon.reset();

  const auto answered = client->request({{"command", "info"}});

  ASSERT_FALSE(answered);
  EXPECT_THAT(answered.error().code(), testing::AnyOf(ErrorCode::kIo, ErrorCode::kNotFound));
}

TEST_F(AnsweredByHand, WhoWaitsDecidesHowLong) {
  int waits = 0;

  const auto received = client->receive([&](int) -> Result<void> {
    ++waits;
    return Error{ErrorCode::kBusy, "no more"};
  });

  ASSERT_FALSE(received);
  EXPECT_EQ(received.error().code(), ErrorCode::kBusy);
  EXPECT_EQ(waits, 1);
}

// Names of files are bytes.
TEST_F(AnsweredByHand, ARequestMayHoldBytesThatAreNoText) {
  ASSERT_TRUE(client->send({{"command", "echo"}, {"text", "a\xff"}}));

  char buffer[256];
  const ssize_t count = ::recv(daemon.get(), buffer, sizeof buffer, 0);
  ASSERT_GT(count, 0);
  const Json request = Json::parse(std::string_view(buffer, static_cast<std::size_t>(count)));
  EXPECT_EQ(request.at("text"), "a\xef\xbf\xbd");
}

TEST_F(AnsweredByHand, ProgressThatIsNoTextIsAnError) {
  answer("{\"ok\":true,\"progress\":7}\n");

  const auto outcome = receive_await_unmount(
      *client, [](int) -> Result<void> { return {}; }, [](const std::string&) { ADD_FAILURE(); });

  ASSERT_FALSE(outcome);
  EXPECT_EQ(outcome.error().code(), ErrorCode::kIo);
}

}  // namespace
}  // namespace dedupfs
