// Any bytes, any of a few chunkers: every instruction set gives the same cuts, and so does any division into calls.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/check.h"
#include "chunkers/registry.h"

namespace {

using dedupfs::ByteSpan;
using dedupfs::Chunker;
using Ends = std::vector<std::size_t>;

// Small chunks, so that inputs of a few KB have many.
constexpr const char* kSpecs[] = {
    "fixed:size=100",
    "ram:window=64,min=64,avg=320,max=512",
    "ram:window=300,avg=400,max=2000",
    "ae-max:window=64,avg=100,max=400",
    "ae-min:window=130,avg=200,max=2000",
    "maxp:window=64,avg=300,max=2000",
    "maxp:window=100,avg=201,max=202",
    "seqcdc:min=64,avg=128,max=1k,length=3,trigger=4,skip=20",
    "seqcdc:min=64,avg=128,max=2k,length=5,trigger=1,skip=64,mode=dec",
    "gear:avg=64",
    "gear:min=64,avg=128,max=4k",
    "gear:min=64,avg=256,max=4k,norm=2",
    "gear32:avg=64",
    "gear16:avg=64",
    "gear16:min=64,avg=256,max=4k",
    "fastcdc:avg=64",
    "fastcdc:min=64,avg=256,max=4k",
    "crc:min=256,avg=256",
    "rabin:min=64,avg=64",
    "tttd:min=64,avg=64,max=300",
    "toga:min=512,avg=512,limit=3",
};

Ends cuts_in_pieces(const Chunker& chunker, ByteSpan data, std::size_t piece_bytes) {
  Ends ends;
  std::size_t start = 0, seen = 0;
  do {
    seen += std::min(data.size() - seen, piece_bytes);
    Ends more;
    const std::size_t used = chunker.split(data.subspan(start, seen - start), seen == data.size(), more);
    DEDUPFS_CHECK(used == (more.empty() ? 0 : more.back()));
    DEDUPFS_CHECK(used > 0 || seen - start <= chunker.sizes().max_bytes);
    for (const std::size_t end : more) ends.push_back(start + end);
    start += used;
  } while (seen < data.size());
  return ends;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 2) return 0;
  const char* spec = kSpecs[data[0] % std::size(kSpecs)];
  const std::size_t piece_bytes = std::size_t{1} + 16 * data[1];
  // A copy of exactly this size, so that AddressSanitizer sees each byte read outside.
  const std::vector<std::uint8_t> bytes(data + 2, data + size);

  Ends expected;
  (*dedupfs::make_chunker(spec, dedupfs::Isa::kScalar))->split(bytes, true, expected);
  DEDUPFS_CHECK(bytes.empty() == expected.empty());
  for (const dedupfs::Isa isa : dedupfs::available_isas()) {
    const auto chunker = *dedupfs::make_chunker(spec, isa);
    DEDUPFS_CHECK(cuts_in_pieces(*chunker, bytes, bytes.size()) == expected);
    DEDUPFS_CHECK(cuts_in_pieces(*chunker, bytes, piece_bytes) == expected);
  }
  return 0;
}
