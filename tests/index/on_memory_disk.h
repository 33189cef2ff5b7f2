// A fixture: a folder on a disk in memory, which records what is done to it and can be told to fail.
#pragma once

#include <gtest/gtest.h>

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "support/memory_disk.h"

namespace dedupfs {

class OnMemoryDisk : public testing::Test {
 protected:
  std::vector<DiskEvent::Kind> kinds_since(std::size_t position) const {
    const std::vector<DiskEvent> events = disk_->events();
    std::vector<DiskEvent::Kind> kinds;
    for (std::size_t i = position; i < events.size(); ++i) kinds.push_back(events[i].kind);
    return kinds;
  }

  // Each `operation` fails from now on. A write that fails still writes `partial_bytes`.
  void fail(const std::string& operation, ErrorCode code, std::size_t partial_bytes = 0) {
    disk_->set_fault([=](std::string_view called, const Path&) -> std::optional<MemoryDisk::Fault> {
      if (called != operation) return std::nullopt;
      return MemoryDisk::Fault{Error{code, "told to fail"}, partial_bytes};
    });
  }

  std::shared_ptr<MemoryDisk> disk_ = std::make_shared<MemoryDisk>();
  std::shared_ptr<BackingFolder> folder_ = disk_->open_root("/").value();
};

}  // namespace dedupfs
