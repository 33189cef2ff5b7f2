#include "index/table_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <string_view>
#include <utility>

#include "index/database.h"
#include "index/index_guard.h"
#include "index/table_block.h"
#include "index/table_format.h"

namespace dedupfs {
namespace {

// rocksdb/db/dbformat.h: the key of a record ends with its type and the sequence number of the change.
constexpr std::size_t kKeyTrailerBytes = 8;
constexpr std::uint8_t kErased = 0;
constexpr std::uint8_t kPut = 1;

constexpr std::uint32_t kIndexOfTwoLevels = 2;

Error harm(const std::string& what) {
  return {ErrorCode::kCorruption, what};
}

std::string_view user_key_of(std::string_view key) {
  return key.substr(0, key.size() - kKeyTrailerBytes);
}
std::uint64_t trailer_of(std::string_view key) {
  return Decoder(key.substr(key.size() - kKeyTrailerBytes)).u64();
}
// The newer of two records of a key comes first.
bool is_before(std::string_view left, std::string_view right) {
  const int order = user_key_of(left).compare(user_key_of(right));
  return order != 0 ? order < 0 : trailer_of(left) > trailer_of(right);
}

// The range of the readable records.
struct TableRange {
  std::string first;
  std::optional<std::string> last;  // of keys
  std::uint64_t last_change = 0;
};

// Families have the same numbers in every index. Number 0 is RocksDB's own.
bool is_family(std::uint64_t id, std::string_view name) {
  if (id == 0) return name == "default";
  return id <= kFamilyCount && name == name_of(static_cast<Family>(id - 1));
}

class TableCheck {
 public:
  TableCheck(const BackingFile& table, std::uint64_t bytes, const TableFooter& footer)
      : table_(table), bytes_(bytes), footer_(footer) {}

  Result<TableRange> run() {
    DEDUPFS_TRY(read_directory());
    if (!is_directory_read_) return range_;
    DEDUPFS_TRY(read_properties());
    if (!are_properties_read_) return range_;
    DEDUPFS_TRY(check_index());
    DEDUPFS_TRY(check_filter());
    return range_;
  }

 private:
  // `judge` looks at the content of the block. False: RocksDB refuses the block by itself, and `judge` has not looked at it.
  template <class Judge>
  Result<bool> with_block(const BlockHandle& handle, Judge judge, bool even_if_damaged = false) {
    if (!lies_within(handle, bytes_)) return harm(fmt::format("the block at {} reaches beyond the end", handle.offset));
    if (handle.bytes > kMaxBlockBytes) return false;
    ByteBuffer raw(handle.bytes + kTableTrailerBytes);
    if (!table_.read(handle.offset, raw)) return false;
    const bool fits = checksum_fits(footer_.checksum, raw);
    if (!fits && !even_if_damaged) return false;
    const auto judged = [&]() -> Result<void> {
      DEDUPFS_ASSIGN(const ByteBuffer block, decompress_block(raw));
      return judge(ByteSpan(block));
    }();
    if (!judged && judged.error().message().starts_with("the block at ")) return judged.error();  // one that it names
    if (!judged) return harm(fmt::format("the block at {} {}", handle.offset, judged.error().message()));
    return fits;
  }

  Result<void> read_directory() {
    std::string last;
    const auto visit = [&](const BlockEntry& entry) -> Result<void> {
      if (entry.key <= last) return harm("has names that are not in order");
      last = entry.key;
      if (entry.key == "rocksdb.properties")
        properties_ = entry.handle;
      else if (entry.key.starts_with("partitionedfilter."))
        filter_ = entry.handle;
      else
        return harm("names a block that no table of dedupfs has");
      return {};
    };
    const auto judge = [&](ByteSpan block) { return read_entries(block, BlockValues::kHandles, visit); };
    DEDUPFS_ASSIGN(is_directory_read_, with_block(footer_.directory, judge));
    if (is_directory_read_ && !properties_) return harm("it has no properties");
    return {};
  }

