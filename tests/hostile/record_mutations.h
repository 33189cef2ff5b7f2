// Lies in records: fields of what decodes, numbers in what does not, and plain damage.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "hostile/random.h"
#include "index/database.h"
#include "store/format/delta_sources.h"

namespace dedupfs {

// A family's record, changed so that it mostly parses and says something wrong. Keys change, too, now and then.
KeyValue mutate_record(Family family, const KeyValue& record, Random& random);

// `bytes` with a varint, a byte, its end or all of it changed.
std::string mutate_bytes(std::string bytes, Random& random);

// One to kMaxDeltaSources times the same chunk.
DeltaSources any_sources(Random& random);

}  // namespace dedupfs
