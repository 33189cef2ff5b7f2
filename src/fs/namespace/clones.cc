#include "fs/namespace/clones.h"

#include <fmt/format.h>

#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "base/mutex.h"
#include "fs/content/file_content.h"
#include "fs/format/mode.h"
#include "fs/format/records.h"
#include "fs/inodes/inode_record.h"
#include "index/entries.h"

namespace dedupfs {
namespace {

constexpr std::size_t kPage = 1024;
constexpr std::uint64_t kBetweenLooks = 256;

}  // namespace

class Clones::Cloning {
 public:
  Cloning(Clones& clones, JobMeter* meter, const std::function<void()>& look)
      : clones_(clones), meter_(meter), look_(look) {}

  Result<CloneTotals> run(InodeNumber from, InodeNumber parent, std::string_view name) {
    if (meter_ != nullptr) DEDUPFS_TRY(count_names(from));
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

  // For the meter. It takes a small part of the time of the copy.
  Result<void> count_names(InodeNumber top) {
    std::uint64_t names = 1;
    std::vector<InodeNumber> directories = {top};
    std::unordered_set<InodeNumber> seen = {top};
    while (!directories.empty()) {
      const InodeNumber directory = directories.back();
      directories.pop_back();
      const auto count = [&](const std::string& /*key*/, const std::string& value) -> Result<void> {
        DEDUPFS_ASSIGN(const CookieEntry entry, decode_cookie_entry(directory, value));
        ++names;
        if (is_directory(entry.type) && seen.insert(entry.inode).second) directories.push_back(entry.inode);
        return {};
      };
      DEDUPFS_TRY(visit_entries(clones_.metadata_, Family::kCookies, encode_inode_key(directory),
                                encode_key_behind(directory), kPage, count));
    }
    meter_->begin(names);
    return {};
  }

  void note_entry() {
    if (++entries_ % kBetweenLooks != 0) return;
    if (meter_ != nullptr) meter_->add(kBetweenLooks);
    if (look_) look_();
  }

  Result<void> clone_entries(InodeNumber source, InodeNumber copy) {
    const auto clone = [&](const std::string& /*key*/, const std::string& value) -> Result<void> {
      DEDUPFS_ASSIGN(const CookieEntry entry, decode_cookie_entry(source, value));
      note_entry();
      const auto cloned = clone_entry(entry.inode, copy, entry.name, /*is_top=*/false);
      // Somebody has deleted the entry, or the directory of the copy. If the snapshot is gone, reading the next page returns
      // the error.
      return !cloned && cloned.error().code() == ErrorCode::kStale ? Result<void>() : cloned;
    };
    return visit_entries(clones_.metadata_, Family::kCookies, encode_inode_key(source), encode_key_behind(source),
                         kPage, clone);
  }

  Result<void> clone_entry(InodeNumber from, InodeNumber parent, std::string_view name, bool is_top) {
    DEDUPFS_TRY(clones_.transactions_.check_writable(parent));
    DEDUPFS_TRY(clones_.space_.admit_metadata());
    DEDUPFS_ASSIGN(const InodePtr directory, clones_.table_.get_directory(parent));
    DEDUPFS_TRY(admit(*directory, from));
    const Transactions::Change change(clones_.transactions_);
    const NameLocks::Exclusive name_lock(clones_.names_, parent);
    DEDUPFS_ASSIGN(const InodePtr source, clones_.table_.get(from));
    DEDUPFS_ASSIGN(const auto existing, clones_.entries_.find(parent, name));
    if (existing || clones_.entries_.is_taken_by_snapshots(parent, name))
      return Error{ErrorCode::kExists, fmt::format("'{}' is there already", name)};
    if (const auto twin = links_.find(from); twin != links_.end()) return add_link(*directory, twin->second, name);

    std::shared_ptr<FileContent> content;  // of a file with content in memory
    InodePtr copy;
    {
      const InodeLocks locks(*directory, *source);
      DEDUPFS_TRY(clones_.entries_.check_takes_names(*directory));
      // To clone a loop of directories would never end.
      if (is_directory(source->record.attributes.mode) && !seen_.insert(from).second)
        return Error{ErrorCode::kCorruption,
                     fmt::format("directory {} is in the tree twice; unmount and run fsck.dedupfs -y", from)};
      content = source->content;
      DEDUPFS_ASSIGN(copy, add_copy(*directory, *source, name));
      const Attributes& attributes = source->record.attributes;
      if (is_directory(attributes.mode)) seen_.insert(copy->number);
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
      const MutexLock lock(directory->mutex);
      directory->record.attributes.mtime = directory->record.attributes.ctime = Timestamp::now();
      put_record(clones_.metadata_, *directory);
    }
    count(from, *copy);
    return {};
  }

  Result<void> admit(Inode& directory, InodeNumber from) {
    if (links_.contains(from)) return {};  // one more name of a copy
    DEDUPFS_ASSIGN(const Attributes attributes, clones_.attributes_now(from));
    return clones_.quotas_.admit_file(directory, attributes.data_bytes);
  }

  // If the content of `source` is in memory, the copy is empty at first.
  Result<InodePtr> add_copy(Inode& directory, Inode& source, std::string_view name)
      DEDUPFS_REQUIRES(directory.mutex, source.mutex) {
    DEDUPFS_ASSIGN(NewFileInQuota in_quota, NewFileInQuota::in(directory));
    DEDUPFS_TRY(in_quota.add_content(source.content ? 0 : source.record.attributes.data_bytes));
    Inode copy(clones_.numbers_.allocate());
    copy.mutex.assert_held();  // nobody else knows the object
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
    copy.quota = in_quota.share();
    put_record(clones_.metadata_, copy);
    (void)in_quota.take();
    clones_.entries_.add(directory, name, copy);
    put_record(clones_.metadata_, directory);
    return clones_.table_.add(copy.record);
  }

  Result<void> copy_records(Family family, InodeNumber from, InodeNumber to) {
    const auto copy = [&](const std::string& key, const std::string& value) -> Result<void> {
      clones_.metadata_.put(family, encode_inode_key(to) + key.substr(sizeof(InodeNumber)), value);
      return {};
    };
    return visit_entries(clones_.metadata_, family, encode_inode_key(from), encode_key_behind(from), kPage, copy);
  }

  Result<void> clone_content(FileContent& source, const InodePtr& copy) {
    const std::shared_ptr<FileContent> content = clones_.contents_.for_change(copy);
    const std::uint64_t size = source.size();
    DEDUPFS_ASSIGN(const QuotaReservation room, clones_.quotas_.reserve_copy(copy, *content, 0, size, source, 0));
    DEDUPFS_TRY(content->clone_range(source, 0, 0, size));
    return content->truncate(size);  // it may end in a hole
  }

  // Removes a file that could not be cloned completely.
  void take_back(Inode& directory, const InodePtr& copy, std::string_view name) {
    const InodeLocks locks(directory, *copy);
    const auto entry = clones_.entries_.find(directory.number, name);
    if (!entry || !*entry) return;
    clones_.entries_.remove(directory, name, **entry);
    put_record(clones_.metadata_, directory);
    clones_.entries_.drop_link(copy, Timestamp::now());
  }

  Result<void> add_link(Inode& directory, InodeNumber number, std::string_view name) {
    DEDUPFS_ASSIGN(const InodePtr copy, clones_.table_.get(number));
    const InodeLocks locks(directory, *copy);
    DEDUPFS_TRY(QuotaGuard::check_same_tree(directory, *copy));
    if (directory.record.attributes.links == 0 || copy->record.attributes.links == 0)
      return Error{ErrorCode::kStale, fmt::format("inode {} was deleted", number)};
    DEDUPFS_TRY(clones_.entries_.check_takes_names(directory));
    if (copy->record.attributes.links >= kMaxLinks)
      return Error{ErrorCode::kTooManyLinks, fmt::format("inode {} has too many links", number)};
    ++copy->record.attributes.links;
    put_record(clones_.metadata_, *copy);
    clones_.entries_.add(directory, name, *copy);
    put_record(clones_.metadata_, directory);
    return {};
  }

  void count(InodeNumber from, Inode& copy) {
    const MutexLock lock(copy.mutex);
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

  Clones& clones_;
  JobMeter* const meter_;  // null: nobody looks
  const std::function<void()>& look_;
  std::uint64_t entries_ = 0;  // that were come to
  CloneTotals totals_;
  std::vector<Directory> directories_;                  // with entries that are not cloned yet
  std::unordered_set<InodeNumber> seen_;                // directories, and their copies
  std::unordered_map<InodeNumber, InodeNumber> links_;  // from a file with several names to its copy
};

Result<Attributes> Clones::attributes_now(InodeNumber number) const {
  DEDUPFS_ASSIGN(const InodePtr inode, table_.get(number));
  const MutexLock lock(inode->mutex);
  return attributes_of(*inode);
}

Result<CloneTotals> Clones::clone_tree(InodeNumber from, InodeNumber parent, std::string_view name, JobMeter* meter,
                                       const std::function<void()>& look) {
  DEDUPFS_TRY(transactions_.check_writable(parent));
  DEDUPFS_TRY(DirectoryEntries::check_new_name(name));
  DEDUPFS_ASSIGN(const Attributes attributes, attributes_now(from));
  if (from == kSnapshotsInode) return Error{ErrorCode::kInvalidArgument, "the directory of the snapshots"};
  if (is_directory(attributes.mode)) {
    DirectoryMoves::Lock lock(moves_);
    DEDUPFS_ASSIGN(const bool is_inside, lock.ancestry().is_inside(parent, from));
    if (is_inside) return Error{ErrorCode::kInvalidArgument, "a directory cannot be cloned into itself"};
  }
  return Cloning(*this, meter, look).run(from, parent, name);
}

}  // namespace dedupfs
