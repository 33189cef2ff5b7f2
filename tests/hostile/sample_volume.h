// A small volume with everything in it: chunks, deltas, inline files, holes, hard links, links, devices, attributes, access
// lists, snapshots (one deleted), an orphan, chunks on the list of damaged ones, checkpoints, tables and a log.
//
// Failure: throws std::runtime_error, since nothing can be tested without it.
#pragma once

#include <filesystem>

namespace dedupfs {

void make_sample_volume(const std::filesystem::path& volume);

}  // namespace dedupfs
