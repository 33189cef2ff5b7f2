// Argument and answer of the repair of a namespace: namespace_repair.h.
#pragma once

#include <cstdint>
#include <optional>

#include "fs/format/quota_records.h"
#include "store/check/check_report.h"
#include "store/metadata/snapshot_list.h"

namespace dedupfs {

struct NamespaceRepairScope {
  bool names_have_holes = false;  // a part of `dirents` cannot be read: use `cookies`, too
  // The snapshot that gets before-images of additions to the tree: "lost+found" and its names.
  std::optional<Preservation> preservation;
  QuotaRecords quotas;  // their sums are computed again
  Progress progress = no_progress;
  int pass = 1;
};

struct RepairedNamespace {
  std::uint64_t end_of_chunks = 1;  // no recipe refers to a chunk with this id or a greater one
};

}  // namespace dedupfs
