// What a seed decides.
//
// Threads: one user at a time.
#pragma once

#include <cstdint>
#include <random>
#include <string>
#include <vector>

namespace dedupfs {

class Random {
 public:
  explicit Random(std::uint64_t seed) : engine_(seed * 0x9e3779b97f4a7c15 + 1) {}

  std::uint64_t below(std::uint64_t end) { return end == 0 ? 0 : engine_() % end; }
  bool one_in(std::uint64_t times) { return below(times) == 0; }
  std::uint64_t any() { return engine_(); }

  template <class T>
  const T& of(const std::vector<T>& values) {
    return values[below(values.size())];
  }

  std::string bytes(std::size_t count) {
    std::string text(count, '\0');
    for (char& c : text) c = static_cast<char>(engine_());
    return text;
  }

  // A number that a parser may not expect in place of `was`.
  std::uint64_t number(std::uint64_t was) {
    switch (below(8)) {
      case 0: return below(5);
      case 1: return was + 1;
      case 2: return was - 1;
      case 3: return (std::uint64_t{1} << below(64)) - one_in(2);
      case 4: return UINT64_MAX - below(3);
      case 5: return was ^ (std::uint64_t{1} << below(64));
      case 6: return below(2 * was + 2);
      default: return any() >> below(64);
    }
  }

 private:
  std::mt19937_64 engine_;
};

}  // namespace dedupfs
