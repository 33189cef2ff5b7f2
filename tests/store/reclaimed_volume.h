// A volume whose chunks are referred to by a map in memory instead of by files, for the tests of reclaim: what is kept is what
// a reclaim must leave, and hooks get in between its steps.
//
// Threads: one. Hooks may put, keep and drop, but not commit.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <functional>
#include <future>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "index/counters.h"
#include "sample_store.h"
#include "store/check/check_report.h"
#include "store/check/store_check.h"
#include "store/chunks/chunk_index.h"
#include "store/format/container_format.h"
#include "store/ingest/chunk_writer.h"
#include "store/reclaim/reclaim.h"
#include "store/volume/volume.h"
#include "support/crash_copy.h"
#include "support/faulty_backing.h"
#include "support/files.h"
#include "support/folder_at.h"
#include "support/temp_dir.h"

namespace dedupfs {

inline constexpr std::size_t kChunkBytes = 20'000;

inline ByteBuffer random_chunk(std::uint64_t seed) {
  return random_bytes(kChunkBytes, seed);
}

inline std::vector<ByteBuffer> chunks(std::uint64_t from, std::uint64_t to) {
  std::vector<ByteBuffer> some;
  for (std::uint64_t seed = from; seed < to; ++seed) some.push_back(random_chunk(seed));
  return some;
}

// From a hook: here a reclaim ends.
inline Result<void> stopped() {
  return Error{ErrorCode::kInterrupted, "stopped by the test"};
}

class ReclaimedVolume {
 public:
  using References = std::map<ChunkId, ByteBuffer>;

  // `delta` and `compression` as mkfs.dedupfs takes them.
  explicit ReclaimedVolume(const std::string& delta = "none", const std::string& compression = "none")
      : path_(directory_.path() / "volume") {
    VolumeSettings made;
    made.compression = {.settled = parse_compression(compression).value()};
    made.delta = parse_delta_settings(delta).value();
    EXPECT_TRUE(Volume::create(path_, made));
    open();
  }
  // One that lies there already, and what its last commit referred to.
  ReclaimedVolume(Path path, References kept) : path_(std::move(path)), kept_(kept), committed_(std::move(kept)) {
    open();
  }
  // The same, opened by another backing, which does not fail.
  ReclaimedVolume(Path path, References kept, std::shared_ptr<Backing> opener)
      : path_(std::move(path)), opener_(std::move(opener)), kept_(kept), committed_(std::move(kept)) {
    open();
  }

  // As after a crash: what was not committed is gone.
  void reopen() {
    reopen([] {});
  }
  // With ids from here on for what is new.
  void reopen_with_next_chunk(std::uint64_t number) {
    reopen([&] {
      const auto index =
          Database::open(folder_at(path_ / kIndexDirectory), {.memory_bytes = Database::kMinMemoryBytes});
      ASSERT_TRUE(index);
      Database::Batch batch(**index);
      batch.put(Family::kCounters, kNextChunkIdCounter, encode_number(number));
      ASSERT_TRUE((*index)->write(batch));
    });
  }
  template <class Meanwhile>
  void reopen(const Meanwhile& meanwhile) {
    writer_.reset();
    volume_.reset();
    kept_ = committed_;
    meanwhile();
    open();
  }

  // That compress, from the next reopen() on. One writes regions in the order in which they are closed.
  std::size_t threads = 2;

  Volume& volume() { return *volume_; }
  const Path& path() const { return path_; }
  FaultyBacking& backing() { return *backing_; }
  const References& kept() const { return kept_; }

  // ---------------------------------------------------------------- writing

  std::vector<ChunkId> put(const std::vector<ByteBuffer>& chunks) {
    if (!writer_) writer_ = volume_->chunks().open_writer();
    std::promise<std::vector<ChunkId>> stored;
    writer_->put({.owner = nullptr, .chunks = {chunks.begin(), chunks.end()}, .done = [&](auto ids) {
                    EXPECT_TRUE(ids) << ids.error().message();
                    stored.set_value(ids.value_or(std::vector<ChunkId>()));
                  }});
    return stored.get_future().get();
  }
  std::vector<ChunkId> keep(const std::vector<ByteBuffer>& chunks) {
    const auto ids = put(chunks);
    for (std::size_t i = 0; i < ids.size(); ++i) kept_[ids[i]] = chunks[i];
    return ids;
  }
  ChunkId keep(const ByteBuffer& chunk) { return keep(std::vector<ByteBuffer>{chunk}).at(0); }
  void drop(ChunkId id) { ASSERT_EQ(kept_.erase(id), 1u); }
  void drop(const std::vector<ChunkId>& ids, std::initializer_list<std::size_t> positions) {
    for (const std::size_t position : positions) drop(ids.at(position));
  }
  void drop_all() { kept_.clear(); }

