// Ways to save time that can be left out, to see what each is worth, and to test that all is right without it.
//
// Threads: a value.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/result.h"

namespace dedupfs {

enum class Shortcut : std::uint8_t {
  kSample,   // "sample": a part of a chunk tells whether its delta pays (store/ingest/delta_worth.h)
  kWindows,  // "windows": a source that moved on is not searched anew (store/ingest/source_windows.h)
  kInPlace,  // "in-place": a chunk that replaces another one is first a delta of that one (store/ingest/delta_encoder.h)
  kNeededSources,  // "needed-sources": only chunks that a delta copies from are its sources (there, too)
  kSmallFiles,     // "small-files": small files are stored many at a time (fs/inodes/inode_changes.h)
};

class Shortcuts {
 public:
  // All but those that the variable names, divided by commas. kInvalidArgument lists the names.
  static constexpr const char* kVariable = "DEDUPFS_WITHOUT";
  static Result<Shortcuts> of_environment();
  static Result<Shortcuts> without(std::string_view names);

  Shortcuts() = default;  // all
  bool has(Shortcut shortcut) const { return (missing_ & bit(shortcut)) == 0; }
  Shortcuts without(Shortcut shortcut) const {
    Shortcuts rest = *this;
    rest.missing_ |= bit(shortcut);
    return rest;
  }

 private:
  static constexpr unsigned bit(Shortcut shortcut) { return 1U << static_cast<unsigned>(shortcut); }

  unsigned missing_ = 0;
};

}  // namespace dedupfs
