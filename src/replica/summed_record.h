// Records in a bucket, or beside a volume, that say what they are: a magic number, a version, the content, the SHA-256 of all that.
//
// Threads: free functions, safe from any thread.
// Failure: kCorruption for bytes that nobody wrote so, kVersion for a newer format.
#pragma once

#include <cstdint>
#include <string>

#include "base/bytes.h"
#include "base/coding.h"
#include "base/result.h"

namespace dedupfs {

struct RecordKind {
  std::uint64_t magic = 0;
  std::uint16_t version = 0;
  const char* name = "";  // for messages: "head"
};

// Magic number and version, to which the content is added.
void begin_record(Encoder& encoder, const RecordKind& kind);
// `bytes` are all that was encoded so far.
void end_record(std::string& bytes);
// The content.
Result<ByteSpan> content_of_record(ByteSpan bytes, const RecordKind& kind);

}  // namespace dedupfs
