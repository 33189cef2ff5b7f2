#include "support/memory_disk.h"

#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <utility>

namespace dedupfs {
namespace {

using Kind = DiskEvent::Kind;

std::string normal(const Path& path) {
  std::string text = path.lexically_normal().string();
  if (text.size() > 1 && text.ends_with('/')) text.pop_back();
  return text;
}

std::string parent_of(const std::string& path) {
  return Path(path).parent_path().string();
}

Error missing(const std::string& path) {
  return {ErrorCode::kNotFound, path + ": no such file"};
}

// The content of a file, to change: nobody else sees it.
std::string& own(SharedText& content) {
  if (content == nullptr) content = std::make_shared<std::string>();
  if (content.use_count() != 1) {
    auto copy = std::make_shared<std::string>();
    copy->reserve(content->size() + content->size() / 4 + 4096);
    *copy = *content;
    content = std::move(copy);
  }
  return const_cast<std::string&>(*content);  // made by make_shared<std::string>, here or by an earlier call
}

}  // namespace

std::uint64_t DiskImage::bytes() const {
  std::uint64_t sum = 0;
  for (const auto& [path, id] : names)
    if (const auto content = contents.find(id); content != contents.end() && content->second)
      sum += content->second->size();
  return sum;
}

void apply(DiskImage& image, const DiskEvent& event) {
  switch (event.kind) {
    case Kind::kCreate:
      image.names[event.path] = event.file;
      image.contents.try_emplace(event.file, std::make_shared<std::string>());
      image.next_id = std::max(image.next_id, event.file + 1);
      break;
    case Kind::kWrite: {
      std::string& content = own(image.contents[event.file]);
      if (content.size() < event.offset + event.data->size()) content.resize(event.offset + event.data->size());
      std::memcpy(content.data() + event.offset, event.data->data(), event.data->size());
      break;
    }
    case Kind::kTruncate: own(image.contents[event.file]).resize(event.offset); break;
    case Kind::kRename:
      if (const auto from = image.names.find(event.path); from != image.names.end()) {
        image.names[event.other] = from->second;
        image.names.erase(event.path);
      }
      break;
    case Kind::kLink:
      if (const auto from = image.names.find(event.path); from != image.names.end())
        image.names[event.other] = from->second;
      break;
    case Kind::kUnlink:
    case Kind::kRemoveDirectory: image.names.erase(event.path); break;
    case Kind::kMakeDirectory: image.names[event.path] = DiskImage::kDirectory; break;
    case Kind::kDatasync:
    case Kind::kFailedDatasync:
    case Kind::kSyncDirectory: break;
  }
}

class MemoryDisk::File final : public BackingFile {
 public:
  File(MemoryDisk& disk, FileId id, Path path, bool writable)
      : disk_(disk), id_(id), path_(std::move(path)), writable_(writable) {}
  ~File() override {
    if (!locked_) return;
    const std::lock_guard lock(disk_.mutex_);
    if (*locked_ != LockMode::kShared)
      disk_.locks_[id_].exclusive = false;
    else
      --disk_.locks_[id_].shared;
  }
  File(const File&) = delete;
  File& operator=(const File&) = delete;

  const Path& path() const override { return path_; }

  Result<std::size_t> read_up_to(std::uint64_t offset, MutableByteSpan out) const override {
    if (const auto fault = disk_.ask("read", path_)) return fault->error;
    const std::lock_guard lock(disk_.mutex_);
    const std::string& content = *disk_.image_.contents[id_];
    if (offset >= content.size() || out.empty()) return std::size_t{0};
    const std::size_t length = std::min<std::size_t>(out.size(), content.size() - offset);
    std::memcpy(out.data(), content.data() + offset, length);
    return length;
  }
  Result<void> write(std::uint64_t offset, ByteSpan data) override {
    if (!writable_) return Error{ErrorCode::kIo, path_.string() + " is open for reading"};
    const auto fault = disk_.ask("write", path_);
    if (fault) data = data.first(std::min(fault->partial_bytes, data.size()));
    if (!data.empty()) {
      auto copy = std::make_shared<const std::string>(text_of(data));
      const std::lock_guard lock(disk_.mutex_);
      disk_.log({.kind = Kind::kWrite, .file = id_, .offset = offset, .data = std::move(copy)});
    }
    if (fault) return fault->error;
    return {};
  }
  bool is_near(std::uint64_t /*offset*/, std::uint64_t /*length*/) const override { return !disk_.is_far_; }
  Result<void> truncate(std::uint64_t size) override {
    if (!writable_) return Error{ErrorCode::kIo, path_.string() + " is open for reading"};
    if (const auto fault = disk_.ask("truncate", path_)) return fault->error;
    const std::lock_guard lock(disk_.mutex_);
    disk_.log({.kind = Kind::kTruncate, .file = id_, .offset = size});
    return {};
  }
  // A write of zeros, for those who look at the disk after a power cut.
  Result<void> discard(std::uint64_t offset, std::uint64_t length) override {
    return write(offset, ByteBuffer(length));
  }
  Result<std::uint64_t> size() const override {
    const std::lock_guard lock(disk_.mutex_);
    return disk_.image_.contents[id_]->size();
  }
  Result<void> datasync() override {
    const auto fault = disk_.ask("datasync", path_);
    const std::lock_guard lock(disk_.mutex_);
    disk_.log({.kind = fault ? Kind::kFailedDatasync : Kind::kDatasync, .file = id_});
    if (fault) return fault->error;
    return {};
  }
  Result<bool> try_lock(LockMode mode) override {
    const std::lock_guard lock(disk_.mutex_);
    Lock& held = disk_.locks_[id_];
    if (held.exclusive || (mode != LockMode::kShared && held.shared != 0)) return false;
    if (mode != LockMode::kShared)
      held.exclusive = true;
    else
      ++held.shared;
    locked_ = mode;
    return true;
  }

