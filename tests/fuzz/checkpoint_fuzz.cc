// Any bytes as a checkpoint, as the findings of a scrub and as the list of damaged chunks.
//
// The checksums would keep the fuzzer from everything behind them, so it is given blocks with the checksums made right, too.
#include <xxhash.h>

#include <cstdint>
#include <string>

#include "base/check.h"
#include "store/check/scrubber.h"
#include "store/chunks/damaged_chunks.h"
#include "store/metadata/checkpoint_format.h"

namespace dedupfs {
namespace {

void decode_as_it_is(ByteSpan input) {
  if (input.size() >= kCheckpointHeaderBytes) (void)decode_checkpoint_header(input.first(kCheckpointHeaderBytes));
  if (input.size() < kCheckpointBlockHeaderBytes) return;
  const auto header = decode_checkpoint_block_header(input.first(kCheckpointBlockHeaderBytes));
  if (header) (void)decode_checkpoint_block(*header, input.subspan(kCheckpointBlockHeaderBytes));
}

void decode_with_right_checksums(ByteSpan input) {
  if (input.size() < 4) return;
  CheckpointBlockHeader header;
  header.family = Family::kInodes;
  header.compressed = input[0] % 2 == 1;
  const ByteSpan stored = input.subspan(4);
  header.stored_length = static_cast<std::uint32_t>(stored.size());
  header.raw_length = header.compressed ? std::uint32_t{input[1]} << 12 | std::uint32_t{input[2]} << 4 | input[3] >> 4
                                        : header.stored_length;
  header.checksum = XXH3_64bits(stored.data(), stored.size());
  const auto records = decode_checkpoint_block(header, stored);
  if (!records) return;
  std::string again;
  const auto parsed = for_each_record(*records, [&](std::string_view key, std::string_view value) {
    append_record(again, key, value);
    return true;
  });
  // Numbers can be written longer than they must be, so only what they say has to be the same.
  if (parsed) DEDUPFS_CHECK(again.size() <= records->size());
}

void decode_counters(ByteSpan input) {
  if (const auto findings = decode_scrub_findings(text_of(input))) {
    const auto again = decode_scrub_findings(encode_scrub_findings(*findings));
    DEDUPFS_CHECK(again && *again == *findings);
  }
  DamagedChunks damaged;
  if (damaged.load(text_of(input))) {
    DamagedChunks again;
    DEDUPFS_CHECK(again.load(damaged.encode().bytes) && again.size() == damaged.size());
  }
}

}  // namespace
}  // namespace dedupfs

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const dedupfs::ByteSpan input(data, size);
  dedupfs::decode_as_it_is(input);
  dedupfs::decode_with_right_checksums(input);
  dedupfs::decode_counters(input);
  return 0;
}
