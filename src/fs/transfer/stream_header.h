// What a stream says of itself before its first record: of which snapshot it is, and since which. And how far a receiver got.
//
// Threads: values; free functions are safe from any thread.
// Failure: kCorruption, kInvalidArgument for a token, and kVersion for what no build of this version writes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "fs/snapshots/snapshot_holds.h"
#include "store/metadata/snapshot_list.h"

namespace dedupfs::transfer {

// One snapshot of one volume, wherever it is received.
struct SnapshotIdentity {
  std::string volume;  // uuid
  TreeNumber number = 0;
  std::string name;
  std::int64_t created_unix_seconds = 0;
  std::string
      uuid;  // of the snapshot: of two copies of a volume that go on apart, both use the next number, and may do so in the same second

  bool operator==(const SnapshotIdentity&) const = default;
};

// How much of a stream took effect: whole steps, and of the file of the next step the content in front of `offset`.
struct Position {
  std::uint64_t step = 0;
  std::uint64_t offset = 0;

  auto operator<=>(const Position&) const = default;
};

// What a receiver that was interrupted still wants, as a word that people copy.
struct ResumeToken {
  // UUIDs.
  std::string volume;
  std::string snapshot;
  std::string base;  // empty: none
  Position position;

  std::string text() const;
  static Result<ResumeToken> parse(std::string_view text);
  bool operator==(const ResumeToken&) const = default;
};

struct StreamHeader {
  SnapshotIdentity snapshot;
  bool held_until_released = false;
  std::optional<std::int64_t> held_until_unix_seconds;
  std::optional<SnapshotIdentity> base;
  Position begin;  // what is in front of it, the receiver has

  std::string text() const;
  static Result<StreamHeader> parse(std::string_view text);
};

// What a folder that a stream was received in says of itself, in an extended attribute.
struct ReceivedState {
  static constexpr std::string_view kXattr = "trusted.dedupfs.received";

  SnapshotIdentity snapshot;
  std::string base;           // the UUID of that snapshot; empty: none
  bool is_complete = false;   // the folder is as the sender's snapshot: so says the one that is made of it
  bool has_snapshot = false;  // it was made, and nothing is left to do
  Position position;          // until then
  bool is_stopped = false;    // everything that was done is noted, and there was no crash
  // Of the snapshot that is made of it: the sender's date, or that of the receipt if the sender's clock was fast.
  std::int64_t dated_unix_seconds = 0;
  InodeNumber made_from = 0;  // what the stream has made in the folder has higher numbers: the rest is somebody else's

  bool is_of(const SnapshotIdentity& sent, const std::optional<SnapshotIdentity>& sent_base) const;
  ResumeToken token() const {
    return {.volume = snapshot.volume, .snapshot = snapshot.uuid, .base = base, .position = position};
  }
  std::string text() const;
  static Result<ReceivedState> parse(std::string_view text);
};

}  // namespace dedupfs::transfer
