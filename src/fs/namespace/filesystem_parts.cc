#include "fs/namespace/filesystem_parts.h"

#include <algorithm>
#include <utility>

#include "fs/background/stored_references.h"
#include "fs/history/history_series.h"
#include "fs/inodes/inode_record.h"
#include "fs/statistics/statistics.h"

namespace dedupfs {
namespace {

constexpr std::size_t kCachedInodes = 16 * 1024;

// A sample is no change of a user: alone it is worth no checkpoint.
HistoryHost history_host(FilesystemParts& parts) {
  return {.changes = [&parts] { return parts.transactions.changes(); },
          .commit = [&parts] { return parts.transactions.sync(); },
          .keep =
              [&parts](const HistorySample& sample) {
                if (!parts.transactions.check_writable()) return;
                const QuiesceGate::Pass pass(parts.transactions.gate());
                put_history_sample(parts.volume->metadata(), sample);
              },
          .visit_newest =
              [&parts](const auto& visit, const GoOn& go_on) {
                return StoredReferences(parts.volume->database(), *parts.numbers).visit_newest(visit, go_on);
              }};
}

}  // namespace

FilesystemParts::FilesystemParts(std::unique_ptr<Volume> its_volume, std::unique_ptr<InodeNumbers> its_numbers,
                                 const FilesystemOptions& options, Shortcuts shortcuts)
    : volume(std::move(its_volume)),
      volume_size([this]() -> Result<std::uint64_t> {
        const std::uint64_t taken_bytes = *disk_bytes_of(*volume);
        DEDUPFS_ASSIGN(const SpaceGuard::Room room, space.room());
        return std::min(taken_bytes + room.available_bytes, room.total_bytes);
      }),
      writability(volume->read_only()),
      budget(options.dirty_bytes, [this] { transactions.request_prepare(); }),
      quota_ledger(volume->metadata()),
      table(volume->metadata(), kCachedInodes, &quota_ledger),
      numbers(std::move(its_numbers)),
      changes(volume->metadata(), table, *numbers, quota_ledger, budget, writability, shortcuts),
      transactions(*volume, writability, changes,
                   {.commit_interval = options.commit_interval, .group_bytes = options.group_bytes}),
      space(
          *volume->folder(), [this] { return transactions.pending_bytes(); }, [this] { (void)transactions.sync(); }),
      orphans(volume->metadata(), volume->chunks(), table, *numbers, quota_ledger, transactions),
      quota_guard(quota_ledger, orphans, transactions,
                  [this](const QuotaAccountPtr& account, const GoOn& go_on) { quotas.measure(account, go_on); }),
      references(table, orphans),
      damage_log(table, volume->snapshots()),
      moves([this](InodeNumber directory) { return read_parent(volume->metadata(), directory); }),
      quotas(*volume, table, quota_ledger, transactions, space, options.spare_memory),
      snapshots_directory(volume->snapshots(), table, references, options.snapshot_access),
      clean_up(*volume, orphans, transactions, options.group_bytes),
      holds(*volume, transactions, options.hold_clocks),
      snapshots(*volume, *numbers, transactions, space, holds, snapshots_directory),
      rollback(*volume, table, *numbers, quotas, orphans, moves, damage_log, transactions, space, clean_up, snapshots,
               snapshots_directory),
      access_times(volume->metadata(), transactions, options.atime),
      xattrs(volume->metadata(), table, transactions, space),
      entries(volume->metadata(), table, orphans, snapshots_directory),
      maker(volume->metadata(), table, *numbers, xattrs),
      name_space(volume->metadata(), table, names, entries, references, maker, transactions, space, quota_guard,
                 snapshots_directory, access_times),
      directories(volume->metadata(), table, names, references, snapshots_directory, access_times),
      renames(volume->metadata(), table, names, entries, maker, moves, transactions, space),
      contents(*volume, table, budget, changes, writability, damage_log),
      files(volume->metadata(), table, contents, changes, orphans, writability, transactions, space, quota_guard,
            access_times, damage_log),
      inode_attributes(volume->metadata(), table, transactions, contents, xattrs, snapshots_directory),
      clones(volume->metadata(), table, *numbers, names, entries, contents, moves, transactions, space, quota_guard),
      background(*volume, table, *numbers, writability, transactions, space, clean_up, activity,
                 {.checkpoint_interval = options.checkpoint_interval,
                  .patience = options.background_patience,
                  .defragment_percent = options.defragment_percent,
                  .settle = options.settle,
                  .settle_cpu_percent = options.settle_cpu_percent,
                  .gather_percent = options.gather_percent,
                  .payback_months = options.payback_months,
                  .least_container_age = options.least_container_age}),
      history_settings(options.history) {}

Result<void> FilesystemParts::start() {
  DEDUPFS_TRY(quota_ledger.check_readable());
  DEDUPFS_TRY(maker.ensure_root());
  snapshots_directory.add();
  if (volume->read_only()) return {};
  DEDUPFS_TRY(orphans.load());
  background.start_checkpoints();
  DEDUPFS_TRY(transactions.start({.clean_up = [this] { return clean_up.step(); },
                                  .after_commit = [this](bool is_new_state) { background.after_commit(is_new_state); },
                                  .now_and_then = [this] { holds.note_time_now_and_then(); }}));
  background.start();
  if (history_settings) history.emplace(*volume, history_host(*this), *history_settings);
  return {};
}

void FilesystemParts::stop() {
  background.stop();
  if (history) history->stop();
}

}  // namespace dedupfs
