// What the daemon gives up when it starts, and how it is kept alive. docs/threat-model.md says why each.
//
// Threads: before others are started: capabilities are per thread, and threads inherit them.
#pragma once

namespace dedupfs {

struct Hardening {
  bool is_root = false;
  bool core_dump = false;
};

// Of root: no privileges by exec, all capabilities but three dropped, killed late when memory runs out. Of anybody, unless `core_dump`: no
// core file, and no debugger of the same user. What the machine does not allow, as in some containers, is left as it is; the log says so.
void harden_process(const Hardening& hardening);

}  // namespace dedupfs
