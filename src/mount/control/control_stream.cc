#include "mount/control/control_stream.h"

#include <fmt/format.h>
#include <poll.h>

#include <algorithm>
#include <cerrno>
#include <limits>
#include <utility>

namespace dedupfs {
namespace {

using namespace std::chrono_literals;
using Json = nlohmann::json;

// For poll(2), rounded up: 0 when the time is over.
int left_until(std::chrono::steady_clock::time_point end) {
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(end - std::chrono::steady_clock::now());
  return static_cast<int>(std::clamp(left, 0ms, std::chrono::milliseconds(std::numeric_limits<int>::max())).count());
}

Error cancelled() {
  return {ErrorCode::kInterrupted, "the volume is being unmounted"};
}

// It may have come together with the line before.
bool has_input(const ControlConnection& connection) {
  pollfd polled{connection.socket.get(), POLLIN, 0};
  return !connection.received.empty() || ::poll(&polled, 1, 0) > 0;
}

}  // namespace

Result<void> ControlStream::await(short events, std::string_view what) const {
  const Clock::time_point end = Clock::now() + patience_;
  for (;;) {
    const int left = left_until(end);
    if (left == 0)
      return Error{ErrorCode::kInterrupted,
                   fmt::format("gave up after {:.0f} s of waiting for process {} to {}",
                               std::chrono::duration<double>(patience_).count(), connection_.peer, what)};
    pollfd polled[] = {{connection_.socket.get(), events, 0}, {cancellation_.descriptor(), POLLIN, 0}};
    if (::poll(polled, std::size(polled), left) < 0 && errno != EINTR)
      return Error::from_errno(errno, "control socket");
    if (polled[1].revents != 0) return cancelled();
    if (polled[0].revents != 0) return {};
  }
}

Result<void> ControlStream::await_goodbye(Clock::time_point end) const {
  for (;;) {
    const int left = left_until(end);
    if (left == 0)
      return Error{ErrorCode::kInterrupted, fmt::format("process {} did not take the outcome", connection_.peer)};
    pollfd polled{connection_.socket.get(), POLLOUT, 0};
    const int ready = ::poll(&polled, 1, left);
    if (ready > 0) return {};
    if (ready < 0 && errno != EINTR) return Error::from_errno(errno, "control socket");
  }
}

Result<void> ControlStream::noted(Result<void> done) {
  if (!done) failure_ = done.error();
  return done;
}

Result<void> ControlStream::flush() {
  return noted(writer_.flush(connection_, [this](int) { return await(POLLOUT, "take what it is sent"); }));
}

Result<void> ControlStream::accept(const Json& answer) {
  is_accepted_ = true;
  writer_.put_line(answer_line(answer));
  return flush();
}

Result<void> ControlStream::write(ByteSpan data) {
  if (failure_) return *failure_;
  if (cancellation_.is_cancelled()) return noted(cancelled());
  return noted(writer_.write(data, connection_, [this](int) { return await(POLLOUT, "take data"); }));
}

Result<std::size_t> ControlStream::read(MutableByteSpan out) {
  if (failure_) return *failure_;
  if (cancellation_.is_cancelled()) {
    failure_ = cancelled();
    return *failure_;
  }
  auto count = reader_.read(out, connection_, [this](int) { return await(POLLIN, "send data"); });
  if (count && reader_.end() == FrameEnd::kBroken)
    count = Error{ErrorCode::kInterrupted, fmt::format("process {} broke the data off", connection_.peer)};
  if (!count) failure_ = count.error();
  return count;
}

Result<void> ControlStream::check_wanted() const {
  if (cancellation_.is_cancelled()) return cancelled();
  if (is_peer_gone(connection_.socket.get()))
    return Error{ErrorCode::kInterrupted, fmt::format("process {} is gone: nobody waits", connection_.peer)};
  return {};
}

Result<void> ControlStream::require_end() {
  if (reader_.end() == FrameEnd::kClean) return {};
  std::uint8_t more{};
  DEDUPFS_ASSIGN(const std::size_t count, read({&more, 1}));
  if (count == 0) return {};
  return Error{ErrorCode::kIo, fmt::format("process {} sent data behind its end", connection_.peer)};
}

Result<void> ControlStream::finish(const Result<Json>& outcome) {
  Result<Json> last = outcome;
  if (last && !is_accepted_) (void)accept(Json::object());  // failure_ has the error
  if (last && direction_ == StreamDirection::kFromClient)
    if (const auto ended = require_end(); !ended) last = ended.error();
  if (last && failure_) last = *failure_;  // a job that did not look at it
  if (is_accepted_ && direction_ == StreamDirection::kToClient)
    writer_.put_end(last ? FrameEnd::kClean : FrameEnd::kBroken);
  writer_.put_line(answer_line(last));
  if (!failure_ && flush()) return {};
  const Clock::time_point end = Clock::now() + kGoodbye;
  return writer_.flush(connection_, [this, end](int) { return await_goodbye(end); });
}

void ControlStream::refuse(const Error& error) {
  writer_.put_line(answer_line(error));
  (void)writer_.flush(connection_, [&error](int) -> Result<void> { return error; });
}

Result<ControlStreamClient> ControlStreamClient::open(ControlClient client, const Json& request) {
  DEDUPFS_ASSIGN(Json answer, client.request(request));
  return ControlStreamClient(std::move(client), std::move(answer));
}

Result<std::size_t> ControlStreamClient::read(MutableByteSpan out) {
  DEDUPFS_ASSIGN(const std::size_t count, reader_.read(out, client_.connection(), [this](int socket) {
    return client_.wait_for("send data").for_events(socket, POLLIN);
  }));
  if (reader_.end() != FrameEnd::kBroken) return count;
  DEDUPFS_TRY(outcome());
  return Error{ErrorCode::kIo, "the daemon broke the data off, and does not say why"};
}

Result<void> ControlStreamClient::await_taking() {
  const ControlConnection& connection = client_.connection();
  if (!has_input(connection))
    DEDUPFS_TRY(client_.wait_for("take data").for_events(connection.socket.get(), POLLIN | POLLOUT));
  if (has_input(connection)) return Error{ErrorCode::kIo, "the daemon has ended"};  // or_why_not() knows more
  return {};
}

// The daemon says nothing before the end of the data but that it has failed. That says more than the error of a system call.
Result<void> ControlStreamClient::or_why_not(Result<void> sent) {
  if (sent || !has_input(client_.connection())) return sent;
  DEDUPFS_TRY(outcome());
  return Error{ErrorCode::kIo, "the daemon ended before it had all data"};
}

Result<void> ControlStreamClient::write(ByteSpan data) {
  return or_why_not(writer_.write(data, client_.connection(), [this](int) { return await_taking(); }));
}

Result<void> ControlStreamClient::check_wanted() {
  if (!has_input(client_.connection())) return {};
  return or_why_not(Error{ErrorCode::kIo, "the daemon has ended"});
}

Result<void> ControlStreamClient::end(FrameEnd end) {
  writer_.put_end(end);
  return or_why_not(writer_.flush(client_.connection(), [this](int) { return await_taking(); }));
}

Result<void> ControlStreamClient::end_of_data() {
  return end(FrameEnd::kClean);
}

Result<void> ControlStreamClient::break_off() {
  return end(FrameEnd::kBroken);
}

Result<Json> ControlStreamClient::outcome() {
  Wait wait = client_.wait_for("finish");
  return client_.receive([&wait](int socket) { return wait.for_events(socket, POLLIN); });
}

}  // namespace dedupfs