  // Of what was done before, however often it failed.
  Result<void> commit() {
    if (volume_->has_frozen()) DEDUPFS_TRY(commit_frozen());
    volume_->freeze();
    frozen_ = kept_;
    return commit_frozen();
  }
  // What is put from now on gets a container of its own.
  void begin_container() {
    ASSERT_TRUE(commit());
    (void)volume_->containers().begin_new_container();
  }

  // ---------------------------------------------------------------- reclaiming

  // All but `fail_commit`, `committed` and `available_bytes` are for the next reclaim only.
  std::function<bool()> fail_commit;
  std::function<void()> committed;
  std::uint64_t available_bytes = std::uint64_t{1} << 40;
  std::function<void()> while_marking;
  std::function<void()> before_erasing;
  std::function<Result<void>(ReclaimPhase)> progress;
  std::vector<ChunkId> newest;  // what the newest file refers to; none: half of what is kept, the other way round
  ReclaimSettings settings;
  unsigned gather_percent = 100;
  std::chrono::seconds least_age{0};
  double far_garbage = worth_fetching(3);

  // Sets progress() to call `visit` when round `round` of erasing comes to the `position`-th run of the index.
  void at_erased_extent(std::uint64_t round, std::uint64_t position, std::function<Result<void>()> visit) {
    reported_ = {{round, position}};
    progress = [visit = std::move(visit)](ReclaimPhase phase) {
      return phase == ReclaimPhase::kSweep ? visit() : Result<void>();
    };
  }

  ReclaimHost host() {
    return {.in_group = [](const auto& change) { return change(); },
            .commit = [this] { return commit(); },
            .before_erasing = [this] { run_once(before_erasing); },
            .references = [this](const auto& snapshot, const auto& visit) { return visit_kept(snapshot, visit); },
            .newest_references = [this](const auto& visit, const GoOn&) -> Result<void> {
              (void)std::ranges::all_of(newest.empty() ? half_of_kept() : newest, visit);
              return {};
            },
            .gather_percent = gather_percent,
            .far_garbage = far_garbage,
            .least_age = least_age,
            .available_bytes = [this] { return Result<std::uint64_t>(available_bytes); }};
  }

  Result<ReclaimFindings> reclaim() {
    auto findings = dedupfs::reclaim(*volume_, host(), settings, [this](ReclaimPhase phase, double done, const auto&) {
      EXPECT_GE(done, 0);
      EXPECT_LE(done, 1);
      return progress ? progress(phase) : Result<void>();
    });
    progress = nullptr;
    reported_.reset();
    return findings;
  }

  // ---------------------------------------------------------------- looking

  std::string read(ChunkId id) {
    const auto bytes = volume_->chunks().get(id);
    return bytes ? std::string(text_of(bytes->bytes)) : "error: " + bytes.error().message();
  }
  testing::AssertionResult reads_as(ChunkId id, const ByteBuffer& chunk) {
    const std::string bytes = read(id);
    if (bytes == text_of(chunk)) return testing::AssertionSuccess();
    return testing::AssertionFailure() << (bytes.starts_with("error: ") ? bytes : "other bytes");
  }
  void expect_kept() {
    for (const auto& [id, chunk] : kept_) EXPECT_TRUE(reads_as(id, chunk)) << "chunk " << number_of(id);
  }
  // With cold caches, too.
  void expect_kept_for_good() {
    expect_kept();
    ASSERT_TRUE(commit());
    reopen();
    expect_kept();
  }

  std::optional<ChunkExtent> extent_of(ChunkId id) { return find_extent(volume_->database(), id).value(); }
  bool has(ChunkId id) { return extent_of(id).has_value(); }
  std::size_t entries(Family family) {
    std::size_t count = 0;
    EXPECT_TRUE(
        volume_->database().walk(*volume_->database().snapshot(), family, [&](auto, auto) { return ++count != 0; }));
    return count;
  }
  std::set<ChunkId> chunks() {
    std::set<ChunkId> ids;
    EXPECT_TRUE(volume_->database().walk(*volume_->database().snapshot(), Family::kChunks, [&](auto key, auto value) {
      const ChunkExtent extent = decode_extent(key, value).value();
      for (std::size_t i = 0; i < extent.chunks.size(); ++i) ids.insert(extent.id_of(i));
      return true;
    }));
    return ids;
  }
  bool is_delta(ChunkId id) { return !sources_of(id).empty(); }
  DeltaSources sources_of(ChunkId id) {
    const auto extent = extent_of(id);
    return extent ? extent->at(id).sources : DeltaSources();
  }

