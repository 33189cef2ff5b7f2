#include "store/check/scrubber.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <array>
#include <set>
#include <utility>

#include "base/coding.h"
#include "base/guarded.h"
#include "index/entries.h"
#include "store/chunks/chunk_reader.h"
#include "store/chunks/damage_record.h"
#include "store/metadata/checkpoint.h"

namespace dedupfs {
namespace {

constexpr std::uint8_t kFindingsVersion = 1;
constexpr std::size_t kExtentsAtOnce = 64;
constexpr std::chrono::seconds kBetweenPositions{60};

std::int64_t now_unix_seconds() {
  return std::chrono::duration_cast<std::chrono::seconds>(std::chrono::system_clock::now().time_since_epoch()).count();
}

void put_findings(Encoder& encoder, const ScrubFindings& findings) {
  encoder.u8(kFindingsVersion);
  encoder.signed_varint(findings.started_unix_seconds);
  encoder.signed_varint(findings.ended_unix_seconds);
  encoder.varint(findings.checked_bytes);
  encoder.varint(findings.damaged_chunks);
  encoder.varint(findings.other_damage);
  encoder.u8(findings.complete ? 1 : 0);
}

bool take_findings(Decoder& decoder, ScrubFindings& findings) {
  const std::uint8_t version = decoder.u8();
  findings.started_unix_seconds = decoder.signed_varint();
  findings.ended_unix_seconds = decoder.signed_varint();
  findings.checked_bytes = decoder.varint();
  findings.damaged_chunks = decoder.varint();
  findings.other_damage = decoder.varint();
  findings.complete = decoder.u8() == 1;
  return decoder.ok() && version == kFindingsVersion;
}

}  // namespace

std::string encode_scrub_findings(const ScrubFindings& findings) {
  std::string encoded;
  Encoder encoder(encoded);
  put_findings(encoder, findings);
  return encoded;
}

Result<ScrubFindings> decode_scrub_findings(std::string_view encoded) {
  Decoder decoder(encoded);
  ScrubFindings findings;
  if (take_findings(decoder, findings) && decoder.ok_at_end()) return findings;
  return Error{ErrorCode::kCorruption, "index: the findings of the last scrub do not parse"};
}

std::string encode_scrub_position(const ScrubPosition& position) {
  std::string encoded;
  Encoder encoder(encoded);
  put_findings(encoder, position.so_far);
  encoder.varint(position.next_chunk);
  encoder.varint(position.bytes_per_second);
  return encoded;
}

Result<ScrubPosition> decode_scrub_position(std::string_view encoded) {
  Decoder decoder(encoded);
  ScrubPosition position;
  const bool has_findings = take_findings(decoder, position.so_far);
  position.next_chunk = decoder.varint();
  position.bytes_per_second = decoder.varint();
  if (has_findings && decoder.ok_at_end()) return position;
  return Error{ErrorCode::kCorruption, "index: the position of a scrub does not parse"};
}

std::optional<ScrubFindings> last_scrub_of(const Database& database) {
  const auto encoded = database.get(Family::kCounters, kLastScrubCounter);
  if (!encoded || !*encoded) return std::nullopt;
  const auto findings = decode_scrub_findings(**encoded);
  return findings ? std::optional(*findings) : std::nullopt;
}

Scrubber::Scrubber(Volume& volume, ScrubHost host)
    : volume_(volume), host_(std::move(host)), last_(last_scrub_of(volume.database())) {}

Scrubber::~Scrubber() {
  interrupt();
}

Result<void> Scrubber::start(std::uint64_t bytes_per_second) {
  const MutexLock lock(mutex_);
  if (running_) return Error{ErrorCode::kBusy, "a scrub of this volume runs already"};
  begin({.bytes_per_second = bytes_per_second, .so_far = {.started_unix_seconds = now_unix_seconds()}});
  return {};
}

void Scrubber::resume() {
  const auto stored = volume_.database().get(Family::kCounters, kScrubPositionCounter);
  if (!stored || !*stored) return;
  const auto position = decode_scrub_position(**stored);
  if (!position) return spdlog::warn("{}: start a new one", position.error().message());
  const MutexLock lock(mutex_);
  if (running_) return;
  spdlog::info("scrub: going on where it was interrupted");
  begin(*position);
}

void Scrubber::begin(const ScrubPosition& position) {
  if (thread_.joinable()) thread_.join();  // the one before has ended
  running_ = true;
  stopping_ = interrupting_ = false;
  progress_ = begun_at_ = 0;
  begun_ = noted_ = Clock::now();
  next_chunk_ = position.next_chunk;
  current_ = position.so_far;
  begun_at_bytes_ = current_.checked_bytes;
  limit_.set(position.bytes_per_second, current_.checked_bytes);
  thread_ = std::thread([this, first = position.next_chunk] { run(first); });
}

void Scrubber::set_rate(std::uint64_t bytes_per_second) {
  const MutexLock lock(mutex_);
  limit_.set(bytes_per_second, current_.checked_bytes);
  wakeup_.notify_all();
}

void Scrubber::stop() {
  end_thread(/*is_interruption=*/false);
}

void Scrubber::interrupt() {
  end_thread(/*is_interruption=*/true);
}

bool Scrubber::is_interrupted() const {
  const MutexLock lock(mutex_);
  return interrupting_;
}

bool Scrubber::is_stopping() const {
  const MutexLock lock(mutex_);
  return stopping_;
}

void Scrubber::end_thread(bool is_interruption) {
  std::thread thread;
  {
    const MutexLock lock(mutex_);
    stopping_ = true;
    interrupting_ = is_interruption;
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
  status.bytes_per_second = limit_.bytes_per_second();
  status.current = current_;
  const std::chrono::duration<double> taken = Clock::now() - begun_;
  const double done = progress_ - begun_at_;
  if (current_.checked_bytes > begun_at_bytes_)
    status.checked_bytes_per_second =
        static_cast<double>(current_.checked_bytes - begun_at_bytes_) / std::max(0.001, taken.count());
  if (done > 0.01) status.seconds_left = static_cast<std::int64_t>(taken.count() * (1 - progress_) / done);
  return status;
}

void Scrubber::run(std::uint64_t first_chunk) {
  const Result<void> checked = guarded([&] { return check_all(first_chunk); });
  if (!checked && checked.error().code() != ErrorCode::kInterrupted)
    survive("scrub", [&] { note_other_damage(checked.error()); });

  survive("ending a scrub", [&] {
    ScrubFindings findings;
    bool goes_on_later = false;
    {
      const MutexLock lock(mutex_);
      goes_on_later = interrupting_ && !checked && checked.error().code() == ErrorCode::kInterrupted;
      if (!goes_on_later) current_.ended_unix_seconds = now_unix_seconds();
      current_.complete = checked.has_value();
      findings = current_;
    }
    if (goes_on_later) return host_.note_position(position());
    spdlog::log(findings.sound() ? spdlog::level::info : spdlog::level::err,
                "scrub: {} bytes checked{}, {} damaged chunks, {} other errors", findings.checked_bytes,
                findings.complete ? "" : " before it was stopped", findings.damaged_chunks, findings.other_damage);
    host_.ended(findings);
    const MutexLock lock(mutex_);
    last_ = findings;
  });
  const MutexLock lock(mutex_);
  running_ = false;
}

ScrubPosition Scrubber::position() const {
  const MutexLock lock(mutex_);
  return {.next_chunk = next_chunk_, .bytes_per_second = limit_.bytes_per_second(), .so_far = current_};
}

// One that goes on has looked at all but the extents.
Result<void> Scrubber::check_all(std::uint64_t first_chunk) {
  if (first_chunk == 0) {
    for (const Error& damage : volume_.superblock_damage()) note_other_damage(damage);
    check_checkpoint();
    check_index();
  }
  return check_extents(first_chunk);
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
Result<void> Scrubber::check_extents(std::uint64_t first_chunk) {
  DEDUPFS_ASSIGN(const auto last, volume_.database().find_before(Family::kChunks, std::string(9, '\xff')));
  if (!last) return {};
  DEDUPFS_ASSIGN(const ChunkExtent last_run, decode_extent(last->first, last->second));
  const double end = static_cast<double>(number_of(last_run.first)) + 1;
  {
    const MutexLock lock(mutex_);
    progress_ = begun_at_ = std::min(static_cast<double>(first_chunk) / end, 1.0);
  }
  std::set<RegionPlace> recent;  // a region has few extents, and they are neighbours
  const auto check = [&](const std::string& key, const std::string& value) -> Result<bool> {
    DEDUPFS_ASSIGN(const ChunkExtent extent, decode_extent(key, value));
    if (number_of(extent.first) > number_of(last_run.first)) return false;
    check_extent(extent);
    if (recent.size() >= kExtentsAtOnce) recent.clear();
    note_progress(extent, recent.insert(extent.place).second, end);
    if (!pace()) return Error{ErrorCode::kInterrupted, "the scrub was stopped"};
    return true;
  };
  DEDUPFS_TRY(visit_entries_while(volume_.database(), Family::kChunks, encode_extent_key(ChunkId{first_chunk}), {},
                                  kExtentsAtOnce, check));
  return {};
}

void Scrubber::note_progress(const ChunkExtent& extent, bool is_new_region, double end) {
  const auto is_position_due = [&] {
    const MutexLock lock(mutex_);
    if (is_new_region) current_.checked_bytes += extent.region_disk_bytes;
    progress_ = static_cast<double>(number_of(extent.first)) / end;
    next_chunk_ = number_of(extent.first) + 1;
    const bool is_due = Clock::now() - noted_ >= kBetweenPositions;
    if (is_due) noted_ = Clock::now();
    return is_due;
  };
  if (is_position_due()) host_.note_position(position());
}

void Scrubber::check_extent(const ChunkExtent& extent) {
  if (!volume_.containers().is_near(extent.region())) return;  // dedupfs-remote verify looks at what the bucket has
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

bool Scrubber::pace() {
  const MutexLock lock(mutex_);
  while (!stopping_) {
    const auto until = limit_.wait_until(current_.checked_bytes);
    if (!until) break;
    wakeup_.wait_until(mutex_, *until);  // or until the limit changes
  }
  return !stopping_;
}

}  // namespace dedupfs
