// Where a stream of dedupfs-send goes to and one of dedupfs-receive comes from: a pipe, a socket or a file.
//
// Threads:   one.
// Ownership: what is returned refers to the process, and to no descriptor of its own: `descriptor` must stay open.
// Failure:   kIo, kNoSpace and so on, which name `what`; kInterrupted if the process was asked to stop while it waited.
#pragma once

#include <string>

#include "base/byte_stream.h"
#include "base/result.h"
#include "base/unique_fd.h"
#include "process.h"

namespace dedupfs::tools {

StreamSink stream_to(int descriptor, const std::string& what, const Process& process);
WaitingSource stream_from(int descriptor, const std::string& what, const Process& process);

// A file that is not there yet, for its owner only: a stream has the content of files. It goes unless keep() makes it durable.
class NewStreamFile {
 public:
  static Result<NewStreamFile> create(const std::string& path);
  NewStreamFile(NewStreamFile&& other) noexcept;
  NewStreamFile& operator=(NewStreamFile&&) = delete;
  ~NewStreamFile();

  int descriptor() const { return file_.get(); }
  Result<void> keep();

 private:
  NewStreamFile(std::string path, UniqueFd file) : path_(std::move(path)), file_(std::move(file)) {}

  std::string path_;  // empty: it stays
  UniqueFd file_;
};

}  // namespace dedupfs::tools
