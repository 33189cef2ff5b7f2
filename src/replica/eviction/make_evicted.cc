#include "replica/eviction/make_evicted.h"

#include "replica/eviction/evicted_record.h"

namespace dedupfs {
namespace {

// The record is written when all else is there.
bool is_made(BackingFolder& evicted, const std::string& name, const RemoteFile& file) {
  const auto bytes = read_file(evicted, evicted_record_name(name), kMaxEvictedRecordBytes);
  const auto record = bytes ? decode_evicted_record(bytes_of(*bytes)) : Result<EvictedRecord>(bytes.error());
  const auto made = evicted.open(name, Backing::Mode::kRead);
  return record && record->file == file && made && (*made)->size().value_or(0) == file.bytes();
}

}  // namespace

Result<void> make_evicted(BackingFolder& evicted, const std::string& name, const RemoteFile& file,
                          const FetchedFrom& from) {
  if (is_made(evicted, name, file)) return {};
  DEDUPFS_ASSIGN(const auto made, evicted.open(name, Backing::Mode::kOpenOrCreate));  // synced with the record
  DEDUPFS_TRY(made->truncate(file.bytes()));
  EvictedRecord record{.file = file};
  DEDUPFS_ASSIGN(record.kept, fetch_kept_ranges(from, name, file, *made));
  DEDUPFS_TRY(made->datasync());
  return replace_file(evicted, evicted_record_name(name), bytes_of(encode_evicted_record(record)));
}

Result<void> remove_other_evicted(BackingFolder& evicted, const RemoteFiles& files) {
  DEDUPFS_ASSIGN(const auto names, evicted.list());
  for (const std::string& name : names) {
    const std::string container =
        name.ends_with(kEvictedRecordEnding) ? name.substr(0, name.size() - kEvictedRecordEnding.size()) : name;
    const auto file = files.find(container_path(container));
    if (file == files.end() || !is_made(evicted, container, file->second)) DEDUPFS_TRY(evicted.unlink(name));
  }
  return {};
}

}  // namespace dedupfs