  // The format of the other blocks. RocksDB verifies the checksum when it has read them.
  Result<void> read_properties() {
    std::string last;
    std::uint32_t index_type = 0;
    std::uint64_t family_id = 0;
    std::string family;
    const auto visit = [&](const BlockEntry& entry) -> Result<void> {
      if (entry.key <= last) return harm("has names that are not in order");
      last = entry.key;
      Decoder value(entry.value);
      if (entry.key == "rocksdb.block.based.table.index.type") index_type = value.u32();
      if (entry.key == "rocksdb.index.key.is.user.key") has_user_keys_ = value.varint() != 0;
      if (entry.key == "rocksdb.index.value.is.delta.encoded" && value.varint() != 0)
        handles_ = BlockValues::kHandleDeltas;
      if (entry.key == "rocksdb.column.family.id") family_id = value.varint();
      if (entry.key == "rocksdb.column.family.name") family = text_of(entry.value);
      if (entry.key.starts_with("rocksdb.external_sst_file.")) is_external_ = true;
      return {};
    };
    const auto judge = [&](ByteSpan block) -> Result<void> {
      DEDUPFS_TRY(read_entries(block, BlockValues::kBytes, visit));
      if (index_type != kIndexOfTwoLevels) return harm("says that the index has another form");
      if (!is_family(family_id, family))
        return harm(fmt::format("says that it is of family {}, '{}'", family_id, family));
      return {};
    };
    DEDUPFS_ASSIGN(are_properties_read_, with_block(*properties_, judge, /*even_if_damaged=*/true));
    return {};
  }

  // Blocks lie in the order in which RocksDB reads them. `end`: end of the previous block.
  static Result<void> move_behind(std::uint64_t& end, const BlockHandle& next) {
    if (next.offset < end) return harm(fmt::format("names the block at {} where {} is the next", next.offset, end));
    end = next.end();
    return {};
  }

  // A key of an index, as the key of a record: all records before it are not greater, all records after it are greater.
  Result<std::string> bound_of(std::string_view index_key) const {
    std::string bound(index_key);
    if (has_user_keys_) bound.append(kKeyTrailerBytes, '\0');
    if (bound.size() < kKeyTrailerBytes) return harm("has a key that is too short");
    return bound;
  }
  Result<void> move_to_bound(std::string_view index_key) {
    DEDUPFS_ASSIGN(std::string bound, bound_of(index_key));
    if (is_before(bound, position_)) return harm("has keys that are not in order");
    position_ = std::move(bound);
    return {};
  }

  Result<void> check_index() {
    std::uint64_t end = 0;
    const auto visit = [&](const BlockEntry& entry) -> Result<void> {
      if (entry.handle.bytes == 0) return harm("names a block of nothing");
      DEDUPFS_TRY(move_behind(end, entry.handle));
      DEDUPFS_ASSIGN(is_end_known_,
                     with_block(entry.handle, [&](ByteSpan partition) { return check_partition(partition); }));
      return move_to_bound(entry.key);
    };
    DEDUPFS_TRY(with_block(footer_.index, [&](ByteSpan block) { return read_entries(block, handles_, visit); }));
    return {};
  }

  Result<void> check_partition(ByteSpan partition) {
    return read_entries(partition, handles_, [&](const BlockEntry& entry) -> Result<void> {
      if (entry.handle.bytes == 0 || (is_end_known_ && entry.handle.offset != blocks_end_))
        return harm(fmt::format("names a block of {} bytes at {}", entry.handle.bytes, entry.handle.offset));
      DEDUPFS_TRY(move_behind(blocks_end_, entry.handle));
      is_end_known_ = true;
      DEDUPFS_TRY(with_block(entry.handle, [&](ByteSpan block) { return check_records(block); }));
      return move_to_bound(entry.key);
    });
  }

  Result<void> check_records(ByteSpan block) {
    return read_entries(block, BlockValues::kBytes, [&](const BlockEntry& record) -> Result<void> {
      if (record.key.size() < kKeyTrailerBytes) return harm("has a key that is too short");
      if (!is_before(position_, record.key)) return harm("has keys that are not in order");
      const std::uint64_t trailer = trailer_of(record.key);
      if (const std::uint64_t type = trailer & 0xff; type != kErased && type != kPut)
        return harm(fmt::format("has a record of type {}", type));
      if (is_external_ && trailer >> 8 != 0) return harm("has a record with the number of a change");
      position_ = record.key;
      const std::string key(user_key_of(record.key));
      if (!range_.last) range_.first = key;
      range_.last = key;
      range_.last_change = std::max(range_.last_change, trailer >> 8);
      return {};
    });
  }

