#include "fs/format/records.h"

#include <gtest/gtest.h>

#include <functional>
#include <limits>

#include "base/coding.h"
#include "fs/format/mode.h"

namespace dedupfs {
namespace {

Attributes attributes_with_mode(std::uint32_t mode) {
  Attributes attributes;
  attributes.inode = 77;
  attributes.mode = mode;
  attributes.uid = 1000;
  attributes.gid = 4294967294;
  attributes.links = 3;
  attributes.btime = {1'700'000'000, 999'999'999};
  attributes.atime = {std::numeric_limits<std::int64_t>::min(), 1};
  attributes.mtime = {std::numeric_limits<std::int64_t>::max(), 0};
  attributes.ctime = {-1, 5};
  return attributes;
}

// One record of each type.
std::vector<InodeRecord> records_of_all_types() {
  std::vector<InodeRecord> records;
  for (const std::uint32_t type :
       std::initializer_list<std::uint32_t>{S_IFREG, S_IFDIR, S_IFLNK, S_IFCHR, S_IFBLK, S_IFIFO, S_IFSOCK}) {
    InodeRecord record;
    record.attributes = attributes_with_mode(type | 07654);
    if (is_regular(type)) {
      record.attributes.size = kMaxFileBytes;
      record.attributes.data_bytes = 1234567;
    } else if (is_directory(type)) {
      record.attributes.size = 320;
      record.attributes.parent = 12;
      record.attributes.next_cookie = 1000;
    } else if (is_symlink(type)) {
      record.symlink_target = "../\xff somewhere";
      record.attributes.size = record.symlink_target.size();
    } else if (is_device(type)) {
      record.attributes.device = 0xfff'ffff'ffff;
    }
    record.has_xattrs = is_directory(type);
    records.push_back(record);
  }
  return records;
}

TEST(Records, InodesOfEveryTypeComeBack) {
  for (const InodeRecord& record : records_of_all_types()) {
    const auto decoded = decode_inode(77, encode_inode(record));

    ASSERT_TRUE(decoded) << decoded.error().message();
    EXPECT_EQ(*decoded, record);
  }
}

TEST(Records, AnInodeOfAFreshFileTakesFewBytes) {
  InodeRecord record;
  record.attributes.mode = S_IFREG | 0644;
  record.attributes.links = 1;
  for (Timestamp* time :
       {&record.attributes.btime, &record.attributes.atime, &record.attributes.mtime, &record.attributes.ctime})
    *time = {1'700'000'000, 123'456'789};

  EXPECT_LE(encode_inode(record).size(), 40U);
}

template <class Decode>
void expect_no_other_length_to_decode(const std::string& encoded, const Decode& decode) {
  for (std::size_t length = 0; length < encoded.size(); ++length) {
    const auto decoded = decode(std::string_view(encoded).substr(0, length));
    ASSERT_FALSE(decoded) << "cut to " << length << " of " << encoded.size();
    EXPECT_EQ(decoded.error().code(), ErrorCode::kCorruption);
  }
  EXPECT_FALSE(decode(encoded + '\0'));
}

TEST(Records, CutOffOrPaddedInodesAreRefused) {
  for (const InodeRecord& record : records_of_all_types())
    expect_no_other_length_to_decode(encode_inode(record),
                                     [](std::string_view value) { return decode_inode(77, value); });
}

TEST(Records, ImpossibleInodesAreRefusedByNumber) {
  const auto expect_refused = [](const std::function<void(InodeRecord&)>& spoil, std::uint32_t type) {
    InodeRecord record;
    record.attributes = attributes_with_mode(type | 0644);
    record.attributes.parent = 1;
    record.attributes.next_cookie = 3;
    record.symlink_target = "x";
    ASSERT_TRUE(decode_inode(77, encode_inode(record)));
    spoil(record);
    const auto decoded = decode_inode(77, encode_inode(record));
    ASSERT_FALSE(decoded);
    EXPECT_EQ(decoded.error().code(), ErrorCode::kCorruption);
    EXPECT_NE(decoded.error().message().find("inode 77"), std::string::npos);
  };

  expect_refused([](InodeRecord& record) { record.attributes.mode = 0644; }, S_IFREG);
  expect_refused([](InodeRecord& record) { record.attributes.mode = 0170644; }, S_IFREG);
  expect_refused([](InodeRecord& record) { record.attributes.mode |= 1U << 20; }, S_IFREG);
  expect_refused([](InodeRecord& record) { record.attributes.links = kMaxLinks + 1; }, S_IFREG);
  expect_refused([](InodeRecord& record) { record.attributes.size = kMaxFileBytes + 1; }, S_IFREG);
  expect_refused([](InodeRecord& record) { record.attributes.data_bytes = UINT64_MAX; }, S_IFREG);
  expect_refused([](InodeRecord& record) { record.attributes.mtime.nanoseconds = 1'000'000'000; }, S_IFREG);
  expect_refused([](InodeRecord& record) { record.attributes.parent = 0; }, S_IFDIR);
  expect_refused([](InodeRecord& record) { record.attributes.next_cookie = 2; }, S_IFDIR);
  expect_refused([](InodeRecord& record) { record.attributes.links = 1; }, S_IFDIR);
  expect_refused([](InodeRecord& record) { record.symlink_target.clear(); }, S_IFLNK);
  expect_refused([](InodeRecord& record) { record.symlink_target = std::string("a\0b", 3); }, S_IFLNK);
  expect_refused([](InodeRecord& record) { record.symlink_target = std::string(kMaxSymlink + 1, 'x'); }, S_IFLNK);
}

TEST(Records, DirectoryEntriesComeBack) {
  const Dirent dirent{.inode = 1ULL << 40, .type = S_IFSOCK, .cookie = 3};
  const CookieEntry entry{.inode = 5, .type = S_IFDIR, .name = "caf\xe9"};

  EXPECT_EQ(decode_dirent(9, encode_dirent(dirent)).value(), dirent);
  EXPECT_EQ(decode_cookie_entry(9, encode_cookie_entry(entry)).value(), entry);
  const std::string key = encode_dirent_key(9, "name");
  EXPECT_EQ(decode_dirent_key(key)->parent, 9U);
  EXPECT_EQ(decode_dirent_key(key)->name, "name");
  EXPECT_EQ(decode_cookie_key(encode_cookie_key(9, 70000))->cookie, 70000U);
}

TEST(Records, DamagedDirectoryEntriesAreRefused) {
  expect_no_other_length_to_decode(encode_dirent({.inode = 300, .type = S_IFREG, .cookie = 300}),
                                   [](std::string_view value) { return decode_dirent(9, value); });
  expect_no_other_length_to_decode(encode_cookie_key(9, 3),
                                   [](std::string_view key) { return decode_cookie_key(key); });
  EXPECT_FALSE(decode_dirent(9, encode_dirent({.inode = 0, .type = S_IFREG, .cookie = 3})));
  EXPECT_FALSE(decode_dirent(9, encode_dirent({.inode = 5, .type = 0, .cookie = 3})));
  EXPECT_FALSE(decode_dirent(9, encode_dirent({.inode = 5, .type = S_IFREG, .cookie = 2})));
  EXPECT_FALSE(decode_cookie_key(encode_cookie_key(9, 2)));
  for (const std::string& name : {std::string(), std::string("."), std::string(".."), std::string("a/b"),
                                  std::string("a\0b", 3), std::string(kMaxName + 1, 'x')}) {
    EXPECT_FALSE(decode_cookie_entry(9, encode_cookie_entry({.inode = 5, .type = S_IFREG, .name = name}))) << name;
    EXPECT_FALSE(decode_dirent_key(encode_dirent_key(9, name))) << name;
  }
}

TEST(Records, KeysOfOneInodeLieTogether) {
  for (const InodeNumber inode : {InodeNumber{1}, InodeNumber{255}, InodeNumber{1} << 32}) {
    EXPECT_LT(encode_inode_key(inode), encode_xattr_key(inode, "user.a"));
    EXPECT_LT(encode_xattr_key(inode, std::string(255, '\xff')), encode_key_behind(inode));
    EXPECT_LT(encode_cookie_key(inode, 255), encode_cookie_key(inode, 256));
    EXPECT_LT(encode_cookie_key(inode, UINT64_MAX), encode_key_behind(inode));
  }
}

TEST(Records, XattrKeysComeBack) {
  const std::string key = encode_xattr_key(9, "user.name");

  EXPECT_EQ(decode_xattr_key(key)->inode, 9U);
  EXPECT_EQ(decode_xattr_key(key)->name, "user.name");
  EXPECT_FALSE(decode_xattr_key(encode_xattr_key(9, "")));
  EXPECT_FALSE(decode_xattr_key(encode_xattr_key(9, std::string(256, 'x'))));
}

TEST(Records, CountersComeBack) {
  EXPECT_EQ(decode_counter("inodes", encode_counter(1ULL << 60)).value(), 1ULL << 60);
  expect_no_other_length_to_decode(encode_counter(7),
                                   [](std::string_view value) { return decode_counter("inodes", value); });
}

}  // namespace
}  // namespace dedupfs
