#include "fs/statistics/labels.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

namespace dedupfs {

Result<Label> GroupTree::add(Label parent) {
  if (parents_.size() == kMaxGroups)
    return Error{ErrorCode::kTooLarge,
                 fmt::format("there are more than {} folders to compare: name fewer", kMaxGroups)};
  parents_.push_back(parent);
  return end() - 1;
}

Label GroupTree::join(Label one, Label other) const {
  if (one == kNeededByNobody || one == other) return other;
  if (other == kNeededByNobody) return one;
  // The greater one of two different labels does not contain the other.
  while (one != other) {
    Label& greater = one > other ? one : other;
    greater = parent(greater);
  }
  return one;
}

LabelMap::LabelMap(const GroupTree& groups, std::uint64_t max_bytes) : groups_(groups) {
  const auto digits = static_cast<std::uint64_t>(std::bit_width(groups.end() - 1));
  for (std::uint64_t i = 0; i < digits; ++i) digits_.push_back(std::make_unique<ChunkSet>(max_bytes / digits));
}

Label LabelMap::get(std::uint64_t number) const {
  Label label = kNeededByNobody;
  for (std::size_t i = 0; i < digits_.size(); ++i)
    if (digits_[i]->contains(ChunkId{number})) label |= Label{1} << i;
  return label;
}

void LabelMap::set(std::uint64_t number, Label label) {
  for (std::size_t i = 0; i < digits_.size(); ++i) {
    if ((label >> i & 1) != 0)
      digits_[i]->insert(ChunkId{number});
    else
      digits_[i]->erase(ChunkId{number});
  }
}

bool LabelMap::join(std::uint64_t number, Label label) {
  const Label before = get(number);
  const Label joined = groups_.join(before, label);
  if (joined == before) return false;
  set(number, joined);
  return true;
}

Result<void> LabelMap::require_complete() const {
  for (const auto& digit : digits_) DEDUPFS_TRY(digit->require_complete());
  return {};
}

}  // namespace dedupfs
