#include "replica/bucket_backing.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <list>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "base/mutex.h"

namespace dedupfs {
namespace {

constexpr std::uint32_t kFolderPermissions = 0700;
constexpr std::uint32_t kFilePermissions = 0600;

Error read_only(const Path& path) {
  return {ErrorCode::kReadOnly, path.string() + " lies in a bucket, and can only be read"};
}

}  // namespace

// Blocks of objects, the least recently used go first.
class BucketBacking::Blocks {
 public:
  using Block = std::shared_ptr<const ByteBuffer>;

  Blocks(std::shared_ptr<Bucket> bucket, Settings settings) : bucket_(std::move(bucket)), settings_(settings) {}

  std::uint32_t block_bytes() const { return settings_.block_bytes; }

  Result<Block> get(const std::string& object, const RemotePiece& piece, std::uint64_t number,
                    const std::string& path) {
    const Key key{object, number};
    {
      const MutexLock lock(mutex_);
      while (asked_.contains(key)) arrived_.wait(mutex_);
      if (const auto found = places_.find(key); found != places_.end()) {
        kept_.splice(kept_.begin(), kept_, found->second);
        return found->second->second;
      }
      if (no_answer_ && Clock::now() < rests_until_) return *no_answer_;
      asked_.insert(key);
    }
    auto block = read(object, piece, number, path);
    const MutexLock lock(mutex_);
    asked_.erase(key);
    arrived_.notify_all();
    if (block) keep(key, *block);
    if (!block && block.error().code() == ErrorCode::kIo) {
      no_answer_ = block.error();
      rests_until_ = Clock::now() + settings_.rest_after_failure;
    }
    return block;
  }

 private:
  using Clock = std::chrono::steady_clock;
  using Key = std::pair<std::string, std::uint64_t>;

  Result<Block> read(const std::string& object, const RemotePiece& piece, std::uint64_t number,
                     const std::string& path) {
    const auto part_of = [&](const Error& error) {
      const bool is_gone = error.code() == ErrorCode::kNotFound;
      return Error{is_gone ? ErrorCode::kCorruption : error.code(),
                   fmt::format("{}; it is a part of {}", error.message(), path)};
    };
    if (piece.bytes <= settings_.block_bytes) {
      auto whole = read_piece(*bucket_, object, piece);
      if (!whole) return part_of(whole.error());
      return std::make_shared<const ByteBuffer>(std::move(*whole));
    }
    const std::uint64_t begin = number * settings_.block_bytes;
    ByteBuffer bytes(std::min<std::uint64_t>(settings_.block_bytes, piece.bytes - begin));
    const auto length = bucket_->read(object, begin, bytes);
    if (!length) return part_of(length.error());
    if (*length != bytes.size())
      return part_of(corruption(fmt::format("{}/{} ends too early", bucket_->name(), object)));
    return std::make_shared<const ByteBuffer>(std::move(bytes));
  }

  void keep(const Key& key, const Block& block) DEDUPFS_REQUIRES(mutex_) {
    kept_.emplace_front(key, block);
    places_[key] = kept_.begin();
    bytes_ += block->size();
    while (bytes_ > settings_.cache_bytes && kept_.size() > 1) {
      bytes_ -= kept_.back().second->size();
      places_.erase(kept_.back().first);
      kept_.pop_back();
    }
  }

  const std::shared_ptr<Bucket> bucket_;
  const Settings settings_;
  Mutex mutex_;
  ConditionVariable arrived_;
  std::set<Key> asked_ DEDUPFS_GUARDED_BY(mutex_);
  std::list<std::pair<Key, Block>> kept_ DEDUPFS_GUARDED_BY(mutex_);  // most recently used first
  std::map<Key, std::list<std::pair<Key, Block>>::iterator> places_ DEDUPFS_GUARDED_BY(mutex_);
  std::uint64_t bytes_ DEDUPFS_GUARDED_BY(mutex_) = 0;
  std::optional<Error> no_answer_ DEDUPFS_GUARDED_BY(mutex_);  // the last one
  Clock::time_point rests_until_ DEDUPFS_GUARDED_BY(mutex_);
};

struct BucketBacking::Contents {
  RemoteFiles files;
  std::unique_ptr<Blocks> blocks;
};

class BucketBacking::File final : public BackingFile {
 public:
  File(std::shared_ptr<const Contents> contents, std::string name, const RemoteFile& file, Path path)
      : contents_(std::move(contents)), name_(std::move(name)), file_(file), path_(std::move(path)) {
    for (const RemotePiece& piece : file_.pieces) {
      begins_.push_back(size_);
      size_ += piece.bytes;
    }
  }

  const Path& path() const override { return path_; }
  Result<std::size_t> read_up_to(std::uint64_t offset, MutableByteSpan out) const override {
    std::size_t filled = 0;
    while (filled < out.size() && offset + filled < size_) {
      DEDUPFS_ASSIGN(const std::size_t length, read_some(offset + filled, out.subspan(filled)));
      filled += length;
    }
    return filled;
  }
  Result<void> write(std::uint64_t /*offset*/, ByteSpan /*data*/) override { return read_only(path_); }
  Result<void> truncate(std::uint64_t /*size*/) override { return read_only(path_); }
  Result<std::uint64_t> size() const override { return size_; }
  Result<void> datasync() override { return {}; }
  // Nobody changes it.
  Result<bool> try_lock(LockMode mode) override { return mode == LockMode::kShared; }

