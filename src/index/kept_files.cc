#include "index/kept_files.h"

#include <rocksdb/version.h>
#include <spdlog/spdlog.h>

#include <limits>

#include "index/database_state.h"

namespace dedupfs {

namespace {

// RocksDB warns of each call that files are kept already.
class Quiet {
 public:
  explicit Quiet(const rocksdb::DB& db) : log_(db.GetDBOptions().info_log), level_(*log_, rocksdb::ERROR_LEVEL) {}

 private:
  const std::shared_ptr<rocksdb::Logger> log_;
  const LogLevel level_;
};

// Files are kept until each call that keeps them has had its counterpart. RocksDB before 9 has a parameter that ends it for all.
rocksdb::Status end_keeping(rocksdb::DB& db) {
#if ROCKSDB_MAJOR >= 9
  return db.EnableFileDeletions();
#else
  return db.EnableFileDeletions(false);
#endif
}

}  // namespace

Result<std::unique_ptr<KeptFiles>> KeptFiles::keep(Database& database) {
  DatabaseState& state = *database.state_;
  const Quiet quiet(*state.db);
  DEDUPFS_TRY(state.result_of(state.db->DisableFileDeletions()));
  return std::unique_ptr<KeptFiles>(new KeptFiles(state));
}

KeptFiles::~KeptFiles() {
  const Quiet quiet(*state_.db);
  if (const rocksdb::Status status = end_keeping(*state_.db); !status.ok())
    spdlog::warn("{}", state_.error_of(status).message());
}

Result<KeptFiles::List> KeptFiles::list() const {
  const Quiet quiet(*state_.db);
  rocksdb::LiveFilesStorageInfoOptions options;
  options.wal_size_for_flush = std::numeric_limits<std::uint64_t>::max();  // the log is copied as it is
  std::vector<rocksdb::LiveFileStorageInfo> files;
  DEDUPFS_TRY(
      state_.result_of(without_exceptions([&] { return state_.db->GetLiveFilesStorageInfo(options, &files); })));
  List list;
  for (const rocksdb::LiveFileStorageInfo& file : files) {
    switch (file.file_type) {
      case rocksdb::kDescriptorFile:
        list.manifest = file.relative_filename;
        list.manifest_bytes = file.size;
        break;
      case rocksdb::kWalFile: list.logs.push_back(file.relative_filename); break;
      case rocksdb::kCurrentFile: break;  // says only which manifest it is
      default: list.unchanging.push_back(file.relative_filename);
    }
  }
  return list;
}

}  // namespace dedupfs
