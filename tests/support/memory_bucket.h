// A bucket in memory, with the faults of a store and of the way to it. Its objects are apart from it, so several writers can have a bucket
// each, with its own faults, over the same objects, and what a crash leaves is a copy of them.
//
// Threads: from any thread. Hooks are called on the thread of the operation, without a lock, and may use the objects or another MemoryBucket
//          over them; set them before.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "remote/bucket.h"

namespace dedupfs {

class MemoryObjects {
 public:
  struct Stored {
    std::shared_ptr<const std::string> bytes;
    std::chrono::system_clock::time_point modified;
  };
  using Image = std::map<std::string, Stored>;  // a value: copies share the bytes

  explicit MemoryObjects(Image image = {}) : image_(std::move(image)) {}

  Image image() const;
  std::vector<std::string> names() const;
  // As the owner of the store can: behind the back of those who use the bucket.
  void set(const std::string& object, std::string bytes);
  void erase(const std::string& object);
  // The time that objects get. By default that of the machine.
  void set_clock(std::function<std::chrono::system_clock::time_point()> clock);
  // Whether an object takes the place of one that is there, as stores do that know no If-None-Match.
  void ignore_conditions() { ignores_conditions_ = true; }

 private:
  friend class MemoryBucket;
  Bucket::Put put(const std::string& object, const std::shared_ptr<const std::string>& bytes);

  mutable std::mutex mutex_;
  Image image_;
  std::function<std::chrono::system_clock::time_point()> clock_ = std::chrono::system_clock::now;
  std::atomic<bool> ignores_conditions_{false};
};

class MemoryBucket final : public Bucket {
 public:
  enum class Operation { kPut, kRead, kList, kRemove };
  enum class Fault {
    kNone,
    kFails,       // nothing is done
    kAnswerLost,  // it is done, and the caller gets kIo
    kDoneTwice,   // as if the client had tried again, because an answer was lost: put_new() finds its own object
    kRefused,     // nothing is done, for ever: the store keeps what it has until a date, or the keys may not do it
    kDoneLater,   // the caller gets kIo, and land() does it. Only kPut and kRemove; others fail
  };
  enum class When { kBefore, kAfter };
  struct Call {
    std::uint64_t number;  // of this bucket, from 1
    Operation operation;
    std::string object;  // of kList: the prefix
  };

  explicit MemoryBucket(std::shared_ptr<MemoryObjects> objects = std::make_shared<MemoryObjects>(),
                        std::string name = "memory://bucket")
      : objects_(std::move(objects)), name_(std::move(name)) {}

  MemoryObjects& objects() { return *objects_; }
  std::uint64_t calls() const { return calls_; }
  void set_fault(std::function<Fault(const Call&)> fault) { fault_ = std::move(fault); }
  // Around each operation, also one that fails; kAfter is behind its effect and before its answer.
  void set_hook(std::function<void(const Call&, When)> hook) { hook_ = std::move(hook); }
  // Does what kDoneLater left, in order. How many that was.
  std::size_t land();

  const std::string& name() const override { return name_; }
  void count_in(std::shared_ptr<BucketRequestMeter> meter) override { meter_ = std::move(meter); }
  Result<Put> put_new(const std::string& object, const ObjectSource& source) override;
  Result<std::size_t> read(const std::string& object, std::uint64_t offset, MutableByteSpan out) override;
  Result<void> list(const std::string& prefix, const std::string& after,
                    const std::function<Result<void>(const Object&)>& visit) override;
  Result<void> remove(const std::string& object) override;

 private:
  template <class Deed>
  auto perform(Operation operation, const std::string& object, const Deed& deed) -> decltype(deed());

  const std::shared_ptr<MemoryObjects> objects_;
  const std::string name_;
  std::function<Fault(const Call&)> fault_;
  std::function<void(const Call&, When)> hook_;
  std::atomic<std::uint64_t> calls_{0};
  std::shared_ptr<BucketRequestMeter> meter_ = std::make_shared<BucketRequestMeter>();
  std::mutex mutex_;
  std::vector<std::function<void()>> later_;
};

std::string_view name_of(MemoryBucket::Operation operation);  // PUT, READ, LIST, REMOVE

// Hands on a bucket that outlives it, for those who want to own theirs.
class SameBucket final : public Bucket {
 public:
  explicit SameBucket(Bucket& bucket) : bucket_(bucket) {}
  const std::string& name() const override { return bucket_.name(); }
  void count_in(std::shared_ptr<BucketRequestMeter> meter) override { bucket_.count_in(std::move(meter)); }
  Result<Put> put_new(const std::string& object, const ObjectSource& source) override {
    return bucket_.put_new(object, source);
  }
  Result<std::size_t> read(const std::string& object, std::uint64_t offset, MutableByteSpan out) override {
    return bucket_.read(object, offset, out);
  }
  Result<void> list(const std::string& prefix, const std::string& after,
                    const std::function<Result<void>(const Object&)>& visit) override {
    return bucket_.list(prefix, after, visit);
  }
  Result<void> remove(const std::string& object) override { return bucket_.remove(object); }

 private:
  Bucket& bucket_;
};

// For those who want to share a bucket that a test keeps longer than they do.
inline std::shared_ptr<Bucket> shared_bucket(Bucket& bucket) {
  return {std::shared_ptr<void>(), &bucket};
}

}  // namespace dedupfs
