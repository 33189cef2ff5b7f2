#include "whole_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "base/unique_fd.h"
#include "base/write_all.h"

namespace dedupfs::tools {
namespace {

Result<void> move_there(int descriptor, const std::string& from, const Path& file, std::string_view content,
                        mode_t mode) {
  if (!write_all(descriptor, content)) return Error::from_errno(errno, "write");
  if (::fchmod(descriptor, mode) != 0 || ::rename(from.c_str(), file.c_str()) != 0)
    return Error::from_errno(errno, "rename");
  return {};
}

}  // namespace

Result<void> replace_whole_file(const Path& file, std::string_view content, FileReaders readers) {
  std::string temporary = file.string() + ".XXXXXX";
  const UniqueFd descriptor(::mkostemp(temporary.data(), O_CLOEXEC));
  if (!descriptor) return Error::from_errno(errno, file.string());
  const mode_t mode = readers == FileReaders::kOwner ? 0600 : 0644;
  const Result<void> moved = move_there(descriptor.get(), temporary, file, content, mode);
  if (moved) return {};
  ::unlink(temporary.c_str());
  return moved.error().with(file.string());
}

}  // namespace dedupfs::tools
