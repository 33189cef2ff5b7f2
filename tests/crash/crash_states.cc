// crash-states: the crash campaign and the fault sweep, as long as one likes. See docs/durability.md.
#include <spdlog/spdlog.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <iostream>

#include "crash/campaign.h"

int main(int argc, char** argv) {
  dedupfs::CampaignOptions options;
  bool faults = false;
  bool attacks = false;
  bool bucket = false;
  bool receive = false;
  bool verbose = false;
  CLI::App app("Makes the states in which a crash can leave a volume, opens each and judges what it finds");
  app.add_option("--states", options.states, "how many states, or runs with a fault (--faults; 0: all)")
      ->capture_default_str();
  app.add_option("--seed", options.seed, "what the choices begin with")->capture_default_str();
  app.add_option("--workload", options.workload, "one workload, by name; all without it");
  app.add_option("--threads", options.threads, "states at once")->capture_default_str();
  app.add_option("--nested", options.nested, "of so many states crash one within its recovery, too; 0: none")
      ->capture_default_str();
  app.add_option("--violations", options.max_violations, "give up after so many")->capture_default_str();
  app.add_flag("--faults", faults, "fail calls instead of the power");
  app.add_option("--fault", options.fault, "one kind of fault: eio, enospc, short-write, fsync, read");
  app.add_option("--call", options.call, "one call to fail, by number");
  app.add_flag("--encrypted", options.encrypted, "with an encrypted volume");
  app.add_flag("--attacks", attacks, "change the folder of an encrypted volume instead, as one who has no key can");
  app.add_flag("--bucket", bucket,
               "with a volume that has a bucket: what the bucket alone gives, and after a power cut");
  app.add_flag("--receive", receive, "with a volume that receives snapshots as streams, which then go on");
  app.add_flag("--verbose", verbose, "show what the filesystem logs");
  CLI11_PARSE(app, argc, argv);
  if (!verbose) spdlog::set_level(spdlog::level::off);

  const dedupfs::CampaignResult result = attacks   ? dedupfs::run_attacks(options, std::cout)
                                         : faults  ? dedupfs::run_fault_sweep(options, std::cout)
                                         : bucket  ? dedupfs::run_bucket_states(options, std::cout)
                                         : receive ? dedupfs::run_receive_states(options, std::cout)
                                                   : dedupfs::run_crash_states(options, std::cout);
  std::cout << result.states << " states, " << result.violations << " violations" << std::endl;
  return result.violations == 0 && result.states != 0 ? 0 : 1;
}
