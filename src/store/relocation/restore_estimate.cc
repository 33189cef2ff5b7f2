#include "store/relocation/restore_estimate.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "store/chunks/chunk_reader.h"

namespace dedupfs {

bool RestoreEstimate::read(const ChunkExtent& extent, ChunkId id) {
  const ChunkExtent::Chunk& chunk = extent.at(id);
  if (chunk.is_delta() && decoded_.use(number_of(id), chunk.raw_length)) return false;
  if (!regions_.use(extent.place, extent.region_payload_bytes)) read_region(extent);
  if (chunk.is_delta()) decoded_bytes_ += chunk.raw_length;
  return chunk.is_delta();
}

void RestoreEstimate::read_region(const ChunkExtent& extent) {
  const bool is_near = extent.place.container == end_.container && extent.place.offset >= end_.offset &&
                       extent.place.offset - end_.offset <= kShortGapBytes;
  if (is_near)
    read_bytes_ += extent.place.offset - end_.offset;
  else
    ++jumps_;
  ++regions_read_;
  read_bytes_ += extent.region_disk_bytes;
  decoded_bytes_ += extent.region_payload_bytes;
  end_ = {extent.place.container, extent.place.offset + extent.region_disk_bytes};
}

double RestoreEstimate::seconds(const DiskModel& disk) const {
  return std::max(
      static_cast<double>(jumps_) * disk.seek_seconds + static_cast<double>(read_bytes_) / disk.bytes_per_second,
      static_cast<double>(decoded_bytes_) / kDecodedBytesPerSecond);
}

Error chunk_not_in_index(ChunkId id) {
  return {ErrorCode::kCorruption, fmt::format("chunk {} is not in the index; fsck.dedupfs says more", number_of(id))};
}

Result<void> estimate_reading(ExtentFinder& extents, ChunkId chunk, RestoreEstimate& estimate) {
  std::vector<ChunkId> wanted{chunk};  // the next one last
  for (std::size_t left = ChunkReader::kMaxChunksPerRead; !wanted.empty() && left != 0; --left) {
    const ChunkId id = wanted.back();
    wanted.pop_back();
    DEDUPFS_ASSIGN(const ChunkExtent* const extent, extents.find(id));
    if (extent == nullptr) return chunk_not_in_index(id);
    if (!estimate.read(*extent, id)) continue;
    const DeltaSources& sources = extent->at(id).sources;
    wanted.insert(wanted.end(), sources.rbegin(), sources.rend());
  }
  return {};
}

}  // namespace dedupfs
