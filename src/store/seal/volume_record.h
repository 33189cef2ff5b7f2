// What the last opening of an encrypted volume left: all files as they were when it ended, or, if it did not end in good order, when it
// began. So a file that was rolled back or cut off since then is found. See docs/format.md, "Encrypted volumes".
//
// Threads: values; free functions are safe from any thread.
// Failure: decoding gives nothing for what no writer makes.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "store/seal/sealed_content.h"

namespace dedupfs {

using FileMarks = std::map<std::string, FileMark, std::less<>>;  // by path below the folder of the volume

struct VolumeRecord {
  std::uint64_t generation = 0;  // how many times the volume was opened for writing
  bool is_recounted = false;     // a record was lost: the generation is counted from there
  bool is_closed = false;        // in good order. Otherwise it is in use, or a crash ended that use
  std::int64_t unix_seconds = 0;
  SessionId session{};  // of this opening: it is in all that was written meanwhile
  FileMarks files;
};

std::string encode_volume_record(const VolumeRecord& record);
std::optional<VolumeRecord> decode_volume_record(ByteSpan bytes);

// It stands in `unmounted` and in a copy of that. It must be sealed with the current master key: who has a former one could make any.
struct FoundRecord {
  VolumeRecord record;
  FileMark mark;         // of the file that has it
  bool is_copy = false;  // which is all there is
};
std::optional<FoundRecord> read_volume_record(BackingFolder& volume, const std::shared_ptr<const VolumeKey>& key);
// Replaces both, durably. At any time there is one of the two, durable.
Result<void> write_volume_record(BackingFolder& volume, const std::shared_ptr<const VolumeKey>& key,
                                 const VolumeRecord& record);
// Replaces one of the two, in its room: on a full disk there may be no more.
Result<void> write_volume_record_file(BackingFolder& volume, std::string_view name,
                                      const std::shared_ptr<const VolumeKey>& key, const VolumeRecord& record);

}  // namespace dedupfs
