// Entries of recipes, in short.
#pragma once

#include <cstdint>
#include <string>

#include "fs/format/recipe_format.h"

namespace dedupfs {

inline RecipeEntry chunk(std::uint64_t id, std::uint64_t length = 10) {
  return {RecipeEntry::Kind::kChunk, length, ChunkId{id}, {}};
}
inline RecipeEntry hole(std::uint64_t length) {
  return {RecipeEntry::Kind::kHole, length, {}, {}};
}
inline RecipeEntry inlined(const std::string& bytes) {
  return {RecipeEntry::Kind::kInline, bytes.size(), {}, bytes};
}

}  // namespace dedupfs
