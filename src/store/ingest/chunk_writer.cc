#include "store/ingest/chunk_writer.h"

#include <algorithm>
#include <deque>
#include <optional>
#include <utility>

#include "base/check.h"
#include "base/guarded.h"
#include "base/mutex.h"
#include "store/chunks/fingerprint.h"
#include "store/ingest/ingest.h"

namespace dedupfs {

namespace {

std::uint64_t bytes_in(const std::vector<ByteSpan>& chunks) {
  std::uint64_t bytes = 0;
  for (const ByteSpan chunk : chunks) bytes += chunk.size();
  return bytes;
}

}  // namespace

class ChunkWriter::Stream : public std::enable_shared_from_this<Stream> {
 public:
  explicit Stream(Ingest& ingest) : ingest_(ingest), packer_(ingest.packers) {}

  Work begin(Batch batch);
  void put(Batch batch);
  bool is_idle();

 private:
  struct Task {
    Batch batch;
    std::vector<Fingerprint> fingerprints;
    std::vector<std::optional<DuplicateFinder::Duplicate>> duplicates;
    std::vector<DeltaEncoder::Finding> findings;  // of those that are no duplicates, in order; none without deltas
    std::optional<Error> error;
    bool prepared = false;  // guarded by the mutex of the stream
    // Spent on deltas, so far.
    std::uint64_t delta_bytes = 0;
    MeterClock::duration delta_time{};
  };

  Result<void> prepare(Task& task) const;
  void find_delta(Task& task, std::size_t chunk, std::optional<ChunkId>& match, Liveness::Lookup& lookup) const;
  void pack_prepared();
  Result<std::vector<ChunkId>> pack(Task& task);
  ChunkId pack_new(const Fingerprint& fingerprint, ByteSpan chunk, const DeltaEncoder::Finding* finding);
  void note_references(const Task& task, const std::vector<ChunkId>& ids) const;

