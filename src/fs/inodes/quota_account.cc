#include "fs/inodes/quota_account.h"

#include <fmt/format.h>

#include <algorithm>

namespace dedupfs {
namespace {

// A tree that is nearly full is measured again only after so large a part of its limit has changed. So up to that part may stay
// unused.
constexpr std::uint64_t kMeasurementsWhileTheLimitIsWritten = 64;

// Sums of a damaged volume may be too small or too large. They never wrap around.
void replace_part(std::uint64_t& sum, std::uint64_t from, std::uint64_t to) {
  sum = quota_sum(sum - std::min(sum, from), to);
}

Error exceeded(InodeNumber directory, std::string_view limit) {
  return {ErrorCode::kQuotaExceeded,
          fmt::format("the tree of directory {} has reached its limit of {}", directory, limit)};
}

}  // namespace

QuotaAccount::QuotaAccount(QuotaNumber number, const QuotaRecord& record)
    : number_(number), directory_(record.directory), record_(record), charged_bytes_(record.logical_bytes) {}

QuotaStatus QuotaAccount::status() const {
  const MutexLock lock(mutex_);
  return {.directory = directory_,
          .limits = record_.limits,
          .logical_bytes = charged_bytes_,
          .files = record_.files,
          .stored_bytes = record_.stored_bytes,
          .unmeasured_bytes = record_.unmeasured_bytes};
}

QuotaRecord QuotaAccount::record() const {
  const MutexLock lock(mutex_);
  return record_;
}

void QuotaAccount::set_limits(const QuotaLimits& limits) {
  const MutexLock lock(mutex_);
  const bool had_stored_limit = record_.limits.stored_bytes.has_value();
  record_.limits = limits;
  if (limits.stored_bytes && !had_stored_limit) forget_measurement();
}

void QuotaAccount::unmeasure() {
  const MutexLock lock(mutex_);
  forget_measurement();
}

void QuotaAccount::forget_measurement() {
  if (!record_.limits.stored_bytes) return;
  record_.stored_bytes = 0;
  record_.unmeasured_bytes = charged_bytes_;
  changed_bytes_ = kMaxQuotaLimit;
}

bool QuotaAccount::has_logical_room(std::uint64_t bytes) const {
  const auto& limit = record_.limits.logical_bytes;
  return bytes == 0 || !limit || (charged_bytes_ <= *limit && bytes <= *limit - charged_bytes_);
}

bool QuotaAccount::has_stored_room(std::uint64_t bytes) const {
  const auto& limit = record_.limits.stored_bytes;
  const std::uint64_t used = record_.stored_bytes + record_.unmeasured_bytes;
  return bytes == 0 || !limit || (used <= *limit && bytes <= *limit - used);
}

bool QuotaAccount::has_room_for_file() const {
  return !record_.limits.files || record_.files < *record_.limits.files;
}

bool QuotaAccount::has_room_for_a_file() const {
  const MutexLock lock(mutex_);
  return has_room_for_file();
}

bool QuotaAccount::has_room_for(const Addition& addition) const {
  const MutexLock lock(mutex_);
  return has_logical_room(addition.logical_bytes) && has_stored_room(addition.written_bytes);
}

Result<void> QuotaAccount::check_room(const Addition& addition) const {
  const MutexLock lock(mutex_);
  if (!has_logical_room(addition.logical_bytes)) return exceeded(directory_, "logical bytes");
  return has_stored_room(addition.written_bytes) ? Result<void>() : exceeded(directory_, "stored bytes");
}

Result<void> QuotaAccount::charge(const Addition& addition) {
  const MutexLock lock(mutex_);
  if (!has_logical_room(addition.logical_bytes)) return exceeded(directory_, "logical bytes");
  if (!has_stored_room(addition.written_bytes)) return exceeded(directory_, "stored bytes");
  replace_part(charged_bytes_, 0, addition.logical_bytes);
  if (!record_.limits.stored_bytes) return {};
  replace_part(record_.unmeasured_bytes, 0, addition.written_bytes);
  note_changed(addition.written_bytes);
  return {};
}

void QuotaAccount::note_changed(std::uint64_t bytes) {
  changed_bytes_ = quota_sum(changed_bytes_, bytes);
}

bool QuotaAccount::needs_measurement(std::uint64_t written_bytes) const {
  const MutexLock lock(mutex_);
  return !has_stored_room(written_bytes) &&
         changed_bytes_ > *record_.limits.stored_bytes / kMeasurementsWhileTheLimitIsWritten;
}

QuotaAccount::Measurement QuotaAccount::begin_measurement() const {
  const MutexLock lock(mutex_);
  return {.unmeasured_bytes = record_.unmeasured_bytes, .changed_bytes = changed_bytes_};
}

void QuotaAccount::end_measurement(const Measurement& begun, std::optional<std::uint64_t> stored_bytes) {
  const MutexLock lock(mutex_);
  if (stored_bytes) {
    record_.stored_bytes = std::min(*stored_bytes, kMaxQuotaLimit);
    replace_part(record_.unmeasured_bytes, begun.unmeasured_bytes, 0);
  }
  replace_part(changed_bytes_, begun.changed_bytes, 0);
}

void QuotaAccount::change_charge(std::uint64_t from, std::uint64_t to) {
  if (from == to) return;
  const MutexLock lock(mutex_);
  replace_part(charged_bytes_, from, to);
  if (from > to) note_changed(from - to);
}

void QuotaAccount::change_record(std::uint64_t from, std::uint64_t to) {
  if (from == to) return;
  const MutexLock lock(mutex_);
  replace_part(record_.logical_bytes, from, to);
}

Result<void> QuotaAccount::add_file() {
  const MutexLock lock(mutex_);
  if (!has_room_for_file()) return exceeded(directory_, "files");
  record_.files = quota_sum(record_.files, 1);
  return {};
}

void QuotaAccount::add_present_file() {
  const MutexLock lock(mutex_);
  record_.files = quota_sum(record_.files, 1);
}

void QuotaAccount::drop_file() {
  const MutexLock lock(mutex_);
  replace_part(record_.files, 1, 0);
}

void QuotaAccount::change_recorded(const RecordedChange& change) {
  const MutexLock lock(mutex_);
  replace_part(record_.logical_bytes, change.dropped_bytes, change.added_bytes);
  replace_part(record_.files, change.dropped_files, change.added_files);
  charged_bytes_ = record_.logical_bytes;
  forget_measurement();
}

}  // namespace dedupfs
