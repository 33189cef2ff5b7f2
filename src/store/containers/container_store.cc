#include "store/containers/container_store.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <limits>
#include <set>
#include <unordered_set>
#include <utility>

#include "base/check.h"
#include "base/crash_point.h"
#include "base/mutex.h"
#include "store/containers/container_folder.h"
#include "store/containers/container_reader.h"
#include "store/format/container_format.h"

namespace dedupfs {
namespace {

// Each holds a descriptor until it is synced; a fast writer on a slow disk must not run out of them between two
// commits.
constexpr std::size_t kMaxUnsyncedContainers = 16;

// A container of this run. All but `number` and `file` is guarded by the store's mutex.
struct WrittenContainer {
  std::uint32_t number = 0;
  std::shared_ptr<BackingFile> file;
  std::uint64_t end = kContainerHeaderBytes;
  std::uint64_t regions = 0;
  std::size_t writes_in_flight = 0;
  bool full = false;    // takes no more appends
  bool sealed = false;  // the trailer is written, or was tried
  bool dirty = false;   // written to since the last sync began

  bool finished() const { return sealed && !dirty && writes_in_flight == 0; }
};

}  // namespace

struct ContainerStore::State {
  State(std::shared_ptr<BackingFolder> folder_used, Settings settings_used, UuidBytes volume_of)
      : folder(std::move(folder_used)),
        settings(std::move(settings_used)),
        volume(volume_of),
        backend(folder),
        reader(backend, volume) {}

  std::shared_ptr<WrittenContainer>& current_of(ContainerTier tier) DEDUPFS_REQUIRES(mutex) {
    return current[static_cast<std::size_t>(tier)];
  }
  Result<void> create_container(ContainerTier tier) DEDUPFS_REQUIRES(mutex);
  void close_current(ContainerTier tier) DEDUPFS_REQUIRES(mutex);
  Result<void> write(WrittenContainer& container, std::uint64_t offset, ByteSpan region) DEDUPFS_EXCLUDES(mutex);
  // Lets go of the lock meanwhile.
  void seal_if_done(WrittenContainer& container) DEDUPFS_REQUIRES(mutex);
  Result<void> sync() DEDUPFS_EXCLUDES(mutex);
  Result<std::vector<std::uint32_t>> list() DEDUPFS_EXCLUDES(kept_mutex);
  void no_longer_keep() DEDUPFS_EXCLUDES(kept_mutex);

  ContainerFolder folder;  // new containers
  const Settings settings;
  const UuidBytes volume;
  ContainerBackend& backend;  // all that can be read, sealed or not: today they lie in the folder
  ContainerReader reader;

  // A sync that finds nothing to do must wait for the one that is doing it.
  Mutex sync_mutex DEDUPFS_ACQUIRED_BEFORE(mutex);
  Mutex mutex;
  std::uint32_t next_number DEDUPFS_GUARDED_BY(mutex) = 1;
  // The open container of each tier; null until the next append.
  std::array<std::shared_ptr<WrittenContainer>, kContainerTiers> current DEDUPFS_GUARDED_BY(mutex);
  // Every container that is not finished(), the open ones too.
  std::vector<std::shared_ptr<WrittenContainer>> unsynced DEDUPFS_GUARDED_BY(mutex);
  bool directory_dirty DEDUPFS_GUARDED_BY(mutex) = false;
  std::optional<Error> failed_sync DEDUPFS_GUARDED_BY(mutex);

  std::atomic<std::uint32_t> first_landed = 1;  // changed under the lock only
  // Removed, but somebody keeps the files.
  Mutex kept_mutex;
  std::size_t keepers DEDUPFS_GUARDED_BY(kept_mutex) = 0;
  std::set<std::uint32_t> removed_later DEDUPFS_GUARDED_BY(kept_mutex);

