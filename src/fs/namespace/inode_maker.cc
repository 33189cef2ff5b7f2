#include "fs/namespace/inode_maker.h"

#include <unistd.h>

#include <utility>
#include <vector>

#include "fs/format/mode.h"
#include "fs/inodes/inode_record.h"

namespace dedupfs {
namespace {

// Counts a new inode as in use, and takes that back unless the inode is made.
class NumberInUse {
 public:
  explicit NumberInUse(InodeNumbers& numbers) : numbers_(&numbers) {}
  ~NumberInUse() {
    if (numbers_ != nullptr) numbers_->count_deleted();
  }
  NumberInUse(const NumberInUse&) = delete;
  NumberInUse& operator=(const NumberInUse&) = delete;

  void keep() { numbers_ = nullptr; }

 private:
  InodeNumbers* numbers_;
};

}  // namespace

Result<InodePtr> InodeMaker::make(Inode& directory, InodeRecord record, const Caller& caller, const Timestamp& now,
                                  Named named) {
  Attributes& attributes = record.attributes;
  const Attributes& above = directory.record.attributes;
  attributes.uid = caller.uid;
  attributes.gid = (above.mode & S_ISGID) != 0 ? above.gid : caller.gid;
  attributes.atime = attributes.mtime = attributes.ctime = attributes.btime = now;
  attributes.links = named == Named::kYes ? 1 : 0;
  if (is_directory(attributes.mode)) {
    attributes.mode |= above.mode & S_ISGID;
    attributes.links = 2;
    attributes.parent = directory.number;
    attributes.next_cookie = kFirstCookie;
  }
  DEDUPFS_ASSIGN(NewFileInQuota in_quota, NewFileInQuota::in(directory));
  Inode created(numbers_.allocate());
  created.mutex.assert_held();  // nobody else knows the object
  NumberInUse number_in_use(numbers_);
  attributes.inode = created.number;
  created.record = std::move(record);
  DEDUPFS_TRY(xattrs_.inherit_acls(directory, created, caller));
  created.quota = in_quota.share();
  put_record(metadata_, created);
  number_in_use.keep();
  (void)in_quota.take();
  return table_.add(created.record);
}

Result<void> InodeMaker::ensure_root() {
  const Result<InodePtr> root = table_.get_directory(kRootInode);
  if (root) return {};
  if (root.error().code() != ErrorCode::kStale) return root.error();
  DEDUPFS_ASSIGN(const std::vector<KeyValue> others, metadata_.list(Family::kInodes, {}, {}, 1));
  const InodeNumber number = numbers_.allocate();
  if (!others.empty() || number != kRootInode)
    return Error{ErrorCode::kCorruption, "the root directory (inode 1) is missing"};
  Inode created(number);
  created.mutex.assert_held();  // nobody else knows the object
  Attributes& attributes = created.record.attributes;
  attributes.inode = attributes.parent = number;
  attributes.mode = S_IFDIR | 0755;
  attributes.uid = ::geteuid();
  attributes.gid = ::getegid();
  attributes.links = 2;
  attributes.next_cookie = kFirstCookie;
  attributes.atime = attributes.mtime = attributes.ctime = attributes.btime = Timestamp::now();
  put_record(metadata_, created);
  return {};
}

}  // namespace dedupfs
