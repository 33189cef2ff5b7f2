#include "fs/statistics/shares.h"

#include <algorithm>
#include <memory>
#include <span>
#include <utility>

#include "fs/format/mode.h"
#include "store/chunks/chunk_set.h"

namespace dedupfs {
namespace {

constexpr std::size_t kGroupsOfAPass = 32;

// Adds what runs of chunks of an extent take to the bytes of their labels.
template <class Add>
void add_runs(const ChunkExtent& extent, const LabelMap& labels, const Add& add) {
  Label last = kNeededByNobody;
  std::uint64_t payload_bytes = 0;
  for (std::size_t i = 0; i < extent.chunks.size(); ++i) {
    const Label label = labels.get(number_of(extent.id_of(i)));
    if (label != last) add(last, extent.disk_bytes_of(std::exchange(payload_bytes, 0)));
    last = label;
    payload_bytes += extent.chunks[i].payload_length();
  }
  add(last, extent.disk_bytes_of(payload_bytes));
}

// Finds for each chunk the least group that has all who need it.
class Owners {
 public:
  Owners(const CommittedView& view, const Sharers& sharers, std::uint64_t max_bytes)
      : view_(view),
        sharers_(sharers),
        needed_by_(sharers.groups, max_bytes / 2),
        before_(sharers.groups, max_bytes / 2) {
    // Snapshots beside each other with the same label count as one.
    const std::vector<Label>& snapshots = sharers.snapshots;
    end_of_run_.resize(snapshots.size());
    for (std::size_t i = snapshots.size(); i-- > 0;)
      end_of_run_[i] = i + 1 < snapshots.size() && snapshots[i] == snapshots[i + 1] ? end_of_run_[i + 1] : i + 1;
  }

  Result<void> find() {
    DEDUPFS_TRY(view_.walk_versions([&](const SegmentHolders& holders, const auto& entries) -> Result<void> {
      const Label label = label_of(holders);
      for (const RecipeEntry& entry : entries)
        if (entry.kind == RecipeEntry::Kind::kChunk) needed_by_.join(number_of(entry.chunk), label);
      return {};
    }));
    DEDUPFS_TRY(follow_deltas());
    return before_.require_complete();
  }

  Label of(ChunkId id) const { return needed_by_.get(number_of(id)); }

  Result<void> add_bytes(std::vector<Share>& shares) const {
    const GroupTree& groups = sharers_.groups;
    return view_.walk_extents([&](const ChunkExtent& extent) {
      add_runs(extent, needed_by_, [&](Label label, std::uint64_t bytes) {
        for (; label >= kFirstGroup; label = groups.parent(label)) {
          shares[label - kFirstGroup].own_bytes += bytes;
          shares[label - kFirstGroup].stored_bytes += bytes;
        }
      });
      for (std::size_t i = 0; i < extent.chunks.size(); ++i) {
        Label label = before_.get(number_of(extent.id_of(i)));
        if (label < kFirstGroup) continue;
        const Label now = of(extent.id_of(i));
        for (; label >= kFirstGroup && !groups.is_in(now, label); label = groups.parent(label))
          shares[label - kFirstGroup].held_bytes += extent.disk_bytes_of(extent.chunks[i].payload_length());
      }
    });
  }

 private:
  Label label_of(const SegmentHolders& holders) const {
    const GroupTree& groups = sharers_.groups;
    Label label = !holders.is_live ? kNeededByNobody : sharers_.files ? sharers_.files->of(holders.inode) : kOthers;
    for (std::size_t i = holders.begin; i < holders.end && label != kOthers; i = end_of_run_[i])
      label = groups.join(label, sharers_.snapshots[i]);
    return label;
  }

