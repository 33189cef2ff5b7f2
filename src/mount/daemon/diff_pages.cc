#include "mount/daemon/diff_pages.h"

#include <utility>

namespace dedupfs {
namespace {

std::size_t bytes_of(const TreeDiff& diff) {
  std::size_t bytes = 0;
  for (const TreeChange& change : diff.changes)
    bytes += sizeof(change) + change.path.capacity() + change.old_path.capacity() +
             change.attributes.capacity() * sizeof(std::string_view);
  return bytes;
}

}  // namespace

Result<std::shared_ptr<const TreeDiff>> DiffPages::get(const Asked& asked, const Find& find, Clock::time_point now) {
  drop_old(now);
  if (asked.first == 0 || !asked.is_same_diff(asked_)) kept_.reset();
  used_ = now;
  if (kept_) return kept_;
  DEDUPFS_ASSIGN(TreeDiff found, find());
  auto diff = std::make_shared<const TreeDiff>(std::move(found));
  if (bytes_of(*diff) <= kMaxBytes) {
    asked_ = asked;
    kept_ = diff;
  }
  return diff;
}

void DiffPages::note_given(std::size_t changes) {
  if (kept_ && changes >= kept_->changes.size()) kept_.reset();
}

void DiffPages::drop_old(Clock::time_point now) {
  if (now - used_ > kKept) kept_.reset();
}

}  // namespace dedupfs
