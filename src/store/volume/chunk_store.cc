#include "store/volume/chunk_store.h"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <atomic>
#include <deque>
#include <map>
#include <mutex>
#include <shared_mutex>
#include <thread>
#include <utility>

#include "base/check.h"
#include "base/coding.h"
#include "base/crash_point.h"
#include "base/guarded.h"
#include "index/counters.h"
#include "index/entries.h"
#include "store/chunks/chunk_index.h"
#include "store/chunks/chunk_reader.h"
#include "store/chunks/fingerprint.h"
#include "store/chunks/pending_chunks.h"
#include "store/containers/unknown_containers.h"
#include "store/format/chunk_ids.h"
#include "store/ingest/delta_encoder.h"
#include "store/ingest/feature_index.h"
#include "store/ingest/fingerprint_cache.h"
#include "store/ingest/region_packer.h"
#include "store/ingest/region_writer.h"
#include "store/ingest/stream_order.h"
#include "store/relocation/evacuation.h"

namespace dedupfs {
namespace {

// Ids are reserved in the index, durably, before the first of them is used: no id that reached a container is handed
// out again, even when its transaction group never was committed.
constexpr std::uint64_t kReservedIds = 1 << 20;
constexpr std::uint64_t kReserveWhenLeft = 1 << 16;
// Extents whose fingerprints are loaded when a duplicate is found: its own and those stored after it.
constexpr std::size_t kLocalityExtents = 6;
constexpr std::size_t kCachedFingerprints = 1 << 16;
constexpr std::size_t kMaxQueuedPrefetches = 64;
constexpr std::size_t kPrefetchedTogether = 16;
// Regions that wait open for the next stream. What more streams leave is written.
constexpr std::size_t kMaxOpenRegions = 16;

std::size_t thread_count(std::size_t asked) {
  return asked != 0 ? asked : std::max(2U, std::thread::hardware_concurrency());
}

// Behind the ids from `next` on that an extent has. On a sound volume none has: a look-up and a page of extents.
Result<std::uint64_t> first_id_behind_extents(const Database& database, std::uint64_t next) {
  constexpr std::size_t kExtentsPerPage = 256;
  std::uint64_t end = next;
  // An extent that begins further below does not reach so far.
  const ChunkId lowest{next - std::min(next, kMaxChunksPerExtent)};
  const auto note = [&end](const std::string& key, const std::string& value) -> Result<void> {
    Decoder in(key);
    const std::uint64_t first = in.big_u64();
    const auto extent = decode_extent(key, value);
    // Of one that does not parse nobody knows how far it reaches.
    if (extent || (in.ok_at_end() && is_possible(ChunkId{first})))
      end = std::max(end, first + (extent ? extent->chunks.size() : kMaxChunksPerExtent));
    return {};
  };
  DEDUPFS_TRY(visit_entries(database, Family::kChunks, encode_extent_key(lowest), {}, kExtentsPerPage, note));
  return end;
}

// The counter, raised above all ids that are in use: an id that is given away twice would stand for two contents.
Result<std::uint64_t> load_next_id(const Database& database, const ContainerStore& containers,
                                   std::uint32_t first_unknown_container) {
  DEDUPFS_ASSIGN(const auto counter, get_number(database, kNextChunkIdCounter));
  const std::uint64_t next = counter.value_or(1);
  if (next == 0 || next > kEndOfChunkIds)
    return Error{ErrorCode::kCorruption, "the counter " + std::string(kNextChunkIdCounter) + " is out of range"};
  DEDUPFS_ASSIGN(const std::uint64_t behind_extents, first_id_behind_extents(database, next));
  if (behind_extents != next)
    spdlog::warn("the next chunk id was {}, but chunk {} is there: it is {} now", next, behind_extents - 1,
                 behind_extents);
  DEDUPFS_ASSIGN(const std::uint64_t behind_unknown, first_id_behind_unknown(containers, first_unknown_container));
  return std::max(behind_extents, behind_unknown);
}

}  // namespace

// What only a volume with deltas has.
struct DeltaWriting {
  DeltaWriting(Database& database, const DeltaSettings& settings) : features(database, settings.index_bytes) {}

