#include "store/containers/container_reader.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <array>
#include <limits>
#include <utility>

namespace dedupfs {
namespace {

// The first read of a region of unknown length: enough for header and directory of nearly every region. The rest is then read
// straight to its place.
constexpr std::size_t kFrontBytes = 16 << 10;
constexpr std::size_t kMaxRegionBytes = kRegionHeaderBytes + kMaxRegionDirectoryBytes + kMaxRegionPayloadBytes;
// Their headers are looked at once more when there are more of them.
constexpr std::size_t kMaxChecked = 1 << 16;

using HeaderBytes = std::array<std::uint8_t, kRegionHeaderBytes>;
static_assert(kRegionHeaderBytes == kContainerHeaderBytes && kRegionHeaderBytes == kContainerTrailerBytes);

// How much to read of a region at once.
std::size_t bytes_to_read(RegionRange range) {
  if (range.disk_bytes < kRegionHeaderBytes) return kFrontBytes;
  return std::min<std::size_t>(range.disk_bytes, kMaxRegionBytes);
}

// A missing container is damage to a reader that the index led there.
Error as_damage(const Error& error) {
  return error.code() == ErrorCode::kNotFound ? corruption("the container is missing") : error;
}

}  // namespace

Error ContainerReader::at(RegionPlace place, const Error& error) const {
  return as_damage(error).with(fmt::format("{}, region at offset {}", backend_.name_of(place.container), place.offset));
}

Result<RegionHeader> ContainerReader::read_header(RegionPlace place) {
  const auto front = read_front(place, kRegionHeaderBytes);
  if (!front) return at(place, front.error());
  return front->header;
}

Result<std::vector<RegionEntry>> ContainerReader::read_directory(RegionPlace place) {
  const auto front = read_front(place, kFrontBytes);
  if (!front) return at(place, front.error());
  auto entries = directory_of(*front);
  if (!entries) return at(place, entries.error());
  return entries;
}

Result<std::shared_ptr<const Region>> ContainerReader::read(RegionRange range) {
  auto region = read_region(range);
  if (!region) return at(range.place, region.error());
  return std::make_shared<const Region>(std::move(*region));
}

Result<std::vector<RegionEntry>> ContainerReader::verify(RegionRange range) {
  auto verified = [&]() -> Result<std::vector<RegionEntry>> {
    DEDUPFS_ASSIGN(const Front front, read_front(range.place, bytes_to_read(range)));
    DEDUPFS_ASSIGN(auto entries, directory_of(front));
    RawBuffer storage;
    DEDUPFS_ASSIGN(const ByteSpan stored, view_part(front, front.payload_begin(), front.header.stored_length, storage));
    DEDUPFS_TRY(verify_stored_payload(front.header, stored));
    return entries;
  }();
  if (!verified) return at(range.place, verified.error());
  return verified;
}

Result<Region> ContainerReader::read_region(RegionRange range) {
  DEDUPFS_ASSIGN(Front front, read_front(range.place, bytes_to_read(range)));
  const RegionHeader& header = front.header;
  Region region;
  DEDUPFS_ASSIGN(region.entries, directory_of(front));
  std::ranges::sort(region.entries, {}, &RegionEntry::id);
  if (header.encoding != PayloadEncoding::kRaw) {
    RawBuffer storage;
    DEDUPFS_ASSIGN(const ByteSpan stored, view_part(front, front.payload_begin(), header.stored_length, storage));
    DEDUPFS_ASSIGN(region.payload, decode_region_payload(header, stored));
    return region;
  }
  if (front.is_the_region()) {  // it stays where it was read to
    region.payload_begin = static_cast<std::uint32_t>(front.payload_begin());
    region.payload = std::move(front.bytes);
  } else {
    region.payload.resize(header.stored_length);
    DEDUPFS_TRY(read_part(front, front.payload_begin(), region.payload));
  }
  DEDUPFS_TRY(decode_region_payload_in_place(header, region));
  return region;
}

Result<ContainerReader::Front> ContainerReader::read_front(RegionPlace place, std::size_t guessed_bytes) {
  DEDUPFS_TRY(check_header(place.container));
  Front front;
  front.place = place;
  if (place.offset >= kContainerHeaderBytes) {
    front.bytes.resize(guessed_bytes);
    DEDUPFS_ASSIGN(const std::size_t read, backend_.read_up_to(place.container, place.offset, front.bytes));
    front.bytes.resize(read);
  }
  if (front.bytes.size() < kRegionHeaderBytes) {
    DEDUPFS_ASSIGN(const std::uint64_t size, backend_.size(place.container));
    return corruption(fmt::format("it is outside of the container, which has {} bytes", size));
  }
  DEDUPFS_ASSIGN(front.header, decode_region_header(ByteSpan(front.bytes).first(kRegionHeaderBytes)));
  if (front.header.disk_length() <= front.bytes.size()) return front;
  DEDUPFS_ASSIGN(const std::uint64_t size, backend_.size(place.container));
  if (place.offset + front.header.disk_length() > size)
    return corruption(fmt::format("the container ends within it, at {}", size));
  return front;
}

Result<void> ContainerReader::read_part(const Front& front, std::uint64_t offset, MutableByteSpan out) {
  if (offset < front.bytes.size()) {
    const ByteSpan behind = ByteSpan(front.bytes).subspan(offset);
    const ByteSpan here = behind.first(std::min(out.size(), behind.size()));
    std::ranges::copy(here, out.begin());
    out = out.subspan(here.size());
    offset += here.size();
  }
  if (out.empty()) return {};
  return backend_.read(front.place.container, front.place.offset + offset, out);
}

Result<ByteSpan> ContainerReader::view_part(const Front& front, std::uint64_t offset, std::size_t length,
                                            RawBuffer& storage) {
  if (offset + length <= front.bytes.size()) return ByteSpan(front.bytes).subspan(offset, length);
  storage.resize(length);
  DEDUPFS_TRY(read_part(front, offset, storage));
  return ByteSpan(storage);
}

Result<std::vector<RegionEntry>> ContainerReader::directory_of(const Front& front) {
  RawBuffer storage;
  DEDUPFS_ASSIGN(const ByteSpan on_disk, view_part(front, kRegionHeaderBytes, front.header.directory_length, storage));
  return decode_region_directory(front.header, on_disk);
}

Result<ContainerWalk> ContainerReader::walk(std::uint32_t number) {
  const std::string name = backend_.name_of(number);
  if (const auto checked = check_header(number); !checked) return as_damage(checked.error()).with(name);
  DEDUPFS_ASSIGN(const std::uint64_t size, backend_.size(number));
  ContainerWalk walk;
  const auto stop = [&](std::string_view reason) {
    walk.stopped_by = corruption(fmt::format("{}, offset {}: {}", name, walk.end_offset, reason));
    return walk;
  };

  if (size < kContainerHeaderBytes) return stop("the file ends within its header");
  for (walk.end_offset = kContainerHeaderBytes; walk.end_offset < size;) {
    if (size - walk.end_offset < kRegionHeaderBytes) return stop("the file ends within a header");
    if (walk.end_offset > std::numeric_limits<std::uint32_t>::max()) return stop("the container is too large");
    HeaderBytes bytes;
    DEDUPFS_TRY(backend_.read(number, walk.end_offset, bytes));
    if (const auto trailer = decode_container_trailer(bytes)) {
      walk.end_offset += kContainerTrailerBytes;
      walk.sealed = true;
      if (*trailer != ContainerTrailer{number, walk.regions.size(), walk.end_offset})
        return stop("the trailer does not fit what stands before it");
      return walk;
    }
    const auto header = decode_region_header(bytes);
    if (!header) return stop(header.error().message());
    if (header->disk_length() > size - walk.end_offset) return stop("the file ends within a region");
    if (!header->is_gap()) walk.regions.push_back({{number, static_cast<std::uint32_t>(walk.end_offset)}, *header});
    walk.end_offset += header->disk_length();
  }
  return walk;
}

Result<ContainerScan> ContainerReader::scan(std::uint32_t number, const std::vector<std::uint32_t>& known_offsets,
                                            const RegionVisit& visit) {
  if (const auto checked = check_header(number); !checked)
    return as_damage(checked.error()).with(backend_.name_of(number));
  return scan_container(backend_, number, known_offsets, visit);
}

Result<ContainerInfo> ContainerReader::inspect(std::uint32_t number) {
  const std::string name = backend_.name_of(number);
  ContainerInfo info;
  info.id = number;
  DEDUPFS_ASSIGN(info.bytes, backend_.size(number));
  HeaderBytes bytes;
  if (info.bytes < bytes.size()) {
    info.damage = corruption(name + " ends within its header");
    return info;
  }
  DEDUPFS_TRY(backend_.read(number, 0, bytes));
  const auto header = decode_container_header(bytes);
  if (!header)
    info.damage = header.error().with(name);
  else if (header->number != number || header->volume != volume_)
    info.damage = corruption(name + " is a container of another volume or number");
  else
    info.tier = header->tier;
  DEDUPFS_TRY(backend_.read(number, info.bytes - bytes.size(), bytes));
  const auto trailer = decode_container_trailer(bytes);
  info.sealed = trailer && trailer->number == number && trailer->length == info.bytes;
  return info;
}

Result<void> ContainerReader::check_header(std::uint32_t number) {
  {
    const MutexLock lock(mutex_);
    if (checked_.contains(number)) return {};
  }
  HeaderBytes bytes;
  DEDUPFS_ASSIGN(const std::size_t read, backend_.read_up_to(number, 0, bytes));
  if (read < bytes.size()) return {};  // no region can be read from it
  const auto header = decode_container_header(bytes);
  // Regions have checksums of their own: a damaged header is no reason to give them up.
  if (!header)
    spdlog::warn("{}: {}", backend_.name_of(number), header.error().message());
  else if (header->number != number || header->volume != volume_)
    return corruption("the file is a container of another volume or number");
  const MutexLock lock(mutex_);
  if (checked_.size() >= kMaxChecked) checked_.clear();
  checked_.insert(number);
  return {};
}

}  // namespace dedupfs
