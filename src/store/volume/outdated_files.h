// The files of an encrypted volume that a reclaim writes anew, because they are under a former master key (store/seal/key_rotation.h).
//
// Threads: from any thread.
#pragma once

#include <set>
#include <string>

#include "store/volume/volume.h"

namespace dedupfs {

// Their paths in the volume's folder. Without checkpoints: the next ones replace them.
std::set<std::string> outdated_files(const Volume& volume);

}  // namespace dedupfs
