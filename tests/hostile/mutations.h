// What somebody who may write to the folder of a volume can do to it, so that it still looks like one: all checksums are made right
// again where they stand in the way.
//
// Failure: throws std::runtime_error where the volume is not what it was made as.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "hostile/random.h"

namespace dedupfs {

enum class HostileKind { kRecords, kContainers, kCheckpoints, kSuperblock, kFolder, kTables };

// Each changes the volume once and says what it did, in a line.
std::string mutate_records(const std::filesystem::path& volume, Random& random);
std::string mutate_containers(const std::filesystem::path& volume, Random& random);
std::string mutate_checkpoints(const std::filesystem::path& volume, Random& random);
std::string mutate_superblock(const std::filesystem::path& volume, Random& random);
std::string mutate_tables(const std::filesystem::path& volume, Random& random);
// `outside`: a folder that links may lead to.
std::string mutate_folder(const std::filesystem::path& volume, const std::filesystem::path& outside, Random& random);

// One to four of them, of these kinds.
std::vector<std::string> mutate_volume(const std::filesystem::path& volume, const std::filesystem::path& outside,
                                       const std::vector<HostileKind>& kinds, Random& random);

}  // namespace dedupfs
