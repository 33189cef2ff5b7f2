#include "base/scratch_backing.h"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <map>
#include <optional>

#include "base/mutex.h"

namespace dedupfs {
namespace {

constexpr std::uint64_t kReportedBlock = 4 << 10;
// As a large disk, so that nothing of the volume is made smaller for a small one. The limit is not the disk's, but the memory's.
constexpr std::uint64_t kReportedTotal = std::uint64_t{1} << 40;

std::uint64_t in_blocks(std::uint64_t bytes) {
  return (bytes + kReportedBlock - 1) / kReportedBlock * kReportedBlock;
}

}  // namespace

// What is charged for all files of a disk.
struct ScratchBacking::Memory {
  explicit Memory(std::uint64_t max) : max_bytes(max) {}

  bool take(std::uint64_t bytes) {
    const std::uint64_t now = used.fetch_add(bytes) + bytes;
    if (now > max_bytes) {
      used -= bytes;
      return false;
    }
    std::uint64_t highest = peak.load();
    while (highest < now && !peak.compare_exchange_weak(highest, now)) {
    }
    return true;
  }
  void give_back(std::uint64_t bytes) { used -= bytes; }

  const std::uint64_t max_bytes;
  std::atomic<std::uint64_t> used{0};
  std::atomic<std::uint64_t> peak{0};
};

// The content of a file. Blocks that are missing are zeros.
struct ScratchBacking::Content {
  using Block = std::unique_ptr<std::uint8_t[]>;

  explicit Content(std::shared_ptr<Memory> its_memory) : memory(std::move(its_memory)) {}
  ~Content() { memory->give_back(blocks.size() * kBlockBytes); }
  Content(const Content&) = delete;
  Content& operator=(const Content&) = delete;

  const std::shared_ptr<Memory> memory;
  mutable SharedMutex mutex;
  std::map<std::uint64_t, Block> blocks DEDUPFS_GUARDED_BY(mutex);
  std::uint64_t size DEDUPFS_GUARDED_BY(mutex) = 0;
  int readers DEDUPFS_GUARDED_BY(mutex) = 0;  // holders of the advisory lock
  bool has_writer DEDUPFS_GUARDED_BY(mutex) = false;
};

// A name's object: a file if it has content, otherwise a folder.
struct ScratchBacking::Node {
  using Children = std::map<std::string, std::shared_ptr<Node>, std::less<>>;

  std::shared_ptr<Content> content;
  Children children;

  bool is_folder() const { return content == nullptr; }
};

struct ScratchBacking::Tree {
  explicit Tree(std::uint64_t max_bytes) : memory(std::make_shared<Memory>(max_bytes)) {}

  const std::shared_ptr<Memory> memory;
  Mutex mutex;  // guards the children of all nodes
  const std::shared_ptr<Node> root = std::make_shared<Node>();
};

class ScratchBacking::File final : public BackingFile {
 public:
  File(std::shared_ptr<Content> content, Path path, bool writable)
      : content_(std::move(content)), path_(std::move(path)), writable_(writable) {}
  ~File() override {
    if (!locked_) return;
    const WriterLock lock(content_->mutex);
    if (*locked_ != LockMode::kShared)
      content_->has_writer = false;
    else
      --content_->readers;
  }
  File(const File&) = delete;
  File& operator=(const File&) = delete;

  const Path& path() const override { return path_; }

  Result<std::size_t> read_up_to(std::uint64_t offset, MutableByteSpan out) const override {
    const ReaderLock lock(content_->mutex);
    if (offset >= content_->size) return std::size_t{0};
    const std::size_t length = std::min<std::uint64_t>(out.size(), content_->size - offset);
    for (std::size_t done = 0; done < length;) {
      const std::uint64_t at = (offset + done) % kBlockBytes;
      const std::size_t part = std::min<std::uint64_t>(length - done, kBlockBytes - at);
      const auto block = content_->blocks.find((offset + done) / kBlockBytes);
      if (block == content_->blocks.end())
        std::memset(out.data() + done, 0, part);
      else
        std::memcpy(out.data() + done, block->second.get() + at, part);
      done += part;
    }
    return length;
  }

