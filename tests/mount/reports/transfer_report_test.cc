#include "mount/reports/transfer_report.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace dedupfs {
namespace {

TEST(TransferReport, SaysWhatTravelledAndWhatDidNot) {
  const nlohmann::json json = sent_json({.stream_bytes = 2048,
                                         .content_bytes = 10 << 20,
                                         .new_bytes = 4096,
                                         .delta_bytes = 1 << 20,
                                         .copied_bytes = 9 << 20,
                                         .names = 3,
                                         .inodes = 4});
  EXPECT_EQ(
      sent_screen(json),
      "2.00 KiB for 3 names and 4 inodes: 4.00 KiB of new content, 1.00 MiB by deltas, 9.00 MiB that the receiver "
      "has\n");
}

TEST(TransferReport, NamesTheSnapshotThatWasMade) {
  const nlohmann::json json =
      received_json({.snapshot_name = "mon\nday", .stream_bytes = 2048, .content_bytes = 5, .names = 3, .inodes = 4});
  const std::string line = received_screen(json);
  EXPECT_EQ(line.find('\n'), line.size() - 1) << "a name breaks no line: " << line;
  EXPECT_NE(line.find("3 names and 4 inodes from 2.00 KiB"), std::string::npos) << line;
}

TEST(TransferReport, ATokenIsThereOnlyForWhatIsNotComplete) {
  transfer::ReceivedState state{.snapshot = {"uuid", 3, "monday", 5, "its"}, .base = "base", .position = {7, 8}};
  EXPECT_EQ(token_json(state).at("token"), "uuid.its.base.7.8");
  state.is_complete = true;
  EXPECT_FALSE(token_json(state).at("token").is_null()) << "its snapshot is not made yet";
  state.has_snapshot = true;
  EXPECT_TRUE(token_json(state).at("token").is_null());
  EXPECT_TRUE(token_json(std::nullopt).at("token").is_null());
}

}  // namespace
}  // namespace dedupfs
