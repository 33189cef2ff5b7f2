// The constructors of all algorithms, for the registry. Each takes its own keys out of the spec and refuses the others.
//
// `isa` is the widest instruction set that may be used.
#pragma once

#include <memory>

#include "base/isa.h"
#include "base/result.h"
#include "chunkers/chunker.h"
#include "chunkers/spec.h"

namespace dedupfs {

Result<std::unique_ptr<Chunker>> make_ae_max(const Spec& spec, Isa isa);
Result<std::unique_ptr<Chunker>> make_ae_min(const Spec& spec, Isa isa);
Result<std::unique_ptr<Chunker>> make_crc(const Spec& spec, Isa isa);
Result<std::unique_ptr<Chunker>> make_fastcdc(const Spec& spec, Isa isa);
Result<std::unique_ptr<Chunker>> make_fixed(const Spec& spec, Isa isa);
Result<std::unique_ptr<Chunker>> make_gear(const Spec& spec, Isa isa);
Result<std::unique_ptr<Chunker>> make_gear16(const Spec& spec, Isa isa);
Result<std::unique_ptr<Chunker>> make_gear32(const Spec& spec, Isa isa);
Result<std::unique_ptr<Chunker>> make_maxp(const Spec& spec, Isa isa);
Result<std::unique_ptr<Chunker>> make_rabin(const Spec& spec, Isa isa);
Result<std::unique_ptr<Chunker>> make_ram(const Spec& spec, Isa isa);
Result<std::unique_ptr<Chunker>> make_seqcdc(const Spec& spec, Isa isa);
Result<std::unique_ptr<Chunker>> make_tttd(const Spec& spec, Isa isa);
Result<std::unique_ptr<Chunker>> make_toga(const Spec& spec, Isa isa);

}  // namespace dedupfs
