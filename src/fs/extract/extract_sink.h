// What takes the files and folders that an extraction finds: a folder, an archive, a list.
//
// Threads: one at a time.
// Failure: an Error of a call says that this entry was not taken; the extraction goes on with the next one, unless is_broken().
//          Errors of what an entry holds come through from the EntrySource, which notes them.
#pragma once

#include <string>

#include "base/result.h"
#include "fs/extract/entry_source.h"
#include "fs/format/types.h"

namespace dedupfs {

struct ExtractEntry {
  std::string path;  // below the root, without a slash at either end
  std::string name;  // the last part of the path; one name, never "." or ".."
  Attributes attributes;
  bool is_asked_for = true;  // false: a folder above what was asked for
};

struct Taken {
  // Though it is there with its content: attributes that the place cannot hold, in words. Empty: nothing.
  std::string lacks;
  bool was_there = false;  // as an extraction that was stopped has left it
};

class ExtractSink {
 public:
  virtual ~ExtractSink() = default;

  // What lies in the folder follows, then the end of the folder. If it was not taken, neither follows.
  virtual Result<void> begin_folder(const ExtractEntry& folder, EntrySource& source) = 0;
  virtual Result<Taken> end_folder(const ExtractEntry& folder, EntrySource& source) = 0;
  // Everything else.
  virtual Result<Taken> put(const ExtractEntry& entry, EntrySource& source) = 0;
  // A further name of what was taken as `first`, a path.
  virtual Result<void> put_link(const ExtractEntry& entry, const std::string& first) = 0;

  // Takes nothing any more: whatever follows would fail, too.
  virtual bool is_broken() const { return false; }
};

}  // namespace dedupfs
