#include "mount/reports/connection_report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace dedupfs {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

KernelConnection example() {
  return {.libfuse_version = "3.17.2",
          .kernel_protocol = {7, 45},
          .daemon_protocol = FuseProtocol{7, 40},
          .offered = {"async_dio", "posix_acl", "splice_read"},
          .used = {"async_dio", "posix_acl"},
          .largest_request_bytes = 1 << 20,
          .largest_read_ahead_bytes = 4 << 20,
          .max_background = 64,
          .io_uring = false};
}

TEST(ConnectionReport, SaysWhatWasNegotiated) {
  EXPECT_THAT(connection_facts(connection_json(example())),
              ElementsAre("libfuse 3.17.2, protocol 7.45 of the kernel and 7.40 of libfuse, io_uring off",
                          "requests of at most 1.00 MiB, read-ahead of at most 4.00 MiB, 64 requests in the background",
                          "used: async_dio, posix_acl", "offered and not used: splice_read"));
}

TEST(ConnectionReport, LeavesOutWhatIsNotKnown) {
  KernelConnection connection = example();
  connection.daemon_protocol.reset();
  connection.offered = connection.used = {};
  connection.io_uring = true;

  EXPECT_EQ(connection_json(connection).at("daemon_protocol"), nullptr);
  EXPECT_THAT(connection_facts(connection_json(connection)),
              ElementsAre("libfuse 3.17.2, protocol 7.45 of the kernel, io_uring on",
                          "requests of at most 1.00 MiB, read-ahead of at most 4.00 MiB, 64 requests in the background",
                          "used: nothing", "offered and not used: nothing"));
}

TEST(ConnectionReport, IsEmptyBeforeTheFirstRequest) {
  EXPECT_EQ(connection_json(std::nullopt), nullptr);
  EXPECT_THAT(connection_facts(nullptr), IsEmpty());
}

}  // namespace
}  // namespace dedupfs
