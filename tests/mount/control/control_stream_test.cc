// Each end of a stream against a peer that the test plays by hand.
#include "mount/control/control_stream.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <future>
#include <optional>
#include <thread>

#include "stream_ends.h"

namespace dedupfs {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;
using Json = nlohmann::json;
using Clock = std::chrono::steady_clock;

// The end of the daemon; the test is the client.
struct DaemonEnd : testing::Test {
  Wire wire;
  Cancellation cancellation = std::move(*Cancellation::make());
  std::optional<ControlStream> stream;

  ControlStream& begin(StreamDirection direction, std::chrono::milliseconds patience = kTestPatience) {
    return stream.emplace(std::move(wire.connection), direction, cancellation, patience);
  }
  Result<std::string> read() {
    return read_all([this](MutableByteSpan out) { return stream->read(out); });
  }
  // What the client got, when the daemon has closed.
  std::string sent() {
    stream.reset();
    return wire.take_all();
  }
};

TEST_F(DaemonEnd, SendsAnswerDataEndAndOutcome) {
  begin(StreamDirection::kToClient);

  ASSERT_TRUE(stream->accept({{"total", 5}}));
  ASSERT_TRUE(stream->write(bytes_of("abc")));
  ASSERT_TRUE(stream->write(bytes_of("de")));
  ASSERT_TRUE(stream->finish(Json{{"sent", 5}}));

  EXPECT_EQ(sent(),
            answer_line(Json{{"total", 5}}) + frame("abc") + frame("de") + kCleanEnd + answer_line(Json{{"sent", 5}}));
}

TEST_F(DaemonEnd, AnErrorInTheMiddleBreaksTheDataOff) {
  begin(StreamDirection::kToClient);
  const Error error{ErrorCode::kCorruption, "a chunk is damaged"};

  ASSERT_TRUE(stream->accept(Json::object()));
  ASSERT_TRUE(stream->write(bytes_of("abc")));
  ASSERT_TRUE(stream->finish(error));

  EXPECT_EQ(sent(), answer_line(Json::object()) + frame("abc") + kBrokenEnd + answer_line(error));
}

TEST_F(DaemonEnd, ARefusalIsOneLine) {
  for (const auto direction : {StreamDirection::kToClient, StreamDirection::kFromClient}) {
    wire = Wire();
    begin(direction);
    const Error error{ErrorCode::kNotFound, "no such snapshot"};

    ASSERT_TRUE(stream->finish(error));

    EXPECT_EQ(sent(), answer_line(error));
  }
}

TEST_F(DaemonEnd, AnOutcomeWithoutDataIsAnEmptyStream) {
  begin(StreamDirection::kToClient);

  ASSERT_TRUE(stream->finish(Json{{"sent", 0}}));

  EXPECT_EQ(sent(), answer_line(Json::object()) + kCleanEnd + answer_line(Json{{"sent", 0}}));
}

TEST_F(DaemonEnd, ReadsUpToTheEndAndSendsTheOutcome) {
  begin(StreamDirection::kFromClient);
  wire.give(frame("abc") + frame("de") + kCleanEnd);

  ASSERT_TRUE(stream->accept(Json::object()));
  EXPECT_EQ(*read(), "abcde");
  ASSERT_TRUE(stream->finish(Json{{"got", 5}}));

  EXPECT_EQ(sent(), answer_line(Json::object()) + answer_line(Json{{"got", 5}}));
}

TEST_F(DaemonEnd, ASuccessNeedsTheEndOfTheData) {
  for (const auto& [rest, reason] : {std::pair(kCleanEnd, ""), std::pair(frame("more"), "data behind its end"),
                                     std::pair(kBrokenEnd, "broke the data off"), std::pair(std::string(), "closed")}) {
    wire = Wire();
    begin(StreamDirection::kFromClient);
    wire.give(frame("abc") + rest);
    ::shutdown(wire.peer.get(), SHUT_WR);
    ASSERT_TRUE(stream->accept(Json::object()));
    std::uint8_t data[3];
    ASSERT_EQ(*stream->read(data), 3u);

    (void)stream->finish(Json::object());

    const std::string lines = sent();
    EXPECT_THAT(lines, HasSubstr(reason));
    EXPECT_EQ(lines.find("\"ok\":false") == std::string::npos, *reason == '\0') << lines;
  }
}

TEST_F(DaemonEnd, AClientThatBrokeOffIsAnErrorThatStays) {
  begin(StreamDirection::kFromClient);
  wire.give(frame("abc") + kBrokenEnd + frame("d") + kCleanEnd);

  for (int i = 0; i < 2; ++i) {
    const auto data = read();
    ASSERT_FALSE(data);
    EXPECT_EQ(data.error().code(), ErrorCode::kInterrupted);
    EXPECT_THAT(data.error().message(), HasSubstr("process 77 broke the data off"));
  }
}

TEST_F(DaemonEnd, AClientThatDiesIsAnErrorOfReadAndWrite) {
  begin(StreamDirection::kFromClient);
  EXPECT_TRUE(stream->check_wanted());
  wire.give(frame("abc"));
  wire.peer.reset();
  const auto data = read();
  ASSERT_FALSE(data);
  EXPECT_EQ(data.error().code(), ErrorCode::kIo);
  EXPECT_EQ(stream->check_wanted().error().code(), ErrorCode::kInterrupted);
  EXPECT_FALSE(stream->finish(data.error()));

  wire = Wire();
  begin(StreamDirection::kToClient);
  wire.peer.reset();
  EXPECT_EQ(stream->write(bytes_of("abc")).error().code(), ErrorCode::kIo);
  EXPECT_FALSE(stream->finish(Json::object()));
}

TEST_F(DaemonEnd, AClientThatDiesWhileItIsWaitedForIsNoticedAtOnce) {
  begin(StreamDirection::kToClient);
  auto writing = std::async(std::launch::async, [&] {
    Result<void> written;
    while (written) written = stream->write(bytes_of(std::string(100'000, 'x')));
    return written;
  });
  // Some of it has come, so that the daemon writes by now.
  char byte = 0;
  ASSERT_EQ(::recv(wire.peer.get(), &byte, 1, 0), 1);

  wire.peer.reset();

  EXPECT_EQ(writing.get().error().code(), ErrorCode::kIo);
}

TEST_F(DaemonEnd, AClientThatGivesNothingIsGivenUp) {
  begin(StreamDirection::kFromClient, 20ms);

  const auto data = read();

  ASSERT_FALSE(data);
  EXPECT_EQ(data.error().code(), ErrorCode::kInterrupted);
  EXPECT_THAT(data.error().message(), HasSubstr("of waiting for process 77 to send data"));
  ASSERT_TRUE(stream->finish(data.error()));
  EXPECT_EQ(sent(), answer_line(data.error())) << "it is told";
}

TEST_F(DaemonEnd, AClientThatTakesNothingIsGivenUp) {
  begin(StreamDirection::kToClient, 20ms);

  const auto written = stream->write(bytes_of(std::string(8 << 20, 'x')));

  ASSERT_FALSE(written);
  EXPECT_EQ(written.error().code(), ErrorCode::kInterrupted);
  EXPECT_THAT(written.error().message(), HasSubstr("of waiting for process 77 to take data"));
}

TEST_F(DaemonEnd, CancellationEndsAReadThatWaits) {
  begin(StreamDirection::kFromClient);
  const auto begun = Clock::now();
  auto reading = std::async(std::launch::async, [&] { return read(); });

  cancellation.cancel();
  const auto data = reading.get();

  ASSERT_FALSE(data);
  EXPECT_EQ(data.error().code(), ErrorCode::kInterrupted);
  EXPECT_THAT(data.error().message(), HasSubstr("is being unmounted"));
  ASSERT_TRUE(stream->finish(data.error()));
  EXPECT_EQ(sent(), answer_line(data.error()));
  EXPECT_LT(Clock::now() - begun, kSoon);
}

TEST_F(DaemonEnd, ACancelledFrameLeavesWholeForAClientThatStillReads) {
  begin(StreamDirection::kToClient);
  ASSERT_TRUE(stream->accept(Json::object()));
  auto writing = std::async(std::launch::async, [&] { return stream->write(bytes_of(std::string(8 << 20, 'x'))); });
  cancellation.cancel();
  const auto written = writing.get();
  ASSERT_FALSE(written);
  std::string got;
  std::thread client([&] { got = wire.take_all(); });

  EXPECT_TRUE(stream->finish(written.error()));
  stream.reset();
  client.join();

  const std::string begin_of_all = answer_line(Json::object());
  const std::string end_of_all = kBrokenEnd + answer_line(written.error());
  ASSERT_TRUE(got.starts_with(begin_of_all) && got.ends_with(end_of_all));
  got.resize(got.size() - end_of_all.size());
  const std::string data = unframed(std::string_view(got).substr(begin_of_all.size()));
  EXPECT_EQ(data, std::string(data.size(), 'x'));
}

TEST_F(DaemonEnd, ACancelledStreamWaitsNoTimeForAClientThatTakesNothing) {
  begin(StreamDirection::kToClient);
  const auto begun = Clock::now();
  auto writing = std::async(std::launch::async, [&] {
    const auto written = stream->write(bytes_of(std::string(8 << 20, 'x')));
    return stream->finish(written.error());
  });

  cancellation.cancel();

  EXPECT_TRUE(writing.get() || Clock::now() - begun >= ControlStream::kGoodbye);
  EXPECT_LT(Clock::now() - begun, kSoon);
}

TEST_F(DaemonEnd, CancellationIsSeenWithoutAWait) {
  begin(StreamDirection::kFromClient);
  wire.give(frame("abc") + kCleanEnd);
  cancellation.cancel();

  EXPECT_THAT(read().error().message(), HasSubstr("is being unmounted"));
  EXPECT_THAT(stream->check_wanted().error().message(), HasSubstr("is being unmounted"));

  begin(StreamDirection::kToClient);
  EXPECT_THAT(stream->write(bytes_of("x")).error().message(), HasSubstr("is being unmounted"));
}

TEST_F(DaemonEnd, AJobThatOverlooksItsErrorHasNotSucceeded) {
  begin(StreamDirection::kToClient);
  ASSERT_TRUE(stream->accept(Json::object()));
  cancellation.cancel();
  EXPECT_FALSE(stream->write(bytes_of("abc")));

  ASSERT_TRUE(stream->finish(Json{{"sent", 3}}));

  EXPECT_THAT(sent(), testing::AllOf(HasSubstr(kBrokenEnd), HasSubstr("is being unmounted")));
}

TEST_F(DaemonEnd, ARefusalWaitsForNobody) {
  begin(StreamDirection::kToClient, 20ms);
  ASSERT_FALSE(stream->write(bytes_of(std::string(8 << 20, 'x')))) << "nothing more fits";

  stream->refuse(Error{ErrorCode::kBusy, "no"});

  wire = Wire();
  begin(StreamDirection::kToClient).refuse(Error{ErrorCode::kBusy, "no"});
  EXPECT_EQ(sent(), answer_line(Error{ErrorCode::kBusy, "no"}));
}

// The end of the client; the test is the daemon.
struct ClientEnd : testing::Test {
  TempDir volume;
  UniqueFd listener = silent_socket(volume.path());
  UniqueFd daemon;
  std::optional<ControlStreamClient> stream;

  // `given` is there before the client asks: more of it than the answer may be read with it.
  Result<void> begin(const std::string& given, std::chrono::milliseconds limit = kTestPatience) {
    DEDUPFS_ASSIGN(ControlClient client, ControlClient::connect(volume.path(), {limit, [](const std::string&) {}}));
    daemon = UniqueFd(::accept(listener.get(), nullptr, nullptr));
    say(given);
    DEDUPFS_ASSIGN(ControlStreamClient opened, ControlStreamClient::open(std::move(client), {{"command", "x"}}));
    stream.emplace(std::move(opened));
    return {};
  }
  void say(std::string_view bytes) const {
    ASSERT_EQ(::send(daemon.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL), static_cast<ssize_t>(bytes.size()));
  }
  Result<std::string> read() {
    return read_all([this](MutableByteSpan out) { return stream->read(out); });
  }
  // Writes until the daemon, which takes nothing, is noticed.
  Result<void> write_much() {
    Result<void> written;
    while (written) written = stream->write(bytes_of(std::string(100'000, 'x')));
    return written;
  }
};

const std::string kAccepted = answer_line(Json{{"total", 5}});
const std::string kDone = answer_line(Json{{"sent", 5}});
const std::string kFailed = answer_line(Error{ErrorCode::kNoSpace, "the disk is full"});

TEST_F(ClientEnd, ReadsAnswerDataAndOutcome) {
  ASSERT_TRUE(begin(kAccepted + frame("abc") + frame("de") + kCleanEnd + kDone));

  EXPECT_EQ(stream->answer(), (Json{{"total", 5}}));
  EXPECT_EQ(*read(), "abcde");
  EXPECT_EQ(*stream->outcome(), (Json{{"sent", 5}}));
}

TEST_F(ClientEnd, ARefusalIsTheErrorOfTheDaemon) {
  const auto begun = begin(kFailed);

  ASSERT_FALSE(begun);
  EXPECT_EQ(begun.error().message(), "the disk is full");
}

TEST_F(ClientEnd, DataThatWasBrokenOffIsTheErrorOfTheDaemon) {
  ASSERT_TRUE(begin(kAccepted + frame("abc") + kBrokenEnd + kFailed));

  EXPECT_EQ(read().error().message(), "the disk is full");
}

TEST_F(ClientEnd, DataThatWasBrokenOffIsNeverASuccess) {
  ASSERT_TRUE(begin(kAccepted + frame("abc") + kBrokenEnd + kDone));

  EXPECT_EQ(read().error().code(), ErrorCode::kIo);
}

TEST_F(ClientEnd, AnErrorAtTheEndIsTheOutcome) {
  ASSERT_TRUE(begin(kAccepted + frame("abc") + kCleanEnd + kFailed));

  EXPECT_EQ(*read(), "abc");
  EXPECT_EQ(stream->outcome().error().message(), "the disk is full");
}

TEST_F(ClientEnd, ADaemonThatDiesAtAnyByteIsAnError) {
  const std::string all = kAccepted + frame("abc") + kCleanEnd + kDone;
  for (std::size_t length = kAccepted.size(); length < all.size(); ++length) {
    ASSERT_TRUE(begin(all.substr(0, length)));
    daemon.reset();

    const auto data = read();

    if (length < kAccepted.size() + frame("abc").size() + kCleanEnd.size())
      EXPECT_FALSE(data) << length;
    else
      EXPECT_EQ(stream->outcome().error().code(), ErrorCode::kIo) << length;
  }
}

TEST_F(ClientEnd, ADaemonThatSendsNothingIsGivenUp) {
  ASSERT_TRUE(begin(kAccepted, 100ms));

  const auto data = read();

  ASSERT_FALSE(data);
  EXPECT_EQ(data.error().code(), ErrorCode::kInterrupted);
  EXPECT_THAT(data.error().message(), HasSubstr("to send data"));
}

TEST_F(ClientEnd, ADaemonThatTakesNothingIsGivenUp) {
  ASSERT_TRUE(begin(kAccepted, 100ms));

  const auto written = write_much();

  EXPECT_EQ(written.error().code(), ErrorCode::kInterrupted);
  EXPECT_THAT(written.error().message(), HasSubstr("to take data"));
}

TEST_F(ClientEnd, SendsDataAndItsEnd) {
  for (const bool broken : {false, true}) {
    ASSERT_TRUE(begin(kAccepted + kDone));

    ASSERT_TRUE(stream->write(bytes_of("abc")));
    ASSERT_TRUE(broken ? stream->break_off() : stream->end_of_data());
    EXPECT_EQ(*stream->outcome(), (Json{{"sent", 5}}));
    stream.reset();

    char buffer[4096];
    const ssize_t count = ::recv(daemon.get(), buffer, sizeof buffer, MSG_WAITALL);
    ASSERT_GT(count, 0);
    const std::string_view got(buffer, static_cast<std::size_t>(count));
    EXPECT_TRUE(got.ends_with("\n" + frame("abc") + (broken ? kBrokenEnd : kCleanEnd)));
  }
}

TEST_F(ClientEnd, TheErrorOfADaemonThatTakesNoMoreEndsAWriteThatWaits) {
  ASSERT_TRUE(begin(kAccepted));
  auto writing = std::async(std::launch::async, [&] { return write_much(); });

  say(kFailed);  // and stays there

  EXPECT_EQ(writing.get().error().message(), "the disk is full");
}

TEST_F(ClientEnd, TheErrorOfADaemonThatHasGoneIsSaidRatherThanABrokenPipe) {
  for (const bool with_data_unread : {false, true}) {
    ASSERT_TRUE(begin(kAccepted));
    ASSERT_TRUE(stream->write(bytes_of(with_data_unread ? "abc" : "")));
    say(kFailed);
    daemon.reset();

    EXPECT_EQ(write_much().error().message(), "the disk is full");
  }
}

TEST_F(ClientEnd, TheEndOfDataFindsTheErrorToo) {
  ASSERT_TRUE(begin(kAccepted));
  say(kFailed);
  daemon.reset();

  const auto ended = stream->end_of_data();

  ASSERT_FALSE(ended);
  EXPECT_EQ(ended.error().message(), "the disk is full");
}

TEST_F(ClientEnd, ASuccessBeforeTheEndOfTheDataIsNone) {
  ASSERT_TRUE(begin(kAccepted + kDone));

  const auto written = write_much();

  EXPECT_EQ(written.error().code(), ErrorCode::kIo);
  EXPECT_THAT(written.error().message(), HasSubstr("before it had all data"));
}

TEST_F(ClientEnd, ADaemonThatGoesWithoutAWordIsAnError) {
  ASSERT_TRUE(begin(kAccepted));
  daemon.reset();

  EXPECT_EQ(write_much().error().code(), ErrorCode::kIo);
}

}  // namespace
}  // namespace dedupfs
