// Measures the time and the memory of a reclaim on a volume with many chunks. The index is made up, and all chunks in it are live:
// mark and sweep walk all of it and find no garbage. The other phases depend on the deleted data, and are measured on real data.
//
//   reclaim_scale FOLDER CHUNKS      FOLDER must not exist; a million chunks take about 10 MB there
//
// Extents of 64 chunks, a third of them deltas; recipes refer to each chunk twice. Prints one line.
#include <fmt/format.h>

#include <charconv>
#include <chrono>
#include <cstring>
#include <fstream>
#include <iostream>
#include <string>
#include <thread>

#include "base/size.h"
#include "fs/format/recipe_format.h"
#include "fs/namespace/filesystem.h"
#include "index/bulk_writer.h"
#include "index/counters.h"

namespace dedupfs {
namespace {

constexpr std::uint64_t kChunksPerExtent = 64;
constexpr std::uint32_t kRegionBytes = 512 << 10;
constexpr std::uint64_t kExtentsPerContainer = 128;

// "VmRSS" is the memory of this process, "VmHWM" its peak since reset_peak().
std::uint64_t status_bytes(const std::string& key) {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);)
    if (line.starts_with(key + ":")) return std::stoull(line.substr(key.size() + 1)) << 10;
  return 0;
}

void reset_peak() {
  std::ofstream("/proc/self/clear_refs") << "5";
}

// Irregular lengths, so that the index compresses no better than a real one.
std::uint32_t length_of(std::uint64_t id) {
  return (8U << 10) + static_cast<std::uint32_t>((id * 0x9E3779B97F4A7C15U) >> 40) % (56U << 10);
}

ChunkExtent made_up_run(std::uint64_t number) {
  ChunkExtent extent;
  extent.first = ChunkId{1 + number * kChunksPerExtent};
  extent.place = {static_cast<std::uint32_t>(1 + number / kExtentsPerContainer),
                  static_cast<std::uint32_t>(64 + number % kExtentsPerContainer * kRegionBytes)};
  extent.region_disk_bytes = extent.region_payload_bytes = kRegionBytes;
  for (std::uint64_t i = 0; i < kChunksPerExtent; ++i) {
    ChunkExtent::Chunk& chunk = extent.chunks.emplace_back();
    chunk.raw_length = length_of(number_of(extent.first) + i);
    if (i % 3 != 2) continue;
    chunk.delta_length = chunk.raw_length / 32;
    chunk.sources = {ChunkId{number_of(extent.first) + i - 2}, ChunkId{number_of(extent.first) + i - 1}};
  }
  return extent;
}

Result<void> fill(Database& index, std::uint64_t chunks) {
  BulkWriter writer(index);
  for (std::uint64_t number = 0; number < chunks / kChunksPerExtent; ++number) {
    const ChunkExtent extent = made_up_run(number);
    DEDUPFS_TRY(writer.put(Family::kChunks, encode_extent_key(extent.first), encode_extent(extent)));
  }
  for (InodeNumber inode = 2; inode <= 3; ++inode) {
    std::vector<RecipeEntry> entries;
    std::uint64_t offset = 0;
    std::uint64_t end = 0;
    for (std::uint64_t id = 1; id <= chunks; ++id) {
      entries.push_back(
          {.kind = RecipeEntry::Kind::kChunk, .length = length_of(id), .chunk = ChunkId{id}, .bytes = {}});
      end += length_of(id);
      if (entries.size() < kSegmentEntries && id < chunks) continue;
      DEDUPFS_TRY(writer.put(Family::kRecipes, encode_recipe_key(inode, offset), encode_segment(entries)));
      offset = end;
      entries.clear();
    }
  }
  DEDUPFS_TRY(writer.put(Family::kCounters, kNextChunkIdCounter, encode_number(chunks + 1)));
  return writer.flush();
}

Result<void> run(const Path& folder, std::uint64_t chunks) {
  DEDUPFS_TRY(Volume::create(folder, {}));
  {
    DEDUPFS_ASSIGN(auto empty, Volume::open(folder, {}));
    DEDUPFS_ASSIGN(const auto filesystem, Filesystem::open(std::move(empty), {}));  // makes the root directory
    DEDUPFS_TRY(filesystem->close());
  }
  {
    DEDUPFS_ASSIGN(const auto volume, Volume::open(folder, {}));
    DEDUPFS_TRY(fill(volume->database(), chunks));
  }
  DEDUPFS_ASSIGN(auto volume, Volume::open(folder, {}));
  DEDUPFS_ASSIGN(const auto filesystem,
                 Filesystem::open(std::move(volume), {.checkpoint_interval = std::chrono::milliseconds(0)}));
  reset_peak();
  const std::uint64_t before = status_bytes("VmRSS");
  DEDUPFS_TRY(filesystem->reclaimer().start({}));
  while (filesystem->reclaimer().status().running) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  const auto last = filesystem->reclaimer().status().last;
  if (last->error) return *last->error;
  std::uint64_t index_bytes = 0;
  for (const std::uint64_t bytes : filesystem->volume().database().table_bytes()) index_bytes += bytes;
  std::cout << fmt::format("{} chunks: {:.2f} s, {} more memory at the peak (one bit per chunk: {}), index of {}\n",
                           chunks, last->seconds, human_size(status_bytes("VmHWM") - before), human_size(chunks / 8),
                           human_size(index_bytes));
  return filesystem->close();
}

}  // namespace
}  // namespace dedupfs

int main(int argc, char** argv) {
  std::uint64_t chunks = 0;
  if (argc != 3 || std::from_chars(argv[2], argv[2] + std::strlen(argv[2]), chunks).ec != std::errc() || chunks < 64) {
    std::cerr << "usage: reclaim_scale FOLDER CHUNKS\n";
    return 2;
  }
  if (const auto done = dedupfs::run(argv[1], chunks); !done) {
    std::cerr << "reclaim_scale: " << done.error().message() << '\n';
    return 1;
  }
  return 0;
}
