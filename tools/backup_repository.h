// A repository of borg or restic, as these programs tell of it: its archives (of restic: snapshots), and the commands that restore one.
//
// Threads: one user.
// Failure: kNotFound if the program is not installed; kIo if it fails or says what cannot be read. Its own messages are on standard
//          error. kUnsupported if the repository is one of borg 2 or of another program, or if the program is borg 2.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "child_program.h"

namespace dedupfs::tools {

struct BackupArchive {
  std::string id;  // hexadecimal
  // That of the archive; of restic, which has none: the host and the beginning of the id. Where that cannot name a folder and a snapshot, what is
  // like it and can, with the beginning of the id.
  std::string name;
  std::string asked_by;  // what the program calls it
  std::int64_t unix_seconds = 0;
};

class BackupRepository {
 public:
  virtual ~BackupRepository() = default;

  // `kind` is "borg" or "restic", `location` whatever that program takes. Without `locks`, nothing is written to the repository; so it is where it
  // cannot be written to.
  static std::unique_ptr<BackupRepository> make(std::string_view kind, std::string location, bool locks = true);

  // The oldest first.
  virtual Result<std::vector<BackupArchive>> archives() const = 0;
  // The bytes of all files of an archive.
  virtual Result<std::uint64_t> size_of(const BackupArchive& archive) const = 0;
  virtual ChildSettings restore_to(const std::string& folder, const BackupArchive& archive) const = 0;
  // Whether an exit status says that something may be missing, and that the rest was restored.
  virtual bool is_warning(int exit_status) const = 0;
};

// The seconds since 1970 of "2024-03-01T02:00:00.123+01:00". Without an offset or Z it is UTC. kInvalidArgument for another form.
Result<std::int64_t> parse_time(std::string_view text);

}  // namespace dedupfs::tools