  // Who needs a delta needs its sources. Most sources were stored before their delta, so a walk has passed them: it is repeated until
  // it finds nothing new.
  Result<void> follow_deltas() {
    for (bool found = true; found;) {
      found = false;
      DEDUPFS_TRY(view_.walk_extents([&](const ChunkExtent& extent) {
        for (std::size_t i = 0; i < extent.chunks.size(); ++i) {
          if (!extent.chunks[i].is_delta()) continue;
          const Label label = of(extent.id_of(i));
          if (label == kNeededByNobody) continue;
          for (const ChunkId source : extent.chunks[i].sources)
            if (join(number_of(source), label)) found = true;
        }
      }));
      // Labels that found no room could change for ever.
      DEDUPFS_TRY(needed_by_.require_complete());
    }
    return {};
  }

  bool join(std::uint64_t source, Label label) {
    const Label now = needed_by_.get(source);
    if (!needed_by_.join(source, label)) return false;
    if (before_.get(source) == kNeededByNobody) before_.set(source, now == kNeededByNobody ? kOthers : now);
    return needed_by_.get(source) != now;  // the same if there is no memory
  }

  const CommittedView& view_;
  const Sharers& sharers_;
  std::vector<std::size_t> end_of_run_;
  LabelMap needed_by_;
  LabelMap
      before_;  // of chunks with another label than without deltas: that label; kOthers for those that nobody refers to
};

// What some groups need together with others.
class SharedChunks {
 public:
  SharedChunks(const CommittedView& view, const Sharers& sharers, const Owners& owners, std::span<const Label> groups,
               std::uint64_t max_bytes)
      : view_(view), sharers_(sharers), owners_(owners), groups_(groups) {
    for (std::size_t i = 0; i < groups.size(); ++i) {
      files_.push_back(std::make_unique<ChunkSet>(max_bytes / groups.size() / 2));
      chunks_.push_back(std::make_unique<ChunkSet>(max_bytes / groups.size() / 2));
      std::vector<std::size_t>& positions = snapshots_.emplace_back();
      for (std::size_t position = 0; position < sharers.snapshots.size(); ++position)
        if (sharers.groups.is_in(sharers.snapshots[position], groups[i])) positions.push_back(position);
    }
  }

  Result<void> find() {
    if (sharers_.files) {
      std::vector<ChunkSet*> users;
      for (const auto& set : files_) users.push_back(set.get());
      DEDUPFS_TRY(sharers_.files->add_users(groups_, users));
    }
    DEDUPFS_TRY(view_.walk_versions([&](const SegmentHolders& holders, const auto& entries) -> Result<void> {
      std::vector<std::size_t> users;
      for (std::size_t i = 0; i < groups_.size(); ++i)
        if (has(i, holders)) users.push_back(i);
      if (users.empty()) return {};
      for (const RecipeEntry& entry : entries)
        if (entry.kind == RecipeEntry::Kind::kChunk) add(entry.chunk, users);
      return {};
    }));
    DEDUPFS_TRY(follow_deltas());
    for (const auto& set : chunks_) DEDUPFS_TRY(set->require_complete());
    return {};
  }

  Result<void> add_bytes(std::vector<Share>& shares) const {
    DEDUPFS_TRY(view_.walk_extents([&](const ChunkExtent& extent) {
      for (std::size_t i = 0; i < groups_.size(); ++i) {
        std::uint64_t payload_bytes = 0;
        for (std::size_t j = 0; j < extent.chunks.size(); ++j)
          if (chunks_[i]->contains(extent.id_of(j))) payload_bytes += extent.chunks[j].payload_length();
        shares[groups_[i] - kFirstGroup].stored_bytes += extent.disk_bytes_of(payload_bytes);
      }
    }));
    if (!sharers_.files) return {};
    return view_.walk_inodes([&](const InodeRecord& record) {
      if (!is_regular(record.attributes.mode)) return;
      for (std::size_t i = 0; i < groups_.size(); ++i) add_file(record.attributes, i, shares[groups_[i] - kFirstGroup]);
    });
  }

 private:
  bool is_own_file(InodeNumber inode, std::size_t i) const {
    return sharers_.files && sharers_.groups.is_in(sharers_.files->of(inode), groups_[i]);
  }

