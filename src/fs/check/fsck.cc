#include "fs/check/fsck.h"

#include <fmt/format.h>

#include <map>
#include <optional>
#include <utility>

#include "fs/check/namespace_check.h"
#include "fs/check/snapshot_check.h"
#include "index/log_damage.h"
#include "index/table_check.h"
#include "store/check/container_repair.h"
#include "store/check/store_check.h"
#include "store/format/superblock.h"
#include "store/seal/sealed_folder.h"
#include "store/volume/ownership.h"
#include "store/volume/volume.h"

namespace dedupfs {
namespace {

constexpr std::string_view kOldIndexPrefix = "index.damaged";
constexpr int kMaxAttempts = 3;
// For each kind ("error", "note", ...). A hostile volume could cause any number of lines.
constexpr std::uint64_t kMaxLinesPerKind = 10'000;
// Passes, as progress counts them.
constexpr int kCheckPass = 1;    // the store, then the namespace
constexpr int kRepairPass = 3;   // chunks, namespace, features
constexpr int kRecheckPass = 6;  // as the check

class Fsck {
 public:
  Fsck(std::shared_ptr<BackingFolder> volume, const FsckOptions& options)
      : volume_(std::move(volume)), options_(options) {}

  Result<FsckReport> run() {
    if (!options_.foreign) DEDUPFS_TRY(require_own(*volume_));
    DEDUPFS_ASSIGN(superblock_, read_superblock(*volume_));
    if (changes_volume()) DEDUPFS_TRY(require_writable(superblock_));
    DEDUPFS_ASSIGN(const auto lock, lock_volume());
    DEDUPFS_TRY(compare_all_files(*volume_));
    DEDUPFS_TRY(options_.all_was_read());
    differences_ = differences_of(*volume_);
    DEDUPFS_TRY(judge_differences());
    DEDUPFS_TRY(open_containers());

    IndexRepair index(volume_, superblock_);
    DEDUPFS_TRY(finish_earlier_repair(index));
    if (changes_volume()) DEDUPFS_TRY(repair_files());
    DEDUPFS_ASSIGN(Found found, check(kCheckPass));
    // A repair can uncover further damage: a chunk that others are made from, and that has other content now.
    for (int attempt = 0; attempt < kMaxAttempts && found.errors != 0 && changes_volume(); ++attempt) {
      DEDUPFS_ASSIGN(const bool swapped, repair_index(index, found));
      if (!swapped) break;
      DEDUPFS_ASSIGN(found, check(kRecheckPass));
    }
    DEDUPFS_TRY(settle(index, found));
    report_.errors_found += differences_.size();
    report_.errors_left = found.errors + (takes_differences() ? 0 : differences_.size());
    report_.lost_files = std::move(found.lost_files);
    if (options_.mode == FsckOptions::Mode::kAll && report_.is_clean()) {
      DEDUPFS_ASSIGN(const auto cut, cut_torn_tails(containers_, superblock_, found.regions));
      for (const std::string& line : cut) repaired(line);
    }
    DEDUPFS_TRY(note_old_indexes());
    return std::move(report_);
  }

 private:
  // The findings of a check.
  struct Found {
    std::uint64_t errors = 0;
    std::unordered_set<std::uint64_t> mismatched;
    std::vector<LostFile> lost_files;
    RegionOffsets regions;  // that the index refers to; only known without an error
    std::vector<HarmfulTable> harmful;
  };

  // Whether old files are still those of the volume is for people to say, so a repair that nobody looks at changes nothing then.
  bool takes_differences() const { return options_.mode == FsckOptions::Mode::kAll; }
  bool changes_volume() const {
    return options_.mode != FsckOptions::Mode::kCheck && (differences_.empty() || takes_differences());
  }

  Result<std::shared_ptr<const void>> lock_volume() const {
    for (;;) {
      auto lock = Volume::lock(*volume_, !changes_volume());
      if (lock || lock.error().code() != ErrorCode::kBusy || !options_.tries_lock_again()) return lock;
    }
  }

  Result<void> open_containers() {
    auto opened = volume_->open_folder(kContainersDirectory);
    if (!opened && opened.error().code() == ErrorCode::kNotFound)
      return Error{ErrorCode::kCorruption, (volume_->path() / kContainersDirectory).string() +
                                               " is missing, and all data with it: restore the volume from a backup"};
    if (!opened) return opened.error();
    containers_ = std::move(*opened);
    return {};
  }

