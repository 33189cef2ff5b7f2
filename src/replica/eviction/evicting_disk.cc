#include "replica/eviction/evicting_disk.h"

#include <algorithm>
#include <utility>

#include "base/mutex.h"
#include "base/watched_lock.h"
#include "store/format/format.h"

namespace dedupfs {
namespace {

Error is_evicted(const Path& path) {
  return {ErrorCode::kUnsupported, path.string() + " lies in the bucket of the volume, and cannot be renamed"};
}

class EvictableFile final : public BackingFile {
 public:
  EvictableFile(std::shared_ptr<EvictedContainers> containers, std::string name, Path path,
                std::unique_ptr<BackingFile> real)
      : containers_(std::move(containers)), name_(std::move(name)), path_(std::move(path)), real_(std::move(real)) {}

  const Path& path() const override { return path_; }
  Result<std::size_t> read_up_to(std::uint64_t offset, MutableByteSpan out) const override {
    const EvictedContainers::EvictedPtr known = evicted();
    EvictedContainers::EvictedPtr now = known;
    auto read = containers_->read_up_to(name_, *real_, now, offset, out);
    if (now != known) {
      const MutexLock lock(mutex_);
      evicted_ = std::move(now);
    }
    return read;
  }
  Result<void> write(std::uint64_t offset, ByteSpan data) override {
    DEDUPFS_TRY(containers_->recall(name_));
    return real_->write(offset, data);
  }
  Result<void> truncate(std::uint64_t size) override {
    DEDUPFS_TRY(containers_->recall(name_));
    return real_->truncate(size);
  }
  Result<std::uint64_t> size() const override { return real_->size(); }
  Result<void> datasync() override { return real_->datasync(); }
  Result<bool> try_lock(LockMode mode) override { return real_->try_lock(mode); }
  void drop_cached(std::uint64_t offset, std::uint64_t length) const override { real_->drop_cached(offset, length); }
  bool is_near(std::uint64_t offset, std::uint64_t length) const override {
    if (!containers_->contains(name_)) return true;
    EvictedContainers::EvictedPtr evicted = this->evicted();
    if (!evicted) {
      auto loaded = containers_->load(name_);
      if (!loaded) return false;
      evicted = std::move(*loaded);
    }
    return containers_->is_near(name_, *evicted, offset, length);
  }

 private:
  EvictedContainers::EvictedPtr evicted() const {
    const MutexLock lock(mutex_);
    return evicted_;
  }

  const std::shared_ptr<EvictedContainers> containers_;
  const std::string name_;
  const Path path_;
  const std::unique_ptr<BackingFile> real_;  // the same one before and after an eviction
  mutable Mutex mutex_;
  mutable EvictedContainers::EvictedPtr evicted_ DEDUPFS_GUARDED_BY(mutex_);
};

// A folder that is the one on the disk, but for what is said below.
class FolderOnDisk : public BackingFolder {
 public:
  explicit FolderOnDisk(std::shared_ptr<BackingFolder> real) : BackingFolder(real->path()), real_(std::move(real)) {}

  Result<std::unique_ptr<BackingFile>> open(std::string_view name, Mode mode) override {
    return real_->open(name, mode);
  }
  Result<std::shared_ptr<BackingFolder>> open_folder(std::string_view name) override {
    return real_->open_folder(name);
  }
  Result<void> make_folder(std::string_view name) override { return real_->make_folder(name); }
  Result<void> remove_folder(std::string_view name) override { return real_->remove_folder(name); }
  Result<void> rename(std::string_view name, BackingFolder& to, std::string_view new_name) override {
    return real_->rename(name, on_disk(to), new_name);
  }
  Result<void> link(std::string_view name, BackingFolder& to, std::string_view new_name) override {
    return real_->link(name, on_disk(to), new_name);
  }
  Result<void> unlink(std::string_view name) override { return real_->unlink(name); }
  Result<void> sync() override { return real_->sync(); }
  Result<std::vector<std::string>> list() override { return real_->list(); }
  Result<Status> status() override { return real_->status(); }
  Result<Status> status(std::string_view name) override { return real_->status(name); }
  Result<Space> space() override { return real_->space(); }
  std::optional<int> descriptor() const override { return real_->descriptor(); }

