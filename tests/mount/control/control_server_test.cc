// The server against clients of all kinds.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <future>
#include <list>
#include <new>
#include <sstream>

#include "control_ends.h"
#include "mount/control/control_socket.h"
#include "store/format/superblock.h"
#include "support/temp_dir.h"

namespace dedupfs {
namespace {

using ::testing::HasSubstr;
using Json = nlohmann::json;

TEST(ControlServer, AnswersRequestsOneAfterTheOther) {
  const TempDir volume;
  const auto server = start_server(volume.path());
  auto client = ControlClient::connect(volume.path());
  ASSERT_TRUE(client);

  for (const char* text : {"one", "two"}) {
    const auto response = client->request({{"command", "echo"}, {"text", text}});
    ASSERT_TRUE(response);
    EXPECT_EQ(*response, (Json{{"echo", text}}));
  }
  EXPECT_EQ(client->daemon_pid(), ::getpid());
}

// A handler that tells how far it is, until a line was made of it.
Result<Json> tell_once(const Json& request, const ControlServer::StillWanted&, const ControlServer::Tell& tell) {
  bool is_told = !request.value("progress", false);
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (!is_told && std::chrono::steady_clock::now() < end)
    tell([&] {
      is_told = true;
      return Json{{"percent", 50}};
    });
  tell([] { return Json{{"percent", "too soon"}}; });
  return Json{{"done", true}};
}

TEST(ControlServer, TellsWhoWantsItHowFarAnAnswerIs) {
  const TempDir volume;
  const auto server = start_server(volume.path(), {{"work", tell_once}});
  std::vector<Json> told;

  const auto answer =
      control_request(volume.path(), {{"command", "work"}}, [&](const Json& progress) { told.push_back(progress); });

  ASSERT_TRUE(answer);
  EXPECT_EQ(*answer, (Json{{"done", true}}));
  EXPECT_EQ(told, std::vector<Json>{(Json{{"percent", 50}})});
  EXPECT_EQ(control_request(volume.path(), {{"command", "work"}}).value(), (Json{{"done", true}})) << "nobody wants it";
}

TEST(ControlServer, HandsTheErrorOfACommandToTheClient) {
  const TempDir volume;
  const auto server = start_server(volume.path());

  const auto response = control_request(volume.path(), {{"command", "fail"}});

  ASSERT_FALSE(response);
  EXPECT_EQ(response.error().message(), "the disk is full");
}

TEST(ControlServer, IsThereForItsOwnerOnlyAndGoneAtTheEnd) {
  const TempDir volume;
  auto server = start_server(volume.path());
  struct stat status {};
  ASSERT_EQ(::stat((volume.path() / "control.sock").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 07777, 0600u);

  server.reset();

  EXPECT_FALSE(std::filesystem::exists(volume.path() / "control.sock"));
  const auto response = control_request(volume.path(), {{"command", "echo"}});
  ASSERT_FALSE(response);
  EXPECT_EQ(response.error().code(), ErrorCode::kNotFound);
}

TEST(ControlServer, ReplacesWhatADeadDaemonLeft) {
  const TempDir volume;
  {
    const auto address = ControlAddress::in(*folder_at(volume.path()));
    const UniqueFd dead(::socket(AF_UNIX, SOCK_STREAM, 0));
    ASSERT_EQ(::bind(dead.get(), address->get(), sizeof address->address), 0);
  }
  ASSERT_FALSE(control_request(volume.path(), {{"command", "echo"}}));

  const auto server = start_server(volume.path());

  EXPECT_TRUE(control_request(volume.path(), {{"command", "echo"}, {"text", ""}}));
}

TEST(ControlServer, AnswersNonsenseWithErrors) {
  const TempDir volume;
  const auto server = start_server(volume.path());
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

TEST(ControlServer, AnswersThousandsOfRequestsInOnePiece) {
  const TempDir volume;
  const auto server = start_server(volume.path());
  const RawClient client(volume.path());

  ASSERT_TRUE(client.send(std::string(16000, '\n')));

  EXPECT_EQ(std::ranges::count(client.receive(16000), '\n'), 16000);
}

TEST(ControlServer, DropsWhoSendsARequestWithoutEnd) {
  const TempDir volume;
  const auto server = start_server(volume.path());
  const RawClient client(volume.path());

  std::size_t sent = 0;
  while (sent < 100 * ControlServer::kMaxRequest && client.send(std::string(1024, 'x'))) sent += 1024;

  EXPECT_LT(sent, 100 * ControlServer::kMaxRequest);
}

TEST(ControlServer, NestedBracketsDoNotHurt) {
  const TempDir volume;
  const auto server = start_server(volume.path());
  const RawClient client(volume.path());

  ASSERT_TRUE(client.send(std::string(60000, '[') + "\n"));

  EXPECT_THAT(client.receive(1), HasSubstr("not a JSON object"));
}

TEST(ControlServer, SilentClientsKeepNobodyWaiting) {
  const TempDir volume;
  const auto server = start_server(volume.path());
  std::list<RawClient> silent;
  for (int i = 0; i < 20; ++i) EXPECT_TRUE(silent.emplace_back(volume.path()).send("{\"command\":"));

  EXPECT_TRUE(control_request(volume.path(), {{"command", "echo"}, {"text", "x"}}));
}

TEST(ControlServer, TellsThoseWhoAwaitTheUnmountHowItWent) {
  const TempDir volume;
  auto server = start_server(volume.path());
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

TEST(ControlServer, TheOutcomeReachesWaitersThoughTheServerEndsAtOnce) {
  for (int round = 0; round < 50; ++round) {
    const TempDir volume;
    auto server = start_server(volume.path());
    auto client = ControlClient::connect(volume.path());
    ASSERT_TRUE(client && client->request({{"command", "echo"}, {"text", "x"}}));
    ASSERT_TRUE(client->send({{"command", "await_unmount"}}));

    server->finish({});
    server.reset();

    const auto result = client->receive();
    EXPECT_TRUE(result) << (result ? "" : result.error().message());
  }
}

TEST(ControlServer, IsMadeInTheFolderThatIsOpenWhateverStandsAtItsPath) {
  const TempDir dir;
  const auto folder = folder_at(dir.path() / "volume");
  std::filesystem::rename(dir.path() / "volume", dir.path() / "moved");
  std::filesystem::create_directory(dir.path() / "elsewhere");
  std::filesystem::create_directory_symlink(dir.path() / "elsewhere", dir.path() / "volume");

  const auto server =
      ControlServer::start(*folder, {{"echo", [](const Json&) -> Result<Json> { return Json::object(); }}});

  ASSERT_TRUE(server);
  EXPECT_TRUE(control_request(dir.path() / "moved", {{"command", "echo"}, {"text", "x"}}));
  EXPECT_TRUE(std::filesystem::is_empty(dir.path() / "elsewhere"));
}

TEST(ControlServer, ARequestMayComeInPieces) {
  const TempDir volume;
  const auto server = start_server(volume.path());
  const RawClient client(volume.path());

  ASSERT_TRUE(client.send("{\"command\":\"echo\","));
  ASSERT_TRUE(ask_echo(volume.path())) << "the half request has been read by now";
  ASSERT_TRUE(client.send("\"text\":\"whole\"}\n"));

  EXPECT_THAT(client.receive(1), HasSubstr("whole"));
}

TEST(ControlServer, HalfARequestIsNotCarriedOut) {
  const TempDir volume;
  bool was_called = false;
  const auto server = start_server(volume.path(), {{"mark", [&](const Json&) -> Result<Json> {
                                                      was_called = true;
                                                      return Json::object();
                                                    }}});
  const RawClient client(volume.path());

  ASSERT_TRUE(client.send("{\"command\":\"mark\"}"));  // no end of the line
  client.end_sending();

  EXPECT_EQ(client.receive(1), "");
  EXPECT_FALSE(was_called);
}

TEST(ControlServer, TheLongestRequestIsTakenAndALongerOneIsRefused) {
  const TempDir volume;
  const auto server = start_server(volume.path());
  const std::string head = "{\"command\":\"echo\",\"text\":\"";
  const std::string longest = head + std::string(ControlServer::kMaxRequest - head.size() - 2, 'x') + "\"}";
  ASSERT_EQ(longest.size(), ControlServer::kMaxRequest);
  const RawClient modest(volume.path());
  const RawClient greedy(volume.path());

  ASSERT_TRUE(modest.send(longest + "\n"));
  EXPECT_THAT(modest.receive(1), HasSubstr("\"ok\":true"));
  ASSERT_TRUE(greedy.send(longest + " \n"));
  EXPECT_THAT(greedy.receive(1), HasSubstr("too long"));
  EXPECT_EQ(greedy.receive(1), "") << "it is dropped";
}

TEST(ControlServer, MoreClientsThanItTakesWaitForTheirTurn) {
  const TempDir volume;
  const auto server = start_server(volume.path());
  std::list<RawClient> taken;
  for (std::size_t i = 0; i < ControlServer::kMaxClients; ++i) {
    const RawClient& client = taken.emplace_back(volume.path());
    ASSERT_TRUE(client.send("{\"command\":\"echo\",\"text\":\"\"}\n"));
    ASSERT_THAT(client.receive(1), HasSubstr("true"));
  }
  const RawClient waiting(volume.path());
  ASSERT_TRUE(waiting.send("{\"command\":\"echo\",\"text\":\"late\"}\n"));
  // Others are answered meanwhile, several times.
  for (int i = 0; i < 5; ++i) {
    ASSERT_TRUE(taken.back().send("{\"command\":\"echo\",\"text\":\"\"}\n"));
    ASSERT_THAT(taken.back().receive(1), HasSubstr("true"));
  }
  pollfd answer{waiting.socket(), POLLIN, 0};
  EXPECT_EQ(::poll(&answer, 1, 0), 0);

  taken.pop_front();

  EXPECT_THAT(waiting.receive(1), HasSubstr("late"));
}

TEST(ControlServer, WhoTakesNoAnswersDelaysNobody) {
  const TempDir volume;
  const auto server = start_server(volume.path(), {{"much", [](const Json&) -> Result<Json> {
                                                      return Json{{"text", std::string(1 << 20, 'x')}};
                                                    }}});
  const RawClient idle(volume.path());
  ASSERT_TRUE(idle.send("{\"command\":\"much\"}\n"));

  EXPECT_TRUE(ask_echo(volume.path()));
  EXPECT_EQ(idle.receive(1).size(),
            std::size_t{1 << 20} +
                std::string("{\"ok\":true,\"schema\":\"control-answer\",\"schema_version\":1,\"text\":\"\"}\n").size());
}

TEST(ControlServer, ACommandThatRunsOutOfMemoryIsAnErrorOfThatCommand) {
  const TempDir volume;
  const auto server =
      start_server(volume.path(), {{"large", [](const Json&) -> Result<Json> { throw std::bad_alloc(); }}});

  EXPECT_FALSE(control_request(volume.path(), {{"command", "large"}}));
  EXPECT_TRUE(ask_echo(volume.path()));
}

TEST(ControlServer, NamesThatAreNoTextAreAnsweredAllTheSame) {
  const TempDir volume;
  const auto server = start_server(volume.path(), {{"name", [](const Json&) -> Result<Json> {
                                                      return Json{{"name", "a\xff"}};
                                                    }}});

  const auto answer = control_request(volume.path(), {{"command", "name"}});

  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->at("name"), "a\xef\xbf\xbd");
}

TEST(ControlServer, TheEndOfRequestsWaitsForTheOneThatRuns) {
  const TempDir volume;
  std::promise<void> begun;
  std::promise<void> may_end;
  bool has_ended = false;
  const auto server = start_server(volume.path(), {{"slow", [&](const Json&) -> Result<Json> {
                                                      begun.set_value();
                                                      may_end.get_future().wait();
                                                      has_ended = true;
                                                      return Json::object();
                                                    }}});
  const RawClient client(volume.path());
  ASSERT_TRUE(client.send("{\"command\":\"slow\"}\n"));
  begun.get_future().wait();

  auto ending = std::async(std::launch::async, [&] {
    server->end_requests();
    return has_ended;
  });
  may_end.set_value();

  EXPECT_TRUE(ending.get());
  EXPECT_THAT(client.receive(1), HasSubstr("true"));
  const auto refused = ask_echo(volume.path());
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message(), HasSubstr("is being unmounted"));
}

// Counts until nobody wants to know.
ControlServer::Handlers counting(std::promise<void>& begun, std::promise<std::string>& ended) {
  return {{"count", [&](const nlohmann::json&, const ControlServer::StillWanted& wanted) -> Result<nlohmann::json> {
             begun.set_value();
             for (;;)
               if (const auto goes_on = wanted(); !goes_on) {
                 ended.set_value(goes_on.error().message());
                 return goes_on.error();
               }
           }}};
}

TEST(ControlServer, ALongAnswerEndsWithTheClient) {
  const TempDir volume;
  std::promise<void> begun;
  std::promise<std::string> ended;
  const auto server = start_server(volume.path(), counting(begun, ended));
  {
    const RawClient client(volume.path());
    ASSERT_TRUE(client.send("{\"command\": \"count\"}\n"));
    begun.get_future().wait();
  }
  EXPECT_THAT(ended.get_future().get(), HasSubstr("nobody waits"));
}

TEST(ControlServer, ALongAnswerEndsWithTheMount) {
  const TempDir volume;
  std::promise<void> begun;
  std::promise<std::string> ended;
  const auto server = start_server(volume.path(), counting(begun, ended));
  const RawClient client(volume.path());
  ASSERT_TRUE(client.send("{\"command\": \"count\"}\n"));
  begun.get_future().wait();

  server->end_requests();

  EXPECT_THAT(ended.get_future().get(), HasSubstr("being unmounted"));
  EXPECT_THAT(client.receive(1), HasSubstr("being unmounted"));
}

// The next daemon has locked the volume, and made its own socket.
TEST(ControlServer, LeavesTheSocketOfTheNextDaemonAlone) {
  const TempDir volume;
  auto server = start_server(volume.path());
  const UniqueFd lock(::open((volume.path() / kLockFile).c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  ASSERT_EQ(::flock(lock.get(), LOCK_EX), 0);
  const auto next = start_server(volume.path());

  server.reset();

  EXPECT_TRUE(ask_echo(volume.path()));
}

// The mode of the socket keeps them away. Somebody may have changed it.
TEST(ControlServer, AnotherUserIsTurnedAway) {
  if (::geteuid() != 0) GTEST_SKIP() << "another user needs root";
  const TempDir volume;
  const auto server = start_server(volume.path());
  ASSERT_EQ(::chmod(volume.path().c_str(), 0755), 0);
  ASSERT_EQ(::chmod((volume.path() / kControlSocket).c_str(), 0666), 0);
  const pid_t other = ::fork();
  if (other == 0) {
    constexpr uid_t kNobody = 65534;
    if (::setresuid(kNobody, kNobody, kNobody) != 0) ::_exit(2);
    const RawClient client(volume.path());
    (void)client.send("{\"command\":\"echo\",\"text\":\"x\"}\n");
    const std::string answer = client.receive(1);
    ::_exit(answer.find("only root and the owner") != std::string::npos && client.receive(1).empty() ? 0 : 1);
  }

  int status = 0;
  ASSERT_EQ(::waitpid(other, &status, 0), other);

  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

}  // namespace
}  // namespace dedupfs