 private:
  MemoryDisk& disk_;
  const FileId id_;
  const Path path_;
  const bool writable_;
  std::optional<LockMode> locked_;
};

class MemoryDisk::Folder final : public BackingFolder {
 public:
  Folder(MemoryDisk& disk, Path path)
      : BackingFolder(std::move(path)), disk_(disk), kept_(disk.weak_from_this().lock()) {}

  Result<std::unique_ptr<BackingFile>> open(std::string_view name, Mode mode) override {
    return disk_.open(path() / name, mode);
  }
  Result<std::shared_ptr<BackingFolder>> open_folder(std::string_view name) override {
    return disk_.open_root(path() / name);
  }
  Result<void> make_folder(std::string_view name) override { return disk_.make_directory(path() / name); }
  Result<void> remove_folder(std::string_view name) override { return disk_.remove_directory(path() / name); }
  Result<void> rename(std::string_view name, BackingFolder& to, std::string_view new_name) override {
    return disk_.rename(path() / name, to.path() / new_name);
  }
  Result<void> link(std::string_view name, BackingFolder& to, std::string_view new_name) override {
    return disk_.link(path() / name, to.path() / new_name);
  }
  Result<void> unlink(std::string_view name) override { return disk_.unlink(path() / name); }
  Result<void> sync() override { return disk_.sync_directory(path()); }
  Result<std::vector<std::string>> list() override { return disk_.list_directory(path()); }
  Result<Status> status() override { return status_of(path()); }
  Result<Status> status(std::string_view name) override { return status_of(path() / name); }
  Result<Space> space() override { return disk_.space(); }

 private:
  Result<Status> status_of(const Path& path) {
    DEDUPFS_ASSIGN(const Type type, disk_.type(path));
    Status status{.type = type, .owner = ::geteuid(), .group = ::getegid(), .permissions = 0700};
    const std::lock_guard lock(disk_.mutex_);
    const auto id = disk_.find(normal(path));
    // Holes are not known apart.
    if (type == Type::kFile && id) status.allocated_bytes = disk_.image_.contents[*id]->size();
    return status;
  }