  FeatureIndex features;
  StreamOrder order;
  std::unique_ptr<DeltaEncoder> encoder;
};

struct ChunkStore::State {
  State(std::shared_ptr<ContainerStore> container_store, Database& db, const Settings& options, std::uint64_t next_id)
      : settings(options),
        containers(std::move(container_store)),
        database(db),
        ids(next_id),
        reserved_end(next_id),
        reader(*containers, database, pending, options.cache_bytes),
        fingerprints(kCachedFingerprints),
        writer(*containers, pending, reader.regions(), options.compression, thread_count(options.threads),
               options.waiting_region_bytes),
        pool(thread_count(options.threads), "chunk-store") {}
  ~State();

  // --- write path
  Result<std::optional<ChunkId>> find(const Fingerprint& fingerprint, Liveness::Lookup& lookup);
  // Whether a chunk that the index has can be read. Asks the disk only where there is a reason to think that it cannot. One with
  // another content than its fingerprint says stays as it is, since deltas may have been made from that content.
  enum class Soundness { kSound, kLost, kOtherContent };
  Soundness soundness_of(ChunkId id);
  // Caches the fingerprints of the chunks around this one, if it is there and has this one.
  bool load_locality(ChunkId id, const Fingerprint& fingerprint);
  RegionPacker* take_packer();
  void give_back(RegionPacker* packer) noexcept;
  // Failed regions are tried again before new data is refused: space may have been freed.
  Result<void> check_writable();
  Result<void> reserve_ids();
  Result<void> write_next_id(std::uint64_t next_id);

  const Settings settings;
  const std::shared_ptr<ContainerStore> containers;
  Database& database;
  ChunkIdAllocator ids;
  std::mutex reserve_mutex;
  std::atomic<std::uint64_t> reserved_end;
  PendingChunks pending;
  ChunkReader reader;
  FingerprintCache fingerprints;
  Liveness liveness;
  std::unique_ptr<DeltaWriting> deltas;  // null: without

  std::mutex packers_mutex;
  std::vector<std::unique_ptr<RegionPacker>> packers;
  std::vector<RegionPacker*> free_packers;

  std::atomic<std::size_t> prefetches = 0;  // in the pool
  std::vector<ChunkId> healing;             // by the frozen group
  std::atomic<std::uint64_t> healed = 0;
  std::optional<std::uint64_t> appended_damage;  // version of DamagedChunks in the batch that is being written
  std::atomic<std::uint64_t> dropped_bytes = 0;
  RecentReferences recent_references;
  std::mutex moving;
  std::unique_ptr<CommittedNumber> dropped_bytes_counter;
  std::vector<CommitParticipant*> parts;  // what takes part in commits by itself

  RegionWriter writer;
  ThreadPool pool;  // last: its tasks use the rest
};

// The pipeline of one stream: batches are fingerprinted and looked up side by side, and packed in order.
struct ChunkStore::Writer::State {
  struct Task {
    Batch batch;
    std::vector<Fingerprint> fingerprints;
    std::vector<std::optional<ChunkId>> known;
    std::vector<bool> lost;                       // those that are known, but cannot be read any more
    std::vector<DeltaEncoder::Finding> findings;  // of those that are not known, in order; none without deltas
    std::optional<Error> error;
    bool prepared = false;
  };

  explicit State(ChunkStore::State& chunk_store) : store(chunk_store), packer(store.take_packer()) {}
  ~State() { store.give_back(packer); }

  Result<void> prepare(Task& task) const;
  void find_delta(Task& task, ByteSpan chunk, std::optional<ChunkId>& match, Liveness::Lookup& lookup) const;
  void pack_prepared();
  Result<std::vector<ChunkId>> pack(Task& task);
  ChunkId pack_with(const DeltaEncoder::Finding& finding, const Fingerprint& fingerprint, ByteSpan chunk);
  void note_references(const Task& task, const std::vector<ChunkId>& ids) const;

