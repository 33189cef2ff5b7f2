#include "replica/background/background_shipper.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <numeric>
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
constexpr std::uint32_t kMostLookedAt = 4096;
constexpr std::chrono::hours kBetweenLogs{1};

}  // namespace

std::optional<BackgroundShipper::Status> BackgroundShipper::status_of_copy(const Volume& volume) {
  const auto record = load_remote_record(*folder_on_disk(volume.folder()), volume.superblock().uuid);
  if (!record || record->position.epoch != 0) return std::nullopt;
  Status status;
  status.is_copy = true;
  status.where = record->where;
  if (record->position.head) status.sequence = record->position.head->sequence;
  return status;
}

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
    status_.most_lacking_bytes = settings_.most_lacking_bytes;
    there_ = record_.containers.value_or(ShippedContainers());
    counted_ =
        record_.containers.value_or(ShippedContainers{.first = volume_.containers().next_container(), .bytes = {}});
    if (settings_.most_lacking_bytes == 0) record_.containers.reset();  // it is not kept up to date
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
    const auto pause = wants_room_ ? settings_.retry : settings_.lag;
    if (pause.count() == 0)
      wakeup_.wait(mutex_, is_wanted);
    else
      (void)wakeup_.wait_for(mutex_, pause, is_wanted);
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
    has_put_ = false;
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
    bucket_->count_in(requests_);
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
    has_put_ = true;
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
  ShippedContainers there{.first = next_container > kMostOpen ? next_container - kMostOpen : 1, .bytes = {}};
  const std::string prefix = std::string(kContainersDirectory) + '/';
  const std::string first_path = prefix + container_name(there.first);
  for (const CapturedFile& file : captured->files()) {
    if (!file.path.starts_with(prefix) || file.path < first_path) continue;
    if (const auto number = parse_container_name(file.path.substr(prefix.size()))) there.bytes[*number] = file.bytes;
  }
  captured.reset();  // what it keeps may go
  note_shipped(shipped, now, std::move(there));
  collect();
  return shipped;
}

void BackgroundShipper::note_shipped(const Shipper::Shipped& shipped, std::chrono::system_clock::time_point captured,
                                     ShippedContainers containers) {
  if (settings_.most_lacking_bytes != 0 && record_.containers != containers) {
    record_.position = shipper_->position();
    record_.containers = containers;
    if (const auto saved = save_remote_record(*on_disk_, record_); !saved)
      spdlog::warn("the next mount will not know what the bucket has: {}", saved.error().message());
  }
  const MutexLock lock(mutex_);
  status_.captured = captured;
  status_.shipped = shipped;
  status_.sequence = shipped.sequence;
  there_ = containers;
  counted_ = std::move(containers);
}

void BackgroundShipper::collect() {
  const auto now = std::chrono::steady_clock::now();
  if (!this_grace_ && now < next_collection_) return;
  next_collection_ = now + settings_.between_collections;
  const auto collected = shipper_->collect(this_grace_.value_or(settings_.grace));
  if (!collected) {
    spdlog::warn("nothing is deleted from the bucket: {}", collected.error().message());
    return;
  }
  const bool is_refused = collected->refused_objects != 0;
  if (is_refused && !std::exchange(are_deletions_refused_, true))
    spdlog::info("the store keeps {} objects with {} that no head needs, and this is tried again: {}",
                 collected->refused_objects, human_size(collected->refused_bytes), collected->refusal);
  if (!is_refused) are_deletions_refused_ = false;
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
      wants_room_ = false;
      note_room();
      return;
    }
    if (shipped.error().code() == ErrorCode::kInterrupted) return;
    if (shipped.error().code() == kFenced) {
      found_fence = !std::exchange(status_.is_fenced, true);
      wants_room_ = false;
    } else if (!status_.failure) {
      spdlog::warn("the volume is not shipped, and this is tried again: {}", shipped.error().message());
    }
    status_.failure = shipped.error().message();
  }
  if (found_fence) settings_.when_fenced(shipped.error());
}

// ---------------------------------------------------------------- what is lacking

std::uint64_t BackgroundShipper::lacking_bytes(const ShippedContainers& there) const {
  const auto folder = on_disk_->open_folder(kContainersDirectory);
  if (!folder) return 0;
  std::uint64_t lacking = 0;
  for (const std::uint32_t number : numbers_from(there.first)) {
    const auto found = there.bytes.find(number);
    const std::uint64_t shipped = found == there.bytes.end() ? 0 : found->second;
    const std::uint64_t bytes = container_bytes(**folder, number);
    lacking += bytes - std::min(bytes, shipped);
  }
  const MutexLock lock(sizes_);
  full_sizes_.erase(full_sizes_.begin(), full_sizes_.lower_bound(there.first));
  return lacking;
}

