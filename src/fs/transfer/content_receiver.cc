#include "fs/transfer/content_receiver.h"

#include <algorithm>

#include "delta/xdelta3_codec.h"
#include "store/format/region.h"

namespace dedupfs::transfer {

Result<InodeNumber> ContentReceiver::open(InodeNumber inode) {
  DEDUPFS_ASSIGN(const InodeNumber number, find_(inode));
  if (opened_ == number) return number;
  close();
  DEDUPFS_TRY(filesystem_.open_file(number, /*truncate=*/false, {}));
  opened_ = number;
  return number;
}

void ContentReceiver::close() {
  if (opened_ != 0) filesystem_.release_file(std::exchange(opened_, 0), /*was_writer=*/true);
}

Result<void> ContentReceiver::write(InodeNumber inode, std::uint64_t offset, ByteSpan bytes) {
  DEDUPFS_ASSIGN(const InodeNumber number, open(inode));
  return filesystem_.write(number, offset, bytes, {}, [] { return false; });
}

Result<void> ContentReceiver::apply(const NewContent& content) {
  return write(content.inode, content.offset, bytes_of(content.bytes));
}

// In the tree that it is in.
Result<InodeNumber> ContentReceiver::node_of_source(const ContentPlace& place) const {
  DEDUPFS_ASSIGN(const InodeNumber number, find_(place.inode));
  if (place.tree == Tree::kNow) return number;
  if (!base_) return corruption("the stream names a base, and has none");
  return node_of(*base_, number);
}

Result<void> ContentReceiver::apply(const DeltaContent& content) {
  ByteBuffer source;
  for (const ContentPlace& place : content.sources) {
    if (place.length > Xdelta3Codec::kMaxSourceBytes - source.size())
      return corruption("a delta in the stream has too long a source");
    DEDUPFS_ASSIGN(const InodeNumber node, node_of_source(place));
    DEDUPFS_ASSIGN(const auto pieces, filesystem_.read(node, place.offset, place.length, AccessTime::kKept));
    const std::size_t before = source.size();
    for (const PinnedBytes& piece : pieces) source.insert(source.end(), piece.bytes.begin(), piece.bytes.end());
    if (source.size() - before != place.length) return corruption("a source of a delta in the stream is not here");
  }
  ByteBuffer target(content.length);
  DEDUPFS_TRY(Xdelta3Codec::decode(source, bytes_of(content.delta), target));
  if (delta_checksum_of(target) != content.checksum)
    return corruption("a delta of the stream gives other bytes than at the sender: the base here differs from its");
  return write(content.inode, content.offset, target);
}

// A copy goes some 100 MiB at a time, and a hole may have any length: so long ones are made as one. 0: there is none.
Result<std::uint64_t> ContentReceiver::long_hole_at(InodeNumber inode, std::uint64_t offset, std::uint64_t length) {
  constexpr std::uint64_t kLong = std::uint64_t{1} << 30;
  if (length < kLong) return 0;
  const auto data = filesystem_.seek_data(inode, offset);
  if (!data && data.error().code() != ErrorCode::kNoData) return data.error();
  const std::uint64_t hole = data ? std::min(*data - offset, length) : length;
  return hole < kLong ? 0 : hole;
}

Result<void> ContentReceiver::apply(const CopiedContent& content) {
  DEDUPFS_ASSIGN(const InodeNumber to, open(content.inode));
  DEDUPFS_ASSIGN(const InodeNumber from, node_of_source(content.source));
  DEDUPFS_ASSIGN(const Attributes source, filesystem_.attributes(from));
  if (content.source.offset > source.size || content.source.length > source.size - content.source.offset)
    return corruption("content that the stream builds on is not here");
  for (std::uint64_t done = 0; done < content.source.length;) {
    DEDUPFS_ASSIGN(const std::uint64_t hole,
                   long_hole_at(from, content.source.offset + done, content.source.length - done));
    if (hole != 0) {
      DEDUPFS_TRY(filesystem_.allocate(to, content.offset + done, hole, AllocateMode::kPunchHole));
      done += hole;
      continue;
    }
    DEDUPFS_ASSIGN(const std::uint64_t copied,
                   filesystem_.copy_range(from, content.source.offset + done, to, content.offset + done,
                                          content.source.length - done));
    if (copied == 0) return corruption("content that the stream builds on is not here");
    done += copied;
    DEDUPFS_TRY(go_on_());
  }
  return {};
}

Result<void> ContentReceiver::apply(const Hole& hole) {
  DEDUPFS_ASSIGN(const InodeNumber number, open(hole.inode));
  return filesystem_.allocate(number, hole.offset, hole.length, AllocateMode::kPunchHole);
}

}  // namespace dedupfs::transfer
