// Whole streams, from the tool to the job and back.
#include "mount/control/daemon_streams.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <future>
#include <utility>

#include "stream_ends.h"

namespace dedupfs {
namespace {

using ::testing::HasSubstr;
using Json = nlohmann::json;

constexpr std::size_t kMuch = (8 << 20) + 1;

StreamSink into(std::string& text) {
  return [&text](ByteSpan data) -> Result<void> {
    text += text_of(data);
    return {};
  };
}

// In pieces that grow, so that they are of odd sizes.
WaitingSource from(std::string text, const Result<std::size_t>& end = std::size_t{0}) {
  return [text = std::move(text), end, at = std::size_t{0}, piece = std::size_t{0}](
             MutableByteSpan out, const GoOn&) mutable -> Result<std::size_t> {
    if (at == text.size()) return end;
    piece = piece * 3 / 2 + 1;
    const std::size_t count = std::min({piece, out.size(), text.size() - at});
    std::memcpy(out.data(), text.data() + at, count);
    at += count;
    return count;
  };
}

const Error kDiskIsFull{ErrorCode::kNoSpace, "the disk is full"};

// "give" sends "bytes" bytes of noise, and fails "before" or "after" all of them, or in the "middle". "take" does the same with
// what it gets.
Result<Json> give(const Json& request, ControlStream& stream, const GoOn& /*go_on*/) {
  const std::string fails = request.value("fails", "");
  const std::string data = noise(request.at("bytes").get<std::size_t>());
  if (fails == "before") return kDiskIsFull;
  DEDUPFS_TRY(stream.accept(Json{{"total", data.size()}}));
  if (fails == "middle") {
    DEDUPFS_TRY(stream.write(bytes_of(data).first(data.size() / 2)));
    return kDiskIsFull;
  }
  DEDUPFS_TRY(stream.write(bytes_of(data)));
  if (fails == "after") return kDiskIsFull;
  return Json{{"sent", data.size()}};
}

struct DaemonStreams : testing::Test {
  Result<Json> take(const Json& request, ControlStream& stream) {
    const std::string fails = request.value("fails", "");
    if (fails == "before") return kDiskIsFull;
    DEDUPFS_TRY(stream.accept(Json::object()));
    std::uint8_t some[1000];
    if (fails == "middle") {
      DEDUPFS_TRY(stream.read(some));
      return kDiskIsFull;
    }
    auto all = read_all([&](MutableByteSpan out) { return stream.read(out); });
    if (!all) {
      broken.set_value(all.error());
      return all.error();
    }
    got = std::move(*all);
    if (fails == "after") return kDiskIsFull;
    return Json{{"got", got.size()}};
  }

