#include "store/containers/container_folder.h"

#include <algorithm>

#include "store/format/container_format.h"

namespace dedupfs {
namespace {

constexpr std::size_t kMaxOpenFiles = 64;

}  // namespace

Result<std::shared_ptr<BackingFile>> ContainerFolder::create(std::uint32_t number) {
  DEDUPFS_ASSIGN(std::shared_ptr<BackingFile> file, folder_->open(container_name(number), Backing::Mode::kCreate));
  keep_open(number, file);
  return file;
}

Result<std::size_t> ContainerFolder::read_up_to(std::uint32_t number, std::uint64_t offset, MutableByteSpan out) {
  DEDUPFS_ASSIGN(const auto file, open(number));
  return file->read_up_to(offset, out);
}

Result<std::uint64_t> ContainerFolder::size(std::uint32_t number) {
  DEDUPFS_ASSIGN(const auto file, open(number));
  return file->size();
}

Result<std::vector<std::uint32_t>> ContainerFolder::list() {
  DEDUPFS_ASSIGN(const std::vector<std::string> names, folder_->list());
  std::vector<std::uint32_t> numbers;
  for (const std::string& name : names)
    if (const auto number = parse_container_name(name)) numbers.push_back(*number);
  std::ranges::sort(numbers);
  return numbers;
}

Result<void> ContainerFolder::remove(std::uint32_t number) {
  DEDUPFS_TRY(folder_->unlink(container_name(number)));
  close(number);
  return {};
}

void ContainerFolder::drop_cached(std::uint32_t number, std::uint64_t offset, std::uint64_t length) {
  if (const auto file = open(number)) (*file)->drop_cached(offset, length);
}

bool ContainerFolder::is_near(std::uint32_t number, std::uint64_t offset, std::uint64_t length) {
  const auto file = open(number);
  return !file || (*file)->is_near(offset, length);  // that there is none is soon found out
}

Result<std::int64_t> ContainerFolder::modified(std::uint32_t number) {
  DEDUPFS_ASSIGN(const BackingFolder::Status status, folder_->status(container_name(number)));
  return status.modified;
}

std::string ContainerFolder::name_of(std::uint32_t number) const {
  return (folder_->path() / container_name(number)).string();
}

Result<std::shared_ptr<const BackingFile>> ContainerFolder::open(std::uint32_t number) {
  {
    const MutexLock lock(mutex_);
    if (const auto found = by_number_.find(number); found != by_number_.end()) {
      open_files_.splice(open_files_.begin(), open_files_, found->second);
      return found->second->second;
    }
  }
  DEDUPFS_ASSIGN(std::shared_ptr<const BackingFile> file, folder_->open(container_name(number), Backing::Mode::kRead));
  keep_open(number, file);
  return file;
}

void ContainerFolder::keep_open(std::uint32_t number, std::shared_ptr<const BackingFile> file) {
  OpenFile evicted;  // closed after the lock is released
  const MutexLock lock(mutex_);
  if (by_number_.contains(number)) return;  // somebody else was faster
  open_files_.emplace_front(number, std::move(file));
  by_number_[number] = open_files_.begin();
  if (open_files_.size() <= kMaxOpenFiles) return;
  evicted = std::move(open_files_.back());
  by_number_.erase(evicted.first);
  open_files_.pop_back();
}

void ContainerFolder::close(std::uint32_t number) {
  OpenFile closed;  // after the lock is released
  const MutexLock lock(mutex_);
  const auto found = by_number_.find(number);
  if (found == by_number_.end()) return;
  closed = std::move(*found->second);
  open_files_.erase(found->second);
  by_number_.erase(found);
}

}  // namespace dedupfs