 protected:
  BackingFolder& real() { return *real_; }

 private:
  static BackingFolder& on_disk(BackingFolder& folder) {
    auto* const ours = dynamic_cast<FolderOnDisk*>(&folder);
    return ours != nullptr ? *ours->real_ : folder;
  }

  const std::shared_ptr<BackingFolder> real_;
};

class ContainersFolder final : public FolderOnDisk {
 public:
  ContainersFolder(std::shared_ptr<BackingFolder> real, std::shared_ptr<EvictedContainers> containers)
      : FolderOnDisk(std::move(real)), containers_(std::move(containers)) {}

  Result<std::unique_ptr<BackingFile>> open(std::string_view name, Mode mode) override {
    DEDUPFS_ASSIGN(const std::string found, single(name));
    DEDUPFS_ASSIGN(auto file, containers_->open(found, mode));
    return std::make_unique<EvictableFile>(containers_, found, path() / found, std::move(file));
  }
  Result<void> rename(std::string_view name, BackingFolder& to, std::string_view new_name) override {
    if (containers_->contains(name)) return is_evicted(path() / name);
    return FolderOnDisk::rename(name, to, new_name);
  }
  Result<void> link(std::string_view name, BackingFolder& to, std::string_view new_name) override {
    if (containers_->contains(name)) return is_evicted(path() / name);
    return FolderOnDisk::link(name, to, new_name);
  }
  Result<void> unlink(std::string_view name) override { return containers_->unlink(name); }
  Result<std::vector<std::string>> list() override { return containers_->list(); }
  using FolderOnDisk::status;
  Result<Status> status(std::string_view name) override { return containers_->status(name); }

 private:
  const std::shared_ptr<EvictedContainers> containers_;
};

class VolumeFolder final : public FolderOnDisk {
 public:
  VolumeFolder(std::shared_ptr<BackingFolder> real, std::shared_ptr<EvictedContainers> containers)
      : FolderOnDisk(std::move(real)), containers_(std::move(containers)) {}

  const std::shared_ptr<EvictedContainers>& containers() const { return containers_; }

  Result<std::unique_ptr<BackingFile>> open(std::string_view name, Mode mode) override {
    DEDUPFS_ASSIGN(auto file, real().open(name, mode));
    if (name != kLockFile) return file;
    return std::make_unique<WatchedLock>(std::move(file),
                                         [containers = containers_] { return containers->lock_is_held(); });
  }
  Result<std::shared_ptr<BackingFolder>> open_folder(std::string_view name) override {
    if (name == kEvictedDirectory) return Error{ErrorCode::kNotFound, (path() / name).string() + " is hidden"};
    DEDUPFS_ASSIGN(auto folder, real().open_folder(name));
    if (name != kContainersDirectory) return folder;
    DEDUPFS_TRY(containers_->look(folder));
    return std::make_shared<ContainersFolder>(std::move(folder), containers_);
  }
  // No part of the volume as others see it.
  Result<std::vector<std::string>> list() override {
    DEDUPFS_ASSIGN(std::vector<std::string> names, real().list());
    std::erase(names, kEvictedDirectory);
    return names;
  }
  using FolderOnDisk::status;
  Result<Status> status(std::string_view name) override {
    return name == kEvictedDirectory ? Status() : FolderOnDisk::status(name);
  }

 private:
  const std::shared_ptr<EvictedContainers> containers_;
};

}  // namespace

Result<std::shared_ptr<BackingFolder>> EvictingDisk::open_root(const Path& path) {
  DEDUPFS_ASSIGN(auto folder, disk_->open_root(path));
  return std::make_shared<VolumeFolder>(folder,
                                        std::make_shared<EvictedContainers>(folder, open_bucket_, failure_, parallel_));
}

std::shared_ptr<EvictedContainers> evicted_containers_of(const BackingFolder& volume) {
  const auto* const ours = dynamic_cast<const VolumeFolder*>(&volume);
  return ours != nullptr ? ours->containers() : nullptr;
}

}  // namespace dedupfs