  std::string got;
  std::promise<Error> broken;
  StreamingDaemon daemon{
      {{"give", {StreamDirection::kToClient, give}},
       {"take", {StreamDirection::kFromClient, [this](const Json& request, ControlStream& stream, const GoOn&) {
                   return take(request, stream);
                 }}}}};
  const Path& volume = daemon.volume.path();
};

TEST_F(DaemonStreams, DataOfAnySizeArrivesFromTheDaemon) {
  for (const std::size_t bytes : {std::size_t{0}, std::size_t{1}, kSentFrame - 1, kSentFrame, kSentFrame + 1, kMuch}) {
    std::string taken;

    const auto outcome = stream_from_daemon(volume, {{"command", "give"}, {"bytes", bytes}}, into(taken));

    ASSERT_TRUE(outcome) << outcome.error().message();
    EXPECT_EQ(*outcome, (Json{{"sent", bytes}}));
    EXPECT_TRUE(taken == noise(bytes));
  }
}

TEST_F(DaemonStreams, DataOfAnySizeArrivesAtTheDaemon) {
  for (const std::size_t bytes : {std::size_t{0}, std::size_t{1}, kSentFrame - 1, kSentFrame, kSentFrame + 1, kMuch}) {
    const auto outcome = stream_to_daemon(volume, {{"command", "take"}}, from(noise(bytes)));

    ASSERT_TRUE(outcome) << outcome.error().message();
    EXPECT_EQ(*outcome, (Json{{"got", bytes}}));
    EXPECT_TRUE(got == noise(bytes));
  }
}

TEST_F(DaemonStreams, TheDaemonMayFailAtAnyTime) {
  for (const char* when : {"before", "middle", "after"}) {
    std::string taken;
    const auto given =
        stream_from_daemon(volume, {{"command", "give"}, {"bytes", kMuch}, {"fails", when}}, into(taken));
    const auto sent = stream_to_daemon(volume, {{"command", "take"}, {"fails", when}}, from(noise(kMuch)));

    ASSERT_FALSE(given) << when;
    EXPECT_EQ(given.error().message(), "the disk is full");
    ASSERT_FALSE(sent) << when;
    EXPECT_EQ(sent.error().message(), "the disk is full");
  }
}

TEST_F(DaemonStreams, ASinkThatFailsEndsTheStream) {
  std::size_t calls = 0;
  const auto outcome =
      stream_from_daemon(volume, {{"command", "give"}, {"bytes", kMuch}}, [&](ByteSpan) -> Result<void> {
        if (++calls == 3) return kDiskIsFull;
        return {};
      });

  ASSERT_FALSE(outcome);
  EXPECT_EQ(outcome.error().code(), ErrorCode::kNoSpace);
  EXPECT_EQ(calls, 3u);
}

TEST_F(DaemonStreams, ASourceThatFailsIsNoCleanEndForTheDaemon) {
  const auto outcome = stream_to_daemon(volume, {{"command", "take"}}, from(noise(5000), kDiskIsFull));

  ASSERT_FALSE(outcome);
  EXPECT_EQ(outcome.error().code(), ErrorCode::kNoSpace) << "its own error, not that of the daemon";
  EXPECT_EQ(got, "");
  auto error = broken.get_future();
  ASSERT_EQ(error.wait_for(std::chrono::seconds(0)), std::future_status::ready) << "the job has ended by now";
  EXPECT_THAT(error.get().message(), HasSubstr("broke the data off"));
}

// The job waits for us, who wait for its end. control_stream_test.cc has the client that reads on.
TEST_F(DaemonStreams, AnUnmountIsAnErrorForWhoReads) {
  const auto begun = std::chrono::steady_clock::now();
  const auto outcome =
      stream_from_daemon(volume, {{"command", "give"}, {"bytes", kMuch}}, [&](ByteSpan) -> Result<void> {
        daemon.jobs->end_all();
        return {};
      });

  EXPECT_FALSE(outcome);
  EXPECT_LT(std::chrono::steady_clock::now() - begun, kSoon);
}

TEST_F(DaemonStreams, AnUnmountIsTheErrorOfWhoWrites) {
  const WaitingSource endless = [this, calls = 0](MutableByteSpan out, const GoOn&) mutable -> Result<std::size_t> {
    if (++calls == 10) daemon.jobs->end_all();
    std::memset(out.data(), 'x', out.size());
    return out.size();
  };

  const auto outcome = stream_to_daemon(volume, {{"command", "take"}}, endless);

  ASSERT_FALSE(outcome);
  EXPECT_THAT(outcome.error().message(), HasSubstr("is being unmounted"));
}

TEST_F(DaemonStreams, AnUnmountEndsTheWaitForASource) {
  const WaitingSource silent = [this, calls = 0](MutableByteSpan,
                                                 const GoOn& still_wanted) mutable -> Result<std::size_t> {
    if (++calls == 1) daemon.jobs->end_all();
    for (;;) DEDUPFS_TRY(still_wanted());
  };

  const auto outcome = stream_to_daemon(volume, {{"command", "take"}}, silent);

  ASSERT_FALSE(outcome);
  EXPECT_THAT(outcome.error().message(), HasSubstr("is being unmounted"));
}

TEST_F(DaemonStreams, AVolumeWithoutDaemonAndAnUnknownCommandAreErrors) {
  const TempDir nobody;
  std::string taken;

  EXPECT_EQ(stream_from_daemon(nobody.path(), {{"command", "give"}}, into(taken)).error().code(), ErrorCode::kNotFound);
  EXPECT_THAT(stream_from_daemon(volume, {{"command", "knit"}}, into(taken)).error().message(),
              HasSubstr("unknown command"));
  EXPECT_THAT(stream_to_daemon(volume, {{"command", "give"}}, from("")).error().message(), HasSubstr("bytes"));
}

}  // namespace
}  // namespace dedupfs
