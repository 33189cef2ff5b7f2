#include "store/volume/chunk_store.h"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <atomic>
#include <thread>
#include <utility>

#include "base/check.h"
#include "base/crash_point.h"
#include "base/guarded.h"
#include "base/thread_pool.h"
#include "store/chunks/chunk_reader.h"
#include "store/chunks/damage_record.h"
#include "store/chunks/dropped_bytes.h"
#include "store/chunks/liveness.h"
#include "store/chunks/pending_chunks.h"
#include "store/ingest/chunk_writer.h"
#include "store/ingest/ingest.h"
#include "store/ingest/recent_references.h"
#include "store/relocation/erasure.h"
#include "store/relocation/relocator.h"

namespace dedupfs {
namespace {

constexpr std::size_t kMaxQueuedPrefetches = 64;
constexpr std::size_t kPrefetchedTogether = 16;

std::size_t thread_count(std::size_t asked) {
  return asked != 0 ? asked : std::max(2U, std::thread::hardware_concurrency());
}

}  // namespace

struct ChunkStore::State {
  State(std::shared_ptr<ContainerStore> container_store, Database& db, const Settings& options, std::uint64_t next_id,
        std::unique_ptr<DroppedBytes> dropped_bytes)
      : settings(options),
        containers(std::move(container_store)),
        database(db),
        reader(*containers, database, pending, options.cache_bytes),
        damage(reader.damaged(), pending),
        dropped(std::move(dropped_bytes)),
        ingest({.compression = options.compression,
                .region_bytes = options.region_bytes,
                .waiting_region_bytes = options.waiting_region_bytes,
                .threads = thread_count(options.threads),
                .slow_bytes = options.slow_bytes},
               *containers, database, next_id, pending, reader, liveness, pool),
        relocator({*containers, database, pending, reader, ingest}, *dropped),
        erasure(liveness, pending, ingest),
        pool(thread_count(options.threads), "chunk-store") {}

  const Settings settings;
  const std::shared_ptr<ContainerStore> containers;
  Database& database;
  PendingChunks pending;
  ChunkReader reader;
  Liveness liveness;
  DamageRecord damage;
  const std::unique_ptr<DroppedBytes> dropped;
  Ingest ingest;
  Relocator relocator;
  Erasure erasure;
  std::vector<CommitParticipant*> parts;  // what takes part in commits by itself

  std::atomic<std::size_t> prefetches = 0;  // in the pool
  ThreadPool pool;                          // last: its tasks use the rest
};

std::unique_ptr<ChunkWriter> ChunkStore::open_writer() {
  DEDUPFS_CHECK(!state_->settings.read_only);  // the caller's mount is writable
  return std::make_unique<ChunkWriter>(state_->ingest);
}

std::uint64_t ChunkStore::writer_bytes() const {
  return state_->settings.region_bytes;
}

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
    const bool is_queued = survive("read-ahead", [&] {
      std::vector<ChunkId> some(first,
                                first + static_cast<std::ptrdiff_t>(std::min(kPrefetchedTogether, ids.size() - at)));
      state_->pool.submit([state = state_.get(), some = std::move(some)] {
        // An error shows when somebody reads it.
        survive("read-ahead", [&] {
          for (const ChunkId id : some) (void)state->reader.get(id);
        });
        --state->prefetches;
      });
    });
    if (is_queued) continue;
    --state_->prefetches;
    return;
  }
}

// ---------------------------------------------------------------- commit

void ChunkStore::close_regions() {
  state_->ingest.close_regions();
}

void ChunkStore::freeze() {
  close_regions();
  state_->pending.freeze();
  for (CommitParticipant* const part : state_->parts) part->freeze();
}

Result<void> ChunkStore::append_to(Database::Batch& batch) {
  DEDUPFS_TRY(state_->ingest.writer.wait_for(state_->pending.frozen_regions()));
  crash_point("commit.regions-written");
  StageTimer timer(state_->ingest.meter);
  DEDUPFS_TRY(state_->containers->sync());
  timer.end(IngestStage::kSync, 0);
  crash_point("commit.containers-synced");
  DEDUPFS_TRY(state_->pending.append_frozen_to(batch, state_->database));
  for (CommitParticipant* const part : state_->parts) DEDUPFS_TRY(part->append_to(batch));
  return {};
}