  MemoryDisk& disk_;
  const std::shared_ptr<MemoryDisk> kept_;
};

Result<std::shared_ptr<BackingFolder>> MemoryDisk::open_root(const Path& path) {
  DEDUPFS_ASSIGN(const Type found, type(path));
  if (found == Type::kMissing) return missing(path.string());
  if (found != Type::kDirectory) return Error{ErrorCode::kCorruption, path.string() + " is not a folder"};
  return std::make_shared<Folder>(*this, path);
}

void MemoryDisk::set_fault(FaultSource fault) {
  const std::lock_guard lock(fault_mutex_);
  fault_ = std::move(fault);
}

void MemoryDisk::set_space(Space space) {
  const std::lock_guard lock(mutex_);
  space_ = space;
}

DiskImage MemoryDisk::image() const {
  const std::lock_guard lock(mutex_);
  return image_;
}

std::size_t MemoryDisk::event_count() const {
  const std::lock_guard lock(mutex_);
  return events_.size();
}

std::vector<DiskEvent> MemoryDisk::events() const {
  const std::lock_guard lock(mutex_);
  return events_;
}

thread_local int MemoryDisk::FaultsPaused::depth_ = 0;
thread_local std::unique_lock<std::mutex>* MemoryDisk::FaultsPaused::asking_ = nullptr;

std::optional<MemoryDisk::Fault> MemoryDisk::ask(std::string_view operation, const Path& path) const {
  if (FaultsPaused::depth_ != 0) return std::nullopt;
  std::unique_lock lock(fault_mutex_);
  struct Asking {  // it may end with an exception
    explicit Asking(std::unique_lock<std::mutex>& held) : before(std::exchange(FaultsPaused::asking_, &held)) {}
    ~Asking() { FaultsPaused::asking_ = before; }
    std::unique_lock<std::mutex>* before;
  } const asking(lock);
  return fault_ ? fault_(operation, path) : std::nullopt;
}

void MemoryDisk::log(DiskEvent event) {
  apply(image_, event);
  events_.push_back(std::move(event));
}

std::optional<FileId> MemoryDisk::find(const std::string& path) const {
  const auto found = image_.names.find(path);
  if (found == image_.names.end()) return std::nullopt;
  return found->second;
}

Result<void> MemoryDisk::require_parent(const std::string& path) const {
  if (find(parent_of(path)) == DiskImage::kDirectory) return {};
  return missing(parent_of(path));
}

bool MemoryDisk::is_empty(const std::string& directory) const {
  const auto next = image_.names.upper_bound(directory + "/");
  return next == image_.names.end() || !next->first.starts_with(directory + "/");
}

Result<std::unique_ptr<BackingFile>> MemoryDisk::open(const Path& path, Mode mode) {
  const std::string name = normal(path);
  bool exists = false;
  {
    const std::lock_guard lock(mutex_);
    const auto found = find(name);
    exists = found.has_value();
    if (found == DiskImage::kDirectory) return Error{ErrorCode::kCorruption, name + " is not a regular file"};
  }
  if (exists && mode == Mode::kCreate) return Error{ErrorCode::kExists, name + ": it exists"};
  const bool creates = !exists && (mode == Mode::kCreate || mode == Mode::kOpenOrCreate);
  if (!exists && !creates) return missing(name);
  if (creates)
    if (const auto fault = ask("open", path)) return fault->error;

  const std::lock_guard lock(mutex_);
  if (creates) {
    DEDUPFS_TRY(require_parent(name));
    log({.kind = Kind::kCreate, .file = image_.next_id, .path = name});
  }
  const auto id = find(name);
  if (!id) return missing(name);  // removed in between
  return std::make_unique<File>(*this, *id, path, mode != Mode::kRead);
}

Result<void> MemoryDisk::rename(const Path& from, const Path& to) {
  if (const auto fault = ask("rename", to)) return fault->error;
  const std::lock_guard lock(mutex_);
  if (!find(normal(from))) return missing(from.string());
  log({.kind = Kind::kRename, .path = normal(from), .other = normal(to)});
  return {};
}

Result<void> MemoryDisk::link(const Path& from, const Path& to) {
  if (const auto fault = ask("link", to)) return fault->error;
  const std::lock_guard lock(mutex_);
  if (!find(normal(from))) return missing(from.string());
  if (find(normal(to))) return Error{ErrorCode::kExists, to.string() + ": it exists"};
  log({.kind = Kind::kLink, .path = normal(from), .other = normal(to)});
  return {};
}

Result<void> MemoryDisk::unlink(const Path& path) {
  if (const auto fault = ask("unlink", path)) return fault->error;
  const std::lock_guard lock(mutex_);
  const auto id = find(normal(path));
  if (!id) return missing(path.string());
  if (*id == DiskImage::kDirectory) return Error{ErrorCode::kIsDirectory, path.string() + " is a directory"};
  log({.kind = Kind::kUnlink, .path = normal(path)});
  return {};
}

Result<void> MemoryDisk::make_directory(const Path& path) {
  if (const auto fault = ask("make_directory", path)) return fault->error;
  const std::lock_guard lock(mutex_);
  if (find(normal(path))) return Error{ErrorCode::kExists, path.string() + ": it exists"};
  DEDUPFS_TRY(require_parent(normal(path)));
  log({.kind = Kind::kMakeDirectory, .path = normal(path)});
  return {};
}

Result<void> MemoryDisk::remove_directory(const Path& path) {
  if (const auto fault = ask("remove_directory", path)) return fault->error;
  const std::lock_guard lock(mutex_);
  if (find(normal(path)) != DiskImage::kDirectory) return missing(path.string());
  if (!is_empty(normal(path))) return Error{ErrorCode::kNotEmpty, path.string() + " is not empty"};
  log({.kind = Kind::kRemoveDirectory, .path = normal(path)});
  return {};
}

Result<void> MemoryDisk::sync_directory(const Path& path) {
  if (const auto fault = ask("sync_directory", path)) return fault->error;
  const std::lock_guard lock(mutex_);
  if (find(normal(path)) != DiskImage::kDirectory) return missing(path.string());
  log({.kind = Kind::kSyncDirectory, .path = normal(path)});
  return {};
}

Result<std::vector<std::string>> MemoryDisk::list_directory(const Path& path) {
  const std::string name = normal(path);
  const std::string prefix = name == "/" ? name : name + "/";
  const std::lock_guard lock(mutex_);
  if (find(name) != DiskImage::kDirectory) return missing(name);
  std::vector<std::string> names;
  for (auto entry = image_.names.upper_bound(prefix); entry != image_.names.end(); ++entry) {
    if (!entry->first.starts_with(prefix)) break;
    const std::string rest = entry->first.substr(prefix.size());
    if (rest.find('/') == std::string::npos) names.push_back(rest);
  }
  std::ranges::sort(names);
  return names;
}

Result<Backing::Type> MemoryDisk::type(const Path& path) {
  const std::lock_guard lock(mutex_);
  const auto id = find(normal(path));
  if (!id) return Type::kMissing;
  return *id == DiskImage::kDirectory ? Type::kDirectory : Type::kFile;
}

Result<Backing::Space> MemoryDisk::space() {
  const std::lock_guard lock(mutex_);
  return space_;
}

}  // namespace dedupfs
