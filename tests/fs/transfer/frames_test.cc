#include "fs/transfer/frames.h"

#include <gtest/gtest.h>

#include <random>
#include <string>

#include "fs/transfer/streams.h"

namespace dedupfs::transfer {
namespace {

std::string noise(std::size_t bytes) {
  std::mt19937 random(1);
  std::string text(bytes, '\0');
  for (char& c : text) c = static_cast<char>(random());
  return text;
}

// A header, content that does not compress and some that does, in several frames.
std::string stream() {
  std::string bytes;
  const StreamSink sink = into(bytes);
  FrameWriter writer(sink, 3);
  EXPECT_TRUE(writer.begin("the header"));
  EXPECT_TRUE(writer.add(NewContent{2, 0, noise(kMaxContentBytes)}));
  for (std::uint64_t i = 0; i < 3; ++i)
    EXPECT_TRUE(writer.add(NewContent{2, i << 20, std::string(kMaxContentBytes, 'x')}));
  EXPECT_TRUE(writer.add(End()));
  EXPECT_TRUE(writer.flush());
  EXPECT_EQ(writer.bytes(), bytes.size());
  return bytes;
}

// All records up to the end, or the error.
Result<std::size_t> read_all(std::string_view bytes, std::size_t piece = 100'000) {
  const StreamSource source = out_of(bytes, piece);
  FrameReader reader(source);
  DEDUPFS_ASSIGN(const std::string header, reader.begin());
  if (header != "the header") return corruption("another header");
  for (std::size_t count = 1;; ++count) {
    DEDUPFS_ASSIGN(const Record record, reader.next());
    if (std::holds_alternative<End>(record)) return count;
  }
}

TEST(Frames, CarryRecordsInPiecesOfAnySize) {
  const std::string bytes = stream();
  EXPECT_LT(bytes.size(), 2 * kMaxContentBytes) << "what compresses is compressed";
  for (const std::size_t piece : {1UL, 7UL, 4096UL, bytes.size()}) {
    const auto count = read_all(bytes, piece);
    ASSERT_TRUE(count) << count.error().message();
    EXPECT_EQ(*count, 5u);
  }
}

TEST(Frames, AStreamThatEndsEarlyIsNoWholeOne) {
  const std::string bytes = stream();
  for (std::size_t cut = 0; cut < bytes.size(); cut += cut < 200 || cut + 200 > bytes.size() ? 1U : 50'001U) {
    const auto read = read_all(std::string_view(bytes).substr(0, cut));
    ASSERT_FALSE(read) << cut;
    EXPECT_EQ(read.error().code(), ErrorCode::kIo) << cut;
  }
}

TEST(Frames, AByteThatChangedIsFound) {
  const std::string bytes = stream();
  for (std::size_t at = 0; at < bytes.size(); at += at < 200 || at + 200 > bytes.size() ? 1U : 50'001U) {
    std::string damaged = bytes;
    damaged[at] = static_cast<char>(damaged[at] ^ 1);
    EXPECT_FALSE(read_all(damaged)) << at;
  }
}

TEST(Frames, AFrameTwiceIsFound) {
  std::string one;
  const StreamSink sink = into(one);
  FrameWriter writer(sink, 3);
  ASSERT_TRUE(writer.begin("the header"));
  const std::size_t begin = one.size();
  ASSERT_TRUE(writer.add(Outlook{1}));
  ASSERT_TRUE(writer.flush());
  const std::string frame = one.substr(begin);
  ASSERT_TRUE(writer.add(End()));
  ASSERT_TRUE(writer.flush());
  ASSERT_TRUE(read_all(one));

  one.insert(begin, frame);

  EXPECT_FALSE(read_all(one));
}

}  // namespace
}  // namespace dedupfs::transfer
