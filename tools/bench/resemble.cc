#include "bench/resemble.h"

#include <fmt/format.h>

#include <charconv>
#include <iterator>
#include <memory>
#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>

#include "base/size.h"
#include "bench/command.h"
#include "bench/resemble_report.h"
#include "bench/selection.h"
#include "chunkers/registry.h"
#include "command/command.h"

namespace dedupfs::bench {
namespace {

// The arguments, parsed and checked.
struct Plan {
  std::vector<std::string> methods;
  Detectors detectors;  // for these methods, the fastest of this CPU
  std::vector<std::uint32_t> avgs;
  std::vector<std::unique_ptr<Chunker>> chunkers;  // one for each average
  std::vector<Isa> isas;
  AccuracyOptions accuracy;
  SpeedOptions speed;
  bool only_accuracy;
};

// "gear" or "gear:norm=1", with the average added.
std::string spec_of(const std::string& chunker, std::string_view avg) {
  return fmt::format("{}{}avg={}", chunker, chunker.find(':') == std::string::npos ? ':' : ',', avg);
}

Result<std::size_t> parse_length(std::string_view text) {
  const auto length = parse_size(text);
  if (!length) return length.error().with("--modify-length");
  if (*length == 0) return invalid_argument("--modify-length: a modification has at least one byte");
  return static_cast<std::size_t>(*length);
}

Result<double> parse_rate(std::string_view text) {
  double percent = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), percent);
  if (error != std::errc() || end != text.data() + text.size() || !(percent > 0 && percent <= 100))
    return invalid_argument(fmt::format("--modify-rate: '{}' is not a percentage above 0, up to 100", text));
  return percent / 100;
}

Result<Plan> plan_of(const ResembleArguments& arguments) {
  Plan plan{
      .accuracy = arguments.accuracy, .speed = {.repeat = arguments.repeat}, .only_accuracy = arguments.only_accuracy};
  plan.accuracy.lengths.clear();
  plan.accuracy.rates.clear();
  if (arguments.methods == "all") {
    for (const ResemblanceMethodInfo& info : resemblance_method_infos()) plan.methods.emplace_back(info.name);
  } else {
    DEDUPFS_ASSIGN(plan.methods, split_list("--methods", arguments.methods));
  }
  DEDUPFS_ASSIGN(const Isa isa, default_isa());
  for (const std::string& method : plan.methods) {
    auto detector = make_resemblance_detector(method, isa);
    if (!detector) return invalid_argument(detector.error().message() + "; also: all");
    plan.detectors.push_back(*std::move(detector));
  }
  DEDUPFS_ASSIGN(const auto avgs, split_list("--avg", arguments.avgs));
  for (const std::string& avg : avgs) {
    DEDUPFS_ASSIGN(auto chunker, make_chunker(spec_of(arguments.chunker, avg), isa));
    plan.avgs.push_back(chunker->sizes().avg_bytes);
    plan.chunkers.push_back(std::move(chunker));
  }
  DEDUPFS_ASSIGN(plan.isas, parse_isas(arguments.isas));
  DEDUPFS_ASSIGN(const auto lengths, split_list("--modify-length", arguments.lengths));
  DEDUPFS_ASSIGN(const auto rates, split_list("--modify-rate", arguments.rates));
  for (const std::string& text : lengths) {
    DEDUPFS_ASSIGN(const std::size_t length, parse_length(text));
    plan.accuracy.lengths.push_back(length);
  }
  for (const std::string& text : rates) {
    DEDUPFS_ASSIGN(const double rate, parse_rate(text));
    plan.accuracy.rates.push_back(rate);
  }
  return plan;
}

template <class Item>
void append(std::vector<Item>& all, std::vector<Item> more) {
  std::move(more.begin(), more.end(), std::back_inserter(all));
}

Result<void> measure_data_set(const Input& input, const Chunker& chunker, const Plan& plan, ResembleRecords& records) {
  const std::uint32_t avg_bytes = chunker.sizes().avg_bytes;
  const UniqueChunks unique = unique_chunks(input, chunker);
  for (const auto& detector : plan.detectors) {
    DEDUPFS_ASSIGN(const Reduction reduction, reduce(unique.chunks, *detector));
    records.reduction.push_back(
        {input.name, input.short_name, chunker.spec(), std::string(detector->name()), avg_bytes, reduction});
  }
  DEDUPFS_ASSIGN(auto speeds, measure_speed(unique.chunks, plan.methods, plan.isas, plan.speed));
  for (SpeedRecord& speed : speeds) {
    speed.input = input.name;
    speed.input_short = input.short_name;
    speed.avg_bytes = avg_bytes;
  }
  append(records.speed, std::move(speeds));
  return {};
}