  Mutex landed_mutex;
  std::unordered_set<std::uint32_t> known_settled DEDUPFS_GUARDED_BY(landed_mutex);
};

ContainerStore::ContainerStore(std::unique_ptr<State> state) : state_(std::move(state)) {}

ContainerStore::~ContainerStore() {
  const MutexLock lock(state_->mutex);
  if (state_->failed_sync) return;
  for (const ContainerTier tier : {ContainerTier::kSettled, ContainerTier::kLanded}) state_->close_current(tier);
}

Result<std::unique_ptr<ContainerStore>> ContainerStore::open(std::shared_ptr<BackingFolder> folder, Settings settings) {
  DEDUPFS_CHECK(settings.container_bytes <= kMaxContainerBytes);  // decode_superblock() has looked
  DEDUPFS_ASSIGN(const UuidBytes volume, parse_uuid(settings.volume_uuid));
  auto state = std::make_unique<State>(std::move(folder), std::move(settings), volume);
  DEDUPFS_ASSIGN(const std::vector<std::uint32_t> numbers, state->backend.list());
  state->mutex.assert_held();  // nobody else knows the object
  state->next_number = state->settings.next_container;
  if (!numbers.empty()) {
    if (numbers.back() == std::numeric_limits<std::uint32_t>::max())
      return Error{ErrorCode::kCorruption, state->backend.name_of(numbers.back()) + " has the last number"};
    state->next_number = std::max(state->next_number, numbers.back() + 1);
  }
  state->first_landed = std::min(state->settings.first_landed, state->next_number);
  return std::unique_ptr<ContainerStore>(new ContainerStore(std::move(state)));
}

Result<RegionPlace> ContainerStore::append(ByteSpan encoded_region, ContainerTier tier) {
  State& state = *state_;
  DEDUPFS_CHECK(encoded_region.size() >= kRegionHeaderBytes);  // what encode_region() made
  if (state.settings.read_only) return Error{ErrorCode::kReadOnly, "the volume is open for reading only"};

  std::shared_ptr<WrittenContainer> container;
  std::uint64_t offset = 0;
  {
    const MutexLock lock(state.mutex);
    if (state.failed_sync) return *state.failed_sync;
    auto& current = state.current_of(tier);
    if (!current) DEDUPFS_TRY(state.create_container(tier));
    container = current;
    offset = container->end;
    container->end += encoded_region.size();
    ++container->writes_in_flight;
    if (container->end >= state.settings.container_bytes) {
      container->full = true;
      current = nullptr;
    }
  }

  const Result<void> written = state.write(*container, offset, encoded_region);
  crash_point("container.appended");

  bool too_many_unsynced = false;
  {
    const MutexLock lock(state.mutex);
    --container->writes_in_flight;
    if (written) {
      container->dirty = true;
      ++container->regions;
    }
    state.seal_if_done(*container);
    too_many_unsynced = container->sealed && state.unsynced.size() > kMaxUnsyncedContainers;
  }
  if (!written) return written.error();
  if (too_many_unsynced) DEDUPFS_TRY(state.sync());
  return RegionPlace{container->number, static_cast<std::uint32_t>(offset)};
}

// Under the lock, once in 64 MiB.
Result<void> ContainerStore::State::create_container(ContainerTier tier) {
  if (next_number == std::numeric_limits<std::uint32_t>::max())
    return Error{ErrorCode::kTooLarge, "all container numbers are used up"};
  auto container = std::make_shared<WrittenContainer>();
  container->number = next_number++;  // used up even if it fails: the rest of the file may be in the way
  DEDUPFS_ASSIGN(container->file, folder.create(container->number));
  const std::string header = encode_container_header({container->number, volume, tier});
  if (const auto written = container->file->write(0, bytes_of(header)); !written) {
    if (const auto removed = folder.remove(container->number); !removed) spdlog::warn("{}", removed.error().message());
    return written.error();
  }
  crash_point("container.created");
  directory_dirty = true;
  unsynced.push_back(container);
  current_of(tier) = std::move(container);
  return {};
}

void ContainerStore::State::close_current(ContainerTier tier) {
  const auto container = std::exchange(current_of(tier), nullptr);
  if (!container) return;
  container->full = true;
  seal_if_done(*container);
}

// Leaves a container that can be walked, also when it fails: the place is given back if it is the last, else marked as
// a gap, as far as the disk permits.
Result<void> ContainerStore::State::write(WrittenContainer& container, std::uint64_t offset, ByteSpan region) {
  auto written = container.file->write(offset, region);
  if (written) return written;
  {
    const MutexLock lock(mutex);
    if (container.end == offset + region.size()) {
      container.end = offset;
      if (const auto cut = container.file->truncate(offset); !cut) spdlog::warn("{}", cut.error().message());
      return written;
    }
  }
  const std::string gap = encode_gap_header(region.size());
  if (const auto marked = container.file->write(offset, bytes_of(gap)); !marked)
    spdlog::warn("{}", marked.error().message());
  return written;
}

// A container without its trailer is as good to readers, so a failure is no more than logged.
void ContainerStore::State::seal_if_done(WrittenContainer& container) {
  if (!container.full || container.sealed || container.writes_in_flight != 0) return;
  container.sealed = true;
  ++container.writes_in_flight;
  const std::uint64_t trailer_offset = container.end;
  const std::string trailer =
      encode_container_trailer({container.number, container.regions, trailer_offset + kContainerTrailerBytes});
  {
    const MutexUnlock unlocked(mutex);
    if (const auto written = container.file->write(trailer_offset, bytes_of(trailer)); !written)
      spdlog::warn("sealing a container: {}", written.error().message());
    crash_point("container.sealed");
  }
  --container.writes_in_flight;
  container.dirty = true;
}

Result<void> ContainerStore::sync() {
  return state_->sync();
}

Result<void> ContainerStore::State::sync() {
  const MutexLock one_at_a_time(sync_mutex);
  std::vector<std::shared_ptr<WrittenContainer>> to_sync;
  bool sync_directory = false;
  {
    const MutexLock lock(mutex);
    if (failed_sync) return *failed_sync;
    for (const auto& container : unsynced) {
      if (!std::exchange(container->dirty, false)) continue;
      to_sync.push_back(container);
    }
    sync_directory = std::exchange(directory_dirty, false);
  }

  const auto synced = [&]() -> Result<void> {
    for (const auto& container : to_sync) DEDUPFS_TRY(container->file->datasync());
    if (sync_directory) DEDUPFS_TRY(folder.sync());
    return {};
  }();

  {
    const MutexLock lock(mutex);
    if (!synced) {
      // Any reason is final: nobody knows the state of the disk now. So even a full disk is final here.
      failed_sync = Error{ErrorCode::kIo, "chunks could not be made durable: " + synced.error().message()};
      return *failed_sync;
    }
    std::erase_if(to_sync, [](const auto& container) { return !container->finished(); });
    std::erase_if(unsynced, [](const auto& container) { return container->finished(); });
  }
  for (const auto& container : to_sync) folder.finished(container->number);
  return {};
}

std::uint32_t ContainerStore::begin_new_container() {
  const MutexLock lock(state_->mutex);
  const std::uint32_t next = state_->next_number;
  for (const ContainerTier tier : {ContainerTier::kSettled, ContainerTier::kLanded}) state_->close_current(tier);
  return next;
}

Result<void> ContainerStore::remove(std::uint32_t container) {
  const MutexLock lock(state_->kept_mutex);
  if (state_->keepers == 0) return state_->backend.remove(container);
  state_->removed_later.insert(container);
  return {};
}

std::vector<std::uint32_t> ContainerStore::unfinished() const {
  const MutexLock lock(state_->mutex);
  std::vector<std::uint32_t> numbers;
  numbers.reserve(state_->unsynced.size());
  for (const auto& container : state_->unsynced)
    if (!container->finished()) numbers.push_back(container->number);
  return numbers;
}

std::shared_ptr<const void> ContainerStore::keep_files() {
  const MutexLock lock(state_->kept_mutex);
  ++state_->keepers;
  return {this, [state = state_.get()](const void*) { state->no_longer_keep(); }};
}

void ContainerStore::State::no_longer_keep() {
  const MutexLock lock(kept_mutex);
  if (--keepers != 0) return;
  for (const std::uint32_t container : std::exchange(removed_later, {}))
    if (const auto removed = backend.remove(container); !removed) spdlog::warn("{}", removed.error().message());
}

Result<std::vector<std::uint32_t>> ContainerStore::State::list() {
  DEDUPFS_ASSIGN(std::vector<std::uint32_t> numbers, backend.list());
  const MutexLock lock(kept_mutex);
  std::erase_if(numbers, [&](std::uint32_t number) {
    kept_mutex.assert_held();
    return removed_later.contains(number);
  });
  return numbers;
}

Result<RegionHeader> ContainerStore::read_header(RegionPlace place) const {
  return state_->reader.read_header(place);
}

Result<std::vector<RegionEntry>> ContainerStore::read_directory(RegionPlace place) const {
  return state_->reader.read_directory(place);
}

Result<std::shared_ptr<const Region>> ContainerStore::read(RegionRange range) const {
  return state_->reader.read(range);
}

Result<std::shared_ptr<const Region>> ContainerStore::read_from_disk(RegionRange range) const {
  state_->backend.drop_cached(range.place.container, range.place.offset, range.disk_bytes);
  return state_->reader.read(range);
}

Result<std::int64_t> ContainerStore::modified(std::uint32_t container) const {
  return state_->backend.modified(container);
}

bool ContainerStore::is_near(RegionRange range) const {
  return state_->backend.is_near(range.place.container, range.place.offset, range.disk_bytes);
}

Result<std::vector<RegionEntry>> ContainerStore::verify(RegionRange range) const {
  return state_->reader.verify(range);
}

Result<ContainerScan> ContainerStore::scan(std::uint32_t container, const std::vector<std::uint32_t>& known_offsets,
                                           const RegionVisit& visit) const {
  return state_->reader.scan(container, known_offsets, visit);
}

RegionPlace ContainerStore::place_after(RegionPlace place, const RegionHeader& header) {
  // Nothing lies behind the last offset, and reading there says so.
  const std::uint64_t offset = place.offset + header.disk_length();
  constexpr std::uint64_t kLastOffset = std::numeric_limits<std::uint32_t>::max();
  return {place.container, static_cast<std::uint32_t>(std::min(offset, kLastOffset))};
}

Result<std::vector<ContainerInfo>> ContainerStore::list() const {
  DEDUPFS_ASSIGN(const std::vector<std::uint32_t> numbers, state_->list());
  std::vector<ContainerInfo> containers;
  for (const std::uint32_t number : numbers) {
    auto info = state_->reader.inspect(number);
    if (!info && info.error().code() == ErrorCode::kNotFound) continue;  // removed since
    if (!info && info.error().code() == ErrorCode::kCorruption)
      info = ContainerInfo{.id = number, .damage = info.error(), .is_file = false};
    if (!info) return info.error();
    containers.push_back(std::move(*info));
  }
  return containers;
}

Result<std::uint64_t> ContainerStore::landed_bytes() const {
  State& state = *state_;
  const std::uint32_t end = next_container();  // all containers with lower numbers have files, with headers
  DEDUPFS_ASSIGN(const std::vector<std::uint32_t> numbers, numbers_from(first_landed()));
  const MutexLock lock(state.landed_mutex);
  std::uint64_t bytes = 0;
  std::optional<std::uint32_t> first;
  for (const std::uint32_t number : numbers) {
    if (number >= end) break;
    if (state.known_settled.contains(number)) continue;
    const auto info = state.reader.inspect(number);
    const bool is_gone = !info && info.error().code() == ErrorCode::kNotFound;
    // To settle what lies elsewhere would cost more than it gains.
    const bool is_far = info && !state.backend.is_near(number, 0, info->bytes);
    if (is_gone || is_far || (info && info->tier == ContainerTier::kSettled)) {
      state.known_settled.insert(number);
      continue;
    }
    if (info) bytes += info->bytes;
    if (!first) first = number;  // also one that cannot be looked at now
  }
  state.first_landed = std::max(state.first_landed.load(), first.value_or(end));
  std::erase_if(state.known_settled, [&](std::uint32_t number) { return number < state.first_landed; });
  return bytes;
}

std::uint32_t ContainerStore::first_landed() const {
  return state_->first_landed;
}

Result<std::vector<std::uint32_t>> ContainerStore::numbers_from(std::uint32_t first) const {
  DEDUPFS_ASSIGN(std::vector<std::uint32_t> numbers, state_->list());
  numbers.erase(numbers.begin(), std::ranges::lower_bound(numbers, first));
  return numbers;
}

std::uint32_t ContainerStore::container_bytes() const {
  return state_->settings.container_bytes;
}

std::uint32_t ContainerStore::next_container() const {
  const MutexLock lock(state_->mutex);
  return state_->next_number;
}

Result<ContainerWalk> ContainerStore::walk(std::uint32_t container) const {
  return state_->reader.walk(container);
}

}  // namespace dedupfs
