// Writes files into a folder, and never anywhere else: each is made by its single name in a folder that is held open, and no
// symbolic link is followed below the folder that the user chose.
//
// Owners, and the attributes and devices that need it, are restored by root only. For others a set-id bit goes where the owner
// differs.
//
// Threads: one.
// Failure: as extract_sink.h. A file whose content cannot be read or written is removed again: what is there under its name, is whole. Broken
//          once the disk is full.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/backing.h"
#include "base/result.h"
#include "base/unique_fd.h"
#include "fs/extract/extract_sink.h"

namespace dedupfs {

class FolderSink final : public ExtractSink {
 public:
  struct Settings {
    Path folder;                 // made if it is not there; a symbolic link here is followed
    bool overwrites = false;     // replaces files that are there. Otherwise these are errors. Folders are merged
    bool keeps_damaged = false;  // what can be read of a damaged file stays, as NAME.damaged, with holes for the rest
    bool is_root = false;
  };

  static Result<std::unique_ptr<FolderSink>> open(const Settings& settings);

  Result<void> begin_folder(const ExtractEntry& folder, EntrySource& source) override;
  Result<void> end_folder(const ExtractEntry& folder, EntrySource& source) override;
  Result<void> put(const ExtractEntry& entry, EntrySource& source) override;
  Result<void> put_link(const ExtractEntry& entry, const std::string& first) override;
  bool is_broken() const override { return is_full_; }

 private:
  struct Made {
    UniqueFd fd;
    bool is_new = true;
  };

  FolderSink(UniqueFd folder, const Settings& settings);
  int top() const { return folders_.back().fd.get(); }
  // What is in the way of a name goes, if that is wished.
  template <class Make>
  Result<void> make(const std::string& name, const Make& make_it);
  Result<void> put_file(const ExtractEntry& entry, EntrySource& source);
  Result<void> keep_damaged(int fd, const ExtractEntry& entry, EntrySource& source);
  Result<void> put_special(const ExtractEntry& entry, EntrySource& source);
  Result<UniqueFd> open_parent(const std::string& path) const;
  Result<void> restore(int fd, const ExtractEntry& entry, EntrySource& source) const;
  Result<void> restore_xattrs(int fd, bool acls, const ExtractEntry& entry, const EntrySource::Xattrs& xattrs) const;
  Result<void> checked(Result<void> result);

  const bool overwrites_;
  const bool keeps_damaged_;
  const bool is_root_;
  std::vector<Made> folders_;  // from the chosen one down
  bool is_full_ = false;
};

}  // namespace dedupfs
