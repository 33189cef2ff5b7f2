// Any bytes as a container, and containers that were made right and then damaged. A walk past the damage ends, visits regions in
// order and inside of the file, and misses nothing where nothing is damaged. And headers and trailers whose checksums are right.
#include <fuzzer/FuzzedDataProvider.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "base/check.h"
#include "store/containers/container_scan.h"
#include "store/format/container_format.h"
#include "store/format/file_frame.h"
#include "store/format/format.h"
#include "store/memory_containers.h"
#include "store/metadata/checkpoint_format.h"

namespace dedupfs {
namespace {

constexpr std::uint32_t kNumber = 7;

// Where regions were found.
std::vector<std::uint32_t> scan(const std::string& bytes, const std::vector<std::uint32_t>& known_offsets) {
  std::vector<std::uint32_t> offsets;
  std::uint64_t end = 0;
  MemoryContainers containers;
  containers.put(kNumber, bytes);
  const auto scanned = scan_container(containers, kNumber, known_offsets,
                                      [&](RegionPlace place, const RegionHeader& header) -> Result<void> {
                                        DEDUPFS_CHECK(place.container == kNumber && place.offset >= end);
                                        end = place.offset + header.disk_length();
                                        DEDUPFS_CHECK(end <= bytes.size());
                                        offsets.push_back(place.offset);
                                        return {};
                                      });
  if (!scanned) {
    DEDUPFS_CHECK(scanned.error().code() == ErrorCode::kCorruption || scanned.error().code() == ErrorCode::kVersion);
    return offsets;
  }
  DEDUPFS_CHECK(scanned->bytes == bytes.size() && scanned->end_offset <= bytes.size());
  std::uint64_t behind = 0;
  for (const auto& damage : scanned->damage) {
    DEDUPFS_CHECK(damage.offset >= behind && damage.length <= bytes.size() - damage.offset);
    behind = damage.offset + damage.length;
  }
  return offsets;
}

std::string made_region(FuzzedDataProvider& input, std::uint64_t id) {
  const std::string payload = input.ConsumeRandomLengthString(300) + "x";
  RegionEntry entry;
  entry.id = ChunkId{id};
  entry.raw_length = entry.payload_length = static_cast<std::uint32_t>(payload.size());
  return encode_region({entry}, bytes_of(payload), {});
}

void scan_damaged(FuzzedDataProvider& input) {
  std::string bytes = encode_container_header({kNumber, UuidBytes{}});
  std::vector<std::uint32_t> offsets;
  const auto pieces = input.ConsumeIntegralInRange<unsigned>(0, 12);
  for (unsigned i = 0; i < pieces; ++i) {
    if (input.ConsumeIntegralInRange(0, 7) == 0) {
      const auto length = input.ConsumeIntegralInRange<std::size_t>(kRegionHeaderBytes, 1000);
      std::string gap = encode_gap_header(length);
      gap.resize(length, 'g');
      bytes += gap;
    } else {
      offsets.push_back(static_cast<std::uint32_t>(bytes.size()));
      bytes += made_region(input, i + 1);
    }
  }
  if (input.ConsumeBool())
    bytes += encode_container_trailer({kNumber, offsets.size(), bytes.size() + kContainerTrailerBytes});
  DEDUPFS_CHECK(scan(bytes, {}) == offsets);
  DEDUPFS_CHECK(scan(bytes, offsets) == offsets);

  const std::size_t from = input.ConsumeIntegralInRange<std::size_t>(0, bytes.size());
  const std::string damage = input.ConsumeRandomLengthString(200);
  bytes.replace(from, std::min(damage.size(), bytes.size() - from), damage);
  (void)scan(bytes, {});
  for (const std::uint32_t offset : scan(bytes, offsets))
    DEDUPFS_CHECK(std::ranges::binary_search(offsets, offset) || offset >= from);
}

void decode_frames(FuzzedDataProvider& input) {
  std::string bytes = begin_frame(kContainerMagic, kContainerVersionWritten);
  bytes += input.ConsumeBytesAsString(kFrameBytes - 8 - bytes.size());
  bytes = end_frame(bytes);
  (void)decode_container_header(bytes_of(bytes));
  for (const std::uint64_t magic : {kTrailerMagic, kCheckpointMagic}) {
    std::string other = begin_frame(magic, 1);
    other = end_frame(other + bytes.substr(other.size(), kFrameBytes - 8 - other.size()));
    (void)decode_container_trailer(bytes_of(other));
    (void)decode_checkpoint_header(bytes_of(other));
  }
}

}  // namespace
}  // namespace dedupfs

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  FuzzedDataProvider input(data, size);
  switch (input.ConsumeIntegralInRange(0, 2)) {
    case 0: dedupfs::scan_damaged(input); break;
    case 1: dedupfs::decode_frames(input); break;
    default: dedupfs::scan(input.ConsumeRemainingBytesAsString(), {});
  }
  return 0;
}
