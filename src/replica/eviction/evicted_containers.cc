#include "replica/eviction/evicted_containers.h"

#include <spdlog/spdlog.h>
#include <sys/stat.h>

#include <algorithm>

#include "store/format/format.h"

namespace dedupfs {
namespace {

constexpr std::string_view kTemporaryEnding = ".new";  // of what a crash may leave
constexpr std::string_view kProbe = "probe.new";

// Nobody else can write there: others who judge the volume do not see the folder.
Result<void> require_same_owner(BackingFolder& volume, BackingFolder& evicted) {
  DEDUPFS_ASSIGN(const Backing::Status whole, volume.status());
  DEDUPFS_ASSIGN(const Backing::Status part, evicted.status());
  if (part.owner == whole.owner && (part.permissions & (S_IWGRP | S_IWOTH)) == 0) return {};
  return Error{ErrorCode::kNotPermitted,
               evicted.path().string() + " belongs to another user than the volume, or others may write to it"};
}

}  // namespace

void FetchFailure::note(const Error& error) {
  const MutexLock lock(mutex_);
  if (!first_) first_ = error;
}

Result<void> FetchFailure::check() const {
  const MutexLock lock(mutex_);
  return first_ ? Result<void>(*first_) : Result<void>();
}

Result<void> EvictedContainers::look(std::shared_ptr<BackingFolder> containers) {
  const WriterLock lock(places_);
  if (containers_) return {};
  DEDUPFS_TRY(find_evicted());
  containers_ = std::move(containers);
  return {};
}

Result<void> EvictedContainers::lock_is_held() {
  {
    const MutexLock lock(bucket_mutex_);
    bucket_blocks_.reset();
  }
  const WriterLock lock(places_);
  return containers_ ? find_evicted() : Result<void>();
}

Result<void> EvictedContainers::find_evicted() {
  evicted_.clear();
  folder_.reset();
  auto folder = volume_->open_folder(kEvictedDirectory);
  if (!folder && folder.error().code() == ErrorCode::kNotFound) return {};
  if (!folder) return folder.error();
  DEDUPFS_TRY(require_same_owner(*volume_, **folder));
  DEDUPFS_ASSIGN(const auto names, (*folder)->list());
  for (const std::string& name : names)
    if (!name.ends_with(kEvictedRecordEnding) && !name.ends_with(kTemporaryEnding)) evicted_[name];
  folder_ = std::move(*folder);
  return {};
}

// ---------------------------------------------------------------- the folder of containers

Result<std::vector<std::string>> EvictedContainers::list() const {
  const ReaderLock lock(places_);
  DEDUPFS_ASSIGN(std::vector<std::string> names, containers_->list());
  for (const auto& [name, record] : evicted_) names.push_back(name);
  std::ranges::sort(names);
  names.erase(std::unique(names.begin(), names.end()), names.end());
  return names;
}

Result<std::unique_ptr<BackingFile>> EvictedContainers::open(std::string_view name, Backing::Mode mode) {
  const ReaderLock lock(places_);
  const bool is_evicted = evicted_.contains(name);
  if (is_evicted && mode == Backing::Mode::kCreate)
    return Error{ErrorCode::kExists, (containers_->path() / name).string() + " exists"};
  // So that what is read of it can be cached, also when it is evicted later.
  if (mode == Backing::Mode::kRead && is_caching_) mode = Backing::Mode::kReadWrite;
  return (is_evicted ? folder_ : containers_)->open(name, mode);
}

Result<BackingFolder::Status> EvictedContainers::status(std::string_view name) const {
  const ReaderLock lock(places_);
  if (!evicted_.contains(name)) return containers_->status(name);
  DEDUPFS_ASSIGN(BackingFolder::Status found, folder_->status(name));
  DEDUPFS_ASSIGN(const auto file, folder_->open(name, Backing::Mode::kRead));
  DEDUPFS_ASSIGN(found.allocated_bytes, file->size());
  // Blocks that are cached change the file, the record stays.
  DEDUPFS_ASSIGN(const BackingFolder::Status record, folder_->status(evicted_record_name(name)));
  found.modified = record.modified;
  return found;
}

// Of an evicted one the record goes last: a file without one could not be read.
Result<void> EvictedContainers::unlink(std::string_view name) {
  {
    const ReaderLock lock(places_);
    if (!evicted_.contains(name)) return containers_->unlink(name);
  }
  DEDUPFS_ASSIGN(const auto folder, this->folder());
  {
    const WriterLock lock(places_);
    const auto found = evicted_.find(name);
    if (found == evicted_.end()) return containers_->unlink(name);  // it was recalled just now
    DEDUPFS_TRY(folder->unlink(name));
    evicted_.erase(found);
    forget_blocks(name);
  }
  return folder->unlink(evicted_record_name(name));
}

// ---------------------------------------------------------------- reading

std::vector<std::string> EvictedContainers::names() const {
  const ReaderLock lock(places_);
  std::vector<std::string> names;
  for (const auto& [name, record] : evicted_) names.push_back(name);
  return names;
}

bool EvictedContainers::contains(std::string_view name) const {
  const ReaderLock lock(places_);
  return evicted_.contains(name);
}

Result<std::shared_ptr<BackingFolder>> EvictedContainers::folder() const {
  const ReaderLock lock(places_);
  if (folder_) return folder_;
  return Error{ErrorCode::kNotFound, volume_->path().string() + " has no evicted containers"};
}

Result<EvictedContainers::EvictedPtr> EvictedContainers::load(const std::string& name) {
  DEDUPFS_ASSIGN(const auto folder, this->folder());
  {
    const ReaderLock lock(places_);
    if (const auto found = evicted_.find(name); found != evicted_.end())
      if (auto loaded = found->second.lock()) return loaded;
  }
  const std::string in_folder = evicted_record_name(name);
  DEDUPFS_ASSIGN(const std::string bytes, read_file(*folder, in_folder, kMaxEvictedRecordBytes));
  auto record = decode_evicted_record(bytes_of(bytes));
  if (!record) return record.error().with((folder->path() / in_folder).string());
  const EvictedPtr loaded = std::make_shared<const Evicted>(
      Evicted{.file = FileInBucket(container_path(name), std::move(record->file), (folder->path() / name).string()),
              .kept = std::move(record->kept)});
  const WriterLock lock(places_);
  if (const auto found = evicted_.find(name); found != evicted_.end()) found->second = loaded;
  return loaded;
}

Result<BackingFolder::Status> EvictedContainers::file_status(std::string_view name) const {
  DEDUPFS_ASSIGN(const auto folder, this->folder());
  return folder->status(name);
}

std::shared_ptr<BackingFolder> EvictedContainers::containers_folder() const {
  const ReaderLock lock(places_);
  return containers_;
}

Result<void> EvictedContainers::recall(const std::string& name) {
  {
    const WriterLock lock(places_);
    if (!evicted_.contains(name)) return {};
    if (!in_motion_.insert(name).second) return Error{ErrorCode::kBusy, name + " is being fetched from the bucket"};
    forget_blocks(name);  // so nobody makes a hole where they were
  }
  auto recalled = recall_now(name);
  const WriterLock lock(places_);
  in_motion_.erase(name);
  return recalled;
}

Result<void> EvictedContainers::recall_now(const std::string& name) {
  DEDUPFS_ASSIGN(const auto folder, this->folder());
  DEDUPFS_ASSIGN(const EvictedPtr evicted, load(name));
  DEDUPFS_ASSIGN(const auto file, folder->open(name, Backing::Mode::kReadWrite));
  ByteBuffer bytes(kBlockBytes);
  for (const FileRange& range : ranges_between(evicted->kept, 0, evicted->file.size()))
    for (std::uint64_t offset = range.offset; offset < range.end(); offset += kBlockBytes) {
      const MutableByteSpan part = MutableByteSpan(bytes).first(std::min(kBlockBytes, range.end() - offset));
      DEDUPFS_TRY(fetch(*evicted, offset, part));
      DEDUPFS_TRY(file->write(offset, part));
    }
  DEDUPFS_TRY(file->datasync());
  const auto containers = containers_folder();
  {
    const WriterLock lock(places_);
    DEDUPFS_TRY(folder->rename(name, *containers, name));
    if (const auto found = evicted_.find(name); found != evicted_.end()) evicted_.erase(found);
  }
  DEDUPFS_TRY(containers->sync());
  DEDUPFS_TRY(folder->sync());
  return folder->unlink(evicted_record_name(name));
}

// ---------------------------------------------------------------- for the holder of the volume's lock

Result<std::shared_ptr<BackingFolder>> EvictedContainers::folder_to_write() {
  const WriterLock lock(places_);
  if (folder_) return folder_;
  DEDUPFS_ASSIGN(folder_, volume_->make_and_open_folder(kEvictedDirectory));
  DEDUPFS_TRY(volume_->sync());
  return folder_;
}

Result<void> EvictedContainers::probe_disk(BackingFolder& folder) {
  {
    DEDUPFS_ASSIGN(const auto file, folder.open(kProbe, Backing::Mode::kCreate));
    DEDUPFS_TRY(file->write(0, ByteBuffer(kBlockBytes)));
    DEDUPFS_TRY(file->discard(0, kBlockBytes));
  }
  return folder.unlink(kProbe);
}

Result<void> EvictedContainers::begin_caching(std::uint64_t max_bytes) {
  DEDUPFS_ASSIGN(const auto folder, folder_to_write());
  DEDUPFS_ASSIGN(const auto in_folder, folder->list());
  for (const std::string& name : in_folder) {  // what a crash left between the steps of remove() or evict()
    const bool has_no_file =
        name.ends_with(kEvictedRecordEnding) && !contains(name.substr(0, name.size() - kEvictedRecordEnding.size()));
    if (has_no_file || name.ends_with(kTemporaryEnding)) DEDUPFS_TRY(folder->unlink(name));
  }
  DEDUPFS_TRY(probe_disk(*folder));
  for (const std::string& name : names()) {
    const auto evicted = load(name);
    if (!evicted) {
      spdlog::error("{} cannot be read: {}", name, evicted.error().message());
      continue;
    }
    DEDUPFS_ASSIGN(const Backing::Status status, folder->status(name));
    if (status.allocated_bytes <= total_length((*evicted)->kept) + kBlockBytes / 4) continue;
    DEDUPFS_ASSIGN(const auto file, folder->open(name, Backing::Mode::kReadWrite));
    for (const FileRange& range : ranges_between((*evicted)->kept, 0, (*evicted)->file.size()))
      DEDUPFS_TRY(file->discard(range.offset, range.length));
  }
  max_cached_bytes_ = max_bytes;
  is_caching_ = true;
  return {};
}

Result<std::vector<FileRange>> EvictedContainers::ranges_read(const std::string& name,
                                                              const std::function<Result<void>()>& read) {
  {
    const MutexLock uses(uses_);
    watched_ = name;
    read_.clear();
  }
  const auto done = read();
  const MutexLock uses(uses_);
  watched_.clear();
  if (!done) return done.error();
  return std::exchange(read_, {});
}

Result<std::unique_ptr<Bucket>> EvictedContainers::open_bucket(const GoOn& go_on) {
  DEDUPFS_ASSIGN(const RemoteRecord record, load_remote_record(*volume_));
  DEDUPFS_ASSIGN(auto bucket, open_bucket_(record.where, go_on));
  bucket->count_in(requests_);
  return bucket;
}

Result<void> EvictedContainers::evict(const std::string& name, const EvictedRecord& record, Bucket& bucket) {
  DEDUPFS_TRY(FileInBucket(container_path(name), record.file, name).check_there(bucket));
  {
    const WriterLock lock(places_);
    if (!in_motion_.insert(name).second) return Error{ErrorCode::kBusy, name + " is being moved"};
  }
  auto evicted = evict_now(name, record);
  const WriterLock lock(places_);
  in_motion_.erase(name);
  return evicted;
}

Result<void> EvictedContainers::evict_now(const std::string& name, const EvictedRecord& record) {
  DEDUPFS_ASSIGN(const auto folder, folder_to_write());
  const auto containers = containers_folder();
  DEDUPFS_TRY(replace_file(*folder, evicted_record_name(name), bytes_of(encode_evicted_record(record))));
  {
    const WriterLock lock(places_);
    DEDUPFS_TRY(containers->rename(name, *folder, name));
    evicted_[name];
    const MutexLock uses(uses_);
    last_uses_.erase(name);
  }
  DEDUPFS_TRY(folder->sync());
  DEDUPFS_TRY(containers->sync());
  DEDUPFS_ASSIGN(const auto file, folder->open(name, Backing::Mode::kReadWrite));
  for (const FileRange& range : ranges_between(record.kept, 0, record.file.bytes()))
    DEDUPFS_TRY(file->discard(range.offset, range.length));
  return {};
}

std::uint64_t EvictedContainers::last_use(const std::string& name) const {
  const MutexLock uses(uses_);
  const auto found = last_uses_.find(name);
  return found != last_uses_.end() ? found->second : 0;
}

EvictedContainers::Status EvictedContainers::status() const {
  const ReaderLock lock(places_);
  const MutexLock uses(uses_);
  return {.containers = evicted_.size(),
          .cached_bytes = blocks_.size() * kBlockBytes,
          .fetched_bytes = fetched_bytes_,
          .fetches = fetches_,
          .requests = requests_->counts()};
}

}  // namespace dedupfs
