// Labels for things that groups share: who has something, if only one group has it.
//
// The groups form a tree. What two groups have gets the label of the least group that contains both. So what gets the label of a
// group, or of one below it, is nobody else's.
//
// Threads: one user at a time.
// Failure: LabelMap: a label that finds no memory is lost; require_complete() says so.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/result.h"
#include "store/chunks/chunk_set.h"

namespace dedupfs {

using Label = std::uint32_t;
inline constexpr Label kNeededByNobody = 0;
inline constexpr Label kOthers = 1;  // or several groups that no group contains
inline constexpr Label kFirstGroup = 2;

class GroupTree {
 public:
  static constexpr std::size_t kMaxGroups = 10'000;  // as many as there can be snapshots

  // kOthers as parent: it is in no other group. kTooLarge for more than kMaxGroups.
  Result<Label> add(Label parent = kOthers);
  std::size_t size() const { return parents_.size(); }
  Label end() const { return kFirstGroup + static_cast<Label>(parents_.size()); }
  // Of a group.
  Label parent(Label group) const { return parents_[group - kFirstGroup]; }

  // The label of what the holders of both labels have.
  Label join(Label one, Label other) const;
  // Whether nobody outside of the group has it.
  bool is_in(Label label, Label group) const {
    while (label > group) label = parent(label);  // a group has a greater label than its parent
    return label == group;
  }

 private:
  std::vector<Label> parents_;
};

// The labels of things that have numbers.
//
// Memory: a set of numbers (store/chunks/chunk_set.h) for each binary digit of a label; `max_bytes` together.
class LabelMap {
 public:
  LabelMap(const GroupTree& groups, std::uint64_t max_bytes);

  Label get(std::uint64_t number) const;
  void set(std::uint64_t number, Label label);
  // Joins the label to the one that it has. True if that made a difference.
  bool join(std::uint64_t number, Label label);
  Result<void> require_complete() const;

 private:
  const GroupTree& groups_;
  std::vector<std::unique_ptr<ChunkSet>> digits_;  // the lowest first
};

}  // namespace dedupfs
