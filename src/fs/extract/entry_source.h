// What a file or folder of a volume holds beside its attributes: content, extended attributes, the target of a symbolic link.
//
// Threads: one at a time.
// Failure: kCorruption and kIo for what cannot be read, kInterrupted if the watcher wants no more. The first Error is kept, so
//          that a caller can tell it from one of the place that the content goes to.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"
#include "fs/format/types.h"
#include "fs/namespace/filesystem.h"

namespace dedupfs {

class EntrySource {
 public:
  struct Extent {
    std::uint64_t begin = 0;
    std::uint64_t end = 0;
  };
  using Xattrs = std::vector<std::pair<std::string, std::string>>;  // names and values; ACLs are among them
  // Called with the bytes that were just read. False: no more are wanted.
  using Watcher = std::function<bool(std::uint64_t bytes)>;
  using Take = std::function<Result<void>(std::uint64_t offset, ByteSpan bytes)>;

  EntrySource(Filesystem& filesystem, const Attributes& attributes, const Watcher& watcher)
      : filesystem_(filesystem), attributes_(attributes), watcher_(watcher) {}

  Result<std::string> symlink_target();
  Result<Xattrs> xattrs();
  // The next part behind `offset` that is no hole; none: the rest of the file is one.
  Result<std::optional<Extent>> next_extent(std::uint64_t offset);
  // An Error of `take` ends it and is returned.
  Result<void> read(const Extent& extent, const Take& take);
  // All extents in order.
  Result<void> read_all(const Take& take);

  // The same, past ranges that cannot be read: gives how many bytes of extents these are. The first failure is kept.
  Result<std::uint64_t> read_readable(const Take& take);

  const std::optional<Error>& failure() const { return failure_; }

 private:
  template <class T>
  Result<T> noted(Result<T> result) {
    if (!result && !failure_) failure_ = result.error();
    return result;
  }

  Filesystem& filesystem_;
  const Attributes& attributes_;
  const Watcher& watcher_;
  std::optional<Error> failure_;
};

}  // namespace dedupfs
