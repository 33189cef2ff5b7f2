// Chunking on several threads, as SS-CDC does it (Ni, Lin, Jiang: "SS-CDC: a two-stage parallel content-defined chunking
// for deduplicating backup storage", SYSTOR '19, sections 3 and 4). The boundaries are always those of split(), on any
// number of threads ("chunking invariability").
//
// Threads:   the calling thread works, too, so a pool of N - 1 threads makes N. The pool may be busy with other work, and the
//            caller may be one of its tasks: a waiting thread waits only for work that another thread has begun.
// Ownership: chunker and data must live until the call returns. The pool must live until its tasks have run, as it does anyway.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "base/bytes.h"
#include "base/thread_pool.h"
#include "chunkers/chunker.h"

namespace dedupfs {

inline constexpr std::size_t kDefaultSegmentBytes = 1 << 20;

// One file, several segments of it at once (SFMS): the first stage of the segments runs on all threads, the second right
// behind it, on whichever thread finishes the segment that it waits for. Returns the ends of all chunks.
//
// Memory, besides the ends: an eighth of two segments a thread and of a chunk, however long the data.
// A chunker without two stages (two_stage.h) takes the calling thread alone, as do data of one segment.
// `segment_bytes` is taken as the next multiple of 64; a chunk should not have many.
std::vector<std::size_t> cut_with_threads(const Chunker& chunker, ByteSpan data, ThreadPool& pool,
                                          std::size_t segment_bytes = kDefaultSegmentBytes);

// Several files at once (MFMS), each by one thread, with any chunker. Element i has the ends of the chunks of files[i].
// Long files should come first.
std::vector<std::vector<std::size_t>> cut_many(const Chunker& chunker, std::span<const ByteSpan> files,
                                               ThreadPool& pool);

}  // namespace dedupfs
