// remote.json in the folder of a volume: the bucket that the volume is replicated to, or was cloned from, and its place there.
//
// The file lies beside the volume's files, also of an encrypted volume, and no image has it. It holds no secret.
//
// Threads: free functions, safe from any thread.
// Failure: kNotFound: the volume has no bucket; kCorruption for a file that nobody wrote so; kVersion for a newer one.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "base/backing.h"
#include "base/result.h"
#include "replica/shipper.h"

namespace dedupfs {

struct RemoteAddress {
  std::string address;                 // s3://bucket/prefix
  std::string endpoint;                // empty: that of AWS
  std::string region;                  // empty: the default
  std::string credentials_file;        // empty: where the programs of AWS look
  std::string ca_file;                 // empty: that of the system
  std::uint64_t bytes_per_second = 0;  // 0: no limit

  bool operator==(const RemoteAddress&) const = default;
};

// How much of which containers the bucket has, as far as a volume needs to know that to say what is lacking there.
struct ShippedContainers {
  std::uint32_t first = 1;                       // those with lower numbers are there, all of each
  std::map<std::uint32_t, std::uint64_t> bytes;  // of others, the first so many bytes

  bool operator==(const ShippedContainers&) const = default;
};

struct RemoteRecord {
  UuidText volume;
  RemoteAddress where;
  RemotePosition position;
  std::optional<ShippedContainers> containers;  // that `position.head` has, or a later one; nothing: not known

  bool operator==(const RemoteRecord&) const = default;
};

std::string encode_remote_record(const RemoteRecord& record);
Result<RemoteRecord> decode_remote_record(std::string_view text);

// `folder` as the disk has it, whatever volume it holds.
Result<RemoteRecord> load_remote_record(BackingFolder& folder);
// The same, where `uuid` is that of its volume. kNotFound: it has no bucket. kCorruption: the file is damaged, or of another
// volume.
Result<RemoteRecord> load_remote_record(BackingFolder& folder, const UuidText& uuid);
Result<void> save_remote_record(BackingFolder& folder, const RemoteRecord& record);

}  // namespace dedupfs
