// Writes files into a folder, and never anywhere else: each is made by its single name in a folder that is held open, and no
// symbolic link is followed below the folder that the user chose.
//
// Owners, and the attributes and devices that need it, are restored by root only. For others a set-id bit goes where the owner
// differs.
//
// Threads: one.
// Each entry is made beside its place, under a name that begins with ".dedupfs-extract-", and put there when it is whole. So what was there before goes
// only for something whole, which is on the disk by then, and a program that is killed leaves no half file under a name.
//
// Failure: as extract_sink.h. Attributes that cannot be set are no failure: each is tried, the mode and the times last. Broken once the disk is full.
#pragma once

#include <cstdint>
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
    Path folder;  // made if it is not there; a symbolic link here is followed
    // Replaces files that are there. Otherwise these stay: one that has the type, size and time of modification of the entry counts as taken, all
    // others are errors. Folders are merged.
    bool overwrites = false;
    bool keeps_damaged = false;  // what can be read of a damaged file stays, as NAME.damaged, with holes for the rest
    bool is_root = false;
  };

  static Result<std::unique_ptr<FolderSink>> open(const Settings& settings);

  Result<void> begin_folder(const ExtractEntry& folder, EntrySource& source) override;
  Result<Taken> end_folder(const ExtractEntry& folder, EntrySource& source) override;
  Result<Taken> put(const ExtractEntry& entry, EntrySource& source) override;
  Result<void> put_link(const ExtractEntry& entry, const std::string& first) override;
  bool is_broken() const override { return is_full_; }

 private:
  struct Made {
    UniqueFd fd;
    bool is_new = true;
  };

  FolderSink(UniqueFd folder, const Settings& settings);
  int top() const { return folders_.back().fd.get(); }
  bool is_there(const std::string& name) const;
  Result<bool> has_already(const ExtractEntry& entry, EntrySource& source) const;
  // Makes an entry beside the place of `name`, by make_it(its name for now), and gives that name.
  template <class Make>
  Result<std::string> make_beside(const std::string& name, const Make& make_it);
  // What is in the way goes, if that is wished. After an Error the entry is gone.
  Result<void> put_in_place(const std::string& beside, const std::string& name);
  // The same, if it was made; otherwise the name for now goes.
  Result<Taken> put_if_made(Result<Taken> made, const std::string& beside, const std::string& name);
  // The size and attributes of a file that has its content. What it will replace, `name`, goes only for what is on the disk.
  Result<Taken> complete(int fd, const std::string& name, const ExtractEntry& entry, EntrySource& source) const;
  Result<Taken> put_file(const ExtractEntry& entry, EntrySource& source);
  Result<Taken> keep_damaged(int fd, const std::string& beside, const ExtractEntry& entry, EntrySource& source);
  Result<Taken> put_special(const ExtractEntry& entry, EntrySource& source);
  Result<UniqueFd> open_parent(const std::string& path) const;
  Result<Taken> restore(int fd, const ExtractEntry& entry, EntrySource& source) const;
  template <class T>
  Result<T> checked(Result<T> result) {
    is_full_ |= !result && result.error().code() == ErrorCode::kNoSpace;
    return result;
  }

  const bool overwrites_;
  const bool keeps_damaged_;
  const bool is_root_;
  std::vector<Made> folders_;  // from the chosen one down
  bool is_full_ = false;
  std::uint64_t made_ = 0;
};

}  // namespace dedupfs
