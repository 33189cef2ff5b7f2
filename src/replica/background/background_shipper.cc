#include "replica/background/background_shipper.h"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <utility>

#include "base/guarded.h"
#include "base/low_priority.h"
#include "base/size.h"
#include "replica/eviction/evicting_disk.h"
#include "store/format/container_format.h"
#include "store/format/format.h"
#include "store/seal/sealed_folder.h"

namespace dedupfs {
namespace {

// Containers that may be open, or not synced, when a volume is captured: behind them all are sealed.
constexpr std::uint32_t kMostOpen = 32;

}  // namespace

Result<std::unique_ptr<BackgroundShipper>> BackgroundShipper::start(Volume& volume, Commit commit, Settings settings) {
  auto on_disk = folder_on_disk(volume.folder());
  auto record = load_remote_record(*on_disk, volume.superblock().uuid);
  if (!record && record.error().code() == ErrorCode::kNotFound) return std::unique_ptr<BackgroundShipper>();
  if (!record) return record.error();
  if (record->position.epoch == 0 || volume.read_only()) return std::unique_ptr<BackgroundShipper>();
  std::unique_ptr<ContainerEvictor> evictor;
  if (settings.cache_bytes != 0) {
    DEDUPFS_ASSIGN(evictor, ContainerEvictor::start(volume, settings.cache_bytes));
  }
  return std::unique_ptr<BackgroundShipper>(new BackgroundShipper(
      volume, std::move(commit), std::move(settings), std::move(*record), std::move(on_disk), std::move(evictor)));
}

BackgroundShipper::BackgroundShipper(Volume& volume, Commit commit, Settings settings, RemoteRecord record,
                                     std::shared_ptr<BackingFolder> on_disk, std::unique_ptr<ContainerEvictor> evictor)
    : volume_(volume),
      commit_(std::move(commit)),
      settings_(std::move(settings)),
      on_disk_(std::move(on_disk)),
      evicted_(evicted_containers_of(*on_disk_)),
      record_(std::move(record)),
      evictor_(std::move(evictor)),
      next_collection_(std::chrono::steady_clock::now()) {
  {
    shipping_.assert_held();  // nobody else knows the object
    const MutexLock lock(mutex_);
    status_.where = record_.where;
    status_.epoch = record_.position.epoch;
    if (record_.position.head) status_.sequence = record_.position.head->sequence;
  }
  thread_ = std::thread([this] {
    lower_priority_of_this_thread();
    run();
  });
}

BackgroundShipper::~BackgroundShipper() {
  stop();
}

void BackgroundShipper::stop() {
  {
    const MutexLock lock(mutex_);
    stopping_ = true;
  }
  wakeup_.notify_all();
  try_ended_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void BackgroundShipper::run() {
  const MutexLock lock(mutex_);
  for (;;) {
    const auto is_wanted = [this] {
      mutex_.assert_held();
      return stopping_ || is_asked_;
    };
    if (settings_.lag.count() == 0)
      wakeup_.wait(mutex_, is_wanted);
    else
      (void)wakeup_.wait_for(mutex_, settings_.lag, is_wanted);
    if (stopping_) return;
    if (status_.is_fenced && !is_asked_) continue;
    is_asked_ = false;
    const MutexUnlock unlocked(mutex_);
    survive("shipping to the bucket", [this] {
      (void)ship([this]() -> Result<void> {
        if (stopping_) return Error{ErrorCode::kInterrupted, "the volume is being unmounted"};
        return {};
      });
    });
  }
}

std::uint64_t BackgroundShipper::ship_soon(std::optional<std::chrono::hours> grace) {
  std::uint64_t done = 0;
  {
    const MutexLock lock(mutex_);
    is_asked_ = true;
    if (grace) asked_grace_ = grace;
    done = status_.tries + (status_.is_shipping ? 2 : 1);  // one that runs may have begun too early
  }
  wakeup_.notify_all();
  return done;
}

Result<void> BackgroundShipper::await_shipped() {
  const MutexLock lock(mutex_);
  const std::uint64_t awaited = begun_tries_ + 1;  // one that runs may have begun too early
  while (shipped_try_ < awaited && failed_try_ < awaited) {
    if (stopping_) return Error{ErrorCode::kInterrupted, "the volume is being unmounted, and was not shipped"};
    if (status_.is_fenced)
      return Error{ErrorCode::kReadOnly, status_.failure.value_or("the volume is not shipped any more")};
    is_asked_ = true;
    wakeup_.notify_all();
    try_ended_.wait(mutex_, [&] {
      mutex_.assert_held();
      return stopping_ || shipped_try_ >= awaited || failed_try_ >= awaited;
    });
  }
  if (shipped_try_ >= awaited) return {};
  return try_failure_->code() == kFenced ? Error{ErrorCode::kReadOnly, try_failure_->message()} : *try_failure_;
}

Result<Shipper::Shipped> BackgroundShipper::ship_now(const GoOn& go_on) {
  return ship(go_on);
}

Result<Shipper::Shipped> BackgroundShipper::ship(const GoOn& go_on) {
  const MutexLock one_at_a_time(shipping_);
  std::uint64_t this_try = 0;
  {
    const MutexLock lock(mutex_);
    status_.is_shipping = true;
    this_try = ++begun_tries_;
    this_grace_ = std::exchange(asked_grace_, std::nullopt);  // asked later, it is of a later try
  }
  {
    const MutexLock lock(asking_);
    go_on_ = go_on;
  }
  auto shipped = guarded([&] {
    shipping_.assert_held();
    return capture_and_ship();
  });
  note(shipped, this_try);
  try_ended_.notify_all();
  if (shipped)
    (void)survive("evicting what was shipped", [this] {
      shipping_.assert_held();
      evict_surplus();
    });
  const MutexLock lock(asking_);
  go_on_ = nullptr;
  return shipped;
}

Result<void> BackgroundShipper::go_on() {
  const MutexLock one_at_a_time(asking_);
  return go_on_ ? go_on_() : Result<void>();
}

Result<void> BackgroundShipper::open_shipper() {
  if (!bucket_) {
    DEDUPFS_ASSIGN(bucket_, settings_.open(record_.where, [this] { return go_on(); }));
  }
  if (shipper_) return {};
  const auto save = [this](const RemotePosition& position) -> Result<void> {
    shipping_.assert_held();
    record_.position = position;
    return save_remote_record(*on_disk_, record_);
  };
  const auto when_put = [this](std::uint64_t bytes) {
    const MutexLock lock(mutex_);
    status_.shipped_bytes += bytes;
  };
  shipper_ = std::make_unique<Shipper>(*bucket_, record_.position,
                                       Shipper::Settings{.volume = record_.volume,
                                                         .save = save,
                                                         .go_on = [this] { return go_on(); },
                                                         .when_put = when_put,
                                                         .parallel = settings_.parallel});
  return {};
}

Result<Shipper::Shipped> BackgroundShipper::capture_and_ship() {
  DEDUPFS_TRY(open_shipper());
  const auto now = std::chrono::system_clock::now();
  DEDUPFS_TRY(commit_());
  const std::uint32_t next_container = volume_.containers().next_container();
  DEDUPFS_ASSIGN(auto captured, capture(volume_));
  DEDUPFS_ASSIGN(const Shipper::Shipped shipped, shipper_->ship(*captured));
  const std::uint32_t first_lacking = next_container > kMostOpen ? next_container - kMostOpen : 1;
  std::uint64_t bytes_there = 0;
  const std::string first_path = std::string(kContainersDirectory) + '/' + container_name(first_lacking);
  for (const CapturedFile& file : captured->files())
    if (file.path.starts_with(kContainersDirectory) && file.path >= first_path) bytes_there += file.bytes;
  captured.reset();  // what it keeps may go
  {
    const MutexLock lock(mutex_);
    status_.captured = now;
    status_.shipped = shipped;
    status_.sequence = shipped.sequence;
    first_lacking_ = first_lacking;
    bytes_there_ = bytes_there;
  }
  collect();
  return shipped;
}

void BackgroundShipper::collect() {
  const auto now = std::chrono::steady_clock::now();
  if (!this_grace_ && now < next_collection_) return;
  next_collection_ = now + settings_.between_collections;
  if (const auto collected = shipper_->collect(this_grace_.value_or(settings_.grace)); !collected)
    spdlog::warn("nothing is deleted from the bucket: {}", collected.error().message());
}

// What was shipped is shipped, whatever becomes of the cache.
void BackgroundShipper::evict_surplus() {
  if (!evictor_ || !shipper_->replica()) return;
  const auto evicted = evictor_->evict_surplus(shipper_->replica()->files, [this] { return go_on(); });
  if (!evicted && evicted.error().code() != ErrorCode::kInterrupted)
    spdlog::warn("containers stay on this disk: {}", evicted.error().message());
  if (evicted && evicted->containers != 0)
    spdlog::info("{} containers with {} are in the bucket only from now on", evicted->containers,
                 human_size(evicted->bytes));
}

void BackgroundShipper::note(const Result<Shipper::Shipped>& shipped, std::uint64_t this_try) {
  bool found_fence = false;
  {
    const MutexLock lock(mutex_);
    status_.is_shipping = false;
    ++status_.tries;
    (shipped ? shipped_try_ : failed_try_) = this_try;
    if (!shipped) try_failure_ = shipped.error();
    if (shipped) {
      if (status_.failure) spdlog::info("the volume is shipped to {} again", status_.where.address);
      status_.failure.reset();
      return;
    }
    if (shipped.error().code() == ErrorCode::kInterrupted) return;
    if (shipped.error().code() == kFenced) {
      found_fence = !std::exchange(status_.is_fenced, true);
    } else if (!status_.failure) {
      spdlog::warn("the volume is not shipped, and this is tried again: {}", shipped.error().message());
    }
    status_.failure = shipped.error().message();
  }
  if (found_fence) settings_.when_fenced(shipped.error());
}

std::uint64_t BackgroundShipper::lacking_bytes() const {
  std::uint32_t first = 0;
  std::uint64_t there = 0;
  {
    const MutexLock lock(mutex_);
    first = first_lacking_;
    there = bytes_there_;
  }
  const auto numbers = volume_.containers().numbers_from(first);
  const auto folder = on_disk_->open_folder(kContainersDirectory);
  if (!numbers || !folder) return 0;
  std::uint64_t bytes = 0;
  for (const std::uint32_t number : *numbers) {
    const auto file = (*folder)->open(container_name(number), Backing::Mode::kRead);
    if (file) bytes += (*file)->size().value_or(0);
  }
  return bytes - std::min(bytes, there);
}

std::string BackgroundShipper::address() const {
  const MutexLock lock(mutex_);
  return status_.where.address;
}

std::uint64_t BackgroundShipper::shipped_bytes() const {
  const MutexLock lock(mutex_);
  return status_.shipped_bytes;
}

BackgroundShipper::Status BackgroundShipper::status() const {
  const std::uint64_t lacking = lacking_bytes();
  const MutexLock lock(mutex_);
  Status status = status_;
  status.lacking_bytes = lacking;
  if (evicted_) status.evicted = evicted_->status();
  return status;
}

}  // namespace dedupfs