Result<ResembleRecords> measure_input(const Input& input, const Plan& plan) {
  ResembleRecords records;
  for (const std::uint32_t chunk_bytes : plan.avgs) {
    DEDUPFS_ASSIGN(auto accuracy, measure_accuracy(input, chunk_bytes, plan.detectors, plan.accuracy));
    append(records.accuracy, std::move(accuracy));
  }
  if (plan.only_accuracy) return records;
  for (const auto& chunker : plan.chunkers) DEDUPFS_TRY(measure_data_set(input, *chunker, plan, records));
  return records;
}

std::string about_input(const Input& input) {
  return fmt::format("{}: {} file{}, {:.2f} GB\n", input.name, input.files.size(), input.files.size() == 1 ? "" : "s",
                     static_cast<double>(input.bytes.size()) / 1e9);
}

}  // namespace

tools::Command& add_resemble(tools::Command& app, ResembleArguments& arguments) {
  constexpr std::size_t kMax = 1'000'000;
  tools::Command& command =
      app.add_subcommand("resemble", "measure the accuracy, savings and speed of resemblance detection");
  std::string methods = "Methods:\n";
  for (const ResemblanceMethodInfo& info : resemblance_method_infos())
    methods += fmt::format("  {:<18} {}\n", info.name, info.summary);
  command.footer(methods);
  command.add_option("--methods", arguments.methods, "names of methods, or all (default all)").type_name("A,B,...");
  command.add_option("--avg", arguments.avgs, "average chunk sizes (default 4k,8k,16k)").type_name("SIZE,...");
  command.add_option("--chunker", arguments.chunker, "the chunker: a name, or a spec without avg (default fastcdc)")
      .type_name("NAME");
  command.add_option("--isa", arguments.isas, "instruction sets to time, all, or best (default all)")
      .type_name("ISA,...");
  command.add_option("--modify-length", arguments.lengths, "lengths of a modification (default 8,32,128,512)")
      .type_name("SIZE,...");
  command.add_option("--modify-rate", arguments.rates, "percent of a chunk that is modified (default 1,5,10,20)")
      .type_name("P,...");
  command.add_option("--pairs", arguments.accuracy.pairs, "number of pairs for each length and rate (default 100)")
      .type_name("N")
      .in_range(std::size_t{1}, kMax);
  command
      .add_option("--window", arguments.accuracy.window_bytes,
                  "size of the windows that define resemblance (default 32)")
      .type_name("BYTES")
      .in_range(std::size_t{1}, kMax);
  command.add_option("--repeat", arguments.repeat, "number of timed passes; the fastest is reported (default 3)")
      .type_name("R")
      .in_range(std::size_t{1}, kMax);
  command.add_flag("--accuracy", arguments.only_accuracy, "measure only the accuracy");
  tools::add_json_flag(command, "print one JSON object with the records");
  command.add_option("--plot", arguments.plot_folder, "draw figures into this folder").type_name("DIR");
  command.add_option("INPUT", arguments.inputs, "a file, a folder, random:SIZE or zeros:SIZE").required();
  return command;
}

int run_resemble(const ResembleArguments& arguments, const Console& console) {
  const auto plan = plan_of(arguments);
  if (!plan) return fail(console, plan.error());
  const auto inputs = plan_inputs(arguments.inputs);
  if (!inputs) return fail(console, inputs.error());
  // Before a long measurement, not after it.
  if (!arguments.plot_folder.empty()) {
    if (const auto gnuplot = find_gnuplot(); !gnuplot) return console.fail(gnuplot.error(), kNoGnuplot);
  }

  ResembleRecords all;
  for (const InputPlan& input_plan : *inputs) {
    const auto input = load_input(input_plan);
    if (!input) return fail(console, input.error());
    auto records = measure_input(*input, *plan);
    if (!records) return fail(console, records.error());
    if (!console.as_json())
      console.out() << (all.accuracy.empty() ? "" : "\n") << about_input(*input) << format_resemble(*records)
                    << std::flush;
    append(all.accuracy, std::move(records->accuracy));
    append(all.reduction, std::move(records->reduction));
    append(all.speed, std::move(records->speed));
  }
  if (!arguments.plot_folder.empty()) {
    if (const auto drawn = draw(resemble_figures(all), arguments.plot_folder); !drawn)
      return fail(console, drawn.error());
  }
  if (console.as_json()) console.print("dedupfs-bench-resemble", resemble_json(all));
  return console.end(kDone);
}

}  // namespace dedupfs::bench
