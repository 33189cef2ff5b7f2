// A new master key for an encrypted volume. See docs/encryption.md, "Another master key".
//
// Files stay as they are: the former master key opens them. What is written from now on is sealed with the new one. A reclaim moves what
// is under a former key; the unmount after it forgets the key.
//
// Threads: free functions, safe from any thread. The caller holds the lock of the volume.
// Failure: kInvalidArgument: the volume was not unmounted; kCorruption: its list of files is missing or damaged; else as key_header.h.
//          Whatever fails, and whenever a crash comes, the volume has either key, whole.
#pragma once

#include <cstdint>
#include <limits>

#include "base/backing.h"
#include "base/result.h"
#include "store/seal/key_header.h"

namespace dedupfs {

// `folder` is the real one of the volume. `header` is its key header, and afterwards the new one, of which the slot of `unlocked` opens
// with this new passphrase. The rest as rotate_master().
Result<RotatedKey> rotate_master_key(BackingFolder& folder, KeyHeader& header, const UnlockedKey& unlocked,
                                     const NewPassphrase& passphrase,
                                     std::uint64_t most_memory_kib = std::numeric_limits<std::uint64_t>::max());

}  // namespace dedupfs
