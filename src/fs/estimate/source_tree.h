// The files and folders whose copy is to be estimated, in the order in which a copy would take them.
//
// Threads: one user at a time.
// Failure: what cannot be read is told to the visitor and left out; others may change the tree meanwhile. The roots must be there.
#pragma once

#include <sys/stat.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/backing.h"
#include "base/result.h"
#include "base/unique_fd.h"

namespace dedupfs {

struct SourceEntry {
  std::size_t root = 0;   // its position among the roots
  std::size_t depth = 0;  // 0: the root itself
  std::string directory;  // below the root, without the name; empty for a root and for what lies directly in it
  std::string name;       // empty for a root
  struct stat status {};

  std::string relative_path() const { return directory.empty() ? name : directory + '/' + name; }
};

class SourceVisitor {
 public:
  virtual ~SourceVisitor() = default;
  // An Error ends the walk.
  virtual Result<void> visit(const SourceEntry& entry) = 0;
  virtual void note_unreadable(const Error& error) = 0;
  // Asked now and then, also within a folder with very many names. An Error ends the walk.
  virtual Result<void> go_on() = 0;
};

class SourceTree {
 public:
  struct Settings {
    std::vector<Path> roots;  // files and folders; a symbolic link here is followed, and none below
    bool one_filesystem = false;
  };

  explicit SourceTree(Settings settings) : settings_(std::move(settings)) {}

  Path path_of(std::size_t root, const std::string& relative) const {
    return relative.empty() ? settings_.roots[root] : settings_.roots[root] / relative;
  }

  // Of a regular file, without the holes of large files.
  std::uint64_t data_bytes_of(const SourceEntry& entry) const;

  // A folder comes before what is in it; first its files by name, then the folders in it.
  Result<void> walk(SourceVisitor& visitor) const;
  // One of the roots only.
  Result<void> walk_root(std::size_t root, SourceVisitor& visitor) const;

 private:
  Result<void> walk_folder(const SourceEntry& folder, const Path& path, SourceVisitor& visitor) const;

  const Settings settings_;
};

struct SourceXattr {
  std::string name;
  std::string value;
};
// Those that the caller may see and read, access control lists among them. Empty where there can be none.
std::vector<SourceXattr> xattrs_of(const Path& path, bool follows_link);

// A regular file, open for reading. Never waits: a FIFO in place of the file is an error.
class SourceFile {
 public:
  struct Extent {
    std::uint64_t begin = 0;
    std::uint64_t end = 0;
  };

  // A symbolic link is followed for a root only.
  static Result<SourceFile> open(const Path& path, bool is_root);

  std::uint64_t size() const { return size_; }
  // The parts that are not holes, in order. Of a file with very many holes the last part has some of them.
  const std::vector<Extent>& extents() const { return extents_; }
  std::uint64_t data_bytes() const;  // of these parts together
  // At most so much from there; 0 at the end of the file.
  Result<std::size_t> read(std::uint64_t offset, MutableByteSpan out) const;

 private:
  SourceFile(UniqueFd fd, std::string path) : fd_(std::move(fd)), path_(std::move(path)) {}
  void find_extents(bool may_have_holes);

  UniqueFd fd_;
  std::string path_;
  std::uint64_t size_ = 0;
  std::vector<Extent> extents_;
};

}  // namespace dedupfs
