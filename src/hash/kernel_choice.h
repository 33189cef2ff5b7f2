// Chooses the kernel that hashes lists of messages. Isa::kScalar stands for OpenSSL, the definition.
//
// Threads: free functions, safe from any thread.
#pragma once

#include "base/kernel_choice.h"
#include "hash/simd/kernels.h"

namespace dedupfs::sha256 {

// The table with its gaps.
const Kernels& kernels_of(Isa isa);

// Whether the kernel gives the digests that OpenSSL gives for fixed messages: of each length up to some blocks, of some greater
// lengths, and in lists of several shapes.
bool agrees(HashMessages* kernel);
bool passes_self_test(Isa isa);  // the kernel of the ISA agrees; tested once per process

using Choice = KernelChoice<HashMessages>;

// The kernel of the widest ISA, `widest` at most, that has one and agrees: a kernel that does not (a faulty CPU or hypervisor)
// is passed over.
Choice choose(Isa widest);
// By DEDUPFS_ISA, which is read once; OpenSSL if its value is none of this CPU.
const Choice& default_choice();

}  // namespace dedupfs::sha256
