// Containers in memory, each put whole: a ContainerBackend for tests, which notes what is read and fails where a test wants it to.
//
// Threads: every function from any thread; `fault` is set before the first.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "store/containers/container_backend.h"

namespace dedupfs {

class MemoryContainers final : public ContainerBackend {
 public:
  struct Read {
    std::uint32_t number = 0;
    std::uint64_t offset = 0;
    std::uint64_t length = 0;  // that was asked for

    bool operator==(const Read&) const = default;
  };

  // Asked before each read.
  std::function<std::optional<Error>(const Read& read)> fault;

  void put(std::uint32_t number, std::string content) {
    const std::lock_guard lock(mutex_);
    contents_[number] = std::make_shared<const std::string>(std::move(content));
  }
  // Since the last call, in order; failed ones, too.
  std::vector<Read> take_reads() {
    const std::lock_guard lock(mutex_);
    return std::exchange(reads_, {});
  }

  Result<std::size_t> read_up_to(std::uint32_t number, std::uint64_t offset, MutableByteSpan out) override {
    const Read read{number, offset, out.size()};
    {
      const std::lock_guard lock(mutex_);
      reads_.push_back(read);
    }
    if (fault)
      if (const auto error = fault(read)) return *error;
    DEDUPFS_ASSIGN(const auto content, find(number));
    if (offset >= content->size()) return std::size_t{0};
    const ByteSpan there = bytes_of(*content).subspan(offset);
    const std::size_t length = std::min(out.size(), there.size());
    std::ranges::copy(there.first(length), out.begin());
    return length;
  }
  Result<std::uint64_t> size(std::uint32_t number) override {
    DEDUPFS_ASSIGN(const auto content, find(number));
    return content->size();
  }
  Result<std::vector<std::uint32_t>> list() override {
    const std::lock_guard lock(mutex_);
    std::vector<std::uint32_t> numbers;
    for (const auto& [number, content] : contents_) numbers.push_back(number);
    return numbers;
  }
  Result<void> remove(std::uint32_t number) override {
    const std::lock_guard lock(mutex_);
    if (contents_.erase(number) == 0) return missing(number);
    return {};
  }
  Result<std::int64_t> modified(std::uint32_t /*number*/) override { return std::int64_t{0}; }
  std::string name_of(std::uint32_t number) const override { return "memory/" + std::to_string(number); }

 private:
  Error missing(std::uint32_t number) const { return {ErrorCode::kNotFound, name_of(number) + " is missing"}; }
  Result<std::shared_ptr<const std::string>> find(std::uint32_t number) {
    const std::lock_guard lock(mutex_);
    const auto found = contents_.find(number);
    if (found == contents_.end()) return missing(number);
    return found->second;
  }

  std::mutex mutex_;
  std::map<std::uint32_t, std::shared_ptr<const std::string>> contents_;
  std::vector<Read> reads_;
};

}  // namespace dedupfs
