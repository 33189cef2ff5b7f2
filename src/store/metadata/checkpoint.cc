#include "store/metadata/checkpoint.h"

#include <fmt/format.h>

#include <array>
#include <chrono>
#include <limits>
#include <utility>

#include "base/crash_point.h"

namespace dedupfs {
namespace {

constexpr std::string_view kUnfinished = "unfinished";
constexpr std::size_t kBlockBytes = 1 << 20;  // about; of records, before compression
// No record that we write is nearly as long; with it a block stays below kMaxCheckpointBlockBytes.
constexpr std::size_t kMaxRecordBytes = 8 << 20;

// Appends to a file, block by block.
class BlockWriter {
 public:
  BlockWriter(BackingFile& file, std::uint64_t offset, const Checkpoints::GoesOn& goes_on)
      : file_(file), offset_(offset), goes_on_(goes_on) {}

  Result<void> add(Family family, std::string_view key, std::string_view value) {
    if (key.size() > kMaxRecordBytes || value.size() > kMaxRecordBytes - key.size())
      return Error{ErrorCode::kCorruption,
                   fmt::format("the index has a record of {} bytes in '{}', which nobody has written; unmount and run "
                               "fsck.dedupfs -y",
                               key.size() + value.size(), name_of(family))};
    ++count_;
    append_record(records_, key, value);
    return records_.size() < kBlockBytes ? Result<void>() : end_block(family);
  }
  Result<void> end_family(Family family) { return records_.empty() ? Result<void>() : end_block(family); }
  Result<void> end() { return append(encode_checkpoint_end(blocks_)); }

 private:
  Result<void> end_block(Family family) {
    if (!goes_on_(count_)) return Error{ErrorCode::kInterrupted, "the checkpoint was not finished"};
    ++blocks_;
    const std::string block = encode_checkpoint_block(family, records_);
    records_.clear();
    return append(block);
  }
  Result<void> append(const std::string& bytes) {
    DEDUPFS_TRY(file_.write(offset_, bytes_of(bytes)));
    offset_ += bytes.size();
    return {};
  }

