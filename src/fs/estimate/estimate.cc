#include "fs/estimate/estimate.h"

#include <chrono>
#include <memory>
#include <set>
#include <utility>

#include "fs/estimate/source_tree.h"

namespace dedupfs {
namespace {

using Clock = std::chrono::steady_clock;

// How much a copy will read. What cannot be read, the copy itself will tell.
class SizeOfSource final : public SourceVisitor {
 public:
  using Progress = std::function<Result<void>(std::uint64_t bytes_so_far)>;
  SizeOfSource(const SourceTree& tree, Progress progress) : tree_(tree), progress_(std::move(progress)) {}

  Result<void> visit(const SourceEntry& entry) override {
    const struct stat& status = entry.status;
    const bool is_new = status.st_nlink == 1 || linked_.emplace(status.st_dev, status.st_ino).second;
    if (S_ISREG(status.st_mode) && is_new) bytes_ += tree_.data_bytes_of(entry);
    return go_on();
  }
  void note_unreadable(const Error& /*error*/) override {}
  Result<void> go_on() override { return progress_(bytes_); }

  std::uint64_t bytes() const { return bytes_; }

 private:
  const SourceTree& tree_;
  const Progress progress_;
  std::set<std::pair<dev_t, ino_t>> linked_;  // with more names
  std::uint64_t bytes_ = 0;
};

class Estimation {
 public:
  Estimation(const EstimateSettings& settings, const EstimateGoesOn& goes_on)
      : settings_(settings), goes_on_(goes_on), tree_({settings.roots, settings.one_filesystem}) {}

  Result<Estimate> run() {
    DEDUPFS_ASSIGN(volume_, ScratchVolume::make(settings_.scratch));
    found_.superblock = volume_->filesystem().volume().superblock();
    if (settings_.lists_first) DEDUPFS_TRY(list());
    TreeCopy copy(tree_, *volume_, progress_of(EstimateStage::kCopy));
    DEDUPFS_TRY(settings_.by_version ? copy_by_version(copy) : copy_all(copy));
    found_.problems = copy.problems();
    found_.peak_scratch_bytes = volume_->peak_bytes();
    return std::move(found_);
  }

 private:
  ScratchVolume::Progress progress_of(EstimateStage stage) {
    return [this, stage](std::uint64_t bytes) {
      found_.read_bytes += bytes;
      return go_on({.stage = stage, .read_bytes = found_.read_bytes, .total_bytes = total_bytes_});
    };
  }

  Result<void> go_on(const EstimateProgress& progress) const {
    if (goes_on_(progress)) return {};
    return Error{ErrorCode::kInterrupted, "the estimate was told to end"};
  }

  Result<void> list() {
    SizeOfSource size(
        tree_, [this](std::uint64_t bytes) { return go_on({.stage = EstimateStage::kList, .read_bytes = bytes}); });
    DEDUPFS_TRY(tree_.walk(size));
    total_bytes_ = size.bytes();
    return {};
  }

  Result<void> copy_all(TreeCopy& copy) {
    const Clock::time_point begun = Clock::now();
    auto walked = tree_.walk(copy);
    if (!walked && !is_lack_of_memory(walked.error())) return walked;
    found_.complete = walked.has_value();
    DEDUPFS_ASSIGN(found_.copied, volume_->statistics());
    found_.copy_seconds = seconds_since(begun);
    return settle();
  }

  Result<void> copy_by_version(TreeCopy& copy) {
    for (std::size_t root = 0; root < settings_.roots.size() && found_.complete && !found_.unsettled; ++root) {
      const Clock::time_point begun = Clock::now();
      auto walked = tree_.walk_root(root, copy);
      if (!walked && !is_lack_of_memory(walked.error())) return walked;
      found_.complete = walked.has_value();
      const auto copied = volume_->statistics();
      const bool has_versions = !found_.versions.empty();
      if (!copied && has_versions && is_lack_of_memory(copied.error())) {
        found_.complete = false;  // what is known of the versions before stays
        return {};
      }
      if (!copied) return copied.error();
      found_.copied = *copied;
      found_.copy_seconds += seconds_since(begun);
      if (!found_.complete) return {};
      DEDUPFS_TRY(settle());
      if (found_.settled) found_.versions.push_back(*found_.settled);
    }
    return {};
  }

  Result<void> settle() {
    found_.settled.reset();
    const auto settled = settled_statistics();
    if (settled)
      found_.settled = *settled;
    else if (is_lack_of_memory(settled.error()))
      found_.unsettled = settled.error();
    else
      return settled.error();
    return {};
  }

  Result<Statistics> settled_statistics() {
    if (found_.copied.landed_bytes != 0) DEDUPFS_TRY(volume_->settle(progress_of(EstimateStage::kSettle)));
    if (settings_.by_version) return volume_->statistics_without_log();  // what versions add is compared
    return found_.copied.landed_bytes != 0 ? volume_->statistics() : found_.copied;
  }

  static double seconds_since(Clock::time_point begun) {
    return std::chrono::duration<double>(Clock::now() - begun).count();
  }

  const EstimateSettings& settings_;
  const EstimateGoesOn& goes_on_;
  const SourceTree tree_;
  std::unique_ptr<ScratchVolume> volume_;
  std::uint64_t total_bytes_ = 0;  // of the source; 0: not known
  Estimate found_;
};

}  // namespace

Result<Estimate> estimate(const EstimateSettings& settings, const EstimateGoesOn& goes_on) {
  return Estimation(settings, goes_on).run();
}

}  // namespace dedupfs
