#include "store/relocation/restore_estimate.h"

#include <algorithm>

namespace dedupfs {

bool RestoreEstimate::read(const ChunkRun& run, ChunkId id) {
  const ChunkRun::Chunk& chunk = run.at(id);
  if (chunk.is_delta() && decoded_.use(number_of(id), chunk.raw_length)) return false;
  if (!regions_.use(run.place, run.region_payload_bytes)) read_region(run);
  if (chunk.is_delta()) decoded_bytes_ += chunk.raw_length;
  return chunk.is_delta();
}

void RestoreEstimate::read_region(const ChunkRun& run) {
  const bool is_near = run.place.container == end_.container && run.place.offset >= end_.offset &&
                       run.place.offset - end_.offset <= kShortGapBytes;
  if (is_near)
    read_bytes_ += run.place.offset - end_.offset;
  else
    ++jumps_;
  ++regions_read_;
  read_bytes_ += run.region_disk_bytes;
  decoded_bytes_ += run.region_payload_bytes;
  end_ = {run.place.container, run.place.offset + run.region_disk_bytes};
}

double RestoreEstimate::seconds(const DiskModel& disk) const {
  return std::max(
      static_cast<double>(jumps_) * disk.seek_seconds + static_cast<double>(read_bytes_) / disk.bytes_per_second,
      static_cast<double>(decoded_bytes_) / kDecodedBytesPerSecond);
}

}  // namespace dedupfs
