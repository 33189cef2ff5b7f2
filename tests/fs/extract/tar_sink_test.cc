#include "fs/extract/tar_sink.h"

#include <archive.h>
#include <archive_entry.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fs/extract/extract_of_volume.h"
#include "fs/namespace/acl_lists.h"

namespace dedupfs {
namespace {

// What a reader of the archive sees of an entry.
struct Member {
  std::string content;
  std::string hardlink;
  std::string symlink;
  std::map<std::string, std::string> xattrs;
  int acl_lines = 0;
  int holes = 0;
  mode_t mode = 0;
  std::int64_t seconds = 0;
  long nanoseconds = 0;
  bool is_whole = true;
};

std::map<std::string, Member> members_of(const std::string& tar) {
  std::map<std::string, Member> members;
  archive* const reader = ::archive_read_new();
  ::archive_read_support_format_tar(reader);
  EXPECT_EQ(::archive_read_open_memory(reader, tar.data(), tar.size()), ARCHIVE_OK);
  archive_entry* entry = nullptr;
  while (::archive_read_next_header(reader, &entry) == ARCHIVE_OK) {
    Member& member = members[::archive_entry_pathname(entry)];
    if (const char* const link = ::archive_entry_hardlink(entry)) member.hardlink = link;
    if (const char* const link = ::archive_entry_symlink(entry)) member.symlink = link;
    const char* name = nullptr;
    const void* value = nullptr;
    std::size_t length = 0;
    ::archive_entry_xattr_reset(entry);
    while (::archive_entry_xattr_next(entry, &name, &value, &length) == ARCHIVE_OK)
      member.xattrs[name] = std::string(static_cast<const char*>(value), length);
    member.acl_lines = ::archive_entry_acl_count(entry, ARCHIVE_ENTRY_ACL_TYPE_ACCESS);
    member.holes = ::archive_entry_sparse_count(entry);
    member.mode = ::archive_entry_mode(entry);
    member.seconds = ::archive_entry_mtime(entry);
    member.nanoseconds = ::archive_entry_mtime_nsec(entry);
    const void* block = nullptr;
    la_int64_t offset = 0;
    int read = ARCHIVE_OK;
    while ((read = ::archive_read_data_block(reader, &block, &length, &offset)) == ARCHIVE_OK) {
      member.content.resize(static_cast<std::size_t>(offset));
      member.content.append(static_cast<const char*>(block), length);
    }
    member.is_whole = read == ARCHIVE_EOF;
  }
  ::archive_read_free(reader);
  return members;
}

class TarSinks : public VolumeOfAllKinds {
 protected:
  const TarSink::Output output_ = [this](std::string_view bytes) {
    tar_ += bytes;
    return true;
  };
  std::map<std::string, Member> tar_of(const ExtractRequest& request = {}) {
    const auto sink = value_of(TarSink::open(output_));
    take(*sink, request);
    EXPECT_TRUE(ok(sink->finish()));
    return members_of(tar_);
  }

  std::string tar_;
};

TEST_F(TarSinks, WriteWhatTheVolumeHolds) {
  const auto members = tar_of();

  ASSERT_EQ(members.size(), 7);
  const Member& letter = members.at("docs/letter");
  EXPECT_EQ(letter.content, letter_text_);
  EXPECT_EQ(letter.mode, S_IFREG | 0640U);
  EXPECT_EQ(letter.seconds, 1'000'000'000);
  EXPECT_EQ(letter.nanoseconds, 7);
  EXPECT_EQ(letter.xattrs, (std::map<std::string, std::string>{{"user.author", "me"}}));
  EXPECT_EQ(members.at("twin").hardlink, "docs/letter");
  EXPECT_EQ(members.at("docs/old").symlink, "letter");
  EXPECT_EQ(members.at("docs/").mode, S_IFDIR | 0750U);
  EXPECT_EQ(members.at("pipe").mode, S_IFIFO | 0600U);
}

TEST_F(TarSinks, WriteHolesAsSuch) {
  const auto members = tar_of({.paths = {"sparse"}});

  std::string expected(1 << 20, '\0');
  expected.replace(0, 5, "begin");
  expected += "middle";
  EXPECT_EQ(members.at("sparse").content.substr(0, expected.size()), expected);
  EXPECT_GE(members.at("sparse").holes, 2);
  EXPECT_LT(tar_.size(), 100'000);
}

TEST_F(TarSinks, WriteAccessLists) {
  const InodeNumber twin = value_of(volume_.find("twin"));
  ASSERT_TRUE(ok(volume_->set_xattr(twin, kAccessAclName, kSharedAcl, XattrMode::kSet)));

  EXPECT_EQ(tar_of({.paths = {"twin"}}).at("twin").acl_lines, 5);
}

TEST_F(TarSinks, KeepNamesOfAnyBytesAndLength) {
  const std::string strange = "\xff\xfe\x01 " + std::string(200, 'n');
  const InodeNumber folder = volume_.make_directory(kRootInode, strange);
  volume_.make_file(folder, strange, "content");

  EXPECT_EQ(tar_of({.paths = {strange}}).at(strange + "/" + strange).content, "content");
}

// GNU tar complains of the keyword.
TEST_F(TarSinks, SayOnlyOfOtherNamesThatTheyAreBytes) {
  constexpr std::string_view kKeyword = "hdrcharset=BINARY";
  (void)tar_of();
  EXPECT_EQ(tar_.find(kKeyword), std::string::npos);

  tar_.clear();
  volume_.make_file(kRootInode, "\xc3\xa9", "content");
  EXPECT_EQ(tar_of({.paths = {"\xc3\xa9"}}).count("\xc3\xa9"), 1);
  EXPECT_NE(tar_.find(kKeyword), std::string::npos);
}

TEST_F(TarSinks, LeaveOutAFileThatCannotBeReadAndGoOn) {
  Attributes wrong = volume_.attributes(value_of(volume_.find("docs/old")));  // no content
  wrong.mode = S_IFREG | 0644;
  wrong.size = 100;
  const auto sink = value_of(TarSink::open(output_));
  EntrySource source = source_of(*volume_, wrong);

  EXPECT_FALSE(sink->put({.path = "file", .name = "file", .attributes = wrong}, source));
  EXPECT_FALSE(sink->is_broken());
  take(*sink, {.paths = {"twin"}});
  ASSERT_TRUE(ok(sink->finish()));

  const auto members = members_of(tar_);
  EXPECT_EQ(members.size(), 1);
  EXPECT_EQ(members.at("twin").content, letter_text_);
}

TEST_F(TarSinks, BreakWhenTheOutputTakesNoMore) {
  const auto sink = value_of(TarSink::open([](std::string_view) { return false; }));

  EXPECT_FALSE(extract(*volume_, {}, *sink, failures_));
  EXPECT_TRUE(sink->is_broken());
}

TEST_F(TarSinks, WriteNoEndIfTheyAreDropped) {
  {
    const auto sink = value_of(TarSink::open(output_));
    take(*sink, {.paths = {"docs"}});
  }
  EXPECT_FALSE(tar_.ends_with(std::string(1024, '\0')));
}

}  // namespace
}  // namespace dedupfs