  Ingest& ingest_;
  const PackerPool::Lease packer_;
  Mutex mutex_;
  std::deque<std::shared_ptr<Task>> tasks_ DEDUPFS_GUARDED_BY(mutex_);  // in order of put()
  bool packing_ DEDUPFS_GUARDED_BY(mutex_) = false;
  std::optional<ChunkId> last_id_;  // belongs to the packing thread: the chunk that was packed last
};

ChunkWriter::ChunkWriter(Ingest& ingest) : stream_(std::make_shared<Stream>(ingest)) {}

ChunkWriter::~ChunkWriter() {
  DEDUPFS_CHECK(stream_->is_idle());  // the owner of a stream waits for its answers
}

void ChunkWriter::put(Batch batch) {
  stream_->put(std::move(batch));
}

ChunkWriter::Work ChunkWriter::begin(Batch batch) {
  return stream_->begin(std::move(batch));
}

bool ChunkWriter::Stream::is_idle() {
  const MutexLock lock(mutex_);
  return tasks_.empty();
}

ChunkWriter::Work ChunkWriter::Stream::begin(Batch batch) {
  auto task = std::make_shared<Task>();
  task->batch = std::move(batch);
  Work work = [stream = shared_from_this(), task] {
    auto prepared = guarded([&] { return stream->prepare(*task); });
    if (!prepared) task->error = std::move(prepared).error();
    {
      const MutexLock lock(stream->mutex_);
      task->prepared = true;
    }
    stream->pack_prepared();
  };
  const MutexLock lock(mutex_);
  tasks_.push_back(std::move(task));
  return work;
}

void ChunkWriter::Stream::put(Batch batch) {
  Work work = begin(std::move(batch));
  try {
    ingest_.pool.submit(std::move(work));
  } catch (...) {  // nobody will prepare it, and it is the last one still
    const MutexLock lock(mutex_);
    tasks_.pop_back();
    throw;
  }
}

// ---------------------------------------------------------------- side by side: fingerprint, look-up, delta

Result<void> ChunkWriter::Stream::prepare(Task& task) const {
  std::optional<ChunkId> match;  // where the chunk before was found again, as duplicate or base
  const std::uint64_t bytes = bytes_in(task.batch.chunks);
  StageTimer timer(ingest_.meter);
  task.fingerprints = fingerprints_of(task.batch.chunks);
  timer.end(IngestStage::kFingerprint, bytes);
  task.duplicates.reserve(task.batch.chunks.size());
  for (std::size_t chunk = 0; chunk < task.batch.chunks.size(); ++chunk) {
    Liveness::Lookup lookup(ingest_.liveness);
    DEDUPFS_ASSIGN(const auto duplicate, ingest_.duplicates.find(task.fingerprints[chunk], lookup));
    task.duplicates.push_back(duplicate);
    if (duplicate)
      match = duplicate->id;
    else if (ingest_.deltas)
      find_delta(task, chunk, match, lookup);
  }
  ingest_.meter.of(IngestStage::kLookUp).add(bytes, timer.lap() - task.delta_time);
  if (task.delta_bytes != 0) ingest_.meter.of(IngestStage::kDelta).add(task.delta_bytes, task.delta_time);
  return {};
}

void ChunkWriter::Stream::find_delta(Task& task, std::size_t chunk, std::optional<ChunkId>& match,
                                     Liveness::Lookup& lookup) const {
  const Batch& batch = task.batch;
  const ReplacedChunk replaced = batch.replaced.empty() ? ReplacedChunk() : batch.replaced[chunk];
  const auto began = MeterClock::now();
  task.findings.push_back(ingest_.deltas->encoder->encode(batch.chunks[chunk], match, replaced));
  task.delta_time += MeterClock::now() - began;
  task.delta_bytes += batch.chunks[chunk].size();
  // The encoder finds sources in caches and lists that reclaim knows nothing of.
  auto& delta = task.findings.back().delta;
  if (delta &&
      !std::ranges::all_of(delta->sources, [&](ChunkId id) { return lookup.claim(id) && ingest_.reader.has(id); }))
    delta.reset();
  match = delta ? std::optional(delta->base) : std::nullopt;
}

// ---------------------------------------------------------------- in order: pack

// Packs and reports the prepared tasks at the front of the queue. One thread does it; the others leave it to that one.
void ChunkWriter::Stream::pack_prepared() {
  const MutexLock lock(mutex_);
  if (packing_) return;
  packing_ = true;
  while (!tasks_.empty() && tasks_.front()->prepared) {
    const std::shared_ptr<Task> task = std::move(tasks_.front());
    tasks_.pop_front();
    const MutexUnlock unlocked(mutex_);
    auto ids = guarded([&] { return pack(*task); });
    task->batch.chunks.clear();
    task->batch.owner.reset();  // the receiver of `done` may count the memory as free
    task->batch.done(std::move(ids));
  }
  packing_ = false;
}

Result<std::vector<ChunkId>> ChunkWriter::Stream::pack(Task& task) {
  if (task.error) return *task.error;
  DEDUPFS_TRY(ingest_.check_writable());
  std::vector<ChunkId> ids;
  ids.reserve(task.batch.chunks.size());
  auto finding = task.findings.begin();
  for (std::size_t i = 0; i < task.batch.chunks.size(); ++i) {
    const auto& duplicate = task.duplicates[i];
    if (duplicate && duplicate->is_lost)
      ids.push_back(packer_->add_again(duplicate->id, task.fingerprints[i], task.batch.chunks[i]).id);
    else if (duplicate)
      ids.push_back(duplicate->id);
    else
      ids.push_back(
          pack_new(task.fingerprints[i], task.batch.chunks[i], ingest_.deltas ? std::to_address(finding++) : nullptr));
    if (ingest_.deltas && last_id_) ingest_.deltas->order.link(*last_id_, ids.back());
    last_id_ = ids.back();
  }
  note_references(task, ids);
  return ids;
}

// `finding`: null without deltas.
ChunkId ChunkWriter::Stream::pack_new(const Fingerprint& fingerprint, ByteSpan chunk,
                                      const DeltaEncoder::Finding* finding) {
  Liveness::Lookup lookup(ingest_.liveness);
  const auto packed =
      finding != nullptr ? packer_->add(fingerprint, chunk, finding->delta) : packer_->add(fingerprint, chunk);
  if (finding != nullptr && packed.is_new && finding->sketch)
    ingest_.deltas->features.insert(*finding->sketch, packed.id);
  lookup.note_stored(packed.id);
  return packed.id;
}

void ChunkWriter::Stream::note_references(const Task& task, const std::vector<ChunkId>& ids) const {
  RecentReferences::Window some{.ids = ids};
  for (std::size_t i = 0; i < ids.size(); ++i) {
    some.bytes += task.batch.chunks[i].size();
    if (!task.duplicates[i]) some.new_bytes += task.batch.chunks[i].size();
  }
  ingest_.recent_references.note(some);
}

}  // namespace dedupfs
