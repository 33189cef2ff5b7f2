// Containers as files in a folder, those that are being written among them.
//
// Ownership: keeps the folder open, and a bounded number of files, least recently used ones are closed.
// Threads:   every function from any thread; no lock is held during I/O.
// Failure:   as ContainerBackend says. Links are never followed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/backing.h"
#include "base/mutex.h"
#include "store/containers/container_backend.h"

namespace dedupfs {

class ContainerFolder final : public ContainerBackend {
 public:
  explicit ContainerFolder(std::shared_ptr<BackingFolder> folder) : folder_(std::move(folder)) {}

  // A new file, still empty, for one who appends to it. Readers share its descriptor.
  Result<std::shared_ptr<BackingFile>> create(std::uint32_t number);
  // Nobody appends to it any more, and it is synced: the descriptor of its writer is closed as soon as no reader uses it.
  void finished(std::uint32_t number) { close(number); }
  // The names of new containers are durable after it.
  Result<void> sync() { return folder_->sync(); }

  Result<std::size_t> read_up_to(std::uint32_t number, std::uint64_t offset, MutableByteSpan out) override;
  Result<std::uint64_t> size(std::uint32_t number) override;
  Result<std::vector<std::uint32_t>> list() override;
  Result<void> remove(std::uint32_t number) override;
  void drop_cached(std::uint32_t number, std::uint64_t offset, std::uint64_t length) override;
  bool is_near(std::uint32_t number, std::uint64_t offset, std::uint64_t length) override;
  Result<std::int64_t> modified(std::uint32_t number) override;
  std::string name_of(std::uint32_t number) const override;

 private:
  Result<std::shared_ptr<const BackingFile>> open(std::uint32_t number);
  void keep_open(std::uint32_t number, std::shared_ptr<const BackingFile> file);
  void close(std::uint32_t number);

  const std::shared_ptr<BackingFolder> folder_;

  using OpenFile = std::pair<std::uint32_t, std::shared_ptr<const BackingFile>>;
  Mutex mutex_;
  std::list<OpenFile> open_files_ DEDUPFS_GUARDED_BY(mutex_);  // most recently used first
  std::unordered_map<std::uint32_t, std::list<OpenFile>::iterator> by_number_ DEDUPFS_GUARDED_BY(mutex_);
};

}  // namespace dedupfs
