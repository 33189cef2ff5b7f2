// Files that other programs read while they are written anew. (replace_file() of base/backing.h is for those of a volume: for its
// owner only, with one writer.)
#pragma once

#include <string_view>

#include "base/backing.h"
#include "base/result.h"

namespace dedupfs::tools {

enum class FileReaders { kEverybody, kOwner };

// Gives the file this content in one step: a reader sees the old content or all of the new. The new content is in FILE.XXXXXX first, in
// the same folder; nothing is left of it after a failure.
//
// A symbolic link stays: the file that it leads to gets the content, and is made if it is missing. What is no regular file gets the
// content written into it: a device, a FIFO, and what is open as /dev/fd/N.
//
// Threads: any.
// Failure: kNotFound for a missing folder, kIsDirectory, kAccessDenied, kNoSpace, kIo. A regular file is as it was.
Result<void> replace_whole_file(const Path& file, std::string_view content,
                                FileReaders readers = FileReaders::kEverybody);

}  // namespace dedupfs::tools