  void print(std::string line) {
    const std::string kind = line.substr(0, line.find(':'));
    const std::uint64_t count = ++lines_[kind];
    if (count > kMaxLinesPerKind) return;
    if (count == kMaxLinesPerKind) line = "note: more lines of this kind are not shown: " + line;
    options_.print(line);
    report_.lines.push_back(std::move(line));
  }
  void repaired(const std::string& what) {
    ++report_.repairs;
    print("repaired: " + what);
  }

  Result<void> finish_earlier_repair(IndexRepair& index) {
    DEDUPFS_ASSIGN(const auto lines, index.clean_up(changes_volume()));
    for (const std::string& line : lines) {
      if (changes_volume())
        repaired(line);
      else
        print("note: " + line);
    }
    return {};
  }

  // Files of an encrypted volume that are not as its last unmount left them.
  Result<void> judge_differences() {
    for (const Error& difference : differences_) print("error: " + difference.message());
    if (differences_.empty() || !takes_differences()) return {};
    DEDUPFS_TRY(take_files_as_they_are(*volume_));
    repaired("the files of the volume are taken as they are now");
    return {};
  }

  Result<void> repair_files() {
    DEDUPFS_ASSIGN(const auto superblock, repair_superblock(*volume_));
    DEDUPFS_ASSIGN(const auto key_header, repair_hidden_key_header(*volume_));
    for (const auto& copy : {superblock, key_header})
      if (copy) repaired(*copy + ": restored from the other copy");
    DEDUPFS_ASSIGN(const auto headers, repair_container_headers(containers_, superblock_));
    DEDUPFS_TRY(options_.all_was_read());
    for (const std::string& line : headers) repaired(line);
    return {};
  }

  // ------------------------------------------------------------ check

  Result<Found> check(int pass) {
    Found found;
    // Files with losses are named at the end, with their paths.
    CheckReport report([this](const std::string& line) {
      if (!line.starts_with("lost: ")) print(line);
    });
    if (const auto checked = check_parts(pass, report, found); !checked) {
      // The index is unreadable: the check ends here, and a repair is needed.
      // A failing disk counts as damage, too: its unreadable data must be rebuilt.
      if (checked.error().code() != ErrorCode::kCorruption && checked.error().code() != ErrorCode::kIo)
        return checked.error();
      report.error(checked.error().message());
    }
    DEDUPFS_TRY(options_.all_was_read());
    found.errors = report.errors();
    if (pass == kCheckPass) report_.errors_found = found.errors;
    return found;
  }

  // Damage that makes a mount for writing fail, although the index is readable.
  Result<void> check_index_folder(CheckReport& report) {
    const auto index = volume_->open_folder(kIndexDirectory);
    if (!index) return {};  // opening the volume says so
    DEDUPFS_ASSIGN(const auto names, (*index)->list());
    for (const std::string& name : names) {
      DEDUPFS_ASSIGN(const auto type, (*index)->type(name));
      if (type != Backing::Type::kFile)
        report.error(fmt::format("{} is not a regular file", ((*index)->path() / name).string()));
    }
    if (const auto behind = changes_behind_damage(**index); behind && *behind != 0)
      report.error(fmt::format("the log of the index is damaged, and {} changes behind the damage are lost", *behind));
    return {};
  }

  // After a repair, the index is ours.
  Result<void> judge_tables(CheckReport& report, Found& found) {
    const auto index = volume_->open_folder(kIndexDirectory);
    if (!index) return {};  // opening the volume says so
    DEDUPFS_ASSIGN(found.harmful, harmful_tables(*index));
    for (const HarmfulTable& table : found.harmful) report.error(table.harm);
    return {};
  }