// Also of some that are gone: to look at each costs less than to list all.
std::vector<std::uint32_t> BackgroundShipper::numbers_from(std::uint32_t first) const {
  const std::uint32_t end = std::max(first, volume_.containers().next_container());
  if (end - first > kMostLookedAt)
    return volume_.containers().numbers_from(first).value_or(std::vector<std::uint32_t>());
  std::vector<std::uint32_t> numbers(end - first);
  std::iota(numbers.begin(), numbers.end(), first);
  return numbers;
}

// 0 if it is gone.
std::uint64_t BackgroundShipper::container_bytes(BackingFolder& folder, std::uint32_t number) const {
  const bool may_grow = volume_.containers().next_container() - number <= kMostOpen;
  const std::string name = container_name(number);
  if (!may_grow) {
    const auto status = folder.status(name);
    if (!status || status->type != Backing::Type::kFile) return 0;
    const MutexLock lock(sizes_);
    if (const auto known = full_sizes_.find(number); known != full_sizes_.end()) return known->second;
  }
  const auto file = folder.open(name, Backing::Mode::kRead);
  const std::uint64_t bytes = file ? (*file)->size().value_or(0) : 0;
  if (!may_grow && bytes != 0) {
    const MutexLock lock(sizes_);
    full_sizes_[number] = bytes;
  }
  return bytes;
}

BackgroundShipper::Room BackgroundShipper::room() {
  ShippedContainers counted;
  {
    const MutexLock lock(mutex_);
    counted = counted_;
  }
  const std::uint64_t lacking = lacking_bytes(counted);
  if (lacking >= settings_.most_lacking_bytes / 2) want_room();
  const MutexLock lock(mutex_);
  const bool store_takes_it = !status_.failure || (status_.is_shipping && has_put_);
  const Room room{.bytes = settings_.most_lacking_bytes - std::min(settings_.most_lacking_bytes, lacking),
                  .is_making_more = !stopping_ && !status_.is_fenced && store_takes_it};
  if (room.bytes >= settings_.most_lacking_bytes / 2) note_room();
  return room;
}

void BackgroundShipper::want_room() {
  {
    const MutexLock lock(mutex_);
    if (wants_room_ || status_.is_fenced) return;
    wants_room_ = true;
    is_asked_ = true;
  }
  wakeup_.notify_all();
}

void BackgroundShipper::note_waiting(bool begins) {
  const MutexLock lock(mutex_);
  if (!begins) {
    --status_.waiting_writers;
    return;
  }
  ++status_.waiting_writers;
  const auto now = std::chrono::steady_clock::now();
  if (now < next_wait_log_) return;
  next_wait_log_ = now + kBetweenLogs;
  spdlog::info("writers wait: {} of the volume are not shipped to {} yet, which is as much as remote_unshipped allows",
               human_size(settings_.most_lacking_bytes), status_.where.address);
}

Error BackgroundShipper::refuse() {
  const MutexLock lock(mutex_);
  if (status_.is_fenced) return {ErrorCode::kReadOnly, status_.failure.value_or("the volume is not shipped any more")};
  Error refused(ErrorCode::kNoSpace,
                fmt::format("{} of the volume are not shipped to {} yet, which is as much as remote_unshipped allows{}",
                            human_size(settings_.most_lacking_bytes), status_.where.address,
                            status_.failure ? ": " + *status_.failure : std::string()));
  if (!std::exchange(status_.are_writers_refused, true))
    spdlog::error(
        "{}; nothing new can be written until the store takes it: this is tried again and again. What is there can be "
        "read and "
        "deleted. A mount with a larger remote_unshipped takes more",
        refused.message());
  return refused;
}

void BackgroundShipper::note_room() {
  if (std::exchange(status_.are_writers_refused, false)) spdlog::info("there is room for new data again");
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
  ShippedContainers there;
  {
    const MutexLock lock(mutex_);
    there = there_;
  }
  const std::uint64_t lacking = lacking_bytes(there);
  const MutexLock lock(mutex_);
  Status status = status_;
  status.lacking_bytes = lacking;
  if (lacking < status.most_lacking_bytes / 2) status.are_writers_refused = false;
  if (evicted_) status.evicted = evicted_->status();
  status.requests = requests_->counts();
  status.requests += status.evicted.requests;
  status.counted = std::chrono::duration_cast<std::chrono::seconds>(std::chrono::steady_clock::now() - begun_);
  return status;
}

}  // namespace dedupfs
