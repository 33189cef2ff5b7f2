// The format of frames, with peers of all kinds.
#include "mount/control/stream_frames.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include "stream_ends.h"

namespace dedupfs {
namespace {

using ::testing::HasSubstr;

Result<std::string> read_frames(FrameReader& reader, ControlConnection& connection, std::size_t piece = 10'007) {
  return read_all([&](MutableByteSpan out) { return reader.read(out, connection, no_more); }, piece);
}

TEST(StreamFrames, DataOfAnySizeArrivesInPiecesOfAnySize) {
  std::string sent, data;
  for (const std::size_t bytes : {1u, 2u, 3u, 4u, 5u, 4095u, 4096u, 65'536u}) {
    sent += frame(noise(bytes));
    data += noise(bytes);
  }
  for (const std::size_t piece : {1u, 3u, 4u, 70'000u}) {
    Wire wire;
    wire.give(sent + kCleanEnd);
    FrameReader reader;

    const auto read = read_frames(reader, wire.connection, piece);

    ASSERT_TRUE(read);
    EXPECT_EQ(*read, data);
    EXPECT_EQ(reader.end(), FrameEnd::kClean);
    EXPECT_EQ(*read_frames(reader, wire.connection), "") << "the end stays the end";
  }
}

TEST(StreamFrames, BytesThatCameWithTheRequestAreTheFirstOnes) {
  const std::string all = frame("abc") + frame(noise(5000)) + kCleanEnd + "next";
  for (std::size_t early = 0; early <= all.size(); early += early < 20 ? 1 : 97) {
    Wire wire;
    wire.connection.received = all.substr(0, early);
    wire.give(all.substr(early));
    FrameReader reader;

    EXPECT_EQ(*read_frames(reader, wire.connection, 100), "abc" + noise(5000));
  }
}

TEST(StreamFrames, AStreamThatIsCutAtAnyByteHasNoEnd) {
  const std::string all = frame("abcde") + frame("f") + kCleanEnd;
  for (std::size_t length = 0; length < all.size(); ++length) {
    Wire wire;
    wire.give(all.substr(0, length));
    wire.peer.reset();
    FrameReader reader;

    const auto read = read_frames(reader, wire.connection);

    ASSERT_FALSE(read) << length;
    EXPECT_EQ(read.error().code(), ErrorCode::kIo);
    EXPECT_THAT(read.error().message(), HasSubstr("process 77 closed the connection in the middle of the data"));
    EXPECT_EQ(reader.end(), FrameEnd::kNone);
  }
}

TEST(StreamFrames, AStreamMayComeByteByByte) {
  Wire wire;
  const std::string all = frame("abcde") + frame("f") + kCleanEnd;
  std::size_t given = 0;
  FrameReader reader;

  const auto read = read_all([&](MutableByteSpan out) {
    return reader.read(out, wire.connection, [&](int) -> Result<void> {
      wire.give(all.substr(given++, 1));
      return {};
    });
  });

  ASSERT_TRUE(read);
  EXPECT_EQ(*read, "abcdef");
}

TEST(StreamFrames, ABrokenEndIsNoCleanOne) {
  Wire wire;
  wire.give(frame("abc") + kBrokenEnd + kCleanEnd);
  FrameReader reader;

  EXPECT_EQ(*read_frames(reader, wire.connection), "abc");
  EXPECT_EQ(reader.end(), FrameEnd::kBroken);
  EXPECT_EQ(*read_frames(reader, wire.connection), "");
  EXPECT_EQ(reader.end(), FrameEnd::kBroken);
}

TEST(StreamFrames, NoFrameIsLongerThanTheLimit) {
  for (const std::uint32_t length : {std::uint32_t{kMaxFrame + 1}, std::uint32_t{1} << 31, kBrokenFrame - 1}) {
    Wire wire;
    wire.give(length_field(length) + kCleanEnd);
    FrameReader reader;

    const auto read = read_frames(reader, wire.connection);

    ASSERT_FALSE(read) << length;
    EXPECT_EQ(read.error().code(), ErrorCode::kIo);
    EXPECT_THAT(read.error().message(), HasSubstr(std::to_string(length) + " bytes"));
    EXPECT_EQ(reader.end(), FrameEnd::kBroken) << "what follows is not read as a frame";
  }
}

TEST(StreamFrames, TheLongestFrameIsTaken) {
  Wire wire;
  const std::string data = noise(kMaxFrame);
  std::thread sender([&] { wire.give(frame(data) + kCleanEnd); });
  FrameReader reader;

  const auto read = read_all([&](MutableByteSpan out) {
    return reader.read(out, wire.connection, [](int socket) -> Result<void> {
      pollfd polled{socket, POLLIN, 0};
      ::poll(&polled, 1, -1);
      return {};
    });
  });
  sender.join();

  EXPECT_TRUE(read && *read == data);
}

TEST(StreamFrames, WhatIsWrittenHasShortFramesAndTheEndThatWasAskedFor) {
  for (const FrameEnd end : {FrameEnd::kClean, FrameEnd::kBroken}) {
    Wire wire;
    FrameWriter writer;
    const std::string data = noise(kSentFrame + 1);

    ASSERT_TRUE(writer.write(bytes_of(data), wire.connection, no_more));
    ASSERT_TRUE(writer.write({}, wire.connection, no_more)) << "nothing is no end";
    writer.put_end(end);
    writer.put_line("line\n");
    ASSERT_TRUE(writer.flush(wire.connection, no_more));
    wire.connection.socket.reset();

    const std::string sent = wire.take_all();
    EXPECT_TRUE(sent == frame(data.substr(0, kSentFrame)) + frame(data.substr(kSentFrame)) +
                            (end == FrameEnd::kClean ? kCleanEnd : kBrokenEnd) + "line\n");
  }
}

TEST(StreamFrames, AFrameThatWaitsForItsPeerCanBeSentLater) {
  Wire wire;
  FrameWriter writer;
  std::size_t whole = 0;
  while (writer.write(bytes_of(noise(kSentFrame)), wire.connection, no_more)) ++whole;
  writer.put_end(FrameEnd::kBroken);

  std::string sent;
  std::thread peer([&] { sent = wire.take_all(); });
  const auto flushed = writer.flush(wire.connection, [](int socket) -> Result<void> {
    pollfd polled{socket, POLLOUT, 0};
    ::poll(&polled, 1, -1);
    return {};
  });
  wire.connection.socket.reset();
  peer.join();

  EXPECT_TRUE(flushed);
  ASSERT_TRUE(sent.ends_with(kBrokenEnd));
  EXPECT_EQ(unframed(std::string_view(sent).substr(0, sent.size() - 4)).size(), (whole + 1) * kSentFrame);
}

TEST(StreamFrames, APeerThatIsGoneIsAnErrorOfTheWriter) {
  Wire wire;
  wire.peer.reset();
  FrameWriter writer;

  const auto written = writer.write(bytes_of("abc"), wire.connection, no_more);

  ASSERT_FALSE(written);
  EXPECT_EQ(written.error().code(), ErrorCode::kIo);
  EXPECT_THAT(written.error().message(), HasSubstr("process 77 closed"));
}

}  // namespace
}  // namespace dedupfs
