// The place of a volume's containers, as readers see it: a few verbs, each about one container by its number. The backend knows
// nothing of the content of a container. ContainerFolder is the implementation: files in a folder. An object store could be
// another one: each verb is one request there, and read_up_to() is a GET of a range.
//
// No verb puts a container. A container begins as a file that regions are appended to (ContainerStore), and it is read from its
// first region on. A backend that moves sealed containers elsewhere takes them from that folder. It reads the others from that
// folder.
//
// Threads: every function from any thread. Bytes that a read has returned never change: containers are append-only, and their
//          numbers are never used again.
// Failure: kNotFound if there is no such container; kCorruption if something else has its name, such as a link; otherwise the
//          error of the system below. The message names the container. An implementation repeats a call after an error that may
//          pass, such as a lost connection, for as long as a reader may wait. For callers an error is final: they may take the
//          chunks for damaged.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"

namespace dedupfs {

class ContainerBackend {
 public:
  ContainerBackend() = default;
  ContainerBackend(const ContainerBackend&) = delete;
  ContainerBackend& operator=(const ContainerBackend&) = delete;
  virtual ~ContainerBackend() = default;

  // Fills `out` from `offset`, in one request. Fewer bytes than out.size() mean the end of the container; none, that it ends at
  // `offset` or before.
  virtual Result<std::size_t> read_up_to(std::uint32_t number, std::uint64_t offset, MutableByteSpan out) = 0;
  // Fills all of `out`; a container that ends before that is kCorruption ("ends at ...").
  Result<void> read(std::uint32_t number, std::uint64_t offset, MutableByteSpan out);
  // In bytes. Asked for where a region may reach beyond the end, so an implementation may want to remember that of sealed ones.
  virtual Result<std::uint64_t> size(std::uint32_t number) = 0;
  // The numbers of all containers, ascending. Files with other names are left out.
  virtual Result<std::vector<std::uint32_t>> list() = 0;
  // Nothing refers to it any more. Reads that have begun finish.
  virtual Result<void> remove(std::uint32_t number) = 0;

  // A hint of one who checks the disk: the next read of the range is to come from there, and not from a cache, if that is possible.
  virtual void drop_cached(std::uint32_t /*number*/, std::uint64_t /*offset*/, std::uint64_t /*length*/) {}
  // Whether a read of the range needs nothing but this machine. A hint.
  virtual bool is_near(std::uint32_t /*number*/, std::uint64_t /*offset*/, std::uint64_t /*length*/) { return true; }
  // When it was written to last: seconds since 1970, 0: not known. Reads do not change it.
  virtual Result<std::int64_t> modified(std::uint32_t number) = 0;
  // For messages: a path, or an address.
  virtual std::string name_of(std::uint32_t number) const = 0;
};

}  // namespace dedupfs