  ChunkStore::State& store;
  RegionPacker* const packer;
  std::mutex mutex;
  std::deque<std::shared_ptr<Task>> tasks;  // in order of put()
  bool packing = false;
  std::optional<ChunkId> last_id;  // of the chunk that was packed last
};

// ---------------------------------------------------------------- write path

// `match`: where the chunk before was found again; then where this one was.
void ChunkStore::Writer::State::find_delta(Task& task, ByteSpan chunk, std::optional<ChunkId>& match,
                                           Liveness::Lookup& lookup) const {
  task.findings.push_back(store.deltas->encoder->encode(chunk, match));
  // The encoder finds sources in caches and lists that reclaim knows nothing of.
  auto& delta = task.findings.back().delta;
  if (delta &&
      !std::ranges::all_of(delta->sources, [&](ChunkId id) { return lookup.claim(id) && store.reader.has(id); }))
    delta.reset();
  match = delta ? std::optional(delta->base) : std::nullopt;
}

Result<void> ChunkStore::Writer::State::prepare(Task& task) const {
  std::optional<ChunkId> match;
  task.fingerprints.reserve(task.batch.chunks.size());
  task.known.reserve(task.batch.chunks.size());
  for (const ByteSpan chunk : task.batch.chunks) {
    task.fingerprints.push_back(fingerprint_of(chunk));
    Liveness::Lookup lookup(store.liveness);
    DEDUPFS_ASSIGN(auto known, store.find(task.fingerprints.back(), lookup));
    const auto soundness = known ? store.soundness_of(*known) : ChunkStore::State::Soundness::kSound;
    if (soundness == ChunkStore::State::Soundness::kOtherContent) known.reset();
    task.known.push_back(known);
    task.lost.push_back(soundness == ChunkStore::State::Soundness::kLost);
    if (known)
      match = known;
    else if (store.deltas)
      find_delta(task, chunk, match, lookup);
  }
  return {};
}

// Packs and reports whatever is prepared at the front of the queue. One thread does it; the others leave it to that
// one.
void ChunkStore::Writer::State::pack_prepared() {
  std::unique_lock lock(mutex);
  if (packing) return;
  packing = true;
  while (!tasks.empty() && tasks.front()->prepared) {
    const std::shared_ptr<Task> task = std::move(tasks.front());
    tasks.pop_front();
    lock.unlock();
    auto ids = guarded([&] { return pack(*task); });
    task->batch.chunks.clear();
    task->batch.owner.reset();  // whoever hears that it is done may count its memory as free
    task->batch.done(std::move(ids));
    lock.lock();
  }
  packing = false;
}

Result<std::vector<ChunkId>> ChunkStore::Writer::State::pack(Task& task) {
  if (task.error) return *task.error;
  DEDUPFS_TRY(store.check_writable());
  std::vector<ChunkId> ids;
  ids.reserve(task.batch.chunks.size());
  auto finding = task.findings.begin();
  for (std::size_t i = 0; i < task.batch.chunks.size(); ++i) {
    if (task.lost[i]) {
      ids.push_back(packer->add_again(*task.known[i], task.fingerprints[i], task.batch.chunks[i]).id);
    } else if (task.known[i]) {
      ids.push_back(*task.known[i]);
    } else {
      Liveness::Lookup lookup(store.liveness);
      ids.push_back(store.deltas ? pack_with(*finding++, task.fingerprints[i], task.batch.chunks[i])
                                 : packer->add(task.fingerprints[i], task.batch.chunks[i]).id);
      lookup.note_stored(ids.back());
    }
    if (store.deltas && last_id) store.deltas->order.link(*last_id, ids.back());
    last_id = ids.back();
  }
  note_references(task, ids);
  return ids;
}

void ChunkStore::Writer::State::note_references(const Task& task, const std::vector<ChunkId>& ids) const {
  RecentReferences::Window some{.ids = ids};
  for (std::size_t i = 0; i < ids.size(); ++i) {
    some.bytes += task.batch.chunks[i].size();
    if (!task.known[i]) some.new_bytes += task.batch.chunks[i].size();
  }
  store.recent_references.note(some);
}

ChunkId ChunkStore::Writer::State::pack_with(const DeltaEncoder::Finding& finding, const Fingerprint& fingerprint,
                                             ByteSpan chunk) {
  const auto packed = packer->add(fingerprint, chunk, finding.delta);
  if (packed.is_new) store.deltas->features.insert(finding.sketch, packed.id);
  return packed.id;
}

ChunkStore::Writer::Writer(std::shared_ptr<State> state) : state_(std::move(state)) {}

ChunkStore::Writer::~Writer() {
  const std::lock_guard lock(state_->mutex);
  DEDUPFS_CHECK(state_->tasks.empty());  // whoever has a stream waits for its answers
}

void ChunkStore::Writer::put(Batch batch) {
  auto task = std::make_shared<State::Task>();
  task->batch = std::move(batch);
  {
    const std::lock_guard lock(state_->mutex);
    state_->tasks.push_back(task);
  }
  const auto work = [state = state_, task] {
    auto prepared = guarded([&] { return state->prepare(*task); });
    if (!prepared) task->error = std::move(prepared).error();
    {
      const std::lock_guard lock(state->mutex);
      task->prepared = true;
    }
    state->pack_prepared();
  };
  try {
    state_->store.pool.submit(work);
  } catch (...) {  // nobody will prepare it, and it is the last one still
    const std::lock_guard lock(state_->mutex);
    state_->tasks.pop_back();
    throw;
  }
}

// Where one place has a chunk that is dead, another may have the one that took its place.
Result<std::optional<ChunkId>> ChunkStore::State::find(const Fingerprint& fingerprint, Liveness::Lookup& lookup) {
  if (const auto id = fingerprints.find(fingerprint); id && lookup.claim(*id)) return id;
  if (const auto id = pending.find(fingerprint); id && lookup.claim(*id)) return id;
  DEDUPFS_ASSIGN(const auto value, database.get(Family::kFingerprints, text_of(fingerprint.bytes)));
  if (!value) return std::optional<ChunkId>();
  DEDUPFS_ASSIGN(const ChunkId id, decode_chunk_id(*value));
  if (!lookup.claim(id)) return std::optional<ChunkId>();
  // What the index leads to wrongly would be lost, or be another's content: it is stored instead.
  return load_locality(id, fingerprint) ? std::optional(id) : std::nullopt;
}

ChunkStore::State::Soundness ChunkStore::State::soundness_of(ChunkId id) {
  if (!reader.damaged().contains(id)) return Soundness::kSound;
  if (!reader.get(id)) return reader.can_be_made(id) ? Soundness::kOtherContent : Soundness::kLost;
  reader.damaged().erase(id);
  return Soundness::kSound;
}

bool ChunkStore::State::load_locality(ChunkId id, const Fingerprint& fingerprint) {
  const auto extent = find_extent(database, id);
  if (!extent || !*extent) return false;
  const auto entries = database.list(Family::kChunks, encode_extent_key((*extent)->first), {}, kLocalityExtents);
  if (!entries) return false;
  std::map<RegionPlace, std::vector<ChunkExtent>> extents;
  for (const auto& [key, value] : *entries)
    if (auto near = decode_extent(key, value)) extents[near->place].push_back(std::move(*near));
  bool is_found = false;
  for (const auto& [place, in_region] : extents) {
    auto directory = containers->read_directory(place);
    if (!directory) {
      // The chunk is damaged, and what comes again heals it.
      if (place == (*extent)->place) reader.damaged().insert(id);
      is_found = is_found || place == (*extent)->place;
      continue;
    }
    // What was erased, or moved elsewhere, is in the directory still.
    std::erase_if(*directory, [&near_extents = in_region](const RegionEntry& entry) {
      return std::ranges::none_of(near_extents, [&](const ChunkExtent& near) { return near.contains(entry.id); });
    });
    is_found = is_found || std::ranges::any_of(*directory, [&](const RegionEntry& entry) {
                 return entry.id == id && entry.fingerprint == fingerprint;
               });
    fingerprints.insert(*directory);
  }
  return is_found;
}

RegionPacker* ChunkStore::State::take_packer() {
  const std::lock_guard lock(packers_mutex);
  if (free_packers.empty()) {
    packers.push_back(std::make_unique<RegionPacker>(
        pending, ids, settings.region_bytes,
        [this](std::shared_ptr<PendingRegion> region) { writer.submit(std::move(region)); }));
    free_packers.reserve(packers.size());
    free_packers.push_back(packers.back().get());
  }
  RegionPacker* const packer = free_packers.back();
  free_packers.pop_back();
  return packer;
}

// With its open region: the next stream goes on filling it.
void ChunkStore::State::give_back(RegionPacker* packer) noexcept {
  const std::lock_guard lock(packers_mutex);
  const bool enough = free_packers.size() >= kMaxOpenRegions;
  if (enough) survive("closing a region", [packer] { packer->close(); });
  free_packers.insert(enough ? free_packers.begin() : free_packers.end(), packer);  // there is room, see take_packer()
}

Result<void> ChunkStore::State::check_writable() {
  if (writer.error()) DEDUPFS_TRY(writer.retry_failed());
  if (ids.next() + kReserveWhenLeft > reserved_end) DEDUPFS_TRY(reserve_ids());
  return {};
}

Result<void> ChunkStore::State::reserve_ids() {
  const std::lock_guard lock(reserve_mutex);
  if (ids.next() + kReserveWhenLeft <= reserved_end) return {};
  const std::uint64_t end = ids.next() + kReservedIds;
  if (end > kEndOfChunkIds) return Error{ErrorCode::kNoSpace, "all chunk ids of the volume are used up"};
  DEDUPFS_TRY(write_next_id(end));
  crash_point("ids.reserved");
  reserved_end = end;
  return {};
}

Result<void> ChunkStore::State::write_next_id(std::uint64_t next_id) {
  Database::Batch batch(database);
  batch.put(Family::kCounters, kNextChunkIdCounter, encode_number(next_id));
  return database.write(batch);
}

// What was reserved and not used is given back. That it fails is harmless: ids are plenty.
ChunkStore::State::~State() {
  if (reserved_end > ids.next() && !settings.read_only) (void)write_next_id(ids.next());
}

// ---------------------------------------------------------------- read path

Result<PinnedBytes> ChunkStore::get(ChunkId id) {
  DEDUPFS_ASSIGN(ChunkReader::Chunk chunk, state_->reader.get(id));
  return std::move(chunk.bytes);
}

void ChunkStore::prefetch(std::vector<ChunkId> ids) {
  std::erase_if(ids, [this](ChunkId id) { return state_->reader.is_cached(id); });
  for (std::size_t at = 0; at < ids.size(); at += kPrefetchedTogether) {
    if (state_->prefetches.fetch_add(1) >= kMaxQueuedPrefetches) {
      --state_->prefetches;
      return;
    }
    const auto first = ids.begin() + static_cast<std::ptrdiff_t>(at);
    std::vector<ChunkId> some(first,
                              first + static_cast<std::ptrdiff_t>(std::min(kPrefetchedTogether, ids.size() - at)));
    state_->pool.submit([state = state_.get(), some = std::move(some)] {
      // An error shows when somebody reads it.
      survive("read-ahead", [&] {
        for (const ChunkId id : some) (void)state->reader.get(id);
      });
      --state->prefetches;
    });
  }
}

// ---------------------------------------------------------------- commit

void ChunkStore::close_regions() {
  const std::lock_guard lock(state_->packers_mutex);
  for (const auto& packer : state_->packers) packer->close();
}

void ChunkStore::freeze() {
  close_regions();
  state_->pending.freeze();
  for (CommitParticipant* const part : state_->parts) part->freeze();
}

Result<void> ChunkStore::append_to(Database::Batch& batch) {
  DEDUPFS_TRY(state_->writer.wait_for(state_->pending.frozen_regions()));
  crash_point("commit.regions-written");
  DEDUPFS_TRY(state_->containers->sync());
  crash_point("commit.containers-synced");
  DEDUPFS_TRY(state_->pending.append_frozen_to(batch, state_->database));
  state_->healing = state_->pending.frozen_renewed();
  if (const DamagedChunks& damaged = state_->reader.damaged(); damaged.changed() || !state_->healing.empty()) {
    const DamagedChunks::Encoded encoded = damaged.encode(state_->healing);
    batch.put(Family::kCounters, kDamagedChunksCounter, encoded.bytes);
    state_->appended_damage = encoded.version;
  }
  for (CommitParticipant* const part : state_->parts) DEDUPFS_TRY(part->append_to(batch));
  return {};
}

void ChunkStore::committed() {
  if (state_->appended_damage)
    state_->reader.damaged().note_stored(*std::exchange(state_->appended_damage, std::nullopt), state_->healing);
  if (const auto healed = std::exchange(state_->healing, {}).size(); healed != 0) {
    spdlog::info("{} damaged chunks were written again: the files that have them are whole again", healed);
    state_->healed += healed;
  }
  for (const ErasedChunks& erased : state_->pending.frozen_erased())
    state_->reader.damaged().erase(erased.first, erased.fingerprints.size());
  if (std::ranges::any_of(state_->pending.frozen_regions(), [](const auto& region) { return !region->moved.empty(); }))
    state_->reader.forget_places();
  const std::vector<std::uint32_t> abandoned = state_->pending.frozen_abandoned();
  state_->pending.drop_frozen();
  for (const std::uint32_t container : abandoned)  // one that stays is taken for empty by the next reclaim
    if (const auto removed = state_->containers->remove(container); !removed)
      spdlog::warn("{}", removed.error().message());
  for (CommitParticipant* const part : state_->parts) part->committed();
}

void ChunkStore::failed(CommitFailure failure) {
  state_->appended_damage.reset();
  for (CommitParticipant* const part : state_->parts) part->failed(failure);
}

std::size_t ChunkStore::open_bytes() const {
  return state_->pending.open_bytes() + (state_->deltas ? state_->deltas->features.open_bytes() : 0);
}

ChunkStore::Damage ChunkStore::damage() const {
  return {state_->reader.damaged().size(), state_->healed};
}

void ChunkStore::note_damaged(ChunkId id) {
  state_->reader.damaged().insert(id);
}

Liveness& ChunkStore::liveness() {
  return state_->liveness;
}

std::uint64_t ChunkStore::end_of_ids() const {
  return state_->ids.next();
}

void ChunkStore::erase(ErasedChunks chunks) {
  state_->pending.erase(std::move(chunks));
}

void ChunkStore::finish_reclaim() {
  state_->liveness.finish([this] {
    state_->fingerprints.clear();
    state_->reader.forget_places();
  });
}

Result<void> ChunkStore::evacuate(std::uint32_t container, std::uint64_t chunks, const InGroup& in_group) {
  if (chunks != 0) {
    RegionPacker* const packer = state_->take_packer();
    auto moved = evacuate_container(container, chunks, *state_->containers, state_->database, state_->pending, *packer,
                                    in_group);
    state_->give_back(packer);
    DEDUPFS_TRY(moved);
  }
  return in_group([&]() -> Result<void> {
    state_->pending.abandon_container(container);
    return {};
  });
}

Result<MovedChunks> ChunkStore::move_in_order(const std::vector<ChunkId>& order, const BetweenBatches& between,
                                              const InGroup& in_group) {
  RegionPacker* const packer = state_->take_packer();
  auto moved =
      dedupfs::move_in_order(order, between, *state_->containers, state_->database, state_->pending, *packer, in_group);
  state_->give_back(packer);
  return moved;
}

Result<std::uint32_t> ChunkStore::reencode(const ChunkExtent& extent, ChunkId id, const std::vector<DeltaBasis>& bases,
                                           const std::function<bool(ChunkId)>& may_be_source, std::uint64_t max_bytes,
                                           const InGroup& in_group) {
  DEDUPFS_CHECK(state_->deltas != nullptr);  // Rebase looks at the superblock as this does
  DEDUPFS_TRY(state_->check_writable());
  RegionPacker* const packer = state_->take_packer();
  const Reencoder storing{state_->database, state_->pending, state_->reader, *state_->deltas->encoder,
                          state_->deltas->features};
  auto stored = storing.store(extent, id, bases, may_be_source, max_bytes, *packer, in_group);
  state_->give_back(packer);
  return stored;
}

bool ChunkStore::is_pending(ChunkId id) const {
  return state_->pending.locate(id).has_value();
}

RecentReferences& ChunkStore::recent_references() {
  return state_->recent_references;
}

Result<DefragmentationFindings> ChunkStore::rewrite(const RecentReferences::Window& window, unsigned percent,
                                                    const InGroup& in_group) {
  RegionPacker* const packer = state_->take_packer();
  auto findings = defragment(window, percent, *state_->containers, state_->database, state_->pending, state_->reader,
                             *packer, in_group);
  state_->give_back(packer);
  if (findings) note_dropped(findings->bytes);  // the former copies are nobody's
  return findings;
}

std::unique_lock<std::mutex> ChunkStore::start_moving() {
  return std::unique_lock(state_->moving);
}

std::unique_lock<std::mutex> ChunkStore::try_moving() {
  return std::unique_lock(state_->moving, std::try_to_lock);
}

Result<void> ChunkStore::forget_dead_features() {
  if (!state_->deltas) return {};
  return state_->deltas->features.forget([this](ChunkId id) { return !state_->liveness.is_live(id); });
}

void ChunkStore::note_dropped(std::uint64_t bytes) {
  state_->dropped_bytes += bytes;
}

std::uint64_t ChunkStore::dropped_bytes() const {
  return state_->dropped_bytes;
}

void ChunkStore::forget_dropped(std::uint64_t bytes) {
  state_->dropped_bytes -= bytes;
}

bool ChunkStore::has_changes() const {
  return !state_->pending.open_is_empty();
}

std::uint64_t ChunkStore::waiting_bytes() const {
  return state_->writer.waiting_bytes();
}

ThreadPool& ChunkStore::pool() {
  return state_->pool;
}

// ---------------------------------------------------------------- life

ChunkStore::ChunkStore(std::unique_ptr<State> state) : state_(std::move(state)) {}
ChunkStore::~ChunkStore() = default;

Result<std::unique_ptr<ChunkStore>> ChunkStore::open(std::shared_ptr<ContainerStore> containers, Database& database,
                                                     const Settings& settings) {
  std::uint64_t next_id = 1;
  if (!settings.read_only) {
    DEDUPFS_ASSIGN(next_id, load_next_id(database, *containers, settings.first_unknown_container));
  }
  auto state = std::make_unique<State>(std::move(containers), database, settings, next_id);
  DEDUPFS_ASSIGN(const auto damaged, database.get(Family::kCounters, kDamagedChunksCounter));
  if (damaged) DEDUPFS_TRY(state->reader.damaged().load(*damaged));
  DEDUPFS_ASSIGN(const auto dropped, get_number(database, kDroppedBytesCounter));
  state->dropped_bytes = dropped.value_or(0);
  state->dropped_bytes_counter = std::make_unique<CommittedNumber>(
      kDroppedBytesCounter, [&bytes = state->dropped_bytes] { return bytes.load(); }, state->dropped_bytes);
  state->parts.push_back(state->dropped_bytes_counter.get());
  if (settings.delta.enabled() && !settings.read_only) {
    state->deltas = std::make_unique<DeltaWriting>(database, settings.delta);
    state->parts.push_back(&state->deltas->features);
    DEDUPFS_ASSIGN(state->deltas->encoder,
                   DeltaEncoder::make(settings.delta, state->reader, state->deltas->features, state->deltas->order));
  }
  return std::unique_ptr<ChunkStore>(new ChunkStore(std::move(state)));
}

std::uint64_t ChunkStore::writer_bytes() const {
  return state_->settings.region_bytes;
}

std::unique_ptr<ChunkStore::Writer> ChunkStore::open_writer() {
  DEDUPFS_CHECK(!state_->settings.read_only);  // the caller's mount is writable
  return std::unique_ptr<Writer>(new Writer(std::make_shared<Writer::State>(*state_)));
}

}  // namespace dedupfs
