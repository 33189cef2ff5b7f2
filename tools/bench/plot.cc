#include "bench/plot.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/wait.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <fstream>
#include <optional>
#include <utility>

#include "base/isa.h"
#include "base/size.h"
#include "bench/distinct.h"
#include "bench/report.h"
#include "bench/timed.h"

extern char** environ;

namespace dedupfs::bench {
namespace {

// ---- The charts

// One colour for each instruction set, darker for wider vectors.
std::string_view colour_of(std::string_view isa) {
  if (isa == name_of(Isa::kScalar)) return "#b8b8b8";
  if (isa == name_of(Isa::kAvx2)) return "#4292c6";
  if (isa == name_of(Isa::kAvx512)) return "#084594";
  if (isa == name_of(Isa::kAvx512Gather)) return "#807dba";  // not wider, but another method
  return "#9ecae1";
}

// A string that gnuplot reads literally.
std::string literal(std::string_view text) {
  std::string result = "'";
  for (const char c : text) result += c == '\'' ? "''" : std::string(1, c);
  return result + "'";
}

// The same for labels of tics, which gnuplot reads as formats.
std::string literal_tic(std::string_view text) {
  std::string format;
  for (const char c : text) format += c == '%' ? "%%" : std::string(1, c);
  return literal(format);
}

// Three digits, for people: 0.14, 9.7, 128.
std::string short_number(double value) {
  return value < 1     ? fmt::format("{:.2f}", value)
         : value < 100 ? fmt::format("{:.1f}", value)
                       : fmt::format("{:.0f}", value);
}

constexpr auto kLegendAbove = "set key at graph 1, graph 1.02 right bottom horizontal Left reverse samplen 1 width 1\n";

std::string head(const std::string& name, std::string_view title, std::string_view y_label, int width, int height) {
  return fmt::format(
      "set encoding utf8\n"
      "set terminal svg size {},{} dynamic noenhanced font 'Helvetica,15' background '#ffffff' linewidth 1.2\n"
      "set output '{}.svg'\n"
      "set label 1 {} at screen 0.012, screen 0.955 left font ',14' textcolor '#404040'\n"
      "set tmargin 3.4\n"
      "set border 3 linecolor '#404040'\n"
      "set tics nomirror textcolor '#202020'\n"
      "set grid ytics linetype 1 linecolor '#e4e4e4' linewidth 0.8\n"
      "set grid back\n"
      "set ylabel {} offset 0.5\n",
      width, height, name, literal(title), literal(y_label));
}

std::string where(const Record& record) {
  return fmt::format("{}, {} on average, {}, {} thread{}", record.input_short, size_name(record.avg_bytes), cpu_model(),
                     record.threads, record.threads == 1 ? "" : "s");
}

std::string suffix(const Record& record) {
  return record.input_short + "-" + format_size(record.avg_bytes);
}

// Fixed blocks are cut without reading the data, so their speed means nothing.
bool is_timed_in_earnest(const Record& record) {
  return record.algorithm != "fixed";
}

// `records` are of one input and one average size. A bar is the `value` of each chunker that reads its data.
template <class Value>
BarChart speed_chart(const std::vector<Record>& records, const std::string& name, const std::string& y_label,
                     Value value) {
  BarChart chart{.name = name + "-" + suffix(records[0]),
                 .title = where(records[0]),
                 .y_label = y_label,
                 .series = {},
                 .bars = {},
                 .line_label = {},
                 .line = {}};
  // By the width of the vectors.
  for (const Isa isa : {Isa::kScalar, Isa::kSse41, Isa::kNeon, Isa::kVsx, Isa::kAvx2, Isa::kAvx512, Isa::kAvx512Gather})
    if (std::any_of(records.begin(), records.end(), [&](const Record& record) {
          return record.isa == name_of(isa) && is_timed_in_earnest(record) && value(record);
        }))
      chart.series.push_back({std::string(name_of(isa)), std::string(colour_of(name_of(isa)))});
  for (const Record& record : records)
    if (const std::optional<double> height = value(record); height && is_timed_in_earnest(record))
      chart.bars.push_back({record.label, record.isa, *height});
  return chart;
}

Figure cdf_figure(const std::vector<Record>& records) {
  const std::string name = "cdf-" + suffix(records[0]);
  std::string script =
      head(name, fmt::format("{}, {} on average", records[0].input_short, size_name(records[0].avg_bytes)),
           "chunks of at most that size (%)", 760, 430);
  script +=
      "set xlabel 'chunk size (KiB)'\nset key outside right center Left reverse samplen 2\nset yrange [0:100]\n"
      "set grid xtics ytics linetype 1 linecolor '#e4e4e4' linewidth 0.8\n";
  std::string plots;
  std::size_t line = 0;
  double max_kib = 0;
  for (const std::string& label : distinct(records, [](const Record& record) { return record.label; })) {
    const Record& record =
        *std::find_if(records.begin(), records.end(), [&](const Record& other) { return other.label == label; });
    max_kib = std::max(max_kib, static_cast<double>(record.chunks.cdf.back()) / 1024);
    script += fmt::format("$line{} << EOD\n", line);
    for (std::size_t i = 0; i < record.chunks.cdf.size(); ++i)
      script += fmt::format("{:.6g} {:.6g}\n", static_cast<double>(record.chunks.cdf[i]) / 1024,
                            100.0 * static_cast<double>(i) / kCdfSteps);
    script += "EOD\n";
    plots += fmt::format("{}$line{} using 1:2 with lines linewidth 2 dashtype {} linecolor '{}' title {}",
                         plots.empty() ? "" : ", \\\n     ", line, line < kColours.size() ? "1" : "(6,3)",
                         kColours[line % kColours.size()], literal(label));
    ++line;
  }
  return {name, script + fmt::format("set xrange [0:{:.6g}]\n", max_kib * 1.02) + "plot " + plots + "\n"};
}

// ---- gnuplot

Error no_gnuplot() {
  return {ErrorCode::kUnsupported, "--plot needs gnuplot: install the package gnuplot-nox"};
}

// The output of gnuplot matters only if it failed.
Result<void> run_gnuplot(std::vector<std::string> arguments, const std::filesystem::path& folder) {
  std::vector<char*> argv;
  arguments.insert(arguments.begin(), "gnuplot");
  argv.reserve(arguments.size() + 1);
  for (std::string& argument : arguments) argv.push_back(argument.data());
  argv.push_back(nullptr);

  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_addchdir_np(&actions, folder.c_str());
  ::posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  ::posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
  pid_t child = 0;
  const int error = ::posix_spawnp(&child, "gnuplot", &actions, nullptr, argv.data(), environ);
  ::posix_spawn_file_actions_destroy(&actions);
  if (error == ENOENT) return no_gnuplot();
  if (error != 0) return Error::from_errno(error, "gnuplot");

  int status = 0;
  while (::waitpid(child, &status, 0) < 0)
    if (errno != EINTR) return Error::from_errno(errno, "waiting for gnuplot");
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
    return Error{ErrorCode::kIo, fmt::format("gnuplot {} failed in {}", arguments.back(), folder.string())};
  return {};
}

}  // namespace

Figure figure_of(const BarChart& chart) {
  constexpr double kGap = 0.9;         // between clusters, in bars
  constexpr double kMinCluster = 2.4;  // room for the name of a cluster
  const auto groups = distinct(chart.bars, [](const Bar& bar) { return bar.group; });

  std::string tics;
  std::vector<std::string> points(chart.series.size());
  double x = 0;
  double highest = chart.line.value_or(0);
  std::size_t longest_name = 0;
  for (const std::string& group : groups) {
    const auto count = static_cast<double>(
        std::count_if(chart.bars.begin(), chart.bars.end(), [&](const Bar& bar) { return bar.group == group; }));
    const double margin = std::max(0.0, kMinCluster - count) / 2;
    const double begin = x += margin;
    for (std::size_t i = 0; i < chart.series.size(); ++i)
      for (const Bar& bar : chart.bars) {
        if (bar.group != group || bar.series != chart.series[i].name) continue;
        points[i] += fmt::format("{} {:.6g} {}\n", x, bar.value, short_number(bar.value));
        highest = std::max(highest, bar.value);
        x += 1;
      }
    tics += fmt::format("{}{} {}", tics.empty() ? "" : ", ", literal_tic(group), (begin + x - 1) / 2);
    longest_name = std::max(longest_name, group.size());
    x += margin + kGap;
  }

  const int width = std::clamp(static_cast<int>(130 + x * 16 + static_cast<double>(groups.size()) * 22), 620, 1500);
  const double right = x - kGap;
  const bool is_crowded =
      static_cast<double>(longest_name) * 8.5 > static_cast<double>(width - 130) / static_cast<double>(groups.size());
  std::string script = head(chart.name, chart.title, chart.y_label, width, 430);
  script += "set style fill solid 1.0 noborder\nset boxwidth 0.92\n";
  script += fmt::format("set xrange [{}:{}]\nset yrange [0:{:.6g}]\n", -1.0, right, highest * 1.14);
  script += fmt::format("set xtics scale 0 {}({})\n", is_crowded ? "rotate by 40 right " : "", tics);
  script += chart.series.size() > 1 || !chart.line_label.empty() ? kLegendAbove : "unset key\n";
  std::string plots;
  for (std::size_t i = 0; i < chart.series.size(); ++i) {
    script += fmt::format("$bars{} << EOD\n{}EOD\n", i, points[i]);
    plots += fmt::format(
        "{0}$bars{1} using 1:2 with boxes linecolor '{2}' title {3}, \\\n"
        "     $bars{1} using 1:2:3 with labels rotate left offset 0,0.35 font ',10' textcolor '#404040' notitle",
        plots.empty() ? "" : ", \\\n     ", i, chart.series[i].colour, literal(chart.series[i].name));
  }
  if (chart.line)
    plots += fmt::format(", \\\n     {:.6g} with lines dashtype 2 linewidth 1.2 linecolor '#c0392b' {}", *chart.line,
                         chart.line_label.empty() ? "notitle" : "title " + literal(chart.line_label));
  return {chart.name, script + "plot " + plots + "\n"};
}

std::string size_name(std::uint32_t bytes) {
  return bytes % 1024 == 0 ? fmt::format("{} KiB", bytes / 1024) : fmt::format("{} bytes", bytes);
}

std::vector<Figure> figures_of(std::span<const Record> given) {
  const std::vector<Record> all(given.begin(), given.end());
  const auto inputs = distinct(all, [](const Record& record) { return record.input_short; });
  auto avgs = distinct(all, [](const Record& record) { return record.avg_bytes; });
  std::sort(avgs.begin(), avgs.end());

  std::vector<Figure> figures;
  const auto add = [&](const BarChart& chart) {
    if (!chart.bars.empty()) figures.push_back(figure_of(chart));
  };
  for (const std::uint32_t avg : avgs) {
    BarChart savings{.name = "savings-" + format_size(avg),
                     .title = size_name(avg) + " on average",
                     .y_label = "space savings (%)",
                     .series = {},
                     .bars = {},
                     .line_label = {},
                     .line = {}};
    for (const std::string& input : inputs) {
      savings.series.push_back({input, kColours[savings.series.size() % kColours.size()]});
      std::vector<Record> records;
      std::copy_if(all.begin(), all.end(), std::back_inserter(records),
                   [&](const Record& record) { return record.avg_bytes == avg && record.input_short == input; });
      if (records.empty()) continue;

      BarChart throughput = speed_chart(records, "throughput", "throughput (GB/s)",
                                        [](const Record& record) { return std::optional(record.gb_per_s()); });
      std::vector<double> limits;
      limits.reserve(records.size());
      for (const Record& record : records) limits.push_back(record.read_limit_gb_per_s());
      throughput.line = median(limits);
      throughput.line_label = "reading alone";
      add(throughput);

      BarChart speedup = speed_chart(records, "speedup", "speed-up over scalar code", [](const Record& record) {
        return record.isa == name_of(Isa::kScalar) ? std::nullopt : std::optional(record.speedup_over_scalar());
      });
      speedup.line = 1;
      add(speedup);

      figures.push_back(cdf_figure(records));
      for (const std::string& label : distinct(records, [](const Record& record) { return record.label; })) {
        const auto record =
            std::find_if(records.begin(), records.end(), [&](const Record& other) { return other.label == label; });
        savings.bars.push_back({label, input, record->chunks.savings_percent});
      }
    }
    add(savings);
  }
  return figures;
}

Result<void> find_gnuplot() {
  return run_gnuplot({"--version"}, ".");
}

Result<void> draw(std::span<const Figure> figures, const std::filesystem::path& folder) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) return Error::from_errno(error.value(), folder.string());
  for (const Figure& figure : figures) {
    const std::filesystem::path script = folder / (figure.name + ".gp");
    std::ofstream file(script);
    file << figure.script;
    file.close();
    if (!file) return Error{ErrorCode::kIo, "cannot write " + script.string()};
    DEDUPFS_TRY(run_gnuplot({figure.name + ".gp"}, folder));
  }
  return {};
}

}  // namespace dedupfs::bench
