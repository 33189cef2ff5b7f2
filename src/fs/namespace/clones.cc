// Copies of whole trees by reference: new inodes and names, the recipes of the old ones.
#include <fmt/format.h>

#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "fs/namespace/filesystem.h"
#include "fs/namespace/filesystem_state.h"
#include "index/entries.h"

namespace dedupfs {
namespace {

constexpr std::size_t kPage = 1024;

}  // namespace

class FilesystemState::Cloning {
 public:
  explicit Cloning(FilesystemState& state) : state_(state) {}

  Result<CloneTotals> run(InodeNumber from, InodeNumber parent, std::string_view name) {
    DEDUPFS_TRY(clone_entry(from, parent, name, /*is_top=*/true));
    while (!directories_.empty()) {
      const auto [source, copy] = directories_.back();
      directories_.pop_back();
      DEDUPFS_TRY(clone_entries(source, copy));
    }
    return totals_;
  }

 private:
  struct Directory {
    InodeNumber source = 0;
    InodeNumber copy = 0;
  };

  Result<void> clone_entries(InodeNumber source, InodeNumber copy) {
    const auto clone = [&](const std::string& /*key*/, const std::string& value) -> Result<void> {
      DEDUPFS_ASSIGN(const CookieEntry entry, decode_cookie_entry(source, value));
      const auto cloned = clone_entry(entry.inode, copy, entry.name, /*is_top=*/false);
      // Somebody deleted it, or the copy's directory, meanwhile; a snapshot that is gone shows in the next page.
      return !cloned && cloned.error().code() == ErrorCode::kStale ? Result<void>() : cloned;
    };
    return visit_entries(state_.metadata, Family::kCookies, encode_inode_key(source), encode_key_behind(source), kPage,
                         clone);
  }

  Result<void> clone_entry(InodeNumber from, InodeNumber parent, std::string_view name, bool is_top) {
    DEDUPFS_TRY(state_.check_writable(parent));
    DEDUPFS_TRY(state_.space.admit_metadata());
    const Change change(state_);
    const NameLocks::Exclusive name_lock(state_.names, {parent});
    DEDUPFS_ASSIGN(const InodePtr directory, state_.get_directory(parent));
    DEDUPFS_ASSIGN(const InodePtr source, state_.table.get(from));
    DEDUPFS_ASSIGN(const auto existing, state_.find_entry(parent, name));
    if (existing || is_snapshots_entry(parent, name))
      return Error{ErrorCode::kExists, fmt::format("'{}' is there already", name)};
    if (const auto twin = links_.find(from); twin != links_.end()) return add_link(*directory, twin->second, name);

    std::shared_ptr<FileContent> content;  // of a file that is in use
    InodePtr copy;
    {
      const InodeLocks locks({directory.get(), source.get()});
      DEDUPFS_TRY(state_.check_takes_names(*directory));
      // A circle of directories would be cloned without end.
      if (is_directory(source->record.attributes.mode) && !seen_.insert(from).second)
        return Error{ErrorCode::kCorruption,
                     fmt::format("directory {} is in the tree twice; unmount and run fsck.dedupfs -y", from)};
      content = source->content;
      DEDUPFS_ASSIGN(copy, add_copy(*directory, *source, name));
      if (is_directory(copy->record.attributes.mode)) seen_.insert(copy->number);
      const Attributes& attributes = source->record.attributes;
      if (!is_directory(attributes.mode) && attributes.links > 1) links_[from] = copy->number;
    }
    if (content) {
      Result<void> cloned = clone_content(*content, copy);
      if (!cloned) {
        take_back(*directory, copy, name);
        return cloned;
      }
    }
    if (is_top) {
      const std::lock_guard lock(directory->mutex);
      directory->record.attributes.mtime = directory->record.attributes.ctime = Timestamp::now();
      state_.put_record(*directory);
    }
    count(from, *copy);
    return {};
  }

