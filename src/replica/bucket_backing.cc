#include "replica/bucket_backing.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <mutex>
#include <set>
#include <utility>

#include "store/format/format.h"

namespace dedupfs {
namespace {

constexpr std::uint32_t kFolderPermissions = 0700;
constexpr std::uint32_t kFilePermissions = 0600;

Error read_only(const Path& path) {
  return {ErrorCode::kReadOnly, path.string() + " lies in a bucket, and can only be read"};
}

}  // namespace

struct BucketBacking::Contents {
  RemoteFiles files;
  std::shared_ptr<ObjectBlocks> blocks;
  std::once_flag index_begun;

  // Whoever opens a file of the index opens all, one after the other, and reads the begin and the end of each. Most of them are short.
  void read_index_ahead() {
    std::call_once(index_begun, [this] {
      const std::string prefix = std::string(kIndexDirectory) + '/';
      std::uint64_t room = blocks->cache_bytes() / 4;
      for (auto file = files.lower_bound(prefix); file != files.end() && file->first.starts_with(prefix); ++file)
        room = blocks->read_soon(FileInBucket(file->first, file->second, file->first), room);
    });
  }
};

class BucketBacking::File final : public BackingFile {
 public:
  File(std::shared_ptr<Contents> contents, FileInBucket file)
      : contents_(std::move(contents)), file_(std::move(file)), path_(file_.shown_as()) {}

  const Path& path() const override { return path_; }
  Result<std::size_t> read_up_to(std::uint64_t offset, MutableByteSpan out) const override {
    return file_.read_up_to(*contents_->blocks, offset, out);
  }
  Result<void> write(std::uint64_t /*offset*/, ByteSpan /*data*/) override { return read_only(path_); }
  Result<void> truncate(std::uint64_t /*size*/) override { return read_only(path_); }
  bool is_near(std::uint64_t /*offset*/, std::uint64_t /*length*/) const override { return false; }
  Result<std::uint64_t> size() const override { return file_.size(); }
  Result<void> datasync() override { return {}; }
  // Nobody changes it.
  Result<bool> try_lock(LockMode mode) override { return mode == LockMode::kShared; }

 private:
  const std::shared_ptr<Contents> contents_;
  const FileInBucket file_;
  const Path path_;
};

class BucketBacking::Folder final : public BackingFolder {
 public:
  // `below`: the path in the volume with a slash at its end; empty: the volume's own folder.
  Folder(std::shared_ptr<Contents> contents, std::string below, Path path)
      : BackingFolder(std::move(path)), contents_(std::move(contents)), below_(std::move(below)) {}

  Result<std::unique_ptr<BackingFile>> open(std::string_view name, Mode mode) override {
    DEDUPFS_ASSIGN(const std::string found, single(name));
    const auto file = contents_->files.find(below_ + found);
    if (file == contents_->files.end())
      return mode == Mode::kRead || mode == Mode::kReadWrite ? missing(found) : read_only(path() / found);
    if (mode != Mode::kRead) return read_only(path() / found);
    if (below_.starts_with(kIndexDirectory)) contents_->read_index_ahead();
    return std::make_unique<File>(contents_, FileInBucket(file->first, file->second, (path() / found).string()));
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

  const std::shared_ptr<Contents> contents_;
  const std::string below_;
};

BucketBacking::BucketBacking(std::shared_ptr<Bucket> bucket, Replica replica, Settings settings)
    : BucketBacking(std::make_shared<ObjectBlocks>(std::move(bucket), settings), std::move(replica)) {}

BucketBacking::BucketBacking(std::shared_ptr<ObjectBlocks> blocks, Replica replica)
    : contents_(std::make_shared<Contents>()) {
  contents_->files = std::move(replica.files);
  contents_->blocks = std::move(blocks);
}

BucketBacking::~BucketBacking() = default;

Result<std::shared_ptr<BackingFolder>> BucketBacking::open_root(const Path& path) {
  return std::make_shared<Folder>(contents_, "", path);
}

}  // namespace dedupfs