  Result<void> check_parts(int pass, CheckReport& report, Found& found) {
    if (pass == kCheckPass) DEDUPFS_TRY(judge_tables(report, found));
    if (!found.harmful.empty()) return {};  // the rest of the index must not be read
    DEDUPFS_TRY(check_index_folder(report));
    VolumeOptions options;
    options.read_only = true;
    options.locked = true;
    DEDUPFS_ASSIGN(const auto volume, Volume::open(volume_, options));
    DEDUPFS_ASSIGN(CheckedStore store,
                   check_store(*volume, report,
                               {.verify_data = options_.verify_data, .progress = options_.progress, .pass = pass}));
    found.mismatched = std::move(store.mismatched);
    report_.chunks = store.chunks.chunks();
    DEDUPFS_ASSIGN(const NamespaceTotals totals,
                   check_namespace(*volume, store.chunks, report, options_.progress, pass + 1));
    DEDUPFS_TRY(check_snapshots(*volume, store.chunks, report));
    report_.inodes = totals.inodes;
    report_.directories = totals.directories;
    report_.references = totals.chunk_references;
    if (options_.mode == FsckOptions::Mode::kAll) {
      DEDUPFS_ASSIGN(found.regions, RegionOffsets::of(DatabaseRecords(volume->database())));
    }
    DEDUPFS_ASSIGN(found.lost_files, name_lost_files(volume->database(), report.lost()));
    for (const LostFile& file : found.lost_files)
      for (const LostRange& range : file.ranges)
        print(fmt::format("lost: {} (inode {}), offset {}, {} bytes: {}", file.paths.empty() ? "?" : file.paths[0],
                          file.inode, range.offset, range.length, range.why));
    return {};
  }

  // ------------------------------------------------------------ repair

  Result<bool> repair_index(IndexRepair& index, const Found& found) {
    std::vector<std::string> repairs;
    const RepairLog log{.repaired =
                            [&](const std::string& what) {
                              if (repairs.size() <= kMaxLinesPerKind) repairs.push_back(what);
                            },
                        .lost =
                            [this](const std::string& what) {
                              ++losses_;
                              print("lost: " + what);
                            }};
    CheckReport notes([this](const std::string& line) { print(line); });
    const auto built = index.build(found.mismatched, found.harmful, notes, log, options_.progress, kRepairPass);
    if (!built) {
      DEDUPFS_TRY(index.discard());
      return built.error();
    }
    if (const auto read = options_.all_was_read(); !read) {
      DEDUPFS_TRY(index.discard());
      return read.error();
    }
    if (losses_ != 0 && options_.mode == FsckOptions::Mode::kSafe) {
      DEDUPFS_TRY(index.discard());
      print(
          "note: nothing was repaired, because a repair loses more than is lost now; run fsck.dedupfs -y to repair "
          "anyway");
      return false;
    }
    DEDUPFS_ASSIGN(const auto replaced, index.swap());
    if (!old_index_)
      old_index_ = replaced;
    else if (replaced)
      DEDUPFS_TRY(index.discard(*replaced));  // of an earlier attempt
    for (const std::string& what : repairs) repaired(what);
    repaired("the index is rebuilt from the containers and the readable parts of the old index");
    return true;
  }

  // The old index is kept if it may hold lost data.
  Result<void> settle(IndexRepair& index, const Found& found) {
    if (!old_index_) return {};
    if (losses_ == 0 && found.errors == 0 && found.lost_files.empty()) return index.discard(*old_index_);
    return {};
  }

  Result<void> note_old_indexes() {
    DEDUPFS_ASSIGN(const auto names, volume_->list());
    for (const std::string& name : names)
      if (name.starts_with(kOldIndexPrefix))
        print(fmt::format("note: {} is the old index that a repair replaced; remove it when you miss nothing",
                          (volume_->path() / name).string()));
    return {};
  }

  const std::shared_ptr<BackingFolder> volume_;
  std::shared_ptr<BackingFolder> containers_;
  const FsckOptions& options_;
  Superblock superblock_;
  std::vector<Error> differences_;
  FsckReport report_;
  std::map<std::string, std::uint64_t> lines_;  // by kind
  std::uint64_t losses_ = 0;
  std::optional<std::string> old_index_;
};

}  // namespace

int FsckReport::exit_status() const {
  return (repairs != 0 ? kFsckCorrected : 0) | (is_clean() ? 0 : kFsckErrorsLeft);
}

Result<FsckReport> run_fsck(const Path& volume, const FsckOptions& options, const std::shared_ptr<Backing>& backing) {
  DEDUPFS_ASSIGN(auto folder, Volume::open_folder(volume, backing));
  return Fsck(std::move(folder), options).run();
}

}  // namespace dedupfs
