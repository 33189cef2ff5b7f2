// A volume in a bucket, for the tests of what reads it there.
#pragma once

#include <gtest/gtest.h>

#include "replica/shipper.h"
#include "store/format/superblock.h"
#include "store/volume/capture.h"

namespace dedupfs::tools {

// The volume in the folder is closed and plain.
inline void ship_once(Bucket& bucket, const Path& folder) {
  const auto opened = Backing::posix()->open_root(folder).value();
  const auto captured = capture_closed(opened);
  ASSERT_TRUE(captured) << captured.error().message();
  const auto position = Shipper::attach(bucket, "test");
  ASSERT_TRUE(position) << position.error().message();
  Shipper shipper(bucket, *position, {.volume = read_superblock(*opened)->uuid, .save = [](const RemotePosition&) {
                                        return Result<void>();
                                      }});
  const auto shipped = shipper.ship(**captured);
  ASSERT_TRUE(shipped) << shipped.error().message();
}

}  // namespace dedupfs::tools
