#include "store/check/scrubber.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <array>
#include <set>
#include <utility>

#include "base/coding.h"
#include "base/guarded.h"
#include "index/entries.h"
#include "store/chunks/chunk_reader.h"
#include "store/chunks/damage_record.h"
#include "store/format/superblock.h"
#include "store/metadata/checkpoint.h"

namespace dedupfs {
namespace {

constexpr std::uint8_t kFindingsVersion = 1;
constexpr std::size_t kExtentsAtOnce = 64;

std::int64_t now_unix_seconds() {
  return std::chrono::duration_cast<std::chrono::seconds>(std::chrono::system_clock::now().time_since_epoch()).count();
}

}  // namespace

std::string encode_scrub_findings(const ScrubFindings& findings) {
  std::string encoded;
  Encoder encoder(encoded);
  encoder.u8(kFindingsVersion);
  encoder.signed_varint(findings.started_unix_seconds);
  encoder.signed_varint(findings.ended_unix_seconds);
  encoder.varint(findings.checked_bytes);
  encoder.varint(findings.damaged_chunks);
  encoder.varint(findings.other_damage);
  encoder.u8(findings.complete ? 1 : 0);
  return encoded;
}

Result<ScrubFindings> decode_scrub_findings(std::string_view encoded) {
  Decoder decoder(encoded);
  const std::uint8_t version = decoder.u8();
  ScrubFindings findings;
  findings.started_unix_seconds = decoder.signed_varint();
  findings.ended_unix_seconds = decoder.signed_varint();
  findings.checked_bytes = decoder.varint();
  findings.damaged_chunks = decoder.varint();
  findings.other_damage = decoder.varint();
  findings.complete = decoder.u8() == 1;
  if (version != kFindingsVersion || !decoder.ok_at_end())
    return Error{ErrorCode::kCorruption, "index: the findings of the last scrub do not parse"};
  return findings;
}

std::optional<ScrubFindings> last_scrub_of(const Database& database) {
  const auto encoded = database.get(Family::kCounters, kLastScrubCounter);
  if (!encoded || !*encoded) return std::nullopt;
  const auto findings = decode_scrub_findings(**encoded);
  return findings ? std::optional(*findings) : std::nullopt;
}

Scrubber::Scrubber(Volume& volume, std::function<void(const ScrubFindings&)> ended)
    : volume_(volume), ended_(std::move(ended)), last_(last_scrub_of(volume.database())) {}

Scrubber::~Scrubber() {
  stop();
}

Result<void> Scrubber::start(std::uint64_t bytes_per_second) {
  const MutexLock lock(mutex_);
  if (running_) return Error{ErrorCode::kBusy, "a scrub of this volume runs already"};
  if (thread_.joinable()) thread_.join();  // the one before has ended
  running_ = true;
  stopping_ = false;
  progress_ = 0;
  begun_ = Clock::now();
  current_ = {};
  current_.started_unix_seconds = now_unix_seconds();
  thread_ = std::thread([this, bytes_per_second] { run(bytes_per_second); });
  return {};
}

void Scrubber::stop() {
  std::thread thread;
  {
    const MutexLock lock(mutex_);
    stopping_ = true;
    thread = std::move(thread_);
  }
  wakeup_.notify_all();
  if (thread.joinable()) thread.join();
}

ScrubStatus Scrubber::status() const {
  const MutexLock lock(mutex_);
  ScrubStatus status;
  status.running = running_;
  status.last = last_;
  if (!running_) return status;
  status.progress = progress_;
  status.current = current_;
  const std::chrono::duration<double> taken = Clock::now() - begun_;
  if (progress_ > 0.01) status.seconds_left = static_cast<std::int64_t>(taken.count() * (1 - progress_) / progress_);
  return status;
}

void Scrubber::run(std::uint64_t bytes_per_second) {
  const Result<void> checked = guarded([&] { return check_all(bytes_per_second); });
  if (!checked && checked.error().code() != ErrorCode::kInterrupted)
    survive("scrub", [&] { note_other_damage(checked.error()); });

  survive("ending a scrub", [&] {
    ScrubFindings findings;
    {
      const MutexLock lock(mutex_);
      current_.ended_unix_seconds = now_unix_seconds();
      current_.complete = checked.has_value();
      findings = current_;
    }
    spdlog::log(findings.sound() ? spdlog::level::info : spdlog::level::err,
                "scrub: {} bytes checked{}, {} damaged chunks, {} other errors", findings.checked_bytes,
                findings.complete ? "" : " before it was stopped", findings.damaged_chunks, findings.other_damage);
    ended_(findings);
    const MutexLock lock(mutex_);
    last_ = findings;
  });
  const MutexLock lock(mutex_);
  running_ = false;
}

Result<void> Scrubber::check_all(std::uint64_t bytes_per_second) {
  for (const Error& damage : damage_of_superblocks(*volume_.folder())) note_other_damage(damage);
  check_checkpoint();
  check_index();
  return check_extents(bytes_per_second);
}

void Scrubber::note_other_damage(const Error& error) {
  spdlog::error("scrub: {}", error.message());
  const MutexLock lock(mutex_);
  ++current_.other_damage;
}

void Scrubber::check_checkpoint() {
  const auto uuid = parse_uuid(volume_.superblock().uuid);
  if (!uuid) return note_other_damage(uuid.error());
  std::vector<Error> damage;
  const auto newest = Checkpoints(volume_.folder(), *uuid).newest(damage);
  if (!newest) note_other_damage(newest.error());
  for (const Error& error : damage) note_other_damage(error);
}

void Scrubber::check_index() {
  if (const auto verified = volume_.database().verify_tables(); !verified) note_other_damage(verified.error());
}

// In order of ids, which is nearly that of the containers.
Result<void> Scrubber::check_extents(std::uint64_t bytes_per_second) {
  DEDUPFS_ASSIGN(const auto last, volume_.database().find_before(Family::kChunks, std::string(9, '\xff')));
  if (!last) return {};
  DEDUPFS_ASSIGN(const ChunkExtent last_run, decode_extent(last->first, last->second));
  const double end = static_cast<double>(number_of(last_run.first)) + 1;
  std::set<RegionPlace> recent;  // a region has few extents, and they are neighbours
  const auto check = [&](const std::string& key, const std::string& value) -> Result<bool> {
    DEDUPFS_ASSIGN(const ChunkExtent extent, decode_extent(key, value));
    if (number_of(extent.first) > number_of(last_run.first)) return false;
    check_extent(extent);
    if (recent.size() >= kExtentsAtOnce) recent.clear();
    {
      const MutexLock lock(mutex_);
      if (recent.insert(extent.place).second) current_.checked_bytes += extent.region_disk_bytes;
      progress_ = static_cast<double>(number_of(extent.first)) / end;
    }
    if (!pace(bytes_per_second)) return Error{ErrorCode::kInterrupted, "the scrub was stopped"};
    return true;
  };
  DEDUPFS_TRY(visit_entries_while(volume_.database(), Family::kChunks, {}, {}, kExtentsAtOnce, check));
  return {};
}

void Scrubber::check_extent(const ChunkExtent& extent) {
  const auto region = volume_.containers().read_from_disk(extent.region());
  std::uint64_t damaged = 0;
  for (std::size_t i = 0; i < extent.chunks.size(); ++i) {
    const ChunkId id = extent.id_of(i);
    if (region && (*region)->find(id) != nullptr) continue;
    // It may have been moved or erased since the extent was read.
    const auto now = find_extent(volume_.database(), id);
    if (now && (!*now || (*now)->place != extent.place)) continue;
    volume_.chunks().damage().note(id);
    ++damaged;
  }
  if (damaged == 0) return;
  spdlog::error("scrub: {} chunks from {} on are damaged: {}", damaged, number_of(extent.first),
                region ? fmt::format("they are not in container {} at {}", extent.place.container, extent.place.offset)
                       : region.error().message());
  const MutexLock lock(mutex_);
  current_.damaged_chunks += damaged;
}

bool Scrubber::pace(std::uint64_t bytes_per_second) {
  const MutexLock lock(mutex_);
  if (bytes_per_second == 0) return !stopping_;
  const std::chrono::duration<double> due(static_cast<double>(current_.checked_bytes) /
                                          static_cast<double>(bytes_per_second));
  return !wakeup_.wait_until(mutex_, begun_ + std::chrono::duration_cast<Clock::duration>(due),
                             [this]() DEDUPFS_REQUIRES(mutex_) { return stopping_; });
}

}  // namespace dedupfs
