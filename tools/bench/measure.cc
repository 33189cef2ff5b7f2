#include "bench/measure.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "bench/read_sum.h"
#include "bench/timed.h"
#include "chunkers/parallel.h"
#include "chunkers/registry.h"

namespace dedupfs::bench {
namespace {

constexpr std::size_t kWindowBytes = 1 << 20;

void cut_file(const Chunker& chunker, ByteSpan file, std::vector<std::size_t>& ends) {
  const std::size_t window_bytes = kWindowBytes + chunker.sizes().max_bytes;  // always enough for a chunk
  ends.clear();
  for (std::size_t start = 0; start < file.size();) {
    const std::size_t first_new = ends.size();
    const std::size_t n = std::min(window_bytes, file.size() - start);
    const std::size_t used = chunker.split(file.subspan(start, n), start + n == file.size(), ends);
    for (std::size_t i = first_new; i < ends.size(); ++i) ends[i] += start;
    start += used;
  }
}

struct Variant {
  std::unique_ptr<Chunker> chunker;
  bool is_wanted;  // otherwise only for comparison
};

// The scalar code first, then each instruction set in use for one of the selected ones.
Result<std::vector<Variant>> variants_of(const Selected& selected) {
  std::vector<Variant> variants;
  DEDUPFS_ASSIGN(auto scalar, make_chunker(selected.spec, Isa::kScalar));
  variants.push_back({std::move(scalar), false});
  for (const Isa isa : selected.isas) {
    DEDUPFS_ASSIGN(auto chunker, make_chunker(selected.spec, isa));
    const auto same = std::find_if(variants.begin(), variants.end(),
                                   [&](const Variant& other) { return other.chunker->isa() == chunker->isa(); });
    if (same == variants.end())
      variants.push_back({std::move(chunker), true});
    else
      same->is_wanted = true;
  }
  return variants;
}

}  // namespace

void cut(const Chunker& chunker, const std::vector<ByteSpan>& files, ThreadPool* pool, Cuts& cuts) {
  cuts.resize(files.size());
  if (pool != nullptr && files.size() == 1) {
    cuts[0] = cut_with_threads(chunker, files[0], *pool);
  } else if (pool != nullptr) {
    cuts = cut_many(chunker, files, *pool);
  } else {
    for (std::size_t i = 0; i < files.size(); ++i) cut_file(chunker, files[i], cuts[i]);
  }
}

Result<std::vector<Record>> measure(const Input& input, const Selected& selected, const MeasureOptions& options) {
  DEDUPFS_ASSIGN(auto variants, variants_of(selected));
  const auto pool = options.threads > 1 ? std::make_unique<ThreadPool>(options.threads - 1, "bench") : nullptr;
  std::vector<ByteSpan> files = input.files;
  std::stable_sort(files.begin(), files.end(), [](ByteSpan a, ByteSpan b) { return a.size() > b.size(); });

  Cuts expected, cuts;
  volatile std::uint64_t sum = 0;
  const bool one_thread = options.threads == 1;
  Timed reading(one_thread, [&] { sum = read_sum(input.bytes, options.threads); });
  std::vector<Timed> cutting;
  for (const Variant& variant : variants) {
    cutting.emplace_back(one_thread, [&cuts, &files, &pool, chunker = variant.chunker.get()] {
      cut(*chunker, files, pool.get(), cuts);
    });
    if (cutting.size() == 1) expected = cuts;  // by the scalar code
    if (cuts != expected)
      return Error{ErrorCode::kCorruption, fmt::format("{} cuts differently with {} and with scalar code: a bug",
                                                       variant.chunker->spec(), variant.chunker->isa())};
  }
  for (std::size_t pass = 0; pass < options.repeat; ++pass) {
    reading.pass();
    for (Timed& timed : cutting) timed.pass();
  }

  const ChunkStatistics statistics = statistics_of(files, expected);
  std::vector<Record> records;
  for (std::size_t i = 0; i < variants.size(); ++i) {
    const Variant& variant = variants[i];
    if (!variant.is_wanted) continue;
    const std::vector<double>& seconds = cutting[i].seconds();
    const auto [fastest, slowest] = std::minmax_element(seconds.begin(), seconds.end());
    const std::string spec = variant.chunker->spec();
    records.push_back({.label = selected.label,
                       .algorithm = spec.substr(0, spec.find(':')),
                       .spec = spec,
                       .isa = std::string(variant.chunker->isa()),
                       .avg_bytes = selected.avg_bytes,
                       .threads = options.threads,
                       .repeat = options.repeat,
                       .input = input.name,
                       .input_short = input.short_name,
                       .files = input.files.size(),
                       .bytes = input.bytes.size(),
                       .seconds = median(seconds),
                       .seconds_min = *fastest,
                       .seconds_max = *slowest,
                       .read_limit_seconds = median(reading.seconds()),
                       .scalar_seconds = median(cutting.front().seconds()),
                       .chunks = statistics});
  }
  return records;
}

}  // namespace dedupfs::bench
