// The list of mount options after -o, from mount(8), fstab or the command line.
//
// Three kinds of options come in one list: those of mount(8) that concern every filesystem (many are for mount(8) itself
// and mean nothing here), those of FUSE, and those of dedupfs.
//
// Threads: values; free functions are safe from any thread.
// Order:   the last of equal options or contrary flags (ro, rw) wins, as with mount(8), which puts the options of fstab before those
//          of the command line.
// Failure: kInvalidArgument with a message for the user: an unknown option, a bad value, a value out of range.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "mount/options/mount_option_values.h"

namespace dedupfs {

// Commas inside of double quotes do not separate (context="system_u:object_r:tmp_t:s0:c1,c2"). With `sloppy`, which automounters
// ask for, unknown options are ignored.
Result<MountOptions> parse_mount_options(std::string_view list, bool sloppy = false);

// The options of dedupfs that differ from their defaults, as a list that parses back; for messages and `info`.
std::string format_own_options(const MountOptions& options);

// A line for each option of dedupfs and of FUSE, with its default.
std::string mount_options_help();

// The same options as words to begin with: "commit=", "foreign".
std::vector<std::string> mount_option_words();

// The list for libfuse's -o. `source` is the absolute path of the volume.
std::string libfuse_options(const MountOptions& options, std::string_view source, bool privileged);

// Whether a remount can change `current` options to `requested` ones. From ro to rw it needs a daemon that can write. The options of
// dedupfs cannot change. An error says what to do instead.
Result<void> check_remount(const MountOptions& current, const MountOptions& requested);

// The flags of mount(2), without MS_REMOUNT.
unsigned long mount_flags(const MountOptions& options);

}  // namespace dedupfs
