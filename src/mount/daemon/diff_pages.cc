#include "mount/daemon/diff_pages.h"

#include <utility>

namespace dedupfs {

Result<std::shared_ptr<const TreeDiff>> DiffPages::get(const Asked& asked, const Find& find, Clock::time_point now) {
  const bool goes_on = asked.first != 0 && asked.is_same_diff(asked_) && now - used_ <= kKept;
  if (!goes_on) kept_.reset();
  used_ = now;
  if (kept_) return kept_;
  DEDUPFS_ASSIGN(TreeDiff found, find());
  auto diff = std::make_shared<const TreeDiff>(std::move(found));
  if (diff->changes.size() <= kMostChanges) {
    asked_ = asked;
    kept_ = diff;
  }
  return diff;
}

void DiffPages::note_given(std::size_t changes) {
  if (kept_ && changes >= kept_->changes.size()) kept_.reset();
}

}  // namespace dedupfs
