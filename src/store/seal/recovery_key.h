// A passphrase for paper: 160 random bits, in symbols that people do not mix up, with a check that finds mistakes of who types it.
//
//   7KQ2-M0XA-...: nine groups of four symbols of Crockford's base32; the last group is the check.
//
// Threads: free functions, safe from any thread.
// Failure: kInvalidArgument for what is no recovery key.
#pragma once

#include "base/result.h"
#include "store/seal/secret.h"

namespace dedupfs {

// The text, as it is printed. It is the passphrase of a key slot.
Secret make_recovery_key();
// The text as it was printed, from what somebody typed: in any case, with or without the dashes, O for 0, I or L for 1.
Result<Secret> tidy_recovery_key(ByteSpan typed);

}  // namespace dedupfs
