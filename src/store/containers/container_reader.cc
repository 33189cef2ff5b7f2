#include "store/containers/container_reader.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <array>
#include <limits>
#include <utility>

namespace dedupfs {
namespace {

constexpr std::size_t kMaxOpenFiles = 64;
// Enough for header and directory of nearly every region; what follows is then read straight to its place.
constexpr std::size_t kFrontBytes = 16 << 10;

using HeaderBytes = std::array<std::uint8_t, kRegionHeaderBytes>;
static_assert(kRegionHeaderBytes == kContainerHeaderBytes && kRegionHeaderBytes == kContainerTrailerBytes);

}  // namespace

ContainerReader::ContainerReader(std::shared_ptr<BackingFolder> folder, UuidBytes volume)
    : folder_(std::move(folder)), volume_(volume) {}

Error ContainerReader::at(RegionPlace place, const Error& error) const {
  return error.with(fmt::format("{}, region at offset {}", path_of(place.container).string(), place.offset));
}

Result<RegionHeader> ContainerReader::read_header(RegionPlace place) {
  const auto front = read_front(place, kRegionHeaderBytes);
  if (!front) return at(place, front.error());
  return front->header;
}

Result<std::vector<RegionEntry>> ContainerReader::read_directory(RegionPlace place) {
  const auto front = read_front(place, kFrontBytes);
  if (!front) return at(place, front.error());
  auto entries = front->directory();
  if (!entries) return at(place, entries.error());
  return entries;
}

Result<std::shared_ptr<const Region>> ContainerReader::read(RegionPlace place) {
  auto region = read_region(place);
  if (!region) return at(place, region.error());
  return std::make_shared<const Region>(std::move(*region));
}

void ContainerReader::drop_cached(RegionPlace place, std::uint64_t disk_bytes) {
  if (const auto file = open(place.container)) (*file)->drop_cached(place.offset, disk_bytes);
}

Result<std::vector<RegionEntry>> ContainerReader::verify(RegionPlace place) {
  auto verified = [&]() -> Result<std::vector<RegionEntry>> {
    DEDUPFS_ASSIGN(const Front front, read_front(place, kFrontBytes));
    DEDUPFS_ASSIGN(auto entries, front.directory());
    RawBuffer storage;
    DEDUPFS_ASSIGN(const ByteSpan stored,
                   front.view_part(kRegionHeaderBytes + std::uint64_t{front.header.directory_length},
                                   front.header.stored_length, storage));
    DEDUPFS_TRY(verify_stored_payload(front.header, stored));
    return entries;
  }();
  if (!verified) return at(place, verified.error());
  return verified;
}

Result<Region> ContainerReader::read_region(RegionPlace place) {
  DEDUPFS_ASSIGN(const Front front, read_front(place, kFrontBytes));
  Region region;
  DEDUPFS_ASSIGN(region.entries, front.directory());
  DEDUPFS_ASSIGN(region.payload, front.payload());
  std::ranges::sort(region.entries, {}, &RegionEntry::id);
  return region;
}

Result<ContainerReader::Front> ContainerReader::read_front(RegionPlace place, std::size_t guessed_bytes) {
  Front front;
  DEDUPFS_ASSIGN(front.file, open(place.container));
  DEDUPFS_ASSIGN(const std::uint64_t size, front.file->size());
  front.place_offset = place.offset;
  if (place.offset < kContainerHeaderBytes || place.offset > size || size - place.offset < kRegionHeaderBytes)
    return corruption(fmt::format("it is outside of the container, which has {} bytes", size));
  front.bytes.resize(std::min<std::uint64_t>(guessed_bytes, size - place.offset));
  DEDUPFS_TRY(front.file->read(place.offset, front.bytes));
  DEDUPFS_ASSIGN(front.header, decode_region_header(ByteSpan(front.bytes).first(kRegionHeaderBytes)));
  if (front.header.disk_length() > size - place.offset)
    return corruption(fmt::format("the container ends within it, at {}", size));
  return front;
}

Result<void> ContainerReader::Front::read_part(std::uint64_t offset, MutableByteSpan out) const {
  if (offset < bytes.size()) {
    const ByteSpan here = ByteSpan(bytes).subspan(offset, std::min<std::size_t>(out.size(), bytes.size() - offset));
    std::ranges::copy(here, out.begin());
    out = out.subspan(here.size());
    offset += here.size();
  }
  if (out.empty()) return {};
  return file->read(place_offset + offset, out);
}

Result<ByteSpan> ContainerReader::Front::view_part(std::uint64_t offset, std::size_t length, RawBuffer& storage) const {
  if (offset + length <= bytes.size()) return ByteSpan(bytes).subspan(offset, length);
  storage.resize(length);
  DEDUPFS_TRY(read_part(offset, storage));
  return ByteSpan(storage);
}

Result<std::vector<RegionEntry>> ContainerReader::Front::directory() const {
  RawBuffer storage;
  DEDUPFS_ASSIGN(const ByteSpan on_disk, view_part(kRegionHeaderBytes, header.directory_length, storage));
  return decode_region_directory(header, on_disk);
}

Result<RawBuffer> ContainerReader::Front::payload() const {
  const std::uint64_t offset = kRegionHeaderBytes + std::uint64_t{header.directory_length};
  if (header.encoding == PayloadEncoding::kRaw) {
    RawBuffer payload(header.stored_length);
    DEDUPFS_TRY(read_part(offset, payload));
    return decode_owned_region_payload(header, std::move(payload));
  }
  RawBuffer storage;
  DEDUPFS_ASSIGN(const ByteSpan stored, view_part(offset, header.stored_length, storage));
  return decode_region_payload(header, stored);
}

Result<ContainerWalk> ContainerReader::walk(std::uint32_t number) {
  const auto opened = open(number);
  if (!opened) return opened.error().with(path_of(number).string());
  const BackingFile* const file = opened->get();
  DEDUPFS_ASSIGN(const std::uint64_t size, file->size());
  ContainerWalk walk;
  const auto stop = [&](std::string_view reason) {
    walk.stopped_by = corruption(fmt::format("{}, offset {}: {}", path_of(number).string(), walk.end_offset, reason));
    return walk;
  };

  if (size < kContainerHeaderBytes) return stop("the file ends within its header");
  for (walk.end_offset = kContainerHeaderBytes; walk.end_offset < size;) {
    if (size - walk.end_offset < kRegionHeaderBytes) return stop("the file ends within a header");
    if (walk.end_offset > std::numeric_limits<std::uint32_t>::max()) return stop("the container is too large");
    HeaderBytes bytes;
    DEDUPFS_TRY(file->read(walk.end_offset, bytes));
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
  const auto file = open(number);
  if (!file) return file.error().with(path_of(number).string());
  return scan_container(**file, number, known_offsets, visit);
}

Result<ContainerInfo> ContainerReader::inspect(std::uint32_t number) {
  // Not through the cache: whoever inspects every container would empty it.
  DEDUPFS_ASSIGN(const auto file, folder_->open(container_name(number), Backing::Mode::kRead));
  ContainerInfo info;
  info.id = number;
  DEDUPFS_ASSIGN(info.bytes, file->size());
  HeaderBytes bytes;
  if (info.bytes < bytes.size()) {
    info.damage = corruption(path_of(number).string() + " ends within its header");
    return info;
  }
  DEDUPFS_TRY(file->read(0, bytes));
  const auto header = decode_container_header(bytes);
  if (!header)
    info.damage = header.error().with(path_of(number).string());
  else if (*header != ContainerHeader{number, volume_})
    info.damage = corruption(path_of(number).string() + " is a container of another volume or number");
  DEDUPFS_TRY(file->read(info.bytes - bytes.size(), bytes));
  const auto trailer = decode_container_trailer(bytes);
  info.sealed = trailer && trailer->number == number && trailer->length == info.bytes;
  return info;
}

Result<void> ContainerReader::check_header(std::uint32_t number, const BackingFile& file) const {
  DEDUPFS_ASSIGN(const std::uint64_t size, file.size());
  if (size < kContainerHeaderBytes) return {};  // nothing can be read from it, and nothing will
  HeaderBytes bytes;
  DEDUPFS_TRY(file.read(0, bytes));
  const auto header = decode_container_header(bytes);
  if (!header) {
    // Regions have checksums of their own: a damaged header is no reason to give them up.
    spdlog::warn("{}: {}", path_of(number).string(), header.error().message());
    return {};
  }
  if (*header != ContainerHeader{number, volume_})
    return corruption("the file is a container of another volume or number");
  return {};
}

Result<std::shared_ptr<const BackingFile>> ContainerReader::open(std::uint32_t number) {
  {
    const std::lock_guard lock(mutex_);
    if (const auto found = by_number_.find(number); found != by_number_.end()) {
      open_files_.splice(open_files_.begin(), open_files_, found->second);
      return found->second->second;
    }
  }
  auto opened = folder_->open(container_name(number), Backing::Mode::kRead);
  if (!opened && opened.error().code() == ErrorCode::kNotFound) return corruption("the container is missing");
  if (!opened) return opened.error();
  std::shared_ptr<const BackingFile> file = std::move(*opened);
  DEDUPFS_TRY(check_header(number, *file));
  share(number, file);
  return file;
}

void ContainerReader::share(std::uint32_t number, std::shared_ptr<const BackingFile> file) {
  OpenFile evicted;  // closed after the lock is released
  const std::lock_guard lock(mutex_);
  if (by_number_.contains(number)) return;  // somebody else was faster
  open_files_.emplace_front(number, std::move(file));
  by_number_[number] = open_files_.begin();
  if (open_files_.size() <= kMaxOpenFiles) return;
  evicted = std::move(open_files_.back());
  by_number_.erase(evicted.first);
  open_files_.pop_back();
}

void ContainerReader::forget(std::uint32_t number) {
  OpenFile closed;  // after the lock is released
  const std::lock_guard lock(mutex_);
  const auto found = by_number_.find(number);
  if (found == by_number_.end()) return;
  closed = std::move(*found->second);
  open_files_.erase(found->second);
  by_number_.erase(found);
}

}  // namespace dedupfs
