// Drops privileges of the daemon at its start, and protects it from the kernel's out-of-memory killer. docs/threat-model.md has the
// reasons.
//
// Threads: before others are started: capabilities are per thread, and threads inherit them.
#pragma once

namespace dedupfs {

struct Hardening {
  bool is_root = false;
  bool core_dump = false;
};

// As root: no privileges by exec, only three capabilities, killed late when memory runs out. As any user, unless `core_dump`: no core
// file, and no debugger of the same user. A step that the machine does not allow, as in some containers, is skipped and logged.
void harden_process(const Hardening& hardening);

}  // namespace dedupfs
