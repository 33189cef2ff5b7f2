// A tree of files and its snapshots as text, one object a line, so that two can be compared and a difference be read: names, types, modes,
// owners, links, times (but that of access), attributes, and a hash of each content.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"
#include "fs/filesystem_model.h"
#include "fs/namespace/filesystem.h"

namespace dedupfs {

struct Tree {
  std::string text;
  std::uint64_t inodes = 0;
};

Result<Tree> tree_of(Filesystem& filesystem);
// Models have no times: they come from the filesystem that runs beside this one.
Result<Tree> tree_of(const FilesystemModel& model, Filesystem& filesystem);

// The lines of a tree as they are when it is that of a snapshot.
std::string in_snapshot(const std::string& name, const std::string& tree);

// The first line in which they differ, for people.
std::string difference(const std::string& expected, const std::string& found);

}  // namespace dedupfs
