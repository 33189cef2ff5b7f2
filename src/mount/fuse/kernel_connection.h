// What the kernel and libfuse agreed on at the start of a mount, for people who ask why one is faster, or has more, than another.
//
// Threads:   free functions, safe from any thread.
// Ownership: the names of capabilities are constants.
// Failure:   none. What this system does not tell is left out.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

struct fuse_conn_info;

namespace dedupfs {

// A version of FUSE's protocol.
struct FuseProtocol {
  unsigned major = 0;
  unsigned minor = 0;

  bool operator==(const FuseProtocol&) const = default;
};

struct KernelConnection {
  std::string libfuse_version;  // of the library that is loaded: "3.17.2"
  FuseProtocol kernel_protocol;
  std::optional<FuseProtocol> daemon_protocol;  // of the library
  // Names of capabilities, in alphabetical order: those of libfuse's FUSE_CAP_..., in lower case. A library does not pass on those that it does
  // not know.
  std::vector<std::string_view> offered;
  std::vector<std::string_view> used;          // of these
  std::uint64_t largest_request_bytes = 0;     // content of one write, or of one read
  std::uint64_t largest_read_ahead_bytes = 0;  // the kernel may do with less: /sys/class/bdi has what it does
  unsigned max_background = 0;                 // requests for which no caller waits, at once
  bool io_uring = false;                       // requests come by rings, not by reads of /dev/fuse
};

// `connection` is as negotiated: init() gives it back to libfuse.
KernelConnection kernel_connection_of(const fuse_conn_info& connection, std::optional<FuseProtocol> daemon_protocol);

// The version that libfuse answers to the first request of a kernel, by a session of its own that has no mount. It has no function that only says it.
std::optional<FuseProtocol> protocol_of_libfuse();

// The most bytes of one request that the kernel lets a daemon ask for.
std::uint64_t largest_request_of_kernel();

}  // namespace dedupfs
