#include "mount/supervision/service_manager.h"

#include <spdlog/spdlog.h>
#include <unistd.h>

#include <charconv>
#include <cstdint>
#include <cstdlib>
#include <optional>

namespace dedupfs {
namespace {

constexpr std::chrono::seconds kPatienceWithManager{5};

std::optional<std::string> take_variable(const char* name) {
  const char* const value = std::getenv(name);
  if (value == nullptr) return std::nullopt;
  std::string copy = value;
  ::unsetenv(name);
  return copy;
}

std::int64_t whole_number(const std::optional<std::string>& text, std::int64_t otherwise) {
  std::int64_t number = 0;
  if (!text) return otherwise;
  const auto [end, error] = std::from_chars(text->data(), text->data() + text->size(), number);
  return error == std::errc() && end == text->data() + text->size() && number > 0 ? number : otherwise;
}

}  // namespace

ServiceManager ServiceManager::from_environment() {
  const auto address = take_variable("NOTIFY_SOCKET");
  const auto watchdog = take_variable("WATCHDOG_USEC");
  const auto watched = take_variable("WATCHDOG_PID");
  ServiceManager manager;
  if (!address) return manager;
  auto socket = Datagrams::to(*address, kPatienceWithManager);
  if (!socket) {
    spdlog::warn("the service manager cannot be told anything: {}", socket.error().message());
    return manager;
  }
  manager.socket_ = std::make_shared<const Datagrams>(std::move(*socket));
  if (whole_number(watched, ::getpid()) == ::getpid())
    manager.watchdog_ = std::chrono::microseconds(whole_number(watchdog, 0));
  return manager;
}

void ServiceManager::notify(std::string_view assignments) const {
  if (!socket_) return;
  if (const auto sent = socket_->send(assignments); !sent)
    spdlog::warn("the service manager was not told '{}': {}", assignments, sent.error().message());
}

}  // namespace dedupfs
