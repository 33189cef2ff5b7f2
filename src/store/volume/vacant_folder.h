// The folder for a new volume, and what is left in it when the volume cannot be made: nothing that its maker put there, and all that
// others did.
//
// Threads: one.
// Failure: kExists for a volume that is there, otherwise kNotEmpty; errors of the folder.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/backing.h"
#include "base/result.h"

namespace dedupfs {

// All that the making of a plain volume puts into its folder, with what an interrupted replace_file() leaves of a superblock.
std::vector<std::string> names_of_new_volume();
// The same of an encrypted one.
std::vector<std::string> names_of_new_encrypted_volume();

// Removes what was made so far, the last first, unless the volume is kept.
class UnfinishedVolume {
 public:
  UnfinishedVolume() = default;
  UnfinishedVolume(const UnfinishedVolume&) = delete;
  UnfinishedVolume& operator=(const UnfinishedVolume&) = delete;
  ~UnfinishedVolume();

  void made_folder(std::shared_ptr<BackingFolder> parent, std::string name);
  void made(std::shared_ptr<BackingFolder> volume, std::vector<std::string> names);
  void keep();

 private:
  std::shared_ptr<BackingFolder> parent_;  // null: the volume's folder was there
  std::string folder_;
  std::shared_ptr<BackingFolder> volume_;
  std::vector<std::string> contents_;
};

// It must be empty, and is made if it is missing.
Result<std::shared_ptr<BackingFolder>> vacant_folder(const Path& path, Backing& backing, UnfinishedVolume& unfinished);

}  // namespace dedupfs
