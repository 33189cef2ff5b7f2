#include "replica/head.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/coding.h"

namespace dedupfs {
namespace {

using testing::HasSubstr;

constexpr const char* kUuid = "01234567-89ab-4def-8123-456789abcdef";

Sha256Digest digest(const std::string& text) {
  return sha256_of(bytes_of(text));
}

RemoteFile file(std::uint64_t sequence, std::initializer_list<std::uint64_t> pieces) {
  RemoteFile made{.pieces = {}, .end_sum = 7};
  for (const std::uint64_t bytes : pieces)
    made.pieces.push_back({.epoch = 3, .sequence = sequence, .bytes = bytes, .sha256 = digest(std::to_string(bytes))});
  return made;
}

Head sample() {
  return {.volume = kUuid,
          .sequence = 12,
          .epoch = 3,
          .full = 9,
          .previous = digest("11"),
          .unix_seconds = 1'700'000'000,
          .dropped = {"index/000001.sst", "index/000002.sst"},
          .files = {{"containers/0000000001.container", file(12, {kMaxPieceBytes, 5})},
                    {"containers/0000000002.container", file(12, {1})},
                    {"index/CURRENT", file(12, {16})},
                    {"superblock.json", file(12, {})}}};
}

// With the right checksum.
std::string summed(std::string bytes) {
  bytes.resize(bytes.size() - sizeof(Sha256Digest));
  const Sha256Digest sum = digest(bytes);
  Encoder(bytes).bytes(ByteSpan(sum));
  return bytes;
}

TEST(Head, IsReadAsItWasWritten) {
  const auto read = decode_head(bytes_of(encode_head(sample())));

  ASSERT_TRUE(read) << read.error().message();
  EXPECT_EQ(*read, sample());
  EXPECT_EQ(read->files.at("containers/0000000001.container").bytes(), kMaxPieceBytes + 5);
}

TEST(Head, TakesLittleMoreThanADigestForEachFile) {
  Head head = sample();
  head.dropped.clear();
  head.full = head.sequence;
  head.files.clear();
  for (int i = 0; i < 1000; ++i)
    head.files.emplace("containers/" + std::to_string(1'000'000'000 + i) + ".container", file(12, {64 << 20}));

  EXPECT_LT(encode_head(head).size(), 1000u * 70);
}

TEST(Head, AnyChangedOrMissingByteIsFound) {
  const std::string bytes = encode_head(sample());
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    std::string changed = bytes;
    changed[i] ^= 1;
    EXPECT_FALSE(decode_head(bytes_of(changed))) << "byte " << i;
    EXPECT_FALSE(decode_head(bytes_of(bytes).first(i))) << i << " bytes";
  }
}

// Whoever can write to the bucket can make the checksum right.
TEST(Head, NoBytesWithARightChecksumDoHarm) {
  const std::string bytes = encode_head(sample());
  for (std::size_t i = 0; i + sizeof(Sha256Digest) < bytes.size(); ++i) {
    for (const int change : {1, 0x7f, 0x80, 0xff}) {
      std::string changed = bytes;
      changed[i] = static_cast<char>(changed[i] ^ change);
      const auto read = decode_head(bytes_of(summed(changed)));
      if (!read) continue;
      for (const auto& [path, found] : read->files) {
        EXPECT_TRUE(is_image_path(path)) << path;
        for (const RemotePiece& piece : found.pieces) EXPECT_LE(piece.bytes, kMaxPieceBytes);
      }
    }
  }
}

// Builds before shipped all that lay in the folder.
TEST(Head, WhatPeopleLeftInTheFolderIsPassedOver) {
  Head head = sample();
  const RemoteFiles files = head.files;
  const std::vector<std::string> dropped = head.dropped;
  for (const char* const stray : {".nfs00000000012345", "superblock.json~", "index/.DS_Store", "two words"}) {
    head.files.emplace(stray, file(1, {100}));
    head.dropped.push_back(stray);
  }
  std::ranges::sort(head.dropped);

  const auto read = decode_head(bytes_of(encode_head(head)));

  ASSERT_TRUE(read) << read.error().message();
  EXPECT_EQ(read->files, files);
  EXPECT_EQ(read->dropped, dropped);
}

TEST(Head, PathsOutOfTheFolderAreRefused) {
  for (const char* const path : {"../x y", "index/../a b", "other/.hidden", "/.etc", "..", "index/.."}) {
    Head head = sample();
    head.files.emplace(path, file(1, {100}));
    EXPECT_FALSE(decode_head(bytes_of(encode_head(head)))) << path;
  }
}

TEST(Head, AShortOneGivesNoLongListsOfPaths) {
  Head head = sample();
  head.dropped.clear();
  for (int i = 1000; i < 2000; ++i) head.dropped.push_back("index/" + std::string(150, 'x') + std::to_string(i));
  const std::string bytes = encode_head(head);
  const std::uint64_t in_memory = 1000 * head.dropped.front().size();
  ASSERT_GT(in_memory, 10 * bytes.size()) << "what the paths have in common is there once";
  const std::size_t paths = head.dropped.size() + head.files.size();

  EXPECT_TRUE(decode_head(bytes_of(bytes), {.paths = paths, .path_bytes = in_memory + 1000}));
  EXPECT_EQ(decode_head(bytes_of(bytes), {.paths = paths, .path_bytes = in_memory - 1}).error().code(),
            ErrorCode::kCorruption);
  EXPECT_EQ(decode_head(bytes_of(bytes), {.paths = paths - 1}).error().code(), ErrorCode::kCorruption);
  EXPECT_EQ(decode_head(bytes_of(bytes), {.paths = head.files.size()}).error().code(), ErrorCode::kCorruption);
}

TEST(Head, OfANewerFormatSaysSo) {
  std::string bytes = encode_head(sample());
  bytes[8] = 2;

  const auto read = decode_head(bytes_of(summed(bytes)));

  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().code(), ErrorCode::kVersion);
  EXPECT_THAT(read.error().message(), HasSubstr("take a newer dedupfs"));
}

TEST(Head, ItsChangesMakeTheNextList) {
  RemoteFiles files = {
      {"index/000001.sst", file(1, {1})}, {"index/000003.sst", file(1, {3})}, {"index/CURRENT", file(1, {4})}};

  apply_changes(sample(), files);

  EXPECT_FALSE(files.contains("index/000001.sst"));
  EXPECT_EQ(files.at("index/000003.sst"), file(1, {3}));
  EXPECT_EQ(files.at("index/CURRENT"), file(12, {16}));
}

TEST(Head, NamesOfObjectsSayWhoseTheyAre) {
  const RemotePiece piece{.epoch = 3, .sequence = 12, .bytes = 5, .sha256 = digest("x")};

  const std::string object = piece_object("containers/0000000001.container", 1 << 20, piece);

  EXPECT_EQ(object, "c/00000003/0000000001.container-0000000012-100000-2d711642b726b044");
  ASSERT_TRUE(parse_piece_object(object));
  EXPECT_EQ(parse_piece_object(object)->epoch, 3u);
  EXPECT_EQ(parse_piece_object(object)->sequence, 12u);
  EXPECT_THAT(piece_object("index/MANIFEST-000005", 0, piece), HasSubstr("i/00000003/MANIFEST-000005-0000000012-0-"));
  EXPECT_EQ(parse_piece_object(piece_object("index/MANIFEST-000005", 0, piece))->sequence, 12u);
  EXPECT_EQ(parse_piece_object(piece_object("superblock.json", 0, piece))->sequence, 12u);
  for (const char* const other : {"c/", "c/00000003/", "c/00000003/-", "c/00000003/a-12-0-00", "c/00000003/--",
                                  "head/0000000012", "c/3/a-0000000012-0-00", ""}) {
    EXPECT_FALSE(parse_piece_object(other)) << other;
  }
  EXPECT_EQ(parse_head_object(head_object(12)), 12u);
  EXPECT_EQ(parse_epoch_object(epoch_object(3)), 3u);
  EXPECT_FALSE(parse_head_object("head/12"));
  EXPECT_FALSE(parse_head_object("head/000000001x"));
}

TEST(Head, PathsStayInTheVolumesFolder) {
  for (const char* const path : {"superblock.json", "unmounted.copy", "index/CURRENT",
                                 "containers/0000000001.container", "checkpoints/0000000001.checkpoint"}) {
    EXPECT_TRUE(is_image_path(path)) << path;
  }
  for (const char* const path :
       {"", ".", "..", "/etc/passwd", "../x", "index/..", "index/", "index/a/b", "other/x", "lock", "control.sock",
        "a b", ".profile", "remote.json", "clone.new", "ballast", "evicted", "containers"}) {
    EXPECT_FALSE(is_image_path(path)) << path;
  }
}

}  // namespace
}  // namespace dedupfs
