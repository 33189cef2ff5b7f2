// A filesystem without a mount, and short forms of what tests look at in its snapshots.
#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <chrono>
#include <string_view>
#include <thread>

#include "fs/test_filesystem.h"

namespace dedupfs {

class SnapshotsOfFilesystem : public testing::Test {
 protected:
  InodeNumber in_snapshot(std::string_view name, std::string_view path) {
    return value_of(fs_.find(fmt::format(".snapshots/{}/{}", name, path)));
  }
  bool cleaned_up() {
    for (int i = 0; i < 500; ++i, std::this_thread::sleep_for(std::chrono::milliseconds(10))) {
      EXPECT_TRUE(ok(fs_->sync()));
      if (fs_->volume().snapshots().deleted().empty()) return true;
    }
    return false;
  }
  std::size_t images() {
    EXPECT_TRUE(ok(fs_->sync()));
    return fs_->volume().database().list(Family::kBeforeImages, {}, {}, SIZE_MAX)->size();
  }

  TestFilesystem fs_;
};

}  // namespace dedupfs
