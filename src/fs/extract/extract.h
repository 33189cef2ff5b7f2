// Walks the files and folders of a volume that are asked for, and passes each to a sink.
//
// The tree is taken for hostile: names that are no single names are refused, a folder that is reached twice is entered once, and
// folders that are nested too deeply are left out.
//
// Threads: free function; one at a time on a sink.
// Memory:  a number for each folder, and the path of each file with several names.
// Failure: kNotFound and so on for a path or snapshot that is not there, before the sink gets anything. What fails later is told
//          to the observer, entry by entry. kInterrupted if the observer said so; the Error of a sink that is broken.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "fs/extract/extract_sink.h"
#include "fs/namespace/filesystem.h"

namespace dedupfs {

struct ExtractRequest {
  std::vector<std::string> paths;  // in the volume; symbolic links in them are not followed. None: everything
  std::string snapshot;            // empty: the files of now
};

struct ExtractTotals {
  std::uint64_t entries = 0;        // that were taken
  std::uint64_t already_there = 0;  // of these
  std::uint64_t bytes = 0;          // of content
  std::uint64_t damaged = 0;        // that could not be read from the volume
  std::uint64_t refused = 0;        // that the sink could not take
};

class ExtractObserver {
 public:
  virtual ~ExtractObserver() = default;
  virtual void note_failure(const std::string& path, const Error& error) = 0;
  // Called often. False: the extraction is to end.
  virtual bool goes_on(const ExtractTotals& so_far) = 0;
};

Result<ExtractTotals> extract(Filesystem& filesystem, const ExtractRequest& request, ExtractSink& sink,
                              ExtractObserver& observer);

}  // namespace dedupfs
