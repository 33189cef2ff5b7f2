#include "fs/checkpointer.h"

#include <spdlog/spdlog.h>

#include <algorithm>

#include "base/check.h"

namespace dedupfs {
namespace {

constexpr std::uint64_t kLeastBytes = 1 << 20;  // of free space, and twice the last checkpoint
constexpr int kShareOfTime = 50;
constexpr std::chrono::seconds kPatienceAtTheEnd{2};

UuidBytes uuid_of(const Volume& volume) {
  const auto uuid = parse_uuid(volume.superblock().uuid);
  DEDUPFS_CHECK(uuid);  // the containers were opened with it
  return *uuid;
}

}  // namespace

Checkpointer::Checkpointer(Volume& volume, std::chrono::milliseconds interval, HasRoom has_room)
    : interval_(interval),
      has_room_(std::move(has_room)),
      volume_(volume),
      checkpoints_(volume.folder(), uuid_of(volume)) {
  if (interval_.count() != 0) thread_ = std::thread([this] { run(); });
}

Checkpointer::~Checkpointer() {
  stop();
}

void Checkpointer::stop() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wakeup_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void Checkpointer::run() {
  std::unique_lock lock(mutex_);
  for (Clock::duration pause = interval_;;) {
    if (wakeup_.wait_for(lock, pause, [this] { return stopping_.load(); })) return;
    lock.unlock();
    const auto begin = Clock::now();
    if (changed_) take(Clock::time_point::max());
    pause = std::max<Clock::duration>(interval_, (Clock::now() - begin) * kShareOfTime);
    lock.lock();
  }
}

void Checkpointer::take(Clock::time_point deadline) {
  const std::lock_guard one_at_a_time(taking_);
  const auto older = checkpoints_.list();
  if (!older || !has_room_(kLeastBytes + (older->empty() ? 0 : 2 * older->front().bytes))) return;
  changed_ = false;
  const bool finishing = deadline != Clock::time_point::max();
  const auto written =
      checkpoints_.write(volume_.database(), [&] { return finishing ? Clock::now() >= deadline : stopping_.load(); });
  if (written) return;
  changed_ = true;
  if (written.error().code() == ErrorCode::kInterrupted) return;
  spdlog::warn("no checkpoint could be taken: {}", written.error().message());
}

void Checkpointer::take_now() {
  if (interval_.count() != 0 && changed_) take(Clock::time_point::max());
}

void Checkpointer::finish() {
  stop();
  if (interval_.count() != 0 && changed_) take(Clock::now() + kPatienceAtTheEnd);
}

}  // namespace dedupfs