  Result<void> check_filter() {
    if (!filter_) return {};
    std::uint64_t end = 0;
    std::string last_bound(kKeyTrailerBytes, '\xff');  // in front of every key
    const auto visit = [&](const BlockEntry& entry) -> Result<void> {
      DEDUPFS_TRY(move_behind(end, entry.handle));
      DEDUPFS_ASSIGN(std::string bound, bound_of(entry.key));
      if (is_before(bound, last_bound)) return harm("has keys that are not in order");
      last_bound = std::move(bound);
      DEDUPFS_TRY(with_block(entry.handle, [](ByteSpan filter) {
        return is_sound_filter(filter) ? Result<void>() : harm("is no filter that dedupfs makes");
      }));
      return {};
    };
    DEDUPFS_TRY(with_block(*filter_, [&](ByteSpan block) { return read_entries(block, handles_, visit); }));
    return {};
  }

  const BackingFile& table_;
  const std::uint64_t bytes_;
  const TableFooter footer_;
  bool is_directory_read_ = false;
  bool are_properties_read_ = false;
  std::optional<BlockHandle> properties_;
  std::optional<BlockHandle> filter_;
  bool has_user_keys_ = false;
  BlockValues handles_ = BlockValues::kHandles;
  bool is_external_ = false;  // made by RocksDB's SstFileWriter, which numbers no changes
  TableRange range_;
  std::uint64_t blocks_end_ = 0;                                  // of the records: they lie back to back
  bool is_end_known_ = true;                                      // false behind a partition that cannot be read
  std::string position_ = std::string(kKeyTrailerBytes, '\xff');  // of the last record or bound; first: in front of all
};

Result<TableRange> check_table(const BackingFile& table) {
  const auto bytes = table.size();
  if (!bytes || !judge_table(table)) return TableRange();  // RocksDB never reads it
  const auto footer = read_footer(table, *bytes);
  if (!footer) return TableRange();
  return TableCheck(table, *bytes, *footer).run();
}

HarmfulTable harmful(const BackingFolder& index, const std::string& name, const std::string& harm) {
  return {name, fmt::format("{}: {}; it is damaged, or was made to do harm", (index.path() / name).string(), harm)};
}

// RocksDB merges tables by their ranges in the manifest.
std::vector<HarmfulTable> beyond_their_range(const std::shared_ptr<BackingFolder>& index,
                                             const std::map<std::string, TableRange>& ranges) {
  std::vector<HarmfulTable> tables;
  const auto named = Database::tables(index);
  if (!named) return tables;  // nobody reads them by this manifest
  for (const Database::Table& table : *named) {
    const auto found = ranges.find(table.name);
    if (found == ranges.end()) continue;
    const TableRange& range = found->second;
    if (range.first < table.first_key || *range.last > table.last_key || range.last_change > table.last_change)
      tables.push_back(harmful(*index, table.name, "has records beyond the range that the manifest of the index says"));
  }
  return tables;
}

}  // namespace

Result<std::vector<HarmfulTable>> harmful_tables(const std::shared_ptr<BackingFolder>& index) {
  std::vector<HarmfulTable> tables;
  std::map<std::string, TableRange> ranges;
  DEDUPFS_ASSIGN(const std::vector<std::string> names, index->list());
  for (const std::string& name : names) {
    if (!is_table(name)) continue;
    const auto table = index->open(name, Backing::Mode::kRead);
    if (!table) continue;  // nor can RocksDB
    auto range = check_table(**table);
    if (!range)
      tables.push_back(harmful(*index, name, range.error().message()));
    else if (range->last)
      ranges.emplace(name, std::move(*range));
  }
  return tables.empty() ? beyond_their_range(index, ranges) : tables;
}

}  // namespace dedupfs
