// The owner of a volume, a check for programs that run as root.
//
// A user who may write to a part of a volume's folder can change the bytes there at any time. Checksums notice accidents, but not
// a person who forges them. So root works only on volumes that nobody else can write to, unless it is told to trust the others.
//
// Threads: free functions.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/backing.h"
#include "base/result.h"

namespace dedupfs {

// The first part of the volume, its folder among them, that belongs to somebody else than `user` or that others can write to,
// and why: "/volume/index belongs to user 1000". None: the volume is the user's alone. Parts are judged by descriptors of the
// folders that hold them, so that a path which changes meanwhile makes no difference.
//
// Others can write where the mode says so for everybody, or for a group other than root's. ACLs show in the bits of the group.
Result<std::optional<std::string>> foreign_part(BackingFolder& volume, std::uint32_t user);

// As root, kNotPermitted and the remedy where foreign_part() finds one. Anybody else may do as the disk permits.
Result<void> require_own(BackingFolder& volume);

// The same, but kBusy for one that is in use: it may be so with `foreign`. That it is busy says more, and who hears that can ask the
// daemon.
Result<void> require_own_or_busy(BackingFolder& volume);

}  // namespace dedupfs
