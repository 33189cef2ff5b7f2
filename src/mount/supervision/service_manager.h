// Messages to the service manager that started this process, by the protocol of sd_notify(3): a datagram each.
//
// Threads: notify() from any thread.
// Failure: logged. The process goes on: its service manager will see that it hears nothing.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <string_view>

#include "mount/supervision/datagrams.h"

namespace dedupfs {

class ServiceManager {
 public:
  ServiceManager() = default;  // none: messages go nowhere
  // By NOTIFY_SOCKET, WATCHDOG_USEC and WATCHDOG_PID. It removes them from the environment, so that no child speaks for this process.
  // Call it before threads are started.
  static ServiceManager from_environment();

  explicit operator bool() const { return socket_ != nullptr; }
  // Assignments as in sd_notify(3), a line each: "READY=1\nSTATUS=..."
  void notify(std::string_view assignments) const;
  // The time within which it wants a WATCHDOG=1; 0: it wants none.
  std::chrono::microseconds watchdog() const { return watchdog_; }

 private:
  std::shared_ptr<const Datagrams> socket_;  // null: nobody asked
  std::chrono::microseconds watchdog_{};
};

}  // namespace dedupfs
