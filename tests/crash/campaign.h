// The crash campaign and the fault sweep (docs/durability.md), for the program crash-states and for the tests.
#pragma once

#include <cstdint>
#include <ostream>
#include <string>

namespace dedupfs {

struct CampaignOptions {
  std::uint64_t states = 2000;  // or runs with a fault
  std::uint64_t seed = 1;
  std::string workload;  // empty: all
  std::uint64_t threads = 2;
  std::uint64_t nested = 8;           // of that many states one is crashed within its recovery, too
  std::string fault;                  // of the sweep: one kind; empty: all
  std::uint64_t call = 0;             // and one call; 0: all
  std::uint64_t max_violations = 20;  // then it gives up
  bool encrypted = false;             // the volume; attacks are on such ones anyway
};

struct CampaignResult {
  std::uint64_t states = 0;
  std::uint64_t violations = 0;
};

// Crash states of recorded workloads.
CampaignResult run_crash_states(const CampaignOptions& options, std::ostream& out);
// The same workloads on a volume that has a bucket: what the bucket alone gives at a moment, and what becomes of the bucket when the machine
// loses its power then. Each of the two is a state.
CampaignResult run_bucket_states(const CampaignOptions& options, std::ostream& out);
// A volume that receives snapshots as streams: what it had, whole snapshots, and streams that go on.
CampaignResult run_receive_states(const CampaignOptions& options, std::ostream& out);
// Workloads with the N-th call failing, for all N and kinds of fault, or `states` of them by chance (0: all).
CampaignResult run_fault_sweep(const CampaignOptions& options, std::ostream& out);
// `states` changes of the folder of an encrypted volume by somebody without the key; see docs/encryption.md.
CampaignResult run_attacks(const CampaignOptions& options, std::ostream& out);
// So many make each kind of attack on each kind of file.
std::uint64_t attack_pairs();

}  // namespace dedupfs