  BackingFile& file_;
  std::uint64_t offset_;
  const Checkpoints::GoesOn& goes_on_;
  std::string records_;
  std::uint64_t count_ = 0;
  std::uint64_t blocks_ = 0;
};

Result<void> write_families(const Database& database, BlockWriter& writer) {
  const auto snapshot = database.snapshot();
  for (const Family family : kCheckpointFamilies) {
    Result<void> written;
    DEDUPFS_TRY(database.walk(*snapshot, family, [&](std::string_view key, std::string_view value) {
      written = writer.add(family, key, value);
      return written.has_value();
    }));
    DEDUPFS_TRY(written);
    DEDUPFS_TRY(writer.end_family(family));
  }
  return {};
}

}  // namespace

// ---------------------------------------------------------------- reading

Result<Checkpoint> Checkpoint::open(BackingFolder& folder, std::string_view name) {
  DEDUPFS_ASSIGN(auto file, folder.open(name, Backing::Mode::kRead));
  const Path path = file->path();
  std::array<std::uint8_t, kCheckpointHeaderBytes> bytes;
  DEDUPFS_TRY(file->read(0, bytes));
  const auto header = decode_checkpoint_header(bytes);
  if (!header) return header.error().with(path.string());
  return Checkpoint(std::move(file), path, *header);
}

Result<void> Checkpoint::walk_blocks(
    const std::function<Result<bool>(const CheckpointBlockHeader& header, std::uint64_t offset)>& visit) const {
  DEDUPFS_ASSIGN(const std::uint64_t size, file_->size());
  std::uint64_t blocks = 0;
  for (std::uint64_t offset = kCheckpointHeaderBytes;; ++blocks) {
    std::array<std::uint8_t, kCheckpointBlockHeaderBytes> bytes;
    DEDUPFS_TRY(file_->read(offset, bytes));
    const auto header = decode_checkpoint_block_header(bytes);
    if (!header) return header.error().with(path_.string());
    offset += kCheckpointBlockHeaderBytes;
    if (!header->family) {
      if (header->checksum == blocks && offset == size) return {};
      return Error{ErrorCode::kCorruption, path_.string() + ": it ends where it should not"};
    }
    DEDUPFS_ASSIGN(const bool wants_more, visit(*header, offset));
    if (!wants_more) return {};
    offset += header->stored_length;
  }
}

Result<RawBuffer> Checkpoint::read_block(const CheckpointBlockHeader& header, std::uint64_t offset) const {
  RawBuffer stored(header.stored_length);
  DEDUPFS_TRY(file_->read(offset, stored));
  auto records = decode_checkpoint_block(header, stored);
  if (!records) return records.error().with(path_.string());
  return records;
}

Result<void> Checkpoint::walk(Family family, const Visit& visit) const {
  return walk_blocks([&](const CheckpointBlockHeader& header, std::uint64_t offset) -> Result<bool> {
    if (header.family != family) return true;
    DEDUPFS_ASSIGN(const RawBuffer records, read_block(header, offset));
    auto visited = for_each_record(records, visit);
    if (!visited) return visited.error().with(path_.string());
    return visited;
  });
}

// Families and keys ascend, so that a few bytes cannot stand for one record a million times.
Result<void> Checkpoint::verify() const {
  std::uint8_t family = 0;
  std::optional<std::string> last;  // key of this family
  return walk_blocks([&](const CheckpointBlockHeader& header, std::uint64_t offset) -> Result<bool> {
    const std::uint8_t tag = tag_of(*header.family);
    if (tag < family) return corruption(path_.string() + ": its families are not in order");
    if (tag > family) last.reset();
    family = tag;
    DEDUPFS_ASSIGN(const RawBuffer records, read_block(header, offset));
    bool ascends = true;
    const auto visited = for_each_record(records, [&](std::string_view key, std::string_view) {
      ascends = !last || key > *last;
      last = key;
      return ascends;
    });
    if (!visited) return visited.error().with(path_.string());
    if (!ascends) return corruption(path_.string() + ": its records are not in order");
    return true;
  });
}

// ---------------------------------------------------------------- those of a volume

Result<std::shared_ptr<BackingFolder>> Checkpoints::folder() const {
  if (folder_) return folder_;
  auto opened = volume_->open_folder(kCheckpointsDirectory);
  if (!opened && opened.error().code() == ErrorCode::kNotFound) return std::shared_ptr<BackingFolder>();
  if (opened) folder_ = *opened;
  return opened;
}

Result<std::vector<Checkpoints::File>> Checkpoints::list() const {
  DEDUPFS_ASSIGN(const auto files_in, folder());
  return files_in ? list(*files_in) : std::vector<File>();
}

Result<std::vector<Checkpoints::File>> Checkpoints::list(BackingFolder& folder) const {
  std::vector<File> files;
  DEDUPFS_ASSIGN(const auto names, folder.list());
  for (auto name = names.rbegin(); name != names.rend(); ++name) {
    const auto number = parse_checkpoint_name(*name);
    if (!number) continue;
    File& file = files.emplace_back(File{*number, *name, 0});
    if (const auto opened = folder.open(*name, Backing::Mode::kRead))
      if (const auto size = (*opened)->size()) file.bytes = *size;
  }
  return files;
}

Result<std::optional<Checkpoint>> Checkpoints::newest(std::vector<Error>& damage) const {
  DEDUPFS_ASSIGN(const auto files_in, folder());
  if (!files_in) return std::optional<Checkpoint>();
  DEDUPFS_ASSIGN(const auto files, list(*files_in));
  for (const File& file : files) {
    auto checkpoint = Checkpoint::open(*files_in, file.name);
    if (!checkpoint) {
      damage.push_back(checkpoint.error());
    } else if (checkpoint->header().volume != uuid_) {
      damage.emplace_back(Error{ErrorCode::kCorruption, checkpoint->path().string() + " belongs to another volume"});
    } else if (const auto verified = checkpoint->verify(); !verified) {
      damage.push_back(verified.error());
    } else {
      return std::optional(std::move(*checkpoint));
    }
  }
  return std::optional<Checkpoint>();
}

bool Checkpoints::has_unfinished() const {
  const auto files_in = folder();
  if (!files_in || !*files_in) return false;
  const auto found = (*files_in)->exists(kUnfinished);
  return found && *found;
}

void Checkpoints::leave_unfinished() const {
  if (const auto files_in = folder(); files_in && *files_in)
    (void)(*files_in)->open(kUnfinished, Backing::Mode::kOpenOrCreate);
}

Result<void> Checkpoints::write(const Database& database, const GoesOn& goes_on) const {
  DEDUPFS_ASSIGN(auto files_in, folder());
  if (!files_in) {
    DEDUPFS_TRY(volume_->make_folder(kCheckpointsDirectory));
    DEDUPFS_TRY(volume_->sync());
    DEDUPFS_ASSIGN(files_in, folder());
  }
  return write(*files_in, database, goes_on);
}

// Beside the older ones, under a name of its own until it is whole.
Result<void> Checkpoints::write(BackingFolder& folder, const Database& database, const GoesOn& goes_on) const {
  DEDUPFS_ASSIGN(const auto older, list(folder));
  if (!older.empty() && older.front().number == std::numeric_limits<std::uint32_t>::max())
    return Error{ErrorCode::kTooLarge, (folder.path() / older.front().name).string() + " has the last number"};
  CheckpointHeader header;
  header.number = older.empty() ? 1 : older.front().number + 1;
  header.volume = uuid_;
  header.created_unix_seconds =
      std::chrono::duration_cast<std::chrono::seconds>(std::chrono::system_clock::now().time_since_epoch()).count();

  DEDUPFS_ASSIGN(const bool leftover, folder.exists(kUnfinished));
  if (leftover) DEDUPFS_TRY(folder.unlink(kUnfinished));
  {
    DEDUPFS_ASSIGN(const auto file, folder.open(kUnfinished, Backing::Mode::kCreate));
    const std::string first = encode_checkpoint_header(header);
    BlockWriter writer(*file, first.size(), goes_on);
    auto written = [&]() -> Result<void> {
      DEDUPFS_TRY(file->write(0, bytes_of(first)));
      DEDUPFS_TRY(write_families(database, writer));
      DEDUPFS_TRY(writer.end());
      crash_point("checkpoint.written");
      return file->datasync();
    }();
    if (!written) {
      (void)folder.unlink(kUnfinished);  // the next one does it
      return written;
    }
  }
  crash_point("checkpoint.synced");
  DEDUPFS_TRY(folder.rename(kUnfinished, folder, checkpoint_name(header.number)));
  crash_point("checkpoint.renamed");
  DEDUPFS_TRY(folder.sync());
  for (std::size_t i = kKept - 1; i < older.size(); ++i) {
    DEDUPFS_TRY(folder.unlink(older[i].name));
    crash_point("checkpoint.older-removed");
  }
  return {};
}

}  // namespace dedupfs
