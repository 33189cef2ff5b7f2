// The data that is measured on: files, folders, or made up, held in memory as a whole.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"

namespace dedupfs::bench {

// Zeroed memory of its own, on huge pages where the system has them: with small ones, misses of the TLB would be measured.
class HugeBuffer {
 public:
  static Result<HugeBuffer> create(std::size_t bytes);
  HugeBuffer(HugeBuffer&& other) noexcept;
  HugeBuffer& operator=(HugeBuffer&&) = delete;
  ~HugeBuffer();

  MutableByteSpan bytes() const { return bytes_; }

 private:
  HugeBuffer(MutableByteSpan mapping, MutableByteSpan bytes) : mapping_(mapping), bytes_(bytes) {}

  MutableByteSpan mapping_;
  MutableByteSpan bytes_;  // begins at a huge page
};

// An input as it is named, before it is read, so that all of them can be checked first.
struct InputPlan {
  enum class Kind { kFiles, kRandom, kZeros };
  struct File {
    std::filesystem::path path;
    std::uint64_t bytes;
  };

  std::string name;  // as given
  Kind kind;
  std::uint64_t bytes = 0;  // of all files; never 0
  std::vector<File> files;  // of kFiles, sorted by path, none empty

  // For figures and file names: "vm" of "/data/vm/", "random-64m" of "random:64m".
  std::string short_name;
};

// FILE, DIR (its regular files, at any depth; links are not followed), random:SIZE or zeros:SIZE. The message of an error
// names the input: it does not exist, is empty, is of another kind, or is larger than the memory that is available.
Result<InputPlan> plan_input(std::string_view text);

// All of them, with distinct short names.
Result<std::vector<InputPlan>> plan_inputs(const std::vector<std::string>& names);

// Two inputs "a/vm" and "b/vm" are "vm" and "vm-2" in figures.
void give_distinct_short_names(std::vector<InputPlan>& plans);

struct Input {
  std::string name;
  std::string short_name;
  HugeBuffer memory;
  ByteSpan bytes;               // of all files, one behind the other
  std::vector<ByteSpan> files;  // each is cut by itself, as a filesystem does
};

// random: is xorshift64* from a fixed state, the input "xs64" of the golden lists.
Result<Input> load_input(const InputPlan& plan);

}  // namespace dedupfs::bench