  Result<void> write(std::uint64_t offset, ByteSpan data) override {
    DEDUPFS_TRY(require_writable());
    const WriterLock lock(content_->mutex);
    while (!data.empty()) {
      const std::uint64_t at = offset % kBlockBytes;
      const ByteSpan part = data.first(std::min<std::uint64_t>(data.size(), kBlockBytes - at));
      std::uint8_t* const block = block_at(offset / kBlockBytes);
      if (block == nullptr)
        return Error{ErrorCode::kNoSpace, "writing " + path_.string() + ": the memory for it is used up"};
      std::memcpy(block + at, part.data(), part.size());
      offset += part.size();
      content_->size = std::max(content_->size, offset);
      data = data.subspan(part.size());
    }
    return {};
  }

  Result<void> truncate(std::uint64_t size) override {
    DEDUPFS_TRY(require_writable());
    const WriterLock lock(content_->mutex);
    if (size < content_->size) {
      auto& blocks = content_->blocks;
      const auto first = blocks.lower_bound((size + kBlockBytes - 1) / kBlockBytes);
      content_->memory->give_back(static_cast<std::uint64_t>(std::distance(first, blocks.end())) * kBlockBytes);
      blocks.erase(first, blocks.end());
      const std::uint64_t at = size % kBlockBytes;
      if (const auto last = blocks.find(size / kBlockBytes); last != blocks.end())
        std::memset(last->second.get() + at, 0, kBlockBytes - at);
    }
    content_->size = size;
    return {};
  }

  Result<std::uint64_t> size() const override {
    const ReaderLock lock(content_->mutex);
    return content_->size;
  }

  Result<void> datasync() override { return {}; }

  Result<bool> try_lock(LockMode mode) override {
    const WriterLock lock(content_->mutex);
    if (content_->has_writer || (mode != LockMode::kShared && content_->readers != 0)) return false;
    if (mode != LockMode::kShared)
      content_->has_writer = true;
    else
      ++content_->readers;
    locked_ = mode;
    return true;
  }

 private:
  Result<void> require_writable() const {
    if (writable_) return {};
    return Error{ErrorCode::kIo, path_.string() + " is open for reading"};
  }

  // Takes one where there is none. Null: that would be too much.
  std::uint8_t* block_at(std::uint64_t number) DEDUPFS_REQUIRES(content_->mutex) {
    const auto found = content_->blocks.find(number);
    if (found != content_->blocks.end()) return found->second.get();
    if (!content_->memory->take(kBlockBytes)) return nullptr;
    return content_->blocks.emplace(number, std::make_unique<std::uint8_t[]>(kBlockBytes)).first->second.get();
  }

  const std::shared_ptr<Content> content_;
  const Path path_;
  const bool writable_;
  std::optional<LockMode> locked_;
};

class ScratchBacking::Folder final : public BackingFolder {
 public:
  Folder(std::shared_ptr<Tree> tree, std::shared_ptr<Node> node, Path path)
      : BackingFolder(std::move(path)), tree_(std::move(tree)), node_(std::move(node)) {}

  Result<std::unique_ptr<BackingFile>> open(std::string_view name, Mode mode) override {
    DEDUPFS_TRY(single(name));
    const MutexLock lock(tree_->mutex);
    auto found = node_->children.find(name);
    if (found == node_->children.end()) {
      if (mode != Mode::kCreate && mode != Mode::kOpenOrCreate) return missing(name);
      auto file = std::make_shared<Node>();
      file->content = std::make_shared<Content>(tree_->memory);
      found = node_->children.emplace(name, std::move(file)).first;
    } else if (mode == Mode::kCreate) {
      return exists_already(name);
    }
    if (found->second->is_folder()) return Error{ErrorCode::kCorruption, where(name) + " is not a regular file"};
    return std::make_unique<File>(found->second->content, path() / name, mode != Mode::kRead);
  }

  Result<std::shared_ptr<BackingFolder>> open_folder(std::string_view name) override {
    const MutexLock lock(tree_->mutex);
    DEDUPFS_ASSIGN(const auto found, find(name));
    if (!found->second->is_folder()) return Error{ErrorCode::kCorruption, where(name) + " is not a folder"};
    return std::make_shared<Folder>(tree_, found->second, path() / name);
  }

  Result<void> make_folder(std::string_view name) override {
    DEDUPFS_TRY(single(name));
    const MutexLock lock(tree_->mutex);
    if (!node_->children.emplace(name, std::make_shared<Node>()).second) return exists_already(name);
    return {};
  }

  Result<void> remove_folder(std::string_view name) override {
    const MutexLock lock(tree_->mutex);
    DEDUPFS_ASSIGN(const auto found, find(name));
    if (!found->second->is_folder()) return Error{ErrorCode::kNotDirectory, where(name) + " is not a folder"};
    if (!found->second->children.empty()) return Error{ErrorCode::kNotEmpty, where(name) + " is not empty"};
    node_->children.erase(found);
    return {};
  }