 private:
  // What one block has; at least a byte.
  Result<std::size_t> read_some(std::uint64_t offset, MutableByteSpan out) const {
    const auto index = static_cast<std::size_t>(std::ranges::upper_bound(begins_, offset) - begins_.begin()) - 1;
    const RemotePiece& piece = file_.pieces[index];
    const std::uint64_t in_piece = offset - begins_[index];
    const std::uint32_t block_bytes = contents_->blocks->block_bytes();
    DEDUPFS_ASSIGN(const Blocks::Block block, contents_->blocks->get(piece_object(name_, begins_[index], piece), piece,
                                                                     in_piece / block_bytes, path_.string()));
    const auto in_block = static_cast<std::size_t>(in_piece % block_bytes);
    const std::size_t length = std::min(out.size(), block->size() - in_block);
    std::memcpy(out.data(), block->data() + in_block, length);
    return length;
  }

  const std::shared_ptr<const Contents> contents_;
  const std::string name_;  // the path in the volume
  const RemoteFile& file_;
  const Path path_;
  std::vector<std::uint64_t> begins_;  // of the pieces
  std::uint64_t size_ = 0;
};

class BucketBacking::Folder final : public BackingFolder {
 public:
  // `below`: the path in the volume with a slash at its end; empty: the volume's own folder.
  Folder(std::shared_ptr<const Contents> contents, std::string below, Path path)
      : BackingFolder(std::move(path)), contents_(std::move(contents)), below_(std::move(below)) {}

  Result<std::unique_ptr<BackingFile>> open(std::string_view name, Mode mode) override {
    DEDUPFS_ASSIGN(const std::string found, single(name));
    const auto file = contents_->files.find(below_ + found);
    if (file == contents_->files.end())
      return mode == Mode::kRead || mode == Mode::kReadWrite ? missing(found) : read_only(path() / found);
    if (mode != Mode::kRead) return read_only(path() / found);
    return std::make_unique<File>(contents_, file->first, file->second, path() / found);
  }
  Result<std::shared_ptr<BackingFolder>> open_folder(std::string_view name) override {
    DEDUPFS_ASSIGN(const Status found, status(name));
    if (found.type == Type::kMissing) return missing(name);
    if (found.type != Type::kDirectory)
      return Error{ErrorCode::kNotDirectory, (path() / name).string() + " is no folder"};
    return std::make_shared<Folder>(contents_, std::string(name) + '/', path() / name);
  }
  Result<void> make_folder(std::string_view name) override { return read_only(path() / name); }
  Result<void> remove_folder(std::string_view name) override { return read_only(path() / name); }
  Result<void> rename(std::string_view name, BackingFolder& /*to*/, std::string_view /*new_name*/) override {
    return read_only(path() / name);
  }
  Result<void> link(std::string_view name, BackingFolder& /*to*/, std::string_view /*new_name*/) override {
    return read_only(path() / name);
  }
  Result<void> unlink(std::string_view name) override { return read_only(path() / name); }
  Result<void> sync() override { return {}; }
  Result<std::vector<std::string>> list() override {
    std::set<std::string> names;
    if (below_.empty()) names.insert(kAlwaysThere.begin(), kAlwaysThere.end());
    for (auto file = contents_->files.lower_bound(below_);
         file != contents_->files.end() && file->first.starts_with(below_); ++file) {
      const std::string_view rest = std::string_view(file->first).substr(below_.size());
      names.emplace(rest.substr(0, rest.find('/')));
    }
    return std::vector<std::string>(names.begin(), names.end());
  }
  Result<Status> status() override {
    return Status{
        .type = Type::kDirectory, .owner = ::geteuid(), .group = ::getegid(), .permissions = kFolderPermissions};
  }
  Result<Status> status(std::string_view name) override {
    DEDUPFS_ASSIGN(const std::string found, single(name));
    if (const auto file = contents_->files.find(below_ + found); file != contents_->files.end())
      return Status{.type = Type::kFile,
                    .owner = ::geteuid(),
                    .group = ::getegid(),
                    .permissions = kFilePermissions,
                    .allocated_bytes = file->second.bytes()};
    const std::string folder = below_ + found + '/';
    const auto first = contents_->files.lower_bound(folder);
    const bool has_files = first != contents_->files.end() && first->first.starts_with(folder);
    const bool is_always_there = below_.empty() && std::ranges::find(kAlwaysThere, found) != kAlwaysThere.end();
    return has_files || is_always_there ? status() : Result<Status>(Status());
  }
  // There is no room, and none is needed.
  Result<Space> space() override { return Space(); }

 private:
  // Also without a file in it.
  static constexpr std::array<std::string_view, 2> kAlwaysThere = {"containers", "index"};

  Error missing(std::string_view name) const {
    return {ErrorCode::kNotFound, (path() / name).string() + " is not in the bucket"};
  }

  const std::shared_ptr<const Contents> contents_;
  const std::string below_;
};

BucketBacking::BucketBacking(std::shared_ptr<Bucket> bucket, Replica replica, Settings settings)
    : contents_(std::make_shared<Contents>(Contents{
          .files = std::move(replica.files), .blocks = std::make_unique<Blocks>(std::move(bucket), settings)})) {}

BucketBacking::~BucketBacking() = default;

Result<std::shared_ptr<BackingFolder>> BucketBacking::open_root(const Path& path) {
  return std::make_shared<Folder>(contents_, "", path);
}

}  // namespace dedupfs
