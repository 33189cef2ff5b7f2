#include "bench/delta.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/size.h"
#include "bench/command.h"
#include "bench/report.h"
#include "bench/selection.h"
#include "command/command.h"
#include "delta/xdelta3_codec.h"

namespace dedupfs::bench {
namespace {

struct Shape {
  std::size_t chunk_bytes;
  std::size_t source_chunks;
};

// Each size with each number of chunks.
Result<std::vector<Shape>> shapes_of(const DeltaArguments& arguments) {
  DEDUPFS_ASSIGN(const auto sizes, split_list("--sizes", arguments.sizes));
  DEDUPFS_ASSIGN(const auto sources, split_list("--sources", arguments.sources));
  std::vector<Shape> shapes;
  for (const std::string& size : sizes) {
    const auto chunk_bytes = parse_size(size);
    if (!chunk_bytes) return chunk_bytes.error().with("--sizes");
    // An edited chunk may be longer.
    if (*chunk_bytes < 1 || *chunk_bytes > Xdelta3Codec::kMaxTargetBytes / 2)
      return invalid_argument(
          fmt::format("--sizes: a chunk must have 1 byte to {}", format_size(Xdelta3Codec::kMaxTargetBytes / 2)));
    for (const std::string& source : sources) {
      const auto source_chunks = parse_size(source);
      if (!source_chunks) return source_chunks.error().with("--sources");
      if (*source_chunks < 1 || *source_chunks > Xdelta3Codec::kMaxSourceBytes / *chunk_bytes)
        return invalid_argument(fmt::format("--sources: a source must have at least one chunk and at most {}",
                                            format_size(Xdelta3Codec::kMaxSourceBytes)));
      shapes.push_back({static_cast<std::size_t>(*chunk_bytes), static_cast<std::size_t>(*source_chunks)});
    }
  }
  return shapes;
}

Result<std::vector<DeltaRecord>> measure_input(const Input& input, const std::vector<Shape>& shapes,
                                               const DeltaOptions& options) {
  std::vector<DeltaRecord> records;
  for (const Shape& shape : shapes) {
    DEDUPFS_ASSIGN(auto more, measure_delta(input, shape.chunk_bytes, shape.source_chunks, options));
    std::move(more.begin(), more.end(), std::back_inserter(records));
  }
  return records;
}

std::string format_delta(const std::vector<DeltaRecord>& records) {
  std::vector<std::vector<std::string>> rows = {
      {"coder", "chunk", "source", "pairs", "encode MB/s", "decode MB/s", "delta % of the chunk"}};
  for (const DeltaRecord& record : records) {
    rows.push_back({record.coder, format_size(record.chunk_bytes),
                    format_size(record.chunk_bytes * record.source_chunks), std::to_string(record.pairs),
                    fmt::format("{:.0f}", record.encode_mb_per_s()), fmt::format("{:.0f}", record.decode_mb_per_s()),
                    fmt::format("{:.3f}", record.delta_percent())});
  }
  return fmt::format("{}: {:g} edits in each KiB\n", records.front().input, records.front().edits_per_kib) +
         align(rows, 1);
}

nlohmann::json delta_json(const std::vector<DeltaRecord>& records) {
  auto array = nlohmann::json::array();
  for (const DeltaRecord& record : records) {
    array.push_back({{"input", record.input},
                     {"coder", record.coder},
                     {"chunk", record.chunk_bytes},
                     {"source_chunks", record.source_chunks},
                     {"edits_per_kib", record.edits_per_kib},
                     {"pairs", record.pairs},
                     {"target_bytes", record.target_bytes},
                     {"delta_bytes", record.delta_bytes},
                     {"delta_percent", record.delta_percent()},
                     {"encode_seconds", record.encode_seconds},
                     {"encode_mb_per_s", record.encode_mb_per_s()},
                     {"decode_seconds", record.decode_seconds},
                     {"decode_mb_per_s", record.decode_mb_per_s()},
                     {"cpu", cpu_model()}});
  }
  return {{"records", array}};
}

}  // namespace

tools::Command& add_delta(tools::Command& app, DeltaArguments& arguments) {
  constexpr std::size_t kMax = 1'000'000;
  tools::Command& command =
      app.add_subcommand("delta", "measure the speed and size of deltas, and compare with plain xdelta3");
  command.add_option("--sizes", arguments.sizes, "chunk sizes (default 8k,16k,64k)").type_name("SIZE,...");
  command.add_option("--sources", arguments.sources, "number of chunks in a source (default 1,5)").type_name("N,...");
  command
      .add_option("--edits-per-kib", arguments.options.edits_per_kib, "edits of 12 to 28 bytes in each KiB (default 1)")
      .type_name("N")
      .in_range(0.0, 64.0);
  command.add_option("--pairs", arguments.options.pairs, "number of chunks to encode (default 200)")
      .type_name("N")
      .in_range(std::size_t{1}, kMax);
  command
      .add_option("--repeat", arguments.options.repeat, "number of timed passes; the fastest is reported (default 3)")
      .type_name("R")
      .in_range(std::size_t{1}, kMax);
  tools::add_json_flag(command, "print one JSON object with the records");
  command.add_option("INPUT", arguments.inputs, "a file, a folder, random:SIZE or zeros:SIZE").required();
  return command;
}

int run_delta(const DeltaArguments& arguments, const Console& console) {
  const auto shapes = shapes_of(arguments);
  if (!shapes) return fail(console, shapes.error());
  const auto plans = plan_inputs(arguments.inputs);
  if (!plans) return fail(console, plans.error());

  std::vector<DeltaRecord> all;
  for (const InputPlan& plan : *plans) {
    const auto input = load_input(plan);
    if (!input) return fail(console, input.error());
    auto records = measure_input(*input, *shapes, arguments.options);
    if (!records) return fail(console, records.error());
    if (!console.as_json()) console.out() << (all.empty() ? "" : "\n") << format_delta(*records) << std::flush;
    std::move(records->begin(), records->end(), std::back_inserter(all));
  }
  if (console.as_json()) console.print("dedupfs-bench-delta", delta_json(all));
  return console.end(kDone);
}

}  // namespace dedupfs::bench
