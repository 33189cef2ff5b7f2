#include "support/memory_bucket.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <optional>

namespace dedupfs {

MemoryObjects::Image MemoryObjects::image() const {
  const std::lock_guard lock(mutex_);
  return image_;
}

std::vector<std::string> MemoryObjects::names() const {
  const std::lock_guard lock(mutex_);
  std::vector<std::string> names;
  for (const auto& [name, stored] : image_) names.push_back(name);
  return names;
}

void MemoryObjects::set(const std::string& object, std::string bytes) {
  const std::lock_guard lock(mutex_);
  image_[object] = {std::make_shared<const std::string>(std::move(bytes)), clock_()};
}

void MemoryObjects::erase(const std::string& object) {
  const std::lock_guard lock(mutex_);
  image_.erase(object);
}

void MemoryObjects::set_clock(std::function<std::chrono::system_clock::time_point()> clock) {
  const std::lock_guard lock(mutex_);
  clock_ = std::move(clock);
}

Bucket::Put MemoryObjects::put(const std::string& object, const std::shared_ptr<const std::string>& bytes) {
  const std::lock_guard lock(mutex_);
  const auto there = image_.find(object);
  if (there != image_.end() && !ignores_conditions_)
    return *there->second.bytes == *bytes ? Bucket::Put::kSame : Bucket::Put::kOther;
  image_[object] = {bytes, clock_()};
  return Bucket::Put::kMade;
}

std::string_view name_of(MemoryBucket::Operation operation) {
  switch (operation) {
    case MemoryBucket::Operation::kPut: return "PUT";
    case MemoryBucket::Operation::kRead: return "READ";
    case MemoryBucket::Operation::kList: return "LIST";
    case MemoryBucket::Operation::kRemove: return "REMOVE";
  }
  return "";
}

static BucketRequest kind_of(MemoryBucket::Operation operation) {
  switch (operation) {
    case MemoryBucket::Operation::kPut: return BucketRequest::kPut;
    case MemoryBucket::Operation::kRead: return BucketRequest::kGet;
    case MemoryBucket::Operation::kList: return BucketRequest::kList;
    case MemoryBucket::Operation::kRemove: return BucketRequest::kDelete;
  }
  return BucketRequest::kGet;
}

// The deed of a change holds all that it needs, since it may be done when the caller is gone.
template <class Deed>
auto MemoryBucket::perform(Operation operation, const std::string& object, const Deed& deed) -> decltype(deed()) {
  if (operation != Operation::kList) DEDUPFS_TRY(check_object_name(object));
  const Call call{.number = ++calls_, .operation = operation, .object = object};
  meter_->note(kind_of(operation));
  if (hook_) hook_(call, When::kBefore);
  const Fault fault = fault_ ? fault_(call) : Fault::kNone;
  const bool is_change = operation == Operation::kPut || operation == Operation::kRemove;
  std::optional<decltype(deed())> answer;
  if (fault == Fault::kDoneLater && is_change) {
    const std::lock_guard lock(mutex_);
    later_.emplace_back([deed] { (void)deed(); });
  }
  if (fault == Fault::kDoneTwice && is_change) (void)deed();
  if (fault == Fault::kNone || fault == Fault::kDoneTwice || fault == Fault::kAnswerLost) answer.emplace(deed());
  if (hook_) hook_(call, When::kAfter);
  if (answer && fault != Fault::kAnswerLost) return std::move(*answer);
  if (fault == Fault::kRefused)
    return Error{ErrorCode::kAccessDenied, fmt::format("{}/{}: refused by object lock", name_, object)};
  return Error{ErrorCode::kIo, fmt::format("{}/{}: the store does not do it: told to fail at operation {}, {}", name_,
                                           object, call.number, name_of(operation))};
}

std::size_t MemoryBucket::land() {
  std::vector<std::function<void()>> due;
  {
    const std::lock_guard lock(mutex_);
    due.swap(later_);
  }
  for (const auto& deed : due) deed();
  return due.size();
}

Result<Bucket::Put> MemoryBucket::put_new(const std::string& object, const ObjectSource& source) {
  // Read at once: what lands later are the bytes of now.
  auto bytes = std::make_shared<std::string>(source.size, '\0');
  DEDUPFS_TRY(source.read(0, {reinterpret_cast<std::uint8_t*>(bytes->data()), bytes->size()}));
  if (sha256_of(bytes_of(*bytes)) != source.sha256)
    return corruption(name_ + '/' + object + ": its bytes differ from their checksum");
  return perform(Operation::kPut, object,
                 [objects = objects_, object, bytes]() -> Result<Put> { return objects->put(object, bytes); });
}

Result<std::size_t> MemoryBucket::read(const std::string& object, std::uint64_t offset, MutableByteSpan out) {
  return perform(Operation::kRead, object, [&]() -> Result<std::size_t> {
    std::shared_ptr<const std::string> bytes;
    {
      const std::lock_guard lock(objects_->mutex_);
      const auto there = objects_->image_.find(object);
      if (there == objects_->image_.end())
        return Error{ErrorCode::kNotFound, name_ + '/' + object + ": no such object"};
      bytes = there->second.bytes;
    }
    if (offset >= bytes->size()) return 0;
    const std::size_t length = std::min<std::size_t>(out.size(), bytes->size() - offset);
    if (length != 0) std::memcpy(out.data(), bytes->data() + offset, length);
    return length;
  });
}

Result<void> MemoryBucket::list(const std::string& prefix, const std::string& after,
                                const std::function<Result<void>(const Object&)>& visit) {
  return perform(Operation::kList, prefix, [&]() -> Result<void> {
    for (std::string last = after;;) {
      Object object;
      {
        // As a store does, which gives a page at a time: what comes or goes meanwhile may be seen or not.
        const std::lock_guard lock(objects_->mutex_);
        auto next = objects_->image_.lower_bound(std::max(prefix, last));
        if (next != objects_->image_.end() && next->first == last) ++next;
        if (next == objects_->image_.end() || !next->first.starts_with(prefix)) return {};
        object = {.name = next->first, .size = next->second.bytes->size(), .modified = next->second.modified};
      }
      last = object.name;
      DEDUPFS_TRY(visit(object));
    }
  });
}

Result<void> MemoryBucket::remove(const std::string& object) {
  return perform(Operation::kRemove, object, [objects = objects_, object]() -> Result<void> {
    objects->erase(object);
    return {};
  });
}

}  // namespace dedupfs
