// A test's filesystem on a disk that fails where the test wants it to.
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "fs/test_filesystem.h"
#include "support/faulty_backing.h"

namespace dedupfs {

// A filesystem whose containers fail while `fault` holds an error.
struct FaultyFilesystem {
  std::shared_ptr<FaultyBacking> backing = std::make_shared<FaultyBacking>();
  std::mutex mutex;
  std::string operation;
  std::optional<ErrorCode> fault;
  TestFilesystem fs;

  FaultyFilesystem() {
    backing->fault = [this](const std::string& attempted, const Path& path) -> std::optional<Error> {
      const std::lock_guard lock(mutex);
      if (!fault || attempted != operation || path.extension() != ".container") return std::nullopt;
      return Error{*fault, path.string() + ": injected"};
    };
    fs.use(backing);
    fs.reopen();
  }
  void fail(const std::string& which, std::optional<ErrorCode> with) {
    const std::lock_guard lock(mutex);
    operation = which;
    fault = with;
  }
};

}  // namespace dedupfs
