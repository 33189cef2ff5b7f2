// Any bytes sent to the control socket, and any bytes that come back from it.
//
// The server answers each line with one JSON object that says whether it went well, and closes the connection only after a
// request that is too long; the arguments of the daemon's commands are parsed as the daemon does it. The client makes an
// answer or an error of what it gets, and never more.
#include <sys/socket.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "base/bytes.h"
#include "base/check.h"
#include "mount/control/control_address.h"
#include "mount/control/control_requests.h"
#include "mount/control/control_socket.h"
#include "support/folder_at.h"
#include "support/temp_dir.h"

namespace dedupfs {
namespace {

using Json = nlohmann::json;

Result<Json> files(const Json& request) {
  DEDUPFS_ASSIGN(const auto inodes, inodes_of(request));
  return Json{{"files", inodes}};
}
Result<Json> scrub(const Json& request) {
  DEDUPFS_ASSIGN(const ScrubRequest asked, scrub_request_of(request));
  return Json{{"scrub", asked.bytes_per_second}};
}
Result<Json> reclaim(const Json& request) {
  DEDUPFS_ASSIGN(const ReclaimRequest asked, reclaim_request_of(request));
  return Json{{"reclaim", asked.action}, {"goal", asked.goal}};
}
Result<Json> echo(const Json& request) {
  return Json{{"echo", request}};
}

void send_all(int socket, std::string_view text) {
  while (!text.empty()) {
    const ssize_t sent = TEMP_FAILURE_RETRY(::send(socket, text.data(), text.size(), MSG_NOSIGNAL));
    if (sent <= 0) return;
    text.remove_prefix(static_cast<std::size_t>(sent));
  }
}

std::string receive_all(int socket) {
  std::string text;
  char buffer[16 * 1024];
  // libFuzzer looks at the time by a signal now and then.
  for (ssize_t count; (count = TEMP_FAILURE_RETRY(::recv(socket, buffer, sizeof buffer, 0))) > 0;)
    text.append(buffer, static_cast<std::size_t>(count));
  return text;
}

// What fits into the buffers of a socket, so that sending everything before anything is received does not block.
constexpr std::size_t kMaxBytes = 8 * 1024;

void fuzz_server(std::string_view input) {
  static const TempDir volume;
  static const auto server = ControlServer::start(
      *folder_at(volume.path()), {{"files", files}, {"scrub", scrub}, {"reclaim", reclaim}, {"echo", echo}});
  DEDUPFS_CHECK(server);
  static const ControlAddress address = ControlAddress::of(volume.path()).value();
  const UniqueFd client(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  DEDUPFS_CHECK(TEMP_FAILURE_RETRY(::connect(client.get(), address.get(), sizeof address.address)) == 0);

  send_all(client.get(), input);
  ::shutdown(client.get(), SHUT_WR);
  const std::string answers = receive_all(client.get());

  std::ptrdiff_t lines = 0;
  for (std::string_view rest = answers; !rest.empty(); ++lines) {
    const std::size_t end = rest.find('\n');
    DEDUPFS_CHECK(end != std::string_view::npos);
    const Json answer = Json::parse(rest.substr(0, end), nullptr, false);
    DEDUPFS_CHECK(answer.is_object() && answer.at("ok").is_boolean());
    DEDUPFS_CHECK(answer.at("ok").get<bool>() || answer.at("error").is_string());
    rest.remove_prefix(end + 1);
  }
  const auto asked = std::ranges::count(input, '\n');
  const bool waits =
      input.find(ControlServer::kAwaitUnmount) != std::string_view::npos || input.find('\\') != std::string_view::npos;
  DEDUPFS_CHECK(lines == asked || (waits && lines < asked));
}

void fuzz_client(std::string_view input) {
  static const TempDir volume;
  static const UniqueFd listener = [] {
    const ControlAddress address = ControlAddress::in(*folder_at(volume.path())).value();
    UniqueFd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    DEDUPFS_CHECK(::bind(socket.get(), address.get(), sizeof address.address) == 0 && ::listen(socket.get(), 1) == 0);
    return socket;
  }();
  auto client = ControlClient::connect(volume.path());
  DEDUPFS_CHECK(client);
  {
    const UniqueFd daemon(
        static_cast<int>(TEMP_FAILURE_RETRY(::accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC))));
    send_all(daemon.get(), input);
  }
  for (auto left = std::ranges::count(input, '\n'); left > 0; --left)
    if (const auto answer = client->receive()) {
      DEDUPFS_CHECK(answer->is_object());
      (void)read_answer([&] { return answer->value("mountpoint", std::string()); });
      (void)read_answer([&] { return answer->value("read_only", false); });
    }
  DEDUPFS_CHECK(!client->receive());
}

}  // namespace
}  // namespace dedupfs

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view input = dedupfs::text_of({data, std::min(size, dedupfs::kMaxBytes)});
  dedupfs::fuzz_server(input);
  dedupfs::fuzz_client(input);
  return 0;
}