  void add_file(const Attributes& attributes, std::size_t i, Share& share) const {
    const bool is_shared = files_[i]->contains(ChunkId{attributes.inode});
    if (!is_shared && !is_own_file(attributes.inode, i)) return;
    ++share.files;
    share.shared_files += is_shared ? 1 : 0;
    share.logical_bytes += attributes.size;
  }

  bool has(std::size_t i, const SegmentHolders& holders) const {
    if (holders.is_live && (is_own_file(holders.inode, i) || files_[i]->contains(ChunkId{holders.inode}))) return true;
    const auto next = std::ranges::lower_bound(snapshots_[i], holders.begin);
    return next != snapshots_[i].end() && *next < holders.end;
  }

  // True if one of the groups did not have it yet.
  bool add(ChunkId id, const std::vector<std::size_t>& users) {
    const Label owner = owners_.of(id);
    bool is_new = false;
    for (const std::size_t i : users)
      if (!sharers_.groups.is_in(owner, groups_[i]) && chunks_[i]->insert(id)) is_new = true;
    return is_new;
  }

  Result<void> follow_deltas() {
    for (bool found = true; found;) {
      found = false;
      DEDUPFS_TRY(view_.walk_extents([&](const ChunkExtent& extent) {
        std::vector<std::size_t> users;
        for (std::size_t i = 0; i < extent.chunks.size(); ++i) {
          if (!extent.chunks[i].is_delta()) continue;
          const Label owner = owners_.of(extent.id_of(i));
          if (owner == kNeededByNobody) continue;
          users.clear();
          for (std::size_t group = 0; group < groups_.size(); ++group)
            if (sharers_.groups.is_in(owner, groups_[group]) || chunks_[group]->contains(extent.id_of(i)))
              users.push_back(group);
          for (const ChunkId source : extent.chunks[i].sources)
            if (add(source, users)) found = true;
        }
      }));
    }
    return {};
  }

  const CommittedView& view_;
  const Sharers& sharers_;
  const Owners& owners_;
  const std::span<const Label> groups_;
  std::vector<std::unique_ptr<ChunkSet>> files_;
  std::vector<std::unique_ptr<ChunkSet>> chunks_;
  std::vector<std::vector<std::size_t>> snapshots_;
};

}  // namespace

void expect_walks(const CommittedView& view, const Sharers& sharers) {
  constexpr std::uint64_t kWalksOverExtents = 3;  // two to follow deltas, one to add up
  const auto records = [&](Family family) { return view.estimated_records(family); };
  const std::uint64_t passes = (sharers.groups.size() + kGroupsOfAPass - 1) / kGroupsOfAPass;
  const std::uint64_t content =
      records(Family::kRecipes) + records(Family::kBeforeImages) + kWalksOverExtents * records(Family::kChunks);
  std::uint64_t total = (1 + passes) * content;
  if (sharers.files) total += (1 + passes) * records(Family::kDirents) + passes * records(Family::kInodes);
  view.expect(total);
}

Result<std::vector<Share>> count_shares(const CommittedView& view, const Sharers& sharers, std::uint64_t max_bytes) {
  Owners owners(view, sharers, max_bytes);
  DEDUPFS_TRY(owners.find());
  std::vector<Share> shares(sharers.groups.size());
  DEDUPFS_TRY(owners.add_bytes(shares));

  std::vector<Label> groups;
  for (Label group = kFirstGroup; group < sharers.groups.end(); ++group) groups.push_back(group);
  std::size_t together = kGroupsOfAPass;
  for (std::size_t first = 0; first < groups.size();) {
    const std::size_t count = std::min(together, groups.size() - first);
    SharedChunks shared(view, sharers, owners, std::span(groups).subspan(first, count), max_bytes);
    const auto found = shared.find();
    if (!found && found.error().code() == ErrorCode::kNoMemory && count > 1) {
      together = count / 2;
      continue;
    }
    DEDUPFS_TRY(found);
    DEDUPFS_TRY(shared.add_bytes(shares));
    first += count;
  }
  return shares;
}

}  // namespace dedupfs
