// Tells the user what a repair of the namespace did, a sentence for each finding.
//
// Threads: called on the thread of the repair.
#pragma once

#include <functional>
#include <string>

namespace dedupfs {

struct RepairLog {
  std::function<void(const std::string&)> repaired;  // repaired without a loss
  std::function<void(const std::string&)> lost;
};

}  // namespace dedupfs
