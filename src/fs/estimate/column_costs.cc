#include "fs/estimate/column_costs.h"

#include <algorithm>
#include <limits>

#include "fs/statistics/committed_view.h"

namespace dedupfs {
namespace {

constexpr auto kNoColumn = std::numeric_limits<std::uint32_t>::max();

class ColumnCosts {
 public:
  ColumnCosts(const CommittedView& view, const std::vector<InodeNumber>& borders)
      : view_(view), borders_(borders), costs_(borders.size() - 1) {}

  Result<std::vector<ColumnCost>> run() {
    DEDUPFS_TRY(view_.walk_recipes([this](InodeNumber inode, const auto& segment) { find_owners(inode, segment); }));
    DEDUPFS_TRY(view_.walk_extents([this](const ChunkExtent& extent) { add_extent(extent); }));
    DEDUPFS_TRY(view_.walk_recipes([this](InodeNumber inode, const auto& segment) { add_references(inode, segment); }));
    return std::move(costs_);
  }

 private:
  struct Known {
    std::uint32_t owner = kNoColumn;  // the first column that has it
    std::uint32_t last = kNoColumn;   // the last column that it was counted for
    float stored = 0;
    bool is_helped = false;  // it is a delta, and another column has a source of it
  };

  std::uint32_t column_of(InodeNumber inode) const {
    const auto next = std::ranges::upper_bound(borders_, inode);
    if (next == borders_.begin() || next == borders_.end()) return kNoColumn;
    return static_cast<std::uint32_t>(next - borders_.begin() - 1);
  }

  Known& known(ChunkId id) {
    const std::uint64_t number = number_of(id);  // ids are dense, and the view has checked it
    if (chunks_.size() <= number) chunks_.resize(number + 1);
    return chunks_[number];
  }

  void find_owners(InodeNumber inode, const std::vector<RecipeEntry>& segment) {
    const std::uint32_t column = column_of(inode);
    for (const RecipeEntry& entry : segment)
      if (entry.kind == RecipeEntry::Kind::kChunk)
        known(entry.chunk).owner = std::min(known(entry.chunk).owner, column);
  }

  void add_extent(const ChunkExtent& extent) {
    if (extent.region_payload_bytes == 0) return;
    const double rate = static_cast<double>(extent.region_disk_bytes) / extent.region_payload_bytes;
    for (std::size_t i = 0; i < extent.chunks.size(); ++i) {
      const ChunkExtent::Chunk& chunk = extent.chunks[i];
      const std::uint32_t owner = known(extent.id_of(i)).owner;
      const bool is_helped =
          std::ranges::any_of(chunk.sources, [&](ChunkId source) { return known(source).owner != owner; });
      Known& here = known(extent.id_of(i));
      here.stored = static_cast<float>(chunk.payload_length() * rate);
      here.is_helped = is_helped;
      if (chunk.is_delta()) continue;
      whole_bytes_ += chunk.raw_length;
      whole_stored_ += chunk.raw_length * rate;
    }
  }

  // What a delta from another column saves. Alone it would be compressed as other whole chunks are.
  double saving_of(const Known& chunk, std::uint64_t length) const {
    if (!chunk.is_helped || whole_bytes_ == 0) return 0;
    return std::max(0.0,
                    static_cast<double>(length) * whole_stored_ / whole_bytes_ - static_cast<double>(chunk.stored));
  }

  void add_references(InodeNumber inode, const std::vector<RecipeEntry>& segment) {
    const std::uint32_t column = column_of(inode);
    if (column == kNoColumn) return;
    for (const RecipeEntry& entry : segment) {
      if (entry.kind != RecipeEntry::Kind::kChunk) continue;
      Known& chunk = known(entry.chunk);
      if (chunk.last == column) continue;
      chunk.last = column;
      costs_[column].bytes += static_cast<double>(entry.length);
      const double saved = saving_of(chunk, entry.length);
      costs_[column].alone += static_cast<double>(chunk.stored) + saved;
      costs_[column].saved += saved;
    }
  }

  const CommittedView& view_;
  const std::vector<InodeNumber>& borders_;
  std::vector<Known> chunks_;  // by id
  std::vector<ColumnCost> costs_;
  double whole_bytes_ = 0;   // of chunks that are no deltas
  double whole_stored_ = 0;  // that these take
};

}  // namespace

Result<std::vector<ColumnCost>> column_costs(Volume& volume, const std::vector<InodeNumber>& borders) {
  if (borders.empty()) return std::vector<ColumnCost>();
  DEDUPFS_ASSIGN(const CommittedView view, CommittedView::open(volume));
  return ColumnCosts(view, borders).run();
}

}  // namespace dedupfs
