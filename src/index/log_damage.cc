#include "index/log_damage.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/coding.h"
#include "index/index_guard.h"
#include "index/masked_crc32c.h"

namespace dedupfs {
namespace {

constexpr std::size_t kLogBlockBytes = 32 << 10;
constexpr std::size_t kRecordHeaderBytes = 7;
constexpr std::uint8_t kWholeBatch = 1, kBeginOfBatch = 2;

struct LogRecord {
  std::uint8_t type = 0;
  ByteSpan content;
};

bool begins_batch(std::uint8_t type) {
  return type == kWholeBatch || type == kBeginOfBatch;
}

// The record at the beginning of the bytes, unless it is bad. `is_wanted` judges its type before all of it is read.
template <class IsWanted>
std::optional<LogRecord> whole_record(ByteSpan bytes, const IsWanted& is_wanted) {
  Decoder decoder(bytes);
  const std::uint32_t checksum = decoder.u32();
  const std::size_t length = decoder.u16();
  LogRecord record{.type = decoder.u8(), .content = {}};
  if (!decoder.ok() || !is_wanted(record.type)) return std::nullopt;
  record.content = decoder.bytes(length);
  const ByteSpan checked = bytes.subspan(kRecordHeaderBytes - 1).first(decoder.ok() ? 1 + length : 0);
  if (!decoder.ok() || checksum != masked_crc32c(checked)) return std::nullopt;
  return record;
}

// The zeros behind the last record of a log that has room for more are none.
bool is_of_a_record(std::uint8_t type) {
  return type != 0;
}

class DamageSearch {
 public:
  void look_at_block(ByteSpan block) {
    const bool was_found = is_found_;
    while (block.size() >= kRecordHeaderBytes) {
      const auto record = whole_record(block, is_of_a_record);
      if (!record) {
        is_found_ = true;
        break;
      }
      if (begins_batch(record->type)) take(*record);
      block = block.subspan(kRecordHeaderBytes + record->content.size());
    }
    if (was_found) return;
    while (block.size() > kRecordHeaderBytes) {
      const auto record = whole_record(block, begins_batch);
      if (record) take(*record);
      block = block.subspan(record ? kRecordHeaderBytes + record->content.size() : 1);
    }
  }

  std::uint64_t changes_behind() const { return changes_behind_; }

 private:
  void take(const LogRecord& batch) {
    Decoder decoder(batch.content);
    const std::uint64_t first = decoder.u64();
    const std::uint32_t count = decoder.u32();
    if (!decoder.ok() || first < next_change_) return;
    if (is_found_)
      changes_behind_ += count;
    else
      next_change_ = first + count;
  }

  bool is_found_ = false;
  std::uint64_t next_change_ = 0;  // behind the last batch before it
  std::uint64_t changes_behind_ = 0;
};

}  // namespace

Result<std::uint64_t> sound_end(const BackingFile& log) {
  ByteBuffer block(kLogBlockBytes);
  for (std::uint64_t offset = 0;; offset += block.size()) {
    DEDUPFS_ASSIGN(const std::size_t got, log.read_up_to(offset, block));
    ByteSpan rest = ByteSpan(block).first(got);
    while (rest.size() >= kRecordHeaderBytes) {
      const auto record = whole_record(rest, is_of_a_record);
      if (!record) return offset + got - rest.size();
      rest = rest.subspan(kRecordHeaderBytes + record->content.size());
    }
    if (got < block.size()) return offset + got - rest.size();
  }
}

Result<std::uint64_t> changes_behind_damage(BackingFolder& index) {
  DEDUPFS_ASSIGN(std::vector<std::string> logs, index.list());
  std::erase_if(logs, [](const std::string& name) { return !is_log(name); });
  std::ranges::sort(
      logs, {}, [](const std::string& name) { return std::pair(name.size(), name); });  // numbers: as they were written
  DamageSearch search;
  ByteBuffer block(kLogBlockBytes);
  for (const std::string& name : logs) {
    DEDUPFS_ASSIGN(const auto log, index.open(name, Backing::Mode::kRead));
    DEDUPFS_TRY(judge_size(*log));
    std::size_t got = block.size();
    for (std::uint64_t offset = 0; got == block.size(); offset += block.size()) {
      DEDUPFS_ASSIGN(got, log->read_up_to(offset, block));
      search.look_at_block(ByteSpan(block).first(got));
    }
  }
  return search.changes_behind();
}

}  // namespace dedupfs
