#include "fs/transfer/file_changes.h"

#include <algorithm>
#include <optional>
#include <string_view>
#include <vector>

#include "fs/format/records.h"
#include "hash/sha256.h"

namespace dedupfs::transfer {
namespace {

// The entries of a recipe, looked up by offset, mostly one behind the other.
class OlderRecipe {
 public:
  OlderRecipe(const CommittedTree& tree, InodeNumber inode) : tree_(tree), inode_(inode) {}

  Result<void> load() {
    return tree_.walk(Family::kRecipes, encode_inode_key(inode_), encode_key_behind(inode_),
                      [&](std::string_view key, std::string_view value) -> Result<bool> {
                        DEDUPFS_ASSIGN(const RecipeKey place, decode_recipe_key(key));
                        segments_.push_back({place.offset, sha256_of(bytes_of(value))});
                        return true;
                      });
  }

  bool has(std::uint64_t segment, std::string_view value) const {
    const auto found = std::ranges::lower_bound(segments_, segment, {}, &Segment::offset);
    return found != segments_.end() && found->offset == segment && found->digest == sha256_of(bytes_of(value));
  }

  // The entry that starts there. Null: none does.
  Result<const RecipeEntry*> find(std::uint64_t offset) {
    DEDUPFS_TRY(open_segment(offset));
    while (next_ < entries_.size() && at_ < offset) at_ += entries_[next_++].length;
    return next_ < entries_.size() && at_ == offset ? &entries_[next_] : nullptr;
  }

 private:
  struct Segment {
    std::uint64_t offset = 0;
    Sha256Digest digest{};
  };

  Result<void> open_segment(std::uint64_t offset) {
    auto segment = std::ranges::upper_bound(segments_, offset, {}, &Segment::offset);
    if (segment == segments_.begin()) return {};
    --segment;
    if (opened_ == segment->offset && at_ <= offset) return {};
    entries_.clear();
    DEDUPFS_ASSIGN(const auto value, tree_.get(Family::kRecipes, encode_recipe_key(inode_, segment->offset)));
    if (value) {
      DEDUPFS_ASSIGN(entries_, decode_segment(*value));
    }
    opened_ = at_ = segment->offset;
    next_ = 0;
    return {};
  }

  const CommittedTree& tree_;
  const InodeNumber inode_;
  std::vector<Segment> segments_;
  std::optional<std::uint64_t> opened_;  // the offset of the segment of entries_
  std::vector<RecipeEntry> entries_;
  std::size_t next_ = 0;  // of them, which starts at `at_`
  std::uint64_t at_ = 0;
};

}  // namespace

Result<void> visit_changed_entries(const CommittedTree* older, const CommittedTree& newer, InodeNumber inode,
                                   const VisitEntry& visit) {
  std::optional<OlderRecipe> before;
  if (older != nullptr) {
    before.emplace(*older, inode);
    DEDUPFS_TRY(before->load());
  }
  return newer.walk(Family::kRecipes, encode_inode_key(inode), encode_key_behind(inode),
                    [&](std::string_view key, std::string_view value) -> Result<bool> {
                      DEDUPFS_ASSIGN(const RecipeKey place, decode_recipe_key(key));
                      if (before && before->has(place.offset, value)) return true;
                      DEDUPFS_ASSIGN(const auto entries, decode_segment(value));
                      std::uint64_t offset = place.offset;
                      for (const RecipeEntry& entry : entries) {
                        bool is_same = false;
                        if (before) {
                          DEDUPFS_ASSIGN(const RecipeEntry* const old, before->find(offset));
                          is_same = old != nullptr && *old == entry;
                        }
                        DEDUPFS_TRY(visit({entry, offset, place.offset, is_same}));
                        offset += entry.length;
                      }
                      return true;
                    });
}

Result<std::uint64_t> end_of_recipe(const CommittedTree& tree, InodeNumber inode) {
  std::string last_key, last;
  DEDUPFS_TRY(tree.walk(Family::kRecipes, encode_inode_key(inode), encode_key_behind(inode),
                        [&](std::string_view key, std::string_view value) -> Result<bool> {
                          last_key = key;
                          last = value;
                          return true;
                        }));
  if (last.empty()) return 0;
  DEDUPFS_ASSIGN(const RecipeKey place, decode_recipe_key(last_key));
  DEDUPFS_ASSIGN(const auto entries, decode_segment(last));
  std::uint64_t end = place.offset;
  for (const RecipeEntry& entry : entries) end += entry.length;
  return end;
}

}  // namespace dedupfs::transfer