  std::vector<std::uint32_t> containers() { return volume_->containers().numbers_from(0).value(); }
  // As if it had been written to last so long ago.
  void make_older(std::uint32_t container, std::chrono::seconds age) {
    const Path file = path_ / kContainersDirectory / container_name(container);
    std::filesystem::last_write_time(file, std::filesystem::file_time_type::clock::now() - age);
  }
  Path container_of(ChunkId id) {
    return path_ / kContainersDirectory / container_name(extent_of(id).value().place.container);
  }
  std::uint64_t container_bytes() {
    std::uint64_t bytes = 0;
    const auto containers = volume_->containers().list().value();
    for (const auto& container : containers) bytes += container.bytes;
    return bytes;
  }

  std::uint64_t index_bytes() {
    std::uint64_t bytes = 0;
    for (const auto& file : std::filesystem::directory_iterator(path_ / "index")) bytes += file.file_size();
    return bytes;
  }

  // What the check of the store prints of one kind.
  std::vector<std::string> check(const std::string& kind = "error: ") {
    std::vector<std::string> lines;
    CheckReport report([&](const std::string& line) {
      if (line.starts_with(kind)) lines.push_back(line);
    });
    const auto checked = check_store(*volume_, report);
    EXPECT_TRUE(checked) << checked.error().message();
    return lines;
  }

  void damage_payload_of(ChunkId id) {
    const ChunkExtent extent = extent_of(id).value();
    flip_bit(container_of(id), extent.place.offset + extent.region_disk_bytes - 1);
  }
  void damage_directory_of(ChunkId id) { flip_bit(container_of(id), extent_of(id).value().place.offset + 70); }

 private:
  std::vector<ChunkId> half_of_kept() const {
    std::vector<ChunkId> half;
    for (const auto& [id, chunk] : kept_)
      if (number_of(id) % 2 == 0) half.insert(half.begin(), id);
    return half;
  }
  void open() {
    auto opened = Volume::open(path_,
                               {.index_memory_bytes = 16 << 20,
                                .cache_bytes = 16 << 20,
                                .waiting_region_bytes = 8 << 20,  // so that of a batch of a move some is in containers
                                .threads = threads,
                                .slow_bytes = 0},
                               opener_);
    ASSERT_TRUE(opened) << opened.error().message();
    volume_ = std::move(*opened);
  }

  Result<void> commit_frozen() {
    if (fail_commit && fail_commit()) return Error{ErrorCode::kNoSpace, "the commit was made to fail"};
    DEDUPFS_TRY(volume_->commit());
    committed_ = frozen_;
    if (committed) committed();
    return {};
  }

  static void run_once(std::function<void()>& hook) {
    if (const auto once = std::exchange(hook, nullptr)) once();
  }

  Result<void> visit_kept(const Database::Snapshot& snapshot, const ReclaimHost::Visit& visit) {
    // As a filesystem sees it: what the snapshot refers to, and not what comes meanwhile.
    const References referred = committed_;
    run_once(while_marking);
    std::uint64_t visits = 0;
    for (const auto& [id, chunk] : referred) {
      DEDUPFS_TRY(visit(id, static_cast<double>(visits) / static_cast<double>(referred.size())));
      ++visits;
    }
    if (!reported_ || referred.empty()) return {};
    // Progress is reported once in so many steps: a visit or an extent. One chunk is visited until the step is the right one.
    constexpr std::uint64_t kBetweenReports = 1 << 12;
    std::uint64_t extents = 0;
    DEDUPFS_TRY(volume_->database().walk(snapshot, Family::kChunks, [&](auto, auto) { return ++extents != 0; }));
    // Where the superblock knows of no deltas, all extents are walked for their sources in between.
    const std::uint64_t walks = reported_->first + (volume_->superblock().delta.enabled() ? 0 : 1);
    for (; (visits + walks * extents + reported_->second) % kBetweenReports != 0; ++visits)
      DEDUPFS_TRY(visit(referred.begin()->first, 1));
    return {};
  }

  TempDir directory_;
  Path path_;
  std::shared_ptr<FaultyBacking> backing_ = std::make_shared<FaultyBacking>();
  std::shared_ptr<Backing> opener_ = backing_;
  References kept_;
  References frozen_;
  References committed_;
  std::optional<std::pair<std::uint64_t, std::uint64_t>> reported_;  // round and run
  std::unique_ptr<Volume> volume_;
  std::unique_ptr<ChunkWriter> writer_;
};

// It must succeed.
inline ReclaimFindings reclaim(ReclaimedVolume& volume) {
  const auto findings = volume.reclaim();
  EXPECT_TRUE(findings) << findings.error().message();
  return findings.value_or(ReclaimFindings());
}

}  // namespace dedupfs
