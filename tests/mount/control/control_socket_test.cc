#include "mount/control/control_socket.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
#include <list>
#include <sstream>
#include <thread>
#include <vector>

#include "mount/control/control_address.h"
#include "store/format/format.h"
#include "support/folder_at.h"
#include "support/temp_dir.h"

namespace dedupfs {
namespace {

using ::testing::HasSubstr;
using Json = nlohmann::json;

Result<Json> echo(const Json& request) {
  return Json{{"echo", request.at("text")}};
}
Result<Json> fail(const Json&) {
  return Error{ErrorCode::kNoSpace, "the disk is full"};
}

std::unique_ptr<ControlServer> started(const Path& volume) {
  auto server = ControlServer::start(*folder_at(volume), {{"echo", echo}, {"fail", fail}});
  EXPECT_TRUE(server) << (server ? "" : server.error().message());
  return server ? std::move(*server) : nullptr;
}

// A socket in the volume's folder, at which nobody answers.
UniqueFd listening(const Path& volume) {
  const auto address = ControlAddress::in(*folder_at(volume));
  UniqueFd listener(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  EXPECT_EQ(::bind(listener.get(), address->get(), sizeof address->address), 0);
  EXPECT_EQ(::listen(listener.get(), 1), 0);
  return listener;
}

// What a client that knows no manners sends and gets.
class RawClient {
 public:
  explicit RawClient(const Path& volume) : socket_(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    const auto address = ControlAddress::of(volume);
    EXPECT_TRUE(address);
    EXPECT_EQ(::connect(socket_.get(), address->get(), sizeof address->address), 0);
  }

  bool send(std::string_view text) const {
    return ::send(socket_.get(), text.data(), text.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(text.size());
  }
  // Until the server has sent `lines` lines, or closed.
  std::string receive(std::ptrdiff_t lines) const {
    std::string text;
    char buffer[4096];
    while (std::count(text.begin(), text.end(), '\n') < lines) {
      const ssize_t count = ::recv(socket_.get(), buffer, sizeof buffer, 0);
      if (count <= 0) break;
      text.append(buffer, static_cast<std::size_t>(count));
    }
    return text;
  }

 private:
  UniqueFd socket_;
};

TEST(ControlSocket, AnswersRequestsOneAfterTheOther) {
  const TempDir volume;
  const auto server = started(volume.path());
  auto client = ControlClient::connect(volume.path());
  ASSERT_TRUE(client);

  for (const char* text : {"one", "two"}) {
    const auto response = client->request({{"command", "echo"}, {"text", text}});
    ASSERT_TRUE(response);
    EXPECT_EQ(*response, (Json{{"echo", text}}));
  }
  EXPECT_EQ(client->daemon_pid(), ::getpid());
}

TEST(ControlSocket, HandsTheErrorOfACommandToTheClient) {
  const TempDir volume;
  const auto server = started(volume.path());

  const auto response = control_request(volume.path(), {{"command", "fail"}});

  ASSERT_FALSE(response);
  EXPECT_EQ(response.error().message(), "the disk is full");
}

TEST(ControlSocket, IsThereForItsOwnerOnlyAndGoneAtTheEnd) {
  const TempDir volume;
  auto server = started(volume.path());
  struct stat status {};
  ASSERT_EQ(::stat((volume.path() / "control.sock").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 07777, 0600u);

  server.reset();

  EXPECT_FALSE(std::filesystem::exists(volume.path() / "control.sock"));
  const auto response = control_request(volume.path(), {{"command", "echo"}});
  ASSERT_FALSE(response);
  EXPECT_EQ(response.error().code(), ErrorCode::kNotFound);
}

TEST(ControlSocket, ReplacesWhatADeadDaemonLeft) {
  const TempDir volume;
  {
    const auto address = ControlAddress::in(*folder_at(volume.path()));
    const UniqueFd dead(::socket(AF_UNIX, SOCK_STREAM, 0));
    ASSERT_EQ(::bind(dead.get(), address->get(), sizeof address->address), 0);
  }
  ASSERT_FALSE(control_request(volume.path(), {{"command", "echo"}}));

  const auto server = started(volume.path());

  EXPECT_TRUE(control_request(volume.path(), {{"command", "echo"}, {"text", ""}}));
}

TEST(ControlSocket, WorksWherePathsAreLongerThanAddresses) {
  const TempDir directory;
  const Path volume = directory.path() / std::string(200, 'v') / std::string(200, 'w');
  std::filesystem::create_directories(volume);

  const auto server = started(volume);

  EXPECT_TRUE(control_request(volume, {{"command", "echo"}, {"text", "x"}}));
}

TEST(ControlSocket, AnswersNonsenseWithErrors) {
  const TempDir volume;
  const auto server = started(volume.path());
  const RawClient client(volume.path());

  ASSERT_TRUE(
      client.send("\nnonsense\n[1]\n{}\n{\"command\":7}\n{\"command\":\"rm\"}\n{\"command\":\"echo\"}\n\xff\xfe\n"));
  const std::string answers = client.receive(8);

  EXPECT_EQ(std::count(answers.begin(), answers.end(), '\n'), 8);
  EXPECT_THAT(answers, HasSubstr("unknown command"));
  std::istringstream lines(answers);
  for (std::string line; std::getline(lines, line);) EXPECT_FALSE(Json::parse(line).at("ok").get<bool>()) << line;
  EXPECT_TRUE(control_request(volume.path(), {{"command", "echo"}, {"text", "still there"}}));
}

TEST(ControlSocket, AnswersThatCannotBeUnderstoodAreErrors) {
  const TempDir volume;
  const UniqueFd listener = listening(volume.path());

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

TEST(ControlSocket, AnswersThousandsOfRequestsInOnePiece) {
  const TempDir volume;
  const auto server = started(volume.path());
  const RawClient client(volume.path());

  ASSERT_TRUE(client.send(std::string(16000, '\n')));

  EXPECT_EQ(std::ranges::count(client.receive(16000), '\n'), 16000);
}

TEST(ControlSocket, DropsWhoSendsARequestWithoutEnd) {
  const TempDir volume;
  const auto server = started(volume.path());
  const RawClient client(volume.path());

  std::size_t sent = 0;
  while (sent < 100 * ControlServer::kMaxRequest && client.send(std::string(1024, 'x'))) sent += 1024;

  EXPECT_LT(sent, 100 * ControlServer::kMaxRequest);
}

TEST(ControlSocket, NestedBracketsDoNotHurt) {
  const TempDir volume;
  const auto server = started(volume.path());
  const RawClient client(volume.path());

  ASSERT_TRUE(client.send(std::string(60000, '[') + "\n"));

  EXPECT_THAT(client.receive(1), HasSubstr("not a JSON object"));
}

TEST(ControlSocket, SilentClientsKeepNobodyWaiting) {
  const TempDir volume;
  const auto server = started(volume.path());
  std::list<RawClient> silent;
  for (int i = 0; i < 20; ++i) EXPECT_TRUE(silent.emplace_back(volume.path()).send("{\"command\":"));

  EXPECT_TRUE(control_request(volume.path(), {{"command", "echo"}, {"text", "x"}}));
}

TEST(ControlSocket, TellsThoseWhoAwaitTheUnmountHowItWent) {
  const TempDir volume;
  auto server = started(volume.path());
  auto early = ControlClient::connect(volume.path());
  auto late = ControlClient::connect(volume.path());
  ASSERT_TRUE(early && late);
  ASSERT_TRUE(early->send({{"command", "await_unmount"}}));
  ASSERT_TRUE(late->request({{"command", "echo"}, {"text", "x"}}));

  server->finish(Error{ErrorCode::kIo, "the disk died"});

  const auto outcome = early->receive();
  ASSERT_FALSE(outcome);
  EXPECT_EQ(outcome.error().message(), "the disk died");
  EXPECT_FALSE(late->request({{"command", "echo"}, {"text", "x"}})) << "no command may reach a closed volume";
  EXPECT_FALSE(late->request({{"command", "await_unmount"}}));
}

TEST(ControlSocket, TellsThoseWhoWantItWhatTakesSoLong) {
  const TempDir volume;
  auto server = started(volume.path());
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

TEST(ControlSocket, TheOutcomeReachesWaitersThoughTheServerEndsAtOnce) {
  for (int round = 0; round < 50; ++round) {
    const TempDir volume;
    auto server = started(volume.path());
    auto client = ControlClient::connect(volume.path());
    ASSERT_TRUE(client && client->request({{"command", "echo"}, {"text", "x"}}));
    ASSERT_TRUE(client->send({{"command", "await_unmount"}}));

    server->finish({});
    server.reset();

    const auto result = client->receive();
    EXPECT_TRUE(result) << (result ? "" : result.error().message());
  }
}

Patience short_patience(std::vector<std::string>* lines = nullptr) {
  return {std::chrono::milliseconds(200), [lines](const std::string& line) {
            if (lines != nullptr) lines->push_back(line);
          }};
}

TEST(ControlSocket, ADaemonThatNeverAnswersIsGivenUp) {
  const TempDir volume;
  const UniqueFd listener = listening(volume.path());
  auto client = ControlClient::connect(volume.path(), short_patience());
  ASSERT_TRUE(client);

  const auto answer = client->request({{"command", "info"}});

  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().code(), ErrorCode::kInterrupted);
  EXPECT_THAT(answer.error().message(), HasSubstr("to answer"));
}

TEST(ControlSocket, ADaemonThatTricklesIsGivenUpToo) {
  const TempDir volume;
  const UniqueFd listener = listening(volume.path());
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

TEST(ControlSocket, AQueueThatNobodyServesIsGivenUp) {
  const TempDir volume;
  const UniqueFd listener = listening(volume.path());
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

TEST(ControlSocket, ALinkInItsPlaceIsNotFollowed) {
  const TempDir volume;
  const TempDir other;
  const auto server = started(other.path());
  std::filesystem::create_symlink(other.path() / kControlSocket, volume.path() / kControlSocket);

  const auto client = ControlClient::connect(volume.path());

  ASSERT_FALSE(client);
  EXPECT_THAT(client.error().message(), HasSubstr("is not a socket"));
}

TEST(ControlSocket, AProcessOfSomebodyElseIsNotAsked) {
  if (::geteuid() != 0) GTEST_SKIP() << "another user's process needs root";
  const TempDir volume;
  ASSERT_EQ(::chmod(volume.path().c_str(), 0777), 0);
  int ready[2];
  ASSERT_EQ(::pipe(ready), 0);
  const pid_t other = ::fork();
  if (other == 0) {
    constexpr uid_t kNobody = 65534;
    if (::setresuid(kNobody, kNobody, kNobody) == 0) {
      const UniqueFd listener = listening(volume.path());
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

TEST(ControlSocket, IsMadeInTheFolderThatIsOpenWhateverStandsAtItsPath) {
  const TempDir dir;
  const auto folder = folder_at(dir.path() / "volume");
  std::filesystem::rename(dir.path() / "volume", dir.path() / "moved");
  std::filesystem::create_directory(dir.path() / "elsewhere");
  std::filesystem::create_directory_symlink(dir.path() / "elsewhere", dir.path() / "volume");

  const auto server = ControlServer::start(*folder, {{"echo", echo}});

  ASSERT_TRUE(server);
  EXPECT_TRUE(control_request(dir.path() / "moved", {{"command", "echo"}, {"text", "x"}}));
  EXPECT_TRUE(std::filesystem::is_empty(dir.path() / "elsewhere"));
}

}  // namespace
}  // namespace dedupfs