  Result<void> rename(std::string_view name, BackingFolder& to, std::string_view new_name) override {
    DEDUPFS_ASSIGN(const std::string to_name, single(new_name));
    Node& target = *static_cast<Folder&>(to).node_;
    const MutexLock lock(tree_->mutex);
    DEDUPFS_ASSIGN(const auto found, find(name));
    const std::shared_ptr<Node> moved = found->second;
    node_->children.erase(found);
    target.children.insert_or_assign(to_name, moved);
    return {};
  }

  Result<void> link(std::string_view name, BackingFolder& to, std::string_view new_name) override {
    DEDUPFS_ASSIGN(const std::string to_name, single(new_name));
    Node& target = *static_cast<Folder&>(to).node_;
    const MutexLock lock(tree_->mutex);
    DEDUPFS_ASSIGN(const auto found, find(name));
    if (!target.children.emplace(to_name, found->second).second)
      return Error{ErrorCode::kExists, (to.path() / to_name).string() + ": it exists"};
    return {};
  }

  Result<void> unlink(std::string_view name) override {
    const MutexLock lock(tree_->mutex);
    DEDUPFS_ASSIGN(const auto found, find(name));
    if (found->second->is_folder()) return Error{ErrorCode::kIsDirectory, where(name) + " is a folder"};
    node_->children.erase(found);
    return {};
  }

  Result<void> sync() override { return {}; }

  Result<std::vector<std::string>> list() override {
    const MutexLock lock(tree_->mutex);
    std::vector<std::string> names;
    for (const auto& [name, node] : node_->children) names.push_back(name);
    return names;
  }

  Result<Status> status() override { return status_of(*node_); }
  Result<Status> status(std::string_view name) override {
    DEDUPFS_TRY(single(name));
    std::shared_ptr<Node> node;
    {
      const MutexLock lock(tree_->mutex);
      const auto found = node_->children.find(name);
      if (found == node_->children.end()) return Status();
      node = found->second;
    }
    return status_of(*node);
  }

  Result<Space> space() override {
    return Space{.total_bytes = kReportedTotal,
                 .available_bytes = kReportedTotal - std::min(kReportedTotal, tree_->memory->used.load())};
  }

 private:
  Result<Node::Children::iterator> find(std::string_view name) DEDUPFS_REQUIRES(tree_->mutex) {
    DEDUPFS_TRY(single(name));
    const auto found = node_->children.find(name);
    if (found == node_->children.end()) return missing(name);
    return found;
  }
  static Status status_of(const Node& node) {
    Status status{.type = node.is_folder() ? Type::kDirectory : Type::kFile,
                  .owner = ::geteuid(),
                  .group = ::getegid(),
                  .permissions = 0700,
                  .allocated_bytes = kReportedBlock};
    if (node.is_folder()) return status;
    const ReaderLock lock(node.content->mutex);
    status.permissions = 0600;
    status.allocated_bytes = in_blocks(node.content->size);
    return status;
  }

  std::string where(std::string_view name) const { return (path() / name).string(); }
  Error missing(std::string_view name) const { return {ErrorCode::kNotFound, where(name) + ": no such file"}; }
  Error exists_already(std::string_view name) const { return {ErrorCode::kExists, where(name) + ": it exists"}; }

  const std::shared_ptr<Tree> tree_;
  const std::shared_ptr<Node> node_;
};

ScratchBacking::ScratchBacking(std::uint64_t max_bytes) : tree_(std::make_shared<Tree>(max_bytes)) {}

ScratchBacking::~ScratchBacking() = default;

Result<std::shared_ptr<BackingFolder>> ScratchBacking::open_root(const Path& path) {
  std::shared_ptr<BackingFolder> folder = std::make_shared<Folder>(tree_, tree_->root, "/");
  for (const Path& name : path.lexically_normal().relative_path()) {
    if (name.empty()) continue;  // behind a slash at the end
    DEDUPFS_ASSIGN(folder, folder->open_folder(name.string()));
  }
  return folder;
}

std::uint64_t ScratchBacking::used_bytes() const {
  return tree_->memory->used;
}

std::uint64_t ScratchBacking::peak_bytes() const {
  return tree_->memory->peak;
}

}  // namespace dedupfs
