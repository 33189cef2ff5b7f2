#include "store/format/delta_sources.h"

#include <algorithm>
#include <functional>

#include "base/check.h"
#include "store/format/format.h"

namespace dedupfs {
namespace {

bool are_consecutive(const DeltaSources& sources) {
  return std::ranges::adjacent_find(sources, [](ChunkId a, ChunkId b) { return number_of(a) + 1 != number_of(b); }) ==
         sources.end();
}

}  // namespace

void encode_delta_sources(Encoder& encoder, ChunkId id, const DeltaSources& sources) {
  DEDUPFS_CHECK(!sources.empty());  // a chunk without sources is no delta
  const bool consecutive = are_consecutive(sources);
  encoder.varint(sources.size() << 1 | (consecutive ? 1 : 0));
  encoder.signed_varint(static_cast<std::int64_t>(number_of(id) - number_of(sources[0])));
  if (consecutive) return;
  for (std::size_t i = 1; i < sources.size(); ++i)
    encoder.signed_varint(static_cast<std::int64_t>(number_of(sources[i]) - number_of(sources[i - 1])));
}

DeltaSources decode_delta_sources(Decoder& decoder, ChunkId id) {
  const std::uint64_t form = decoder.varint();
  const std::uint64_t count = form >> 1;
  const bool consecutive = (form & 1) != 0;
  if (count == 0 || count > kMaxDeltaSources) return {};
  DeltaSources sources;
  std::uint64_t source = number_of(id) - static_cast<std::uint64_t>(decoder.signed_varint());
  for (std::size_t i = 0; i < count; ++i) {
    if (i > 0) source += consecutive ? 1 : static_cast<std::uint64_t>(decoder.signed_varint());
    sources.push_back(ChunkId{source});
  }
  if (!decoder.ok() || std::ranges::find(sources, id) != sources.end()) return {};
  return sources;
}

}  // namespace dedupfs
