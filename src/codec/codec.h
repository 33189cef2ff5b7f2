// The interface of a codec: a method of compression that regions use. docs/codecs.md describes each codec.
//
// Threads:   every function from any thread. A codec has no state, but may keep a context for each thread.
// Ownership: a codec is one constant object that lives as long as the program; see codec/registry.h.
// Failure:   encoding cannot fail, it can only not pay. Decoding takes hostile bytes: it gives kCorruption with the reason, or
//            kNoMemory, and takes no more memory than the output and a context of fixed size.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "base/bytes.h"
#include "base/result.h"

namespace dedupfs {

// How a payload is stored: the number of a codec, as region headers have it. All of them are on disks of users: none is ever changed
// or used again.
enum class PayloadEncoding : std::uint8_t {
  kRaw = 0,  // as it is; every build reads it
};

// From `lowest` to `highest`. A higher level takes more time and less space.
struct CodecLevels {
  int lowest = 0;
  int highest = 0;
  int normal = 0;  // if a spec names none
  int quick = 0;   // for data that somebody waits for

  bool are_choosable() const { return lowest != highest; }
};

struct CodecInfo {
  std::string_view name;  // in specs: lower case, without ':'
  PayloadEncoding encoding;
  CodecLevels levels;
};

class Codec {
 public:
  constexpr explicit Codec(const CodecInfo& info) : info_(info) {}
  Codec(const Codec&) = delete;
  Codec& operator=(const Codec&) = delete;

  const CodecInfo& info() const { return info_; }

  // Writes the frame of `in` to the beginning of `out` and returns its length: 1 to `limit`. Returns nothing if it does not pay:
  // if the frame would be longer than `limit`, or nearly so, or if a quick test finds nothing to gain. `out` is at least as long
  // as `in` and as `limit`. All of it is scratch space, and undefined behind the frame.
  virtual std::optional<std::size_t> encode(ByteSpan in, MutableByteSpan out, std::size_t limit, int level) const = 0;

  // The level up to `highest` that these bytes are worth: a lower one if a sample of them says that higher ones save next to nothing.
  virtual int worthwhile_level(ByteSpan in, int highest) const = 0;

  // Fills `out`, whose length the caller knows. A frame of another length is corrupt.
  virtual Result<void> decode(ByteSpan frame, MutableByteSpan out) const = 0;

  // About how long the frame would be, quickly; at most the length of `bytes`.
  virtual std::size_t estimate(ByteSpan bytes) const = 0;

 protected:
  ~Codec() = default;  // nobody owns one

 private:
  CodecInfo info_;
};

}  // namespace dedupfs
