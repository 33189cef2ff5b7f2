// The instruction sets of the CPU, and the kernels in use.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/isa.h"
#include "base/result.h"

namespace dedupfs::bench {

struct SlotReport {
  std::string slot;  // the name in simd::Kernels, or "sha256"
  Isa served_by;     // by default
  std::vector<std::pair<Isa, bool>>
      own;  // instruction sets with a kernel of their own; whether it passes its self-test
};

struct IsaReport {
  std::string cpu;
  std::vector<Isa> available;
  std::optional<std::string> forced;  // DEDUPFS_ISA
  Isa widest;                         // that may be used
  std::vector<SlotReport> slots;      // all slots
};

Result<IsaReport> isa_report();  // an error if DEDUPFS_ISA is unknown or not of this CPU
std::string format_isa_report(const IsaReport& report);
nlohmann::json isa_report_json(const IsaReport& report);

}  // namespace dedupfs::bench
