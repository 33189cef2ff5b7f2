// Measures SHA-256 of lists of chunks beside OpenSSL, which takes them one by one. CPU time of one thread; both in turn, so that what
// else the machine does weighs on both.
//
//   fingerprints [ROUNDS [FILE]]      FILE is cut by the chunkers; by default 64 MiB of noise
//
// Chunks come in lists of 1 MiB, as the ingest has them. Prints a line for each chunker: the median speeds, and the median and the
// range of the ratios of a round.
#include <fmt/format.h>
#include <time.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "chunkers/registry.h"
#include "hash/kernel_choice.h"

namespace dedupfs {
namespace {

constexpr std::size_t kListBytes = 1 << 20;
constexpr std::size_t kNoiseBytes = 64 << 20;

ByteBuffer noise() {
  ByteBuffer bytes(kNoiseBytes);
  std::uint64_t state = 1;
  for (std::uint8_t& byte : bytes) {
    state = state * 6364136223846793005 + 1442695040888963407;
    byte = static_cast<std::uint8_t>(state >> 56);
  }
  return bytes;
}

ByteBuffer content_of(const char* path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

using Lists = std::vector<std::vector<sha256::Message>>;

Lists cut(const Chunker& chunker, ByteSpan bytes) {
  std::vector<std::size_t> ends;
  chunker.split(bytes, true, ends);
  Lists lists;
  std::size_t start = 0, room = 0;
  for (const std::size_t end : ends) {
    if (lists.empty() || room < end - start) {
      lists.emplace_back();
      room = kListBytes;
    }
    lists.back().push_back({bytes.data() + start, end - start});
    room -= std::min(room, end - start);
    start = end;
  }
  return lists;
}

double seconds_of(sha256::HashMessages* kernel, const Lists& lists) {
  const auto now = [] {
    timespec time{};
    ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
  };
  ByteBuffer digests;
  const double start = now();
  for (const auto& list : lists) {
    digests.resize(list.size() * sha256::kDigestBytes);
    kernel(list.data(), list.size(), digests.data());
  }
  return now() - start;
}

double median(std::vector<double> values) {
  std::ranges::sort(values);
  return values[values.size() / 2];
}

int run(int rounds, const ByteBuffer& bytes) {
  const Result<Isa> isa = default_isa();
  if (!isa || bytes.empty() || rounds < 1) {
    fmt::print(stderr, "fingerprints: {}\n", isa ? "usage: fingerprints [ROUNDS [FILE]]" : isa.error().message());
    return 2;
  }
  const sha256::Choice chosen = sha256::choose(*isa);
  fmt::print("kernel: {}, {} rounds, {} bytes\n", name_of(chosen.isa), rounds, bytes.size());
  for (const char* const spec :
       {"fastcdc:avg=4k", "fastcdc:avg=8k", "fastcdc:avg=16k", "fastcdc:avg=32k", "fastcdc:avg=64k"}) {
    const auto chunker = make_chunker(spec, {});
    if (!chunker) {
      fmt::print(stderr, "fingerprints: {}\n", chunker.error().message());
      return 1;
    }
    const Lists lists = cut(**chunker, bytes);
    std::vector<double> openssl, kernel, ratios;
    for (int round = 0; round < rounds; ++round) {
      openssl.push_back(seconds_of(sha256::kernels_of(Isa::kScalar).hash_messages, lists));
      kernel.push_back(seconds_of(chosen.run, lists));
      ratios.push_back(openssl.back() / kernel.back());
    }
    const double gigabytes = static_cast<double>(bytes.size()) * 1e-9;
    const auto [least, most] = std::ranges::minmax(ratios);
    fmt::print("{:<15} OpenSSL {:.2f} GB/s, kernel {:.2f} GB/s, {:.2f} times as fast ({:.2f} to {:.2f})\n", spec,
               gigabytes / median(openssl), gigabytes / median(kernel), median(ratios), least, most);
  }
  return 0;
}

}  // namespace
}  // namespace dedupfs

int main(int argc, char** argv) {
  return dedupfs::run(argc > 1 ? std::atoi(argv[1]) : 15, argc > 2 ? dedupfs::content_of(argv[2]) : dedupfs::noise());
}
