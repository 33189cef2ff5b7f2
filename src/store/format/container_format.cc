#include "store/format/container_format.h"

#include <algorithm>
#include <charconv>

#include "store/format/file_frame.h"
#include "store/format/numbered_name.h"

namespace dedupfs {
namespace {

static_assert(kContainerHeaderBytes == kFrameBytes && kContainerTrailerBytes == kFrameBytes);
constexpr FrameVersions kContainerVersions{kContainerVersionOldestRead, kContainerVersionWritten};

}  // namespace

Result<UuidBytes> parse_uuid(std::string_view text) {
  std::string digits(text);
  std::erase(digits, '-');
  UuidBytes uuid{};
  bool good = digits.size() == 2 * uuid.size();
  for (std::size_t i = 0; good && i < uuid.size(); ++i) {
    const char* const pair = digits.data() + 2 * i;
    const auto [end, error] = std::from_chars(pair, pair + 2, uuid[i], 16);
    good = error == std::errc{} && end == pair + 2;
  }
  if (!good) return Error{ErrorCode::kInvalidArgument, "'" + std::string(text) + "' is not a UUID"};
  return uuid;
}

std::string container_name(std::uint32_t number) {
  return numbered_name(number, kContainerSuffix);
}
std::optional<std::uint32_t> parse_container_name(std::string_view name) {
  return parse_numbered_name(name, kContainerSuffix);
}

std::string encode_container_header(const ContainerHeader& header) {
  std::string bytes = begin_frame(kContainerMagic, kContainerVersionWritten);
  Encoder encoder(bytes);
  encoder.u32(header.number);
  encoder.bytes(ByteSpan(header.volume));
  encoder.u8(static_cast<std::uint8_t>(header.tier));
  return end_frame(std::move(bytes));
}

Result<ContainerHeader> decode_container_header(ByteSpan bytes) {
  DEDUPFS_ASSIGN(Decoder decoder, open_frame(bytes, kContainerMagic, kContainerVersions, "container header"));
  ContainerHeader header;
  header.number = decoder.u32();
  std::ranges::copy(decoder.bytes(header.volume.size()), header.volume.begin());
  // A tier that only a newer build knows is not for this build to settle.
  if (decoder.u8() == static_cast<std::uint8_t>(ContainerTier::kLanded)) header.tier = ContainerTier::kLanded;
  return header;
}

std::string encode_container_trailer(const ContainerTrailer& trailer) {
  std::string bytes = begin_frame(kTrailerMagic, kContainerVersionWritten);
  Encoder encoder(bytes);
  encoder.u32(trailer.number);
  encoder.u64(trailer.regions);
  encoder.u64(trailer.length);
  return end_frame(std::move(bytes));
}

Result<ContainerTrailer> decode_container_trailer(ByteSpan bytes) {
  DEDUPFS_ASSIGN(Decoder decoder, open_frame(bytes, kTrailerMagic, kContainerVersions, "container trailer"));
  ContainerTrailer trailer;
  trailer.number = decoder.u32();
  trailer.regions = decoder.u64();
  trailer.length = decoder.u64();
  return trailer;
}

}  // namespace dedupfs
