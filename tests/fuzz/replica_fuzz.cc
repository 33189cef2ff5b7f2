// What a bucket gives, and what a volume keeps of it: heads, records of evicted containers, remote.json. Any bytes, and with a magic number,
// a version and a checksum that are right. What is taken is written and read again as it is, and keeps its promises.
#include <cstdint>
#include <string>

#include "base/bytes.h"
#include "base/check.h"
#include "base/coding.h"
#include "hash/sha256.h"
#include "replica/eviction/evicted_record.h"
#include "replica/head.h"
#include "replica/remote_file.h"

namespace dedupfs {
namespace {

void fuzz_head(ByteSpan bytes) {
  const auto head = decode_head(bytes);
  if (!head) return;
  for (const auto& [path, file] : head->files) DEDUPFS_CHECK(is_image_path(path) && file.bytes() <= INT64_MAX);
  for (const std::string& path : head->dropped) DEDUPFS_CHECK(is_image_path(path));
  const auto again = decode_head(bytes_of(encode_head(*head)));
  DEDUPFS_CHECK(again && *again == *head);
}

void fuzz_record(ByteSpan bytes) {
  const auto record = decode_evicted_record(bytes);
  if (!record) return;
  std::uint64_t end = 0;
  for (const FileRange& range : record->kept) {
    DEDUPFS_CHECK(range.offset >= end && range.length != 0 && range.end() <= record->file.bytes());
    end = range.end();
  }
  const auto again = decode_evicted_record(bytes_of(encode_evicted_record(*record)));
  DEDUPFS_CHECK(again && *again == *record);
}

// Takes the place of the content, and gets a checksum that is right.
std::string sealed(std::string_view magic, std::string_view content) {
  std::string bytes(magic);
  Encoder encoder(bytes);
  encoder.u16(1);
  encoder.bytes(content);
  const Sha256Digest sum = sha256_of(bytes_of(bytes));
  encoder.bytes(ByteSpan(sum));
  return bytes;
}

}  // namespace
}  // namespace dedupfs

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace dedupfs;
  const ByteSpan bytes{data, size};
  fuzz_head(bytes);
  fuzz_head(bytes_of(sealed("DDPHEAD1", text_of(bytes))));
  fuzz_record(bytes);
  fuzz_record(bytes_of(sealed("DDEVICT1", text_of(bytes))));
  if (const auto record = decode_remote_record(text_of(bytes))) {
    const auto again = decode_remote_record(encode_remote_record(*record));
    DEDUPFS_CHECK(again && *again == *record);
  }
  return 0;
}
