// Two snapshots of a filesystem as one commit has them.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string_view>

#include "fs/test_filesystem.h"
#include "fs/trees/committed_tree.h"

namespace dedupfs::transfer {

class TwoTrees : public testing::Test {
 protected:
  void snapshot(std::string_view name) { ASSERT_TRUE(ok(fs_->create_snapshot(name))); }
  // Of snapshots that are there by now.
  CommittedTree tree(std::string_view name) {
    if (!state_) state_ = std::make_shared<CommittedState>(fs_->volume().database());
    return value_of(CommittedTree::of_snapshot(state_, name));
  }

  TestFilesystem fs_;
  std::shared_ptr<CommittedState> state_;
};

}  // namespace dedupfs::transfer
