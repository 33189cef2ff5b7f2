// What people do with a volume that they got from somebody: mount it, read all of it, write into it, check it, repair it, mount it
// again.
//
// Failure: throws Finding where a promise does not hold. An error that the program reports is no finding.
#pragma once

#include <filesystem>
#include <stdexcept>
#include <string>

#include "hostile/random.h"

namespace dedupfs {

struct Finding : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// What came of it, in a word: "mounted", or why not. `filters_lie`: a look-up may miss what a walk finds, as the old version of a
// record that a snapshot needs, so that what snapshots show may change.
std::string exercise(const std::filesystem::path& volume, Random& random, bool filters_lie);

}  // namespace dedupfs
