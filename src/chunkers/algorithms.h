// The constructors of all algorithms, for the registry. Each takes its own keys out of the spec and refuses the others.
//
// `isa` is the widest instruction set that may be used.
#pragma once

#include <memory>

#include "base/result.h"
#include "chunkers/chunker.h"
#include "chunkers/isa.h"
#include "chunkers/spec.h"

namespace dedupfs {

Result<std::unique_ptr<Chunker>> make_ae_max(const ChunkerSpec& spec, Isa isa);
Result<std::unique_ptr<Chunker>> make_ae_min(const ChunkerSpec& spec, Isa isa);
Result<std::unique_ptr<Chunker>> make_crc(const ChunkerSpec& spec, Isa isa);
Result<std::unique_ptr<Chunker>> make_fastcdc(const ChunkerSpec& spec, Isa isa);
Result<std::unique_ptr<Chunker>> make_fixed(const ChunkerSpec& spec, Isa isa);
Result<std::unique_ptr<Chunker>> make_gear(const ChunkerSpec& spec, Isa isa);
Result<std::unique_ptr<Chunker>> make_gear16(const ChunkerSpec& spec, Isa isa);
Result<std::unique_ptr<Chunker>> make_gear32(const ChunkerSpec& spec, Isa isa);
Result<std::unique_ptr<Chunker>> make_maxp(const ChunkerSpec& spec, Isa isa);
Result<std::unique_ptr<Chunker>> make_rabin(const ChunkerSpec& spec, Isa isa);
Result<std::unique_ptr<Chunker>> make_ram(const ChunkerSpec& spec, Isa isa);
Result<std::unique_ptr<Chunker>> make_seqcdc(const ChunkerSpec& spec, Isa isa);
Result<std::unique_ptr<Chunker>> make_tttd(const ChunkerSpec& spec, Isa isa);
Result<std::unique_ptr<Chunker>> make_toga(const ChunkerSpec& spec, Isa isa);

}  // namespace dedupfs
