// Chunkers as tests of single algorithms make them: by their specs.
#pragma once

#include <gtest/gtest.h>

#include <initializer_list>
#include <string>
#include <string_view>

#include "chunkers/registry.h"
#include "test_data.h"

namespace dedupfs {

// The cuts, which are the same on every instruction set of this CPU.
inline Ends cuts_of(std::string_view spec, ByteSpan data) {
  const Ends defined = cuts(**make_chunker(spec, Isa::kScalar), data);
  for (const Isa isa : available_isas()) EXPECT_EQ(cuts(**make_chunker(spec, isa), data), defined) << name_of(isa);
  return defined;
}

inline std::size_t first_cut_of(std::string_view spec, ByteSpan data) {
  return cuts_of(spec, data).front();
}

// Why the spec is refused.
inline std::string refusal_of(std::string_view spec) {
  const auto chunker = make_chunker(spec);
  if (chunker) return "no error";
  EXPECT_EQ(chunker.error().code(), ErrorCode::kInvalidArgument);
  return chunker.error().message();
}

// The spec with every parameter.
inline std::string full_spec_of(std::string_view spec) {
  return (*make_chunker(spec))->spec();
}

// One after the other.
inline ByteBuffer joined(std::initializer_list<ByteBuffer> parts) {
  ByteBuffer all;
  for (const ByteBuffer& part : parts) all.insert(all.end(), part.begin(), part.end());
  return all;
}

inline ByteBuffer complement_of(ByteBuffer data) {
  for (auto& byte : data) byte = static_cast<std::uint8_t>(~byte);
  return data;
}

// Lengths of the chunks but for the last one, which the end of the data cuts.
inline double mean_chunk_bytes(std::string_view spec, ByteSpan data) {
  const Ends ends = cuts(**make_chunker(spec), data);
  EXPECT_GT(ends.size(), 2u);
  return static_cast<double>(ends[ends.size() - 2]) / static_cast<double>(ends.size() - 1);
}

}  // namespace dedupfs
