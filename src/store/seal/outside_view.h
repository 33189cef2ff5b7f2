// What anyone sees of an encrypted volume who has its folder, but not its key.
//
// Threads: free functions, safe from any thread.
// Failure: kInvalidArgument for a volume that is not encrypted; errors of the folder. Damage is no failure of the check.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/backing.h"
#include "base/result.h"
#include "store/seal/key_header.h"

namespace dedupfs {

struct OutsideView {
  struct Files {
    std::uint64_t count = 0;
    std::uint64_t bytes = 0;
  };

  KeyHeader header;
  std::map<std::string, Files> folders;  // by name: containers, index, checkpoints
  Files evicted;                         // containers of which most lies in a bucket only, as long as they are there
  std::uint64_t evicted_here_bytes = 0;  // what the disk has of them
};
// `volume`: as the disk has it.
Result<OutsideView> view_from_outside(BackingFolder& volume);

// Whether the copies of the key header are whole and alike, the parts of a volume are there, and no file is too short to have any
// content. Nothing that is sealed can be read. After a crash a file may be short without harm: that is a note, and no error.
struct OutsideCheck {
  std::vector<std::string> errors;
  std::vector<std::string> notes;
  std::uint64_t files = 0;
};
Result<OutsideCheck> check_from_outside(BackingFolder& volume);

}  // namespace dedupfs
