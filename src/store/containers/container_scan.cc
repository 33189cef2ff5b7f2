#include "store/containers/container_scan.h"

#include <algorithm>
#include <array>
#include <limits>
#include <optional>
#include <string_view>
#include <unordered_set>
#include <variant>

#include "base/coding.h"
#include "base/raw_buffer.h"
#include "store/format/container_format.h"

namespace dedupfs {
namespace {

constexpr std::size_t kSearchedTogether = 1 << 20;

using HeaderBytes = std::array<std::uint8_t, kRegionHeaderBytes>;
static_assert(kRegionHeaderBytes == kContainerTrailerBytes);

struct Trailer {
  std::uint64_t regions = 0;
};
using Found = std::variant<RegionHeader, Trailer, std::string>;  // the last: why it is neither

class Scan {
 public:
  Scan(ContainerBackend& backend, std::uint32_t number, const std::vector<std::uint32_t>& known_offsets)
      : backend_(backend), number_(number), known_offsets_(known_offsets) {}

  Result<ContainerScan> run(const RegionVisit& visit) {
    DEDUPFS_ASSIGN(size_, backend_.size(number_));
    ContainerScan scan;
    scan.bytes = size_;
    std::uint64_t regions = 0;
    std::uint64_t at = kContainerHeaderBytes;
    if (size_ < at) {
      scan.damage.push_back({0, size_, "the file ends within its header"});
      return scan;
    }
    scan.end_offset = at;
    while (at < size_) {
      DEDUPFS_ASSIGN(const Found found, look_at(at));
      if (const auto* const header = std::get_if<RegionHeader>(&found)) {
        if (!header->is_gap()) {
          DEDUPFS_TRY(visit({number_, static_cast<std::uint32_t>(at)}, *header));
          ++regions;
        }
        scan.end_offset = at += header->disk_length();
      } else if (const auto* const trailer = std::get_if<Trailer>(&found)) {
        if (scan.damage.empty() && trailer->regions != regions)
          scan.damage.push_back({at, kContainerTrailerBytes, "the trailer does not fit what stands before it"});
        scan.end_offset = at = size_;
        scan.sealed = true;
      } else {
        DEDUPFS_ASSIGN(const std::uint64_t next, find_next(at + 1));
        scan.damage.push_back({at, next - at, std::get<std::string>(found)});
        at = next;
      }
    }
    return scan;
  }

 private:
  Result<Found> look_at(std::uint64_t at) const {
    if (size_ - at < kRegionHeaderBytes) return Found("the file ends within a header");
    if (at > std::numeric_limits<std::uint32_t>::max()) return Found("the container is too large");
    HeaderBytes bytes;
    if (const auto read = backend_.read(number_, at, bytes); !read)
      return Found(read.error().message());  // a bad sector
    if (const auto trailer = decode_container_trailer(bytes)) {
      if (trailer->number == number_ && trailer->length == size_ && at + kContainerTrailerBytes == size_)
        return Found(Trailer{trailer->regions});
      return Found("the trailer does not fit what stands before it");
    }
    const auto header = decode_region_header(bytes);
    if (!header) return Found(header.error().message());
    if (header->disk_length() > size_ - at) return Found("the file ends within a region");
    return Found(*header);
  }

  // The next intact place at `from` or behind it; the end of the file if there is none.
  Result<std::uint64_t> find_next(std::uint64_t from) {
    const auto known = std::ranges::lower_bound(known_offsets_, from);
    if (known != known_offsets_.end()) return std::min<std::uint64_t>(*known, size_);
    const std::uint64_t limit = size_;
    RawBuffer window;
    while (from < limit && limit - from >= sizeof kRegionMagic) {
      window.resize(std::min<std::uint64_t>(kSearchedTogether, limit - from));
      if (!backend_.read(number_, from, window)) std::ranges::fill(window, std::uint8_t{0});
      for (const std::size_t position : positions_of_magic(window)) {
        DEDUPFS_ASSIGN(const bool leads_to_end, reaches_end(from + position));
        if (leads_to_end) return from + position;
      }
      if (window.size() < kSearchedTogether) break;
      from += window.size() - (sizeof kRegionMagic - 1);
    }
    return limit;
  }

  // The magic of regions, and of a trailer.
  static std::vector<std::size_t> positions_of_magic(ByteSpan window) {
    std::vector<std::size_t> positions;
    for (const std::uint64_t magic : {kRegionMagic, kTrailerMagic}) {
      std::string bytes;
      Encoder(bytes).u64(magic);
      const std::string_view text = text_of(window);
      for (std::size_t at = text.find(bytes); at != std::string_view::npos; at = text.find(bytes, at + 1))
        positions.push_back(at);
    }
    std::ranges::sort(positions);
    return positions;
  }

  // Each place is looked at once in all: bytes that somebody made to look like regions cost no more than others.
  Result<bool> reaches_end(std::uint64_t at) {
    while (at < size_) {
      if (!dead_ends_.insert(at).second) return false;
      DEDUPFS_ASSIGN(const Found found, look_at(at));
      if (std::holds_alternative<Trailer>(found)) return true;
      const auto* const header = std::get_if<RegionHeader>(&found);
      if (header == nullptr) return false;
      at += header->disk_length();
    }
    return true;
  }

  ContainerBackend& backend_;
  const std::uint32_t number_;
  const std::vector<std::uint32_t>& known_offsets_;
  std::uint64_t size_ = 0;
  std::unordered_set<std::uint64_t> dead_ends_;
};

}  // namespace

Result<ContainerScan> scan_container(ContainerBackend& backend, std::uint32_t number,
                                     const std::vector<std::uint32_t>& known_offsets, const RegionVisit& visit) {
  return Scan(backend, number, known_offsets).run(visit);
}

}  // namespace dedupfs