  // With both locked; whose content is in memory gets none yet.
  Result<InodePtr> add_copy(Inode& directory, Inode& source, std::string_view name) {
    Inode copy(state_.numbers->allocate());
    copy.record = source.record;
    Attributes& attributes = copy.record.attributes;
    attributes.inode = copy.number;
    attributes.links = 1;
    if (is_directory(attributes.mode)) {
      attributes.links = 2;
      attributes.size = 0;
      attributes.parent = directory.number;
      attributes.next_cookie = kFirstCookie;
      add_subdirectory(directory.record.attributes);
    }
    if (source.content) attributes.size = attributes.data_bytes = 0;
    if (copy.record.has_xattrs) DEDUPFS_TRY(copy_records(Family::kXattrs, source.number, copy.number));
    if (is_regular(attributes.mode) && !source.content)
      DEDUPFS_TRY(copy_records(Family::kRecipes, source.number, copy.number));
    state_.put_record(copy);
    state_.add_entry(directory, name, copy);
    state_.put_record(directory);
    return state_.table.add(copy.record);
  }

  Result<void> copy_records(Family family, InodeNumber from, InodeNumber to) {
    const auto copy = [&](const std::string& key, const std::string& value) -> Result<void> {
      state_.metadata.put(family, encode_inode_key(to) + key.substr(sizeof(InodeNumber)), value);
      return {};
    };
    return visit_entries(state_.metadata, family, encode_inode_key(from), encode_key_behind(from), kPage, copy);
  }

  Result<void> clone_content(FileContent& source, const InodePtr& copy) {
    const std::shared_ptr<FileContent> content = state_.content_for_change(copy);
    const std::uint64_t size = source.size();
    DEDUPFS_TRY(content->clone_range(source, 0, 0, size));
    return content->truncate(size);  // it may end in a hole
  }

  // Of a file that could not be cloned nothing stays.
  void take_back(Inode& directory, const InodePtr& copy, std::string_view name) {
    const InodeLocks locks({&directory, copy.get()});
    const auto entry = state_.find_entry(directory.number, name);
    if (!entry || !*entry) return;
    state_.remove_entry(directory, name, **entry);
    state_.put_record(directory);
    state_.drop_link(copy, Timestamp::now());
  }

  Result<void> add_link(Inode& directory, InodeNumber number, std::string_view name) {
    DEDUPFS_ASSIGN(const InodePtr copy, state_.table.get(number));
    const InodeLocks locks({&directory, copy.get()});
    if (directory.record.attributes.links == 0 || copy->record.attributes.links == 0)
      return Error{ErrorCode::kStale, fmt::format("inode {} was deleted", number)};
    DEDUPFS_TRY(state_.check_takes_names(directory));
    if (copy->record.attributes.links >= kMaxLinks)
      return Error{ErrorCode::kTooManyLinks, fmt::format("inode {} has too many links", number)};
    ++copy->record.attributes.links;
    state_.put_record(*copy);
    state_.add_entry(directory, name, *copy);
    state_.put_record(directory);
    return {};
  }

  void count(InodeNumber from, Inode& copy) {
    const std::lock_guard lock(copy.mutex);
    const Attributes attributes = attributes_of(copy);
    if (is_directory(attributes.mode)) {
      ++totals_.directories;
      directories_.push_back({from, copy.number});
    } else if (is_regular(attributes.mode)) {
      ++totals_.files;
      totals_.bytes += attributes.size;
    } else {
      ++totals_.others;
    }
  }

  FilesystemState& state_;
  CloneTotals totals_;
  std::vector<Directory> directories_;                  // whose entries are to be cloned
  std::unordered_set<InodeNumber> seen_;                // directories, and their copies
  std::unordered_map<InodeNumber, InodeNumber> links_;  // of what has several names, the copy
};

Result<CloneTotals> Filesystem::clone_tree(InodeNumber from, InodeNumber parent, std::string_view name) {
  FilesystemState& state = *state_;
  DEDUPFS_TRY(state.check_writable(parent));
  DEDUPFS_TRY(FilesystemState::check_new_name(name));
  DEDUPFS_ASSIGN(const Attributes source, attributes(from));
  if (from == kSnapshotsInode) return Error{ErrorCode::kInvalidArgument, "the directory of the snapshots"};
  if (is_directory(source.mode)) {
    const std::lock_guard rename_lock(state.rename_mutex);
    DEDUPFS_ASSIGN(const bool is_inside, state.ancestry.is_inside(parent, from));
    if (is_inside) return Error{ErrorCode::kInvalidArgument, "a directory cannot be cloned into itself"};
  }
  return FilesystemState::Cloning(state).run(from, parent, name);
}

}  // namespace dedupfs
