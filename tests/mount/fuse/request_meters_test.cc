#include "mount/fuse/request_meters.h"

#include <fcntl.h>
#include <gtest/gtest.h>

#include <chrono>
#include <thread>

#include "fake_kernel.h"

namespace dedupfs {
namespace {

RequestMeter::Reading reading_of(const RequestMeters& meters, std::string_view name) {
  for (const auto& [found, reading] : meters.readings())
    if (found == name) return reading;
  return {};
}

TEST(RequestMeters, OnlyKindsThatCameAreRead) {
  RequestMeters meters;

  { const CurrentRequest current(MeteredRequest::begin(meters, RequestKind::kCopyFileRange)); }

  ASSERT_EQ(meters.readings().size(), 1u);
  EXPECT_EQ(meters.readings()[0].name, "copy_file_range") << "the names are in the order of the kinds";
  EXPECT_EQ(meters.readings()[0].reading.count, 1u);
}

TEST(RequestMeters, ARequestRunsUntilTheLastLetsGo) {
  RequestMeters meters;
  std::shared_ptr<MeteredRequest> later;
  {
    const CurrentRequest current(MeteredRequest::begin(meters, RequestKind::kWrite));
    later = CurrentRequest::get();
  }
  EXPECT_EQ(meters.running(), 1u);
  EXPECT_TRUE(meters.readings().empty());

  std::thread([&] {
    const CurrentRequest current(std::move(later));
    CurrentRequest::get()->note_bytes(100);
  }).join();

  EXPECT_EQ(meters.running(), 0u);
  EXPECT_EQ(reading_of(meters, "write").bytes, 100u);
  EXPECT_EQ(CurrentRequest::get(), nullptr);
}

TEST(RequestMeters, ThatThereIsNothingIsNoError) {
  RequestMeters meters;
  const auto answer = [&](ErrorCode code) { MeteredRequest(meters, RequestKind::kLookup).note_error(code); };

  answer(ErrorCode::kNotFound);
  answer(ErrorCode::kNoData);
  answer(ErrorCode::kIo);

  EXPECT_EQ(reading_of(meters, "lookup").count, 3u);
  EXPECT_EQ(reading_of(meters, "lookup").errors, 1u);
}

TEST(RequestMeters, TheKernelsRequestsAreCountedWithTheirBytes) {
  AskedFilesystem asked;
  const InodeNumber file = asked.file("f");
  const RequestMeters& meters = asked.mount.request_meters();
  const std::string content(5000, 'x');

  const auto handle = asked.open(file, O_RDWR);
  asked.write(file, handle, 0, content);
  asked.read(file, handle, 0, 4096);
  asked.kernel.ask(FUSE_RMDIR, kRootInode, c_string("f"));  // it is a file
  asked.release(file, handle);

  EXPECT_EQ(reading_of(meters, "write").bytes, 5000u);
  EXPECT_EQ(reading_of(meters, "read").bytes, 4096u);
  EXPECT_EQ(reading_of(meters, "rmdir").errors, 1u);
  EXPECT_EQ(meters.running(), 0u);
}

// The write must drop pages before its answer, and may not do that on the thread that it came to.
TEST(RequestMeters, AWriteThatIsAnsweredLaterIsCountedThen) {
  AskedFilesystem asked;
  const InodeNumber file = asked.file("f", "content");
  const RequestMeters& meters = asked.mount.request_meters();
  const auto handle = asked.open(file, O_RDWR);
  asked.write(file, handle, 0, "through the cache");

  asked.write(file, handle, 0, "past it", 1);

  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  while (meters.running() != 0 && std::chrono::steady_clock::now() < until) std::this_thread::yield();
  EXPECT_EQ(reading_of(meters, "write").count, 2u);
  EXPECT_EQ(reading_of(meters, "write").bytes, 17u + 7u);
  asked.release(file, handle);
}

}  // namespace
}  // namespace dedupfs
