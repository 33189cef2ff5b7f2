// What a stream says, record by record: how one tree becomes another. docs/transfer.md has the bytes.
//
// Inodes have the numbers that they have at the sender. Tree::kBase is the snapshot that both sides have, Tree::kNow what is made of it.
//
// Threads: free functions, safe from any thread.
// Failure: decoding trusts nothing: kCorruption for what the encoder never writes.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/coding.h"
#include "base/result.h"
#include "fs/format/types.h"

namespace dedupfs::transfer {

inline constexpr std::size_t kMaxContentBytes = 1 << 20;  // of one record
inline constexpr std::size_t kMaxPathBytes = 1 << 16;

enum class Tree : std::uint8_t { kNow, kBase };

struct ContentPlace {
  Tree tree = Tree::kNow;
  InodeNumber inode = 0;
  std::uint64_t offset = 0;
  std::uint64_t length = 0;

  bool operator==(const ContentPlace&) const = default;
};

// Where an inode is, for records that follow.
struct KnownInode {
  InodeNumber inode = 0;
  Tree tree = Tree::kNow;
  InodeNumber parent = 0;  // a directory that is known; in the base: the root
  std::string path;        // relative to it
};
// How much content the records behind it are about: about the sizes of the files.
struct Outlook {
  std::uint64_t content_bytes = 0;
};

// --- names: each of these is one step
struct RemovedName {
  InodeNumber parent = 0;
  std::string name;
  InodeNumber inode = 0;
  bool inode_stays = false;  // under another name
};
struct MadeInode {
  InodeNumber parent = 0;
  std::string name;
  InodeNumber inode = 0;
  std::uint32_t mode = 0;
  std::uint64_t device = 0;
  std::string target;  // of a symbolic link
};
// One more name of an inode.
struct PlacedName {
  InodeNumber parent = 0;
  std::string name;
  InodeNumber inode = 0;
};

// --- content, in order of offset, one inode after the other
struct NewContent {
  InodeNumber inode = 0;
  std::uint64_t offset = 0;
  std::string bytes;  // 1 to kMaxContentBytes
};
struct DeltaContent {
  InodeNumber inode = 0;
  std::uint64_t offset = 0;
  std::uint32_t length = 0;    // of the content, 1 to kMaxContentBytes
  std::uint32_t checksum = 0;  // delta_checksum_of() it
  std::vector<ContentPlace> sources;
  std::string delta;
};
struct CopiedContent {
  InodeNumber inode = 0;
  std::uint64_t offset = 0;
  ContentPlace source;
};
struct Hole {
  InodeNumber inode = 0;
  std::uint64_t offset = 0;
  std::uint64_t length = 0;
};
struct Xattr {
  InodeNumber inode = 0;
  std::string name;
  std::string value;
};
// The inode has its content and all of its extended attributes. One step.
struct FinishedInode {
  InodeNumber inode = 0;
  std::uint32_t mode = 0;
  std::uint32_t uid = 0;
  std::uint32_t gid = 0;
  std::uint64_t size = 0;
  Timestamp atime;
  Timestamp mtime;
  Timestamp ctime;
};

struct End {};

using Record = std::variant<KnownInode, RemovedName, MadeInode, PlacedName, NewContent, DeltaContent, CopiedContent,
                            Hole, Xattr, FinishedInode, End, Outlook>;

void encode(const Record& record, Encoder& out);
// The next record of these bytes.
Result<Record> decode(Decoder& in);

}  // namespace dedupfs::transfer
