// Both ends of a stream, as tests need them: a pair of sockets, a peer without manners, and a daemon with jobs.
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/coding.h"
#include "control_ends.h"
#include "mount/control/stream_frames.h"
#include "mount/control/stream_jobs.h"
#include "support/temp_dir.h"

namespace dedupfs {

// Longer than any test takes.
inline constexpr std::chrono::seconds kTestPatience{120};
// Much less than that.
inline constexpr std::chrono::seconds kSoon{20};

// What a reader asks when it has to wait: the peer has sent all that it will send.
inline Result<void> no_more(int /*socket*/) {
  return Error{ErrorCode::kInterrupted, "no more"};
}

inline std::string noise(std::size_t bytes, unsigned seed = 1) {
  std::minstd_rand random(seed);
  std::string text(bytes, '\0');
  for (char& byte : text) byte = static_cast<char>(random() >> 7);
  return text;
}

inline std::string length_field(std::uint32_t length) {
  std::string field;
  Encoder(field).u32(length);
  return field;
}
inline std::string frame(std::string_view data) {
  return length_field(static_cast<std::uint32_t>(data.size())) + std::string(data);
}
inline const std::string kCleanEnd = length_field(0);
inline const std::string kBrokenEnd = length_field(kBrokenFrame);

// A connection, and the other end of it, which the test holds. That one blocks.
class Wire {
 public:
  Wire() {
    int ends[2];
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
    EXPECT_EQ(::fcntl(ends[0], F_SETFL, O_NONBLOCK), 0);
    connection = {UniqueFd(ends[0]), {}, 77};
    peer = UniqueFd(ends[1]);
  }

  void give(std::string_view bytes) const {
    ASSERT_EQ(::send(peer.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL), static_cast<ssize_t>(bytes.size()));
  }
  // Up to the end of the connection.
  std::string take_all() const {
    std::string text;
    std::vector<char> buffer(100'000);
    for (ssize_t count; (count = ::recv(peer.get(), buffer.data(), buffer.size(), 0)) > 0;)
      text.append(buffer.data(), static_cast<std::size_t>(count));
    return text;
  }

  ControlConnection connection;
  UniqueFd peer;
};

// All that `read` gives, up to the end or an error; in pieces of `piece` bytes.
template <class Read>
Result<std::string> read_all(const Read& read, std::size_t piece = 10'007) {
  std::string text;
  ByteBuffer buffer(piece);
  for (;;) {
    DEDUPFS_ASSIGN(const std::size_t count, read(std::span(buffer)));
    if (count == 0) return text;
    text.append(reinterpret_cast<const char*>(buffer.data()), count);
  }
}

// The data in frames, as it is on the wire, without an end. Anything else fails the test.
inline std::string unframed(std::string_view frames) {
  std::string data;
  while (!frames.empty()) {
    Decoder decoder(frames);
    const std::uint32_t length = decoder.u32();
    EXPECT_LE(length, kMaxFrame);
    data += text_of(decoder.bytes(length));
    EXPECT_TRUE(decoder.ok());
    frames = frames.substr(frames.size() - decoder.remaining());
  }
  return data;
}

// A daemon whose control socket has these streams, and what start_server() has.
struct StreamingDaemon {
  explicit StreamingDaemon(StreamJobs::Jobs table, std::chrono::milliseconds patience = kTestPatience) {
    auto made = StreamJobs::make(std::move(table), patience);
    EXPECT_TRUE(made);
    jobs = std::move(*made);
    server = start_server(volume.path(), {}, jobs->handlers());
  }
  TempDir volume;
  std::unique_ptr<StreamJobs> jobs;
  std::unique_ptr<ControlServer> server;
};

}  // namespace dedupfs
