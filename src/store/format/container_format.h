// The parts around the regions in a container file: its name, its header, its trailer. See docs/format.md, "Container".
//
// Threads: free functions, safe from any thread.
// Failure: wrong bytes are kCorruption with the reason.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/bytes.h"
#include "base/result.h"
#include "store/format/format.h"

namespace dedupfs {

using UuidBytes = std::array<std::uint8_t, 16>;

// kInvalidArgument unless it has 32 hexadecimal digits, hyphens aside.
Result<UuidBytes> parse_uuid(std::string_view text);

std::string container_name(std::uint32_t number);
std::optional<std::uint32_t> parse_container_name(std::string_view name);

struct ContainerHeader {
  std::uint32_t number = 0;
  UuidBytes volume{};
  ContainerTier tier = ContainerTier::kSettled;

  bool operator==(const ContainerHeader&) const = default;
};

std::string encode_container_header(const ContainerHeader& header);
Result<ContainerHeader> decode_container_header(ByteSpan bytes);  // kContainerHeaderBytes of them

// The last bytes of a sealed container.
struct ContainerTrailer {
  std::uint32_t number = 0;
  std::uint64_t regions = 0;
  std::uint64_t length = 0;  // of the file, with the trailer

  bool operator==(const ContainerTrailer&) const = default;
};

std::string encode_container_trailer(const ContainerTrailer& trailer);
Result<ContainerTrailer> decode_container_trailer(ByteSpan bytes);  // kContainerTrailerBytes of them

}  // namespace dedupfs
