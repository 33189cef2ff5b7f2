// A list of at most N small values that lies where it is declared: no memory is allocated for it, and a copy copies bytes.
//
// Threads: a value.
// Failure: it is a bug to add more than N values. Where the number comes from outside, the caller looks at it first.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <iterator>
#include <limits>
#include <span>
#include <type_traits>

#include "base/check.h"

namespace dedupfs {

template <typename T, std::size_t N>
class InlineVector {
  static_assert(std::is_trivially_copyable_v<T> && N <= std::numeric_limits<std::uint8_t>::max());

 public:
  using value_type = T;
  using iterator = T*;
  using const_iterator = const T*;

  constexpr InlineVector() = default;
  constexpr InlineVector(std::initializer_list<T> values) : InlineVector(std::span<const T>(values)) {}
  explicit constexpr InlineVector(std::span<const T> values) {
    DEDUPFS_CHECK(values.size() <= N);
    std::ranges::copy(values, values_.begin());
    size_ = static_cast<std::uint8_t>(values.size());
  }

  static constexpr std::size_t capacity() { return N; }
  constexpr std::size_t size() const { return size_; }
  constexpr bool empty() const { return size_ == 0; }

  constexpr iterator begin() { return values_.data(); }
  constexpr iterator end() { return values_.data() + size_; }
  constexpr const_iterator begin() const { return values_.data(); }
  constexpr const_iterator end() const { return values_.data() + size_; }
  constexpr auto rbegin() const { return std::make_reverse_iterator(end()); }
  constexpr auto rend() const { return std::make_reverse_iterator(begin()); }

  constexpr const T& operator[](std::size_t position) const { return values_[position]; }
  constexpr const T& back() const { return values_[size_ - std::size_t{1}]; }

  constexpr void push_back(const T& value) {
    DEDUPFS_CHECK(size_ < N);
    values_[size_++] = value;
  }
  constexpr void clear() { size_ = 0; }

  friend constexpr bool operator==(const InlineVector& a, const InlineVector& b) { return std::ranges::equal(a, b); }

 private:
  std::array<T, N> values_{};
  std::uint8_t size_ = 0;
};

}  // namespace dedupfs
