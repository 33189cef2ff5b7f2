#include "index/database_watch.h"

#include <gtest/gtest.h>

#include "busy_flush_threads.h"
#include "test_database.h"

namespace dedupfs {
namespace {

// A RocksDB in memory, with something to flush.
class DatabaseWatchTest : public DatabaseTest {
 protected:
  DatabaseWatchTest() {
    rocksdb::Options options;
    options.env = env_.get();
    options.create_if_missing = true;
    rocksdb::DB* opened = nullptr;
    EXPECT_TRUE(rocksdb::DB::Open(options, "/database", &opened).ok());
    db_.reset(opened);
    EXPECT_TRUE(db_->Put({}, "a", "1").ok());
  }

  const std::unique_ptr<rocksdb::Env> env_{rocksdb::NewMemEnv(rocksdb::Env::Default())};
  std::unique_ptr<rocksdb::DB> db_;
};

TEST_F(DatabaseWatchTest, GivesWhatTheCallGives) {
  DatabaseWatch watch(*db_, "index", std::chrono::minutes(5));

  EXPECT_TRUE(watch.watch([&] { return db_->Put({}, "b", "2"); }).ok());
  EXPECT_TRUE(watch.watch([] { return rocksdb::Status::NoSpace("full"); }).IsNoSpace());
  EXPECT_TRUE(watch.watch([&] { return watch.watch([&] { return db_->Flush({}); }); }).ok()) << "one within another";
}

TEST_F(DatabaseWatchTest, ACallThatWaitsForNothingEndsAndSoDoAllThatFollow) {
  DatabaseWatch watch(*db_, "index", std::chrono::milliseconds(50));
  {
    const BusyFlushThreads busy;

    const rocksdb::Status flushed = watch.watch([&] { return db_->Flush({}); });

    EXPECT_TRUE(flushed.IsIOError());
    EXPECT_NE(flushed.ToString().find("mount the volume again"), std::string::npos) << flushed.ToString();
  }
  EXPECT_TRUE(watch.watch([] { return rocksdb::Status::OK(); }).IsIOError()) << "for good";
  std::string value;
  EXPECT_TRUE(db_->Get({}, "a", &value).ok());
}

TEST_F(DatabaseWatchTest, AWaitForWhatRocksDbDoesNotDoHasAnEnd) {
  auto database = open_or_die(index(), {.patience = std::chrono::milliseconds(500)});
  ASSERT_TRUE(put(*database, "a", "1"));
  {
    const BusyFlushThreads busy;
    const auto flushed = database->empty_log();
    ASSERT_FALSE(flushed);
    EXPECT_EQ(flushed.error().code(), ErrorCode::kIo);
    EXPECT_NE(flushed.error().message().find("mount the volume again"), std::string::npos) << flushed.error().message();
  }
  EXPECT_FALSE(put(*database, "b", "2")) << "after it has been given up";
  EXPECT_EQ(get(*database, "a"), "1");  // reading goes on

  database.reset();
  database = open_or_die(index());
  EXPECT_EQ(get(*database, "a"), "1");
  EXPECT_TRUE(put(*database, "b", "2"));
}

}  // namespace
}  // namespace dedupfs
