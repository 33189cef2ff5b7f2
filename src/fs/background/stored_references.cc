#include "fs/background/stored_references.h"

#include <algorithm>
#include <vector>

#include "fs/format/recipe_format.h"
#include "fs/format/records.h"
#include "index/entries.h"
#include "store/metadata/before_images.h"

namespace dedupfs {
namespace {

// Files with fewer references than this are visited together, up to so many files at a time.
constexpr std::size_t kMinReferences = 1 << 15;
constexpr InodeNumber kMaxInodesTogether = 1 << 12;

}  // namespace

Result<void> StoredReferences::visit(const Database::Snapshot& snapshot, const ReclaimHost::Visit& visit) const {
  const double end = static_cast<double>(numbers_.end());
  const auto visit_segment = [&](std::string_view key, std::string_view value) -> Result<void> {
    DEDUPFS_ASSIGN(const RecipeKey segment, decode_recipe_key(key));
    DEDUPFS_ASSIGN(const auto entries, decode_segment(value));
    for (const RecipeEntry& entry : entries)
      if (entry.kind == RecipeEntry::Kind::kChunk)
        DEDUPFS_TRY(visit(entry.chunk, static_cast<double>(segment.inode) / end));
    return {};
  };
  const auto visit_image = [&](std::string_view key, std::string_view value) -> Result<void> {
    DEDUPFS_ASSIGN(const BeforeImageKey image, decode_before_image_key(key));
    if (image.family != Family::kRecipes) return {};
    DEDUPFS_ASSIGN(const auto before, decode_before_image(value));
    return before ? visit_segment(image.key, *before) : Result<void>();
  };
  const auto walk = [&](Family family, const auto& visit_record) {
    Result<void> result;
    const auto walked = database_.walk(snapshot, family, [&](std::string_view key, std::string_view value) {
      result = visit_record(key, value);
      return result.has_value();
    });
    return walked ? result : walked;  // a record that does not parse may refer to any chunk
  };
  DEDUPFS_TRY(walk(Family::kRecipes, visit_segment));
  return walk(Family::kBeforeImages, visit_image);
}

// Higher inode numbers are newer. Large files are visited one by one, the newest first. Many small files that were made
// together are visited in the order in which they were made, because they will be read in that order.
Result<void> StoredReferences::visit_newest(const ReclaimHost::VisitUntil& visit, const GoOn& go_on) const {
  std::vector<ChunkId> ids;  // of the small ones
  InodeNumber together = 1;
  for (std::string end = encode_inode_key(numbers_.end());;) {
    DEDUPFS_TRY(go_on());
    DEDUPFS_ASSIGN(const auto newest, database_.find_before(Family::kRecipes, end));
    if (!newest) return {};
    const InodeNumber last = node_in_key(newest->first);
    const std::string begin = encode_inode_key(last + 1 - std::min(last + 1, together));
    if (together == 1) {
      std::size_t references = 0;
      DEDUPFS_ASSIGN(const bool wants_more,
                     visit_recipes(begin, end, [&](ChunkId id) { return ++references, visit(id); }));
      if (!wants_more) return {};
      if (references < kMinReferences) together = 2;
    } else {
      ids.clear();
      DEDUPFS_ASSIGN(const bool are_few, visit_recipes(begin, end, [&](ChunkId id) {
                       ids.push_back(id);
                       return ids.size() < kMinReferences;
                     }));
      if (!are_few) {
        together = 1;
        continue;
      }
      if (!std::ranges::all_of(ids, visit)) return {};
      together = std::min(2 * together, kMaxInodesTogether);
    }
    end = begin;
  }
}

// Visits the references of files with keys in [begin, end), in order. False if `visit` returned false.
Result<bool> StoredReferences::visit_recipes(const std::string& begin, const std::string& end,
                                             const ReclaimHost::VisitUntil& visit) const {
  return visit_entries_while(database_, Family::kRecipes, begin, end, kSegmentsOfAPage,
                             [&](const std::string&, const std::string& value) -> Result<bool> {
                               DEDUPFS_ASSIGN(const auto entries, decode_segment(value));
                               return std::ranges::all_of(entries, [&](const RecipeEntry& entry) {
                                 return entry.kind != RecipeEntry::Kind::kChunk || visit(entry.chunk);
                               });
                             });
}

}  // namespace dedupfs
