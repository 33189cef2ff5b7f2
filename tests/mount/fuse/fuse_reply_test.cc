#include "mount/fuse/fuse_reply.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <spdlog/sinks/ostream_sink.h>
#include <spdlog/spdlog.h>

#include <cerrno>
#include <climits>
#include <sstream>

#include "fake_kernel.h"

namespace dedupfs {
namespace {

using testing::HasSubstr;

// What is logged while it lives.
class LoggedText {
 public:
  LoggedText() : before_(spdlog::default_logger()) {
    spdlog::set_default_logger(
        std::make_shared<spdlog::logger>("test", std::make_shared<spdlog::sinks::ostream_sink_mt>(text_)));
  }
  ~LoggedText() { spdlog::set_default_logger(before_); }
  LoggedText(const LoggedText&) = delete;
  LoggedText& operator=(const LoggedText&) = delete;

  std::string text() const { return text_.str(); }

 private:
  std::ostringstream text_;
  std::shared_ptr<spdlog::logger> before_;
};

TEST(FuseReply, WhatTheAdministratorMustKnowIsLogged) {
  const LoggedText log;

  EXPECT_EQ(answer_of(Error{ErrorCode::kCorruption, "chunk 7 is damaged"}), EIO);
  EXPECT_EQ(answer_of(Error{ErrorCode::kIo, "the disk failed"}), EIO);
  EXPECT_EQ(answer_of(Error{ErrorCode::kNoMemory, "no memory"}), ENOMEM);

  for (const char* text : {"chunk 7 is damaged", "the disk failed", "no memory"})
    EXPECT_THAT(log.text(), HasSubstr(text));
}

TEST(FuseReply, WhatIsEverydayIsNotLogged) {
  const LoggedText log;

  EXPECT_EQ(answer_of(Error{ErrorCode::kNotFound, "x"}), ENOENT);
  EXPECT_EQ(answer_of(Error{ErrorCode::kNoSpace, "x"}), ENOSPC);

  EXPECT_EQ(log.text(), "");
}

TEST(FuseReply, AValueIsSentWhereItFitsAndItsSizeWhereNobodyHasRoom) {
  AskedFilesystem asked;
  const InodeNumber file = asked.file("f");
  ASSERT_TRUE(ok(asked.fs->set_xattr(file, "user.a", "value", Filesystem::XattrMode::kSet)));
  const auto get = [&](std::uint32_t room) {
    fuse_getxattr_in wanted{};
    wanted.size = room;
    return asked.kernel.ask(FUSE_GETXATTR, file, raw(wanted) + c_string("user.a"));
  };

  EXPECT_EQ(get(0).as<fuse_getxattr_out>().size, 5u);
  EXPECT_EQ(get(4).error, ERANGE);
  EXPECT_EQ(get(5).bytes, "value");
}

// A system call takes no more than IOV_MAX pieces.
TEST(FuseReply, AnAnswerOfManyPiecesIsWhole) {
  AskedFilesystem asked;
  const std::string content = random_text(12 << 20, 1);
  const InodeNumber file = asked.file("f", content);
  ASSERT_TRUE(ok(asked.fs->sync()));
  ASSERT_GT(value_of(asked.fs->read(file, 0, content.size())).size(), std::size_t{IOV_MAX});
  const std::uint64_t fh = asked.open(file, O_RDONLY);

  EXPECT_TRUE(asked.read(file, fh, 0, static_cast<std::uint32_t>(content.size())).bytes == content);

  asked.release(file, fh);
}

// ---------------------------------------------------------------- answers that nobody takes: the caller was killed

TEST(FuseReply, AReferenceThatNobodyTookIsReturned) {
  AskedFilesystem asked;
  asked.file("f");

  asked.kernel.kill_callers(true);
  asked.lookup(kRootInode, "f");
  asked.lookup(kRootInode, "missing");  // it has none
  asked.kernel.kill_callers(false);

  EXPECT_TRUE(asked.is_unreferenced("f"));
}

TEST(FuseReply, AFileThatNobodyGotIsClosed) {
  AskedFilesystem asked;
  const InodeNumber file = asked.file("f");

  asked.kernel.kill_callers(true);
  fuse_open_in wanted{};
  wanted.flags = O_RDWR;
  asked.kernel.ask(FUSE_OPEN, file, raw(wanted));
  asked.kernel.kill_callers(false);

  EXPECT_FALSE(asked.mount.open_files().has_writer(file));
  EXPECT_TRUE(asked.is_unreferenced("f"));
}

TEST(FuseReply, AFileThatWasMadeForNobodyIsClosedAndStays) {
  AskedFilesystem asked;
  fuse_create_in wanted{};
  wanted.flags = O_RDWR | O_CREAT;
  wanted.mode = 0644;

  asked.kernel.kill_callers(true);
  asked.kernel.ask(FUSE_CREATE, kRootInode, raw(wanted) + c_string("f"));
  asked.kernel.kill_callers(false);

  EXPECT_FALSE(asked.mount.open_files().has_writer(value_of(asked.fs.find("f"))));
  EXPECT_TRUE(asked.is_unreferenced("f"));
}

TEST(FuseReply, RequestsWaitWhileTheyAreHeldUp) {
  AskedFilesystem asked;
  std::atomic<bool> answered = false;
  std::thread caller;
  {
    const QuiesceGate::Closure alone(asked.mount.requests());
    caller = std::thread([&] {
      asked.kernel.ask(FUSE_GETATTR, kRootInode, raw(fuse_getattr_in{}));
      answered = true;
    });
    EXPECT_FALSE(answered);
  }
  caller.join();
  EXPECT_TRUE(answered);
}

}  // namespace
}  // namespace dedupfs