void ChunkStore::committed() {
  for (CommitParticipant* const part : state_->parts) part->committed();
  if (std::ranges::any_of(state_->pending.frozen_regions(), [](const auto& region) { return !region->moved.empty(); }))
    state_->reader.forget_places();
  const std::vector<std::uint32_t> abandoned = state_->pending.frozen_abandoned();
  state_->pending.drop_frozen();
  for (const std::uint32_t container : abandoned)  // one that stays is taken for empty by the next reclaim
    if (const auto removed = state_->containers->remove(container); !removed)
      spdlog::warn("{}", removed.error().message());
}

void ChunkStore::failed(CommitFailure failure) {
  for (CommitParticipant* const part : state_->parts) part->failed(failure);
}

bool ChunkStore::has_changes() const {
  return !state_->pending.open_is_empty();
}

std::size_t ChunkStore::open_bytes() const {
  const auto& deltas = state_->ingest.deltas;
  return state_->pending.open_bytes() + (deltas ? deltas->features.open_bytes() : 0);
}

std::uint64_t ChunkStore::waiting_bytes() const {
  return state_->ingest.writer.waiting_bytes();
}

std::uint64_t ChunkStore::moved_disk_bytes() const {
  return state_->ingest.writer.moved_disk_bytes();
}

// ---------------------------------------------------------------- meters

IngestMeter& ChunkStore::ingest_meter() {
  return state_->ingest.meter;
}

MeterReadings ChunkStore::readings() const {
  MeterReadings readings;
  readings.stages = state_->ingest.meter.readings();
  readings.waits = {{"region_writer", state_->ingest.writer.waits()}};
  readings.caches = state_->reader.cache_readings();
  readings.caches.push_back({"fingerprints", state_->ingest.duplicates.cache_reading()});
  readings.queues = {{"chunk_batches", state_->pool.waiting()},
                     {"prefetches", state_->prefetches},
                     {"region_bytes", state_->ingest.writer.waiting_bytes()}};
  return readings;
}

// ---------------------------------------------------------------- parts

DamageRecord& ChunkStore::damage() {
  return state_->damage;
}

DroppedBytes& ChunkStore::dropped() {
  return *state_->dropped;
}

RecentReferences& ChunkStore::recent_references() {
  return state_->ingest.recent_references;
}

Relocator& ChunkStore::relocator() {
  return state_->relocator;
}

ChunkReader& ChunkStore::reader() {
  return state_->reader;
}

Erasure& ChunkStore::erasure() {
  return state_->erasure;
}

// ---------------------------------------------------------------- life

ChunkStore::ChunkStore(std::unique_ptr<State> state) : state_(std::move(state)) {}
ChunkStore::~ChunkStore() = default;

Result<std::unique_ptr<ChunkStore>> ChunkStore::open(std::shared_ptr<ContainerStore> containers, Database& database,
                                                     const Settings& settings) {
  std::uint64_t next_id = 1;
  if (!settings.read_only) {
    DEDUPFS_ASSIGN(next_id, load_next_chunk_id(database, *containers, settings.first_unknown_container));
  }
  DEDUPFS_ASSIGN(auto dropped, DroppedBytes::load(database));
  auto state = std::make_unique<State>(std::move(containers), database, settings, next_id, std::move(dropped));
  DEDUPFS_TRY(state->damage.load(database));
  state->parts = {&state->damage, &state->dropped->participant()};
  if (settings.delta.enabled() && !settings.read_only) {
    DEDUPFS_ASSIGN(state->ingest.deltas,
                   DeltaStage::make(settings.delta, database, state->reader, settings.far_delta_bytes_an_hour));
    state->parts.push_back(&state->ingest.deltas->features);
  }
  return std::unique_ptr<ChunkStore>(new ChunkStore(std::move(state)));
}

}  // namespace dedupfs
