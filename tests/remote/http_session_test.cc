#include "remote/http_session.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <string>
#include <thread>

#include "s3_test_server.h"

namespace dedupfs {
namespace {

using namespace std::chrono_literals;
using testing::AllOf;
using testing::HasSubstr;
using Clock = std::chrono::steady_clock;

HttpRequest request_to(const std::string& url) {
  return {.url = url, .headers = {}, .body = {}, .into = {}};
}
// Of the server's own pages, which need no signature: what it takes for a request is none.
std::string counts_of(const S3TestServer& server) {
  return server.endpoint() + "/-/counts";
}
std::string url_of_object(const S3TestServer& server) {
  return server.endpoint() + "/bucket/x";
}

TEST(HttpSession, GetsTextWithItsHeaders) {
  const S3TestServer& server = S3TestServer::begun();
  HttpSession session({}, {});
  const auto answer = session.request(request_to(counts_of(server)));
  ASSERT_TRUE(answer) << answer.error().message();
  EXPECT_EQ(answer->status, 200);
  EXPECT_EQ(answer->text, "{\"token\": \"\"}");
  EXPECT_EQ(answer->header("content-length"), "13");
  EXPECT_EQ(answer->header("not-there"), "");
}

TEST(HttpSession, TakesNoMoreThanItHasRoomFor) {
  const S3TestServer& server = S3TestServer::begun();
  HttpSession session({}, {});
  std::string room(5, '?');
  HttpRequest request = request_to(counts_of(server));
  request.into = {reinterpret_cast<std::uint8_t*>(room.data()), room.size()};
  auto answer = session.request(request);
  ASSERT_TRUE(answer) << answer.error().message();
  EXPECT_EQ(answer->received, 5u);
  EXPECT_EQ(room, "{\"tok");
  // And the session is of use afterwards.
  request.into = {};
  request.most_text_bytes = 12;
  answer = session.request(request);
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().code(), ErrorCode::kCorruption);
  EXPECT_THAT(answer.error().message(), HasSubstr("more than 12 bytes"));
  request.most_text_bytes = 13;
  EXPECT_TRUE(session.request(request));
}

TEST(HttpSession, EndsAnswersWithoutEnd) {
  S3TestServer& server = S3TestServer::begun({{"faults", {"GET:1:endless", "GET:2:headers"}}});
  HttpSession session({}, {});
  for (const char* what : {"an answer of more than", "bytes of headers"}) {
    const auto answer = session.request(request_to(url_of_object(server)));
    ASSERT_FALSE(answer);
    EXPECT_EQ(answer.error().code(), ErrorCode::kCorruption);
    EXPECT_THAT(answer.error().message(), HasSubstr(what));
  }
}

TEST(HttpSession, IsNotSentElsewhere) {
  S3TestServer& server = S3TestServer::begun({{"faults", {"GET:*:redirect"}}});
  HttpSession session({}, {});
  const auto answer = session.request(request_to(url_of_object(server)));
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->status, 307);
  EXPECT_EQ(server.count("trap"), 0);
}

TEST(HttpSession, WaitsForASilentServerForAWhileOnly) {
  S3TestServer& server = S3TestServer::begun({{"faults", {"GET:*:silent"}}});
  HttpSession session({.ca_file = {}, .stall_patience = 1s}, {});
  const auto begin = Clock::now();
  const auto answer = session.request(request_to(url_of_object(server)));
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().code(), ErrorCode::kIo);
  EXPECT_THAT(answer.error().message(), AllOf(HasSubstr("GET " + url_of_object(server)), HasSubstr("too slow")));
  EXPECT_GE(Clock::now() - begin, 900ms);
}

TEST(HttpSession, EndsWhenItsCallerWantsNoMore) {
  S3TestServer& server = S3TestServer::begun({{"faults", {"GET:*:silent"}}});
  std::atomic<int> asked{0};
  HttpSession session({}, [&]() -> Result<void> {
    if (++asked < 3) return {};
    return Error{ErrorCode::kInterrupted, "the unmount does not wait"};
  });
  const auto answer = session.request(request_to(url_of_object(server)));
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().code(), ErrorCode::kInterrupted);
  EXPECT_EQ(answer.error().message(), "the unmount does not wait");
}

TEST(HttpSession, SaysThatNobodyListens) {
  HttpSession session({}, {});
  const auto answer = session.request(request_to("http://127.0.0.1:1/x"));
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().code(), ErrorCode::kIo);
  EXPECT_THAT(answer.error().message(), HasSubstr("127.0.0.1"));
}

TEST(HttpSession, KnowsNoOtherProtocols) {
  HttpSession session({}, {});
  for (const char* url : {"file:///etc/passwd", "ftp://127.0.0.1/x", "gopher://127.0.0.1:1/x", "not an address"})
    EXPECT_EQ(session.request(request_to(url)).error().code(), ErrorCode::kInvalidArgument) << url;
}

TEST(HttpSession, KeepsALimitForAllRequestsTogether) {
  const S3TestServer& server = S3TestServer::begun();
  HttpSession session({.ca_file = {}, .bytes_per_second = 100'000}, {});
  const std::string body(10'000, 'x');
  HttpRequest request = request_to(server.endpoint() + "/bucket/x");
  request.method = "PUT";
  request.body_bytes = body.size();
  request.body = object_of(bytes_of(body)).read;
  const auto begin = Clock::now();
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < 4; ++i) threads.emplace_back([&] { EXPECT_TRUE(session.request(request)); });
  }
  // The first of the four may be free, since nothing was under way.
  EXPECT_GE(Clock::now() - begin, 290ms);
}

TEST(HttpSession, AsksTheServicesOfThisMachineThroughNoProxy) {
  const S3TestServer& server = S3TestServer::begun();
  HttpSession session({}, {});
  ::unsetenv("no_proxy");
  ::unsetenv("NO_PROXY");
  ::setenv("http_proxy", "http://127.0.0.1:1", 1);
  HttpRequest request = request_to(counts_of(server));
  EXPECT_FALSE(session.request(request));
  request.is_to_this_machine = true;
  EXPECT_TRUE(session.request(request));
  ::unsetenv("http_proxy");
  ::setenv("no_proxy", "127.0.0.1,localhost", 1);
}

TEST(HttpSession, BelievesOnlyCertificatesThatItTrusts) {
  const TempDir folder;
  const S3TestServer server({"--tls", folder.path().string()});
  if (!server.is_there()) GTEST_SKIP() << "openssl is not here, or makes no certificate";
  const std::string url = "https://127.0.0.1:" + server.port() + "/-/counts";
  HttpSession careful({}, {});
  const auto refused = careful.request(request_to(url));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code(), ErrorCode::kAccessDenied);
  EXPECT_THAT(refused.error().message(), AllOf(HasSubstr("certificate"), HasSubstr("authority")));

  HttpSession trusting({.ca_file = folder.path() / "certificate.pem"}, {});
  const auto answer = trusting.request(request_to(url));
  ASSERT_TRUE(answer) << answer.error().message();
  EXPECT_EQ(answer->status, 200);
  // It is that of another name.
  EXPECT_EQ(trusting.request(request_to("https://localhost:" + server.port() + "/-/counts")).error().code(),
            ErrorCode::kAccessDenied);

  HttpSession wrong({.ca_file = folder.path() / "not-there.pem"}, {});
  EXPECT_EQ(wrong.request(request_to(url)).error().code(), ErrorCode::kAccessDenied);
}

}  // namespace
}  // namespace dedupfs
