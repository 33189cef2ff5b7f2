#include "bench/run.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "bench/delta.h"
#include "bench/input.h"
#include "bench/isa_report.h"
#include "bench/measure.h"
#include "bench/plot.h"
#include "bench/report.h"
#include "bench/resemble.h"
#include "bench/selection.h"
#include "chunkers/parameter_sets.h"
#include "chunkers/registry.h"
#include "command/command.h"
#include "command/common_options.h"
#include "delta/resemblance.h"

namespace dedupfs::bench {
namespace {

constexpr std::size_t kMaxRepeat = 1000;
constexpr std::size_t kMaxThreads = 1024;

struct ChunkArguments {
  std::string algorithms = "all";
  std::string avgs = "8k";
  std::string isas = "best";
  std::string plot_folder;
  std::vector<std::string> inputs;
  MeasureOptions measuring;
  bool only_offsets = false;
};

std::string chunkers_help() {
  std::string text = "Algorithms (each runs with each --avg; a spec NAME:KEY=VALUE,... is used as it is):\n";
  for (const ChunkerInfo& info : chunker_infos())
    text += fmt::format("  {:<18} {}\n{:<21}{}\n", info.name, info.summary, "", info.parameters);
  text += "Parameter sets of the programs in the papers:\n";
  for (const ParameterSet& set : parameter_sets()) text += fmt::format("  {:<18} {}\n", set.name, set.spec);
  text +=
      "Commas separate algorithms. An item with '=' and without ':' belongs to the spec in front of it:\n"
      "  gear:avg=8k,norm=1,ram    is the spec gear:avg=8k,norm=1 and the algorithm ram.\n"
      "The key isa=NAME in a spec replaces --isa for that spec.\n";
  return text;
}

tools::ValueWords value_words() {
  const auto chunkers = tools::names_of(chunker_infos());
  auto algorithms = chunkers;
  for (const ParameterSet& set : parameter_sets()) algorithms.emplace_back(set.name);
  return {
      {"--algorithm", algorithms}, {"--chunker", chunkers}, {"--methods", tools::names_of(resemblance_method_infos())}};
}

// Prints the cuts of all files as offsets in the whole input.
int print_offsets(const Input& input, const Chunker& chunker, const Console& console) {
  Cuts cuts;
  cut(chunker, input.files, nullptr, cuts);
  std::size_t base = 0;
  for (std::size_t i = 0; i < input.files.size(); ++i) {
    for (const std::size_t end : cuts[i]) console.out() << base + end << '\n';
    base += input.files[i].size();
  }
  return console.end(kDone);
}

int run_offsets(const std::vector<Selected>& selection, const std::vector<InputPlan>& plans, const Console& console) {
  if (selection.size() != 1 || selection[0].isas.size() != 1 || plans.size() != 1)
    return fail(console,
                {ErrorCode::kInvalidArgument,
                 fmt::format("--offsets takes exactly one chunker, avg, instruction set and input; these are {} "
                             "chunkers, {} instruction sets, {} inputs",
                             selection.size(), selection[0].isas.size(), plans.size())});
  const auto chunker = make_chunker(selection[0].spec, selection[0].isas[0]);
  if (!chunker) return fail(console, chunker.error());
  const auto input = load_input(plans[0]);
  if (!input) return fail(console, input.error());
  return print_offsets(*input, **chunker, console);
}

int run_chunk(const ChunkArguments& arguments, const Console& console) {
  const auto leave_out = [&](const Error& error) { console.err() << "left out: " << error.message() << '\n'; };
  const auto selection = select(arguments.algorithms, arguments.avgs, arguments.isas, leave_out);
  if (!selection) return fail(console, selection.error());
  const auto plans = plan_inputs(arguments.inputs);
  if (!plans) return fail(console, plans.error());
  if (arguments.only_offsets) return run_offsets(*selection, *plans, console);

  // Before a long measurement, not after it.
  if (!arguments.plot_folder.empty()) {
    if (const auto gnuplot = find_gnuplot(); !gnuplot) return console.fail(gnuplot.error(), kNoGnuplot);
  }

  std::vector<Record> all;
  for (const InputPlan& plan : *plans) {
    const auto input = load_input(plan);
    if (!input) return fail(console, input.error());
    std::vector<Record> records;
    for (const Selected& selected : *selection) {
      auto more = measure(*input, selected, arguments.measuring);
      if (!more) return fail(console, more.error());
      std::move(more->begin(), more->end(), std::back_inserter(records));
    }
    if (!console.as_json()) console.out() << (all.empty() ? "" : "\n") << format_records(records) << std::flush;
    std::move(records.begin(), records.end(), std::back_inserter(all));
  }
  if (!arguments.plot_folder.empty()) {
    if (const auto drawn = draw(figures_of(all), arguments.plot_folder); !drawn) return fail(console, drawn.error());
  }
  if (console.as_json()) console.print("dedupfs-bench-chunk", records_json(all));
  return console.end(kDone);
}

int run_isa(const Console& console) {
  const auto report = isa_report();
  if (!report) return fail(console, report.error());
  if (console.as_json())
    console.print("dedupfs-bench-isa", isa_report_json(*report));
  else
    console.out() << format_isa_report(*report);
  return console.end(kDone);
}

tools::Command& add_chunk(tools::Command& app, ChunkArguments& arguments) {
  tools::Command& chunk = app.add_subcommand("chunk", "measure the speed, chunk sizes and space savings of chunkers");
  chunk.footer(chunkers_help());
  chunk.add_option("--algorithm", arguments.algorithms, "names, specs or parameter sets; all: every name (default all)")
      .type_name("A,B,...");
  chunk.add_option("--avg", arguments.avgs, "average chunk sizes for algorithms given by name (default 8k)")
      .type_name("SIZE,...");
  chunk.add_option("--isa", arguments.isas, "instruction sets, all, or best (default best)").type_name("ISA,...");
  chunk.add_option("--threads", arguments.measuring.threads, "number of threads (default 1)")
      .type_name("N")
      .in_range(std::size_t{1}, kMaxThreads);
  chunk
      .add_option("--repeat", arguments.measuring.repeat,
                  "number of measured passes; the median is reported (default 5)")
      .type_name("R")
      .in_range(std::size_t{1}, kMaxRepeat);
  const tools::Option json = tools::add_json_flag(chunk, "print one JSON object with the records");
  const tools::Option offsets =
      chunk.add_flag("--offsets", arguments.only_offsets, "print the end offset of each chunk instead of measuring");
  const tools::Option plot =
      chunk.add_option("--plot", arguments.plot_folder, "draw figures into this folder").type_name("DIR");
  offsets.excludes(json).excludes(plot);
  chunk.add_option("INPUT", arguments.inputs, "a file, a folder, random:SIZE or zeros:SIZE").required();
  return chunk;
}

}  // namespace

int run_bench(std::span<const std::string> arguments, std::ostream& out, std::ostream& err) {
  tools::Command app("Measures chunking algorithms, resemblance detection and delta encoding.", "dedupfs-bench");
  app.example("dedupfs-bench chunk linux.tar");
  tools::define_common_options(app, value_words());
  app.require_subcommand();

  ChunkArguments chunk_arguments;
  add_chunk(app, chunk_arguments);

  ResembleArguments resemble_arguments;
  const tools::Command& resemble = add_resemble(app, resemble_arguments);

  DeltaArguments delta_arguments;
  const tools::Command& delta = add_delta(app, delta_arguments);

  tools::Command& isa =
      app.add_subcommand("isa", "list the instruction sets of this CPU and the kernels that use them");
  tools::add_json_flag(isa, "print a JSON object");

  Console console({.name = "dedupfs-bench", .usage_error = kUsageError, .failed = kFailed}, out, err);
  if (const auto exit_code = console.parse(app, arguments)) return *exit_code;
  if (resemble.parsed()) return run_resemble(resemble_arguments, console);
  if (delta.parsed()) return run_delta(delta_arguments, console);
  return isa.parsed() ? run_isa(console) : run_chunk(chunk_arguments, console);
}

}  // namespace dedupfs::bench
