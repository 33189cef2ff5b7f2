#include "store/check/container_repair.h"

#include <fmt/format.h>

#include <array>
#include <functional>

#include "store/containers/container_folder.h"
#include "store/containers/container_scan.h"
#include "store/format/container_format.h"

namespace dedupfs {
namespace {

// Leaves containers of other volumes alone, which only an intact header tells. It also leaves bytes alone that the disk cannot
// read. A header of another version is no header: the superblock's version is that of all files of a volume, and the superblock
// was read before.
Result<void> for_each_container(ContainerFolder& containers, const UuidBytes& volume,
                                const std::function<Result<void>(std::uint32_t number, bool has_header)>& visit) {
  DEDUPFS_ASSIGN(const auto numbers, containers.list());
  for (const std::uint32_t number : numbers) {
    const auto size = containers.size(number);
    if (!size && size.error().code() == ErrorCode::kCorruption) continue;  // no file at all
    if (!size) return size.error();
    if (*size < kContainerHeaderBytes) continue;
    std::array<std::uint8_t, kContainerHeaderBytes> bytes{};
    if (!containers.read(number, 0, bytes)) continue;
    const auto header = decode_container_header(bytes);
    if (header && (header->number != number || header->volume != volume)) continue;
    DEDUPFS_TRY(visit(number, header.has_value()));
  }
  return {};
}

Result<void> ignore_region(RegionPlace /*place*/, const RegionHeader& /*header*/) {
  return {};
}

}  // namespace

Result<std::vector<std::string>> repair_container_headers(const std::shared_ptr<BackingFolder>& folder,
                                                          const Superblock& superblock) {
  std::vector<std::string> lines;
  DEDUPFS_ASSIGN(const UuidBytes volume, parse_uuid(superblock.uuid));
  ContainerFolder containers(folder);
  const auto done = for_each_container(containers, volume, [&](std::uint32_t number, bool has_header) -> Result<void> {
    if (has_header) return {};
    DEDUPFS_ASSIGN(const ContainerScan scan, scan_container(containers, number, {}, ignore_region));
    if (scan.end_offset <= kContainerHeaderBytes) return {};
    DEDUPFS_ASSIGN(const auto file, folder->open(container_name(number), Backing::Mode::kReadWrite));
    DEDUPFS_TRY(file->write(0, bytes_of(encode_container_header({number, volume}))));
    DEDUPFS_TRY(file->datasync());
    lines.push_back(fmt::format("{}: its header", containers.name_of(number)));
    return {};
  });
  DEDUPFS_TRY(done);
  return lines;
}

Result<std::vector<std::string>> cut_torn_tails(const std::shared_ptr<BackingFolder>& folder,
                                                const Superblock& superblock, const RegionOffsets& regions) {
  std::vector<std::string> lines;
  DEDUPFS_ASSIGN(const UuidBytes volume, parse_uuid(superblock.uuid));
  ContainerFolder containers(folder);
  const auto done =
      for_each_container(containers, volume, [&](std::uint32_t number, bool /*has_header*/) -> Result<void> {
        DEDUPFS_ASSIGN(const ContainerScan scan, scan_container(containers, number, regions.in(number), ignore_region));
        if (!scan.has_torn_tail()) return {};
        DEDUPFS_ASSIGN(const auto file, folder->open(container_name(number), Backing::Mode::kReadWrite));
        DEDUPFS_TRY(file->truncate(scan.end_offset));
        DEDUPFS_TRY(file->datasync());
        lines.push_back(fmt::format("{}: {} bytes of an interrupted write are cut off at {}",
                                    containers.name_of(number), scan.bytes - scan.end_offset, scan.end_offset));
        return {};
      });
  DEDUPFS_TRY(done);
  return lines;
}

}  // namespace dedupfs
