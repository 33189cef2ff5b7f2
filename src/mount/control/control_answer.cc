#include "mount/control/control_answer.h"

#include <poll.h>
#include <sys/socket.h>

#include <cerrno>
#include <string_view>
#include <utility>

#include "json/document.h"

namespace dedupfs {
namespace {

// More than any answer holds: the snapshots of a volume that has as many as it can have.
constexpr std::size_t kMaxAnswer = 64 << 20;

Result<nlohmann::json> answer_in(std::string_view line) {
  auto response = nlohmann::json::parse(line, nullptr, false);
  if (!response.is_object() || !response.contains("ok") || !response["ok"].is_boolean()) {
    return Error{ErrorCode::kIo, "the answer of the daemon is not valid"};
  }
  if (!response["ok"].get<bool>()) {
    const nlohmann::json& error = response["error"];
    return Error{ErrorCode::kIo, error.is_string() ? error.get<std::string>() : "unknown error"};
  }
  response.erase("ok");
  response.erase("schema");
  response.erase("schema_version");
  return response;
}

}  // namespace

bool is_peer_gone(int socket) {
  pollfd polled{socket, POLLRDHUP, 0};
  return ::poll(&polled, 1, 0) > 0 && (polled.revents & (POLLHUP | POLLERR)) != 0;
}

std::string answer_line(const Result<nlohmann::json>& outcome) {
  nlohmann::json response = outcome ? *outcome : nlohmann::json{{"error", outcome.error().message()}};
  response["ok"] = outcome.has_value();
  return document_text("control-answer", std::move(response), JsonLayout::kLine);
}

Result<nlohmann::json> receive_answer(ControlConnection& connection,
                                      const std::function<Result<void>(int socket)>& wait_for_more) {
  std::string& received = connection.received;
  std::size_t end;
  std::size_t searched = 0;  // so much of it holds no end of a line
  while ((end = received.find('\n', searched)) == std::string::npos) {
    searched = received.size();
    if (received.size() > kMaxAnswer) return Error{ErrorCode::kIo, "the answer of the daemon is too long"};
    char buffer[16 * 1024];
    const ssize_t count = ::recv(connection.socket.get(), buffer, sizeof buffer, 0);
    if (count > 0) {
      received.append(buffer, static_cast<std::size_t>(count));
      continue;
    }
    if (count == 0) return Error{ErrorCode::kIo, "the daemon closed the control socket without an answer"};
    if (errno != EAGAIN && errno != EINTR) return Error::from_errno(errno, "control socket");
    DEDUPFS_TRY(wait_for_more(connection.socket.get()));
  }
  auto answer = answer_in(std::string_view(received).substr(0, end));
  received.erase(0, end + 1);
  return answer;
}

}  // namespace dedupfs
