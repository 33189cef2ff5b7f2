// The sources that a delta may be made from: chunks that stay.
#pragma once

#include <functional>

#include "store/format/delta_sources.h"
#include "store/format/types.h"

namespace dedupfs {

struct DeltaBasis {
  DeltaSources sources;
  ChunkId base{};  // the one of them that it resembles most
};

// A base for `chunk` with those of its neighbours that may be sources: those that were stored before it and after it.
DeltaBasis basis_around(ChunkId base, ChunkId chunk, const std::function<bool(ChunkId)>& may_be_source);

}  // namespace dedupfs
