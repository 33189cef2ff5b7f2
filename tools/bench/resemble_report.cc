#include "bench/resemble_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <tuple>

#include "base/size.h"
#include "bench/distinct.h"
#include "bench/report.h"

namespace dedupfs::bench {
namespace {

std::string percent(double part) {
  return fmt::format("{:.1f} %", 100 * part);
}

template <class Record>
std::vector<std::string> methods_of(const std::vector<Record>& records) {
  return distinct(records, [](const Record& record) { return record.method; });
}

// ---- Accuracy: by length, with all rates pooled, or by rate, with all lengths pooled

struct Axis {
  std::string name;
  std::function<double(const Modification&)> value;
  std::function<std::string(double)> label;
};

const std::array<Axis, 2>& axes() {
  static const std::array<Axis, 2> kAxes = {
      Axis{"length", [](const Modification& modification) { return static_cast<double>(modification.length); },
           [](double length) { return fmt::format("{:.0f} B", length); }},
      Axis{"rate", [](const Modification& modification) { return modification.rate; },
           [](double rate) { return fmt::format("{:.4g} %", 100 * rate); }}};
  return kAxes;
}

struct PooledKey {
  std::uint32_t chunk_bytes;
  double value;
  auto operator<=>(const PooledKey&) const = default;
};
using Pooled = std::map<PooledKey, std::map<std::string, EstimatingError>>;  // by method

Pooled pool(const std::vector<AccuracyRecord>& records, const Axis& axis) {
  Pooled pooled;
  for (const AccuracyRecord& record : records)
    pooled[{record.chunk_bytes, axis.value(record.modification)}][record.method] += record.error;
  return pooled;
}

std::string format_accuracy(const std::vector<AccuracyRecord>& records) {
  const auto methods = methods_of(records);
  std::string text = "Estimating error: mean (standard deviation)\n";
  for (const Axis& axis : axes()) {
    std::vector<std::vector<std::string>> rows = {{"chunk", axis.name, "resemblance"}};
    rows[0].insert(rows[0].end(), methods.begin(), methods.end());
    for (const auto& [key, errors] : pool(records, axis)) {
      std::vector<std::string> row = {format_size(key.chunk_bytes), axis.label(key.value),
                                      fmt::format("{:.3f}", errors.begin()->second.mean_resemblance())};
      for (const std::string& method : methods) {
        const EstimatingError& error = errors.at(method);
        row.push_back(fmt::format("{:.3f} ({:.3f})", error.mean(), error.deviation()));
      }
      rows.push_back(std::move(row));
    }
    text += align(rows, 1);
  }
  return text;
}

// ---- Reduction

// The DCR of this method / the DCR of Finesse on the same chunks.
std::string dcr_over_finesse(const ReductionRecord& record, const std::vector<ReductionRecord>& records) {
  const auto finesse = std::find_if(records.begin(), records.end(), [&](const ReductionRecord& other) {
    return other.method == "finesse" && other.avg_bytes == record.avg_bytes && other.input == record.input;
  });
  if (finesse == records.end()) return "-";
  return fmt::format("{:.2f}",
                     record.reduction.delta_compression_ratio() / finesse->reduction.delta_compression_ratio());
}

std::string format_reduction(const std::vector<ReductionRecord>& records) {
  std::vector<std::vector<std::string>> rows = {
      {"chunker", "method", "unique", "MB", "deltas", "SCR", "DCE", "DCR", "x Finesse"}};
  for (const ReductionRecord& record : records) {
    const Reduction& reduction = record.reduction;
    rows.push_back({record.chunker, record.method, std::to_string(reduction.chunks),
                    fmt::format("{:.1f}", static_cast<double>(reduction.bytes) / 1e6),
                    std::to_string(reduction.delta_chunks), percent(reduction.similar_chunk_ratio()),
                    percent(reduction.delta_compression_efficiency()),
                    fmt::format("{:.3f}", reduction.delta_compression_ratio()), dcr_over_finesse(record, records)});
  }
  return "Delta encoding\n" + align(rows, 2);
}

// ---- Speed

std::string format_speed(const std::vector<SpeedRecord>& records) {
  std::vector<std::vector<std::string>> rows = {
      {"method", "isa", "avg", "features GB/s", "super-features GB/s", "x N-Transform"}};
  for (const SpeedRecord& record : records)
    rows.push_back({record.method, record.isa, format_size(record.avg_bytes),
                    fmt::format("{:.3f}", record.feature_gb_per_s()), fmt::format("{:.3f}", record.sketch_gb_per_s()),
                    fmt::format("{:.1f}", record.speedup_over_n_transform())});
  return "Speed\n" + align(rows, 2);
}

// ---- JSON

nlohmann::json json_of(const AccuracyRecord& record) {
  return {{"kind", "accuracy"},
          {"input", record.input},
          {"method", record.method},
          {"chunk", record.chunk_bytes},
          {"length", record.modification.length},
          {"rate", record.modification.rate},
          {"pairs", record.error.pairs},
          {"resemblance", record.error.mean_resemblance()},
          {"error_mean", record.error.mean()},
          {"error_deviation", record.error.deviation()},
          {"bias", record.error.bias()}};
}

nlohmann::json json_of(const ReductionRecord& record) {
  const Reduction& reduction = record.reduction;
  return {{"kind", "reduction"},
          {"input", record.input},
          {"method", record.method},
          {"chunker", record.chunker},
          {"avg", record.avg_bytes},
          {"unique_chunks", reduction.chunks},
          {"unique_bytes", reduction.bytes},
          {"similar_chunks", reduction.similar_chunks},
          {"delta_chunks", reduction.delta_chunks},
          {"replaced_bytes", reduction.replaced_bytes},
          {"delta_bytes", reduction.delta_bytes},
          {"scr", reduction.similar_chunk_ratio()},
          {"dce", reduction.delta_compression_efficiency()},
          {"dcr", reduction.delta_compression_ratio()}};
}

nlohmann::json json_of(const SpeedRecord& record) {
  return {{"kind", "speed"},
          {"input", record.input},
          {"method", record.method},
          {"isa", record.isa},
          {"avg", record.avg_bytes},
          {"bytes", record.bytes},
          {"seconds", record.feature_seconds},
          {"seconds_median", record.feature_seconds_median},
          {"gb_per_s", record.feature_gb_per_s()},
          {"super_feature_gb_per_s", record.sketch_gb_per_s()},
          {"n_transform_gb_per_s", record.n_transform_gb_per_s},
          {"speedup_over_n_transform", record.speedup_over_n_transform()},
          {"cpu", cpu_model()}};
}

template <class Record>
void append_json(nlohmann::json& objects, const std::vector<Record>& records) {
  for (const Record& record : records) objects.push_back(json_of(record));
}

// ---- Figures

BarChart chart_of(std::string name, std::string title, std::string y_label) {
  return {.name = std::move(name),
          .title = std::move(title),
          .y_label = std::move(y_label),
          .series = {},
          .bars = {},
          .line_label = {},
          .line = {}};
}

void add_series(BarChart& chart, const std::vector<std::string>& names) {
  for (const std::string& name : names) chart.series.push_back({name, kColours[chart.series.size() % kColours.size()]});
}

void add_accuracy_figures(std::vector<Figure>& figures, const std::vector<AccuracyRecord>& all) {
  struct Measure {
    std::string name, label;
    double (EstimatingError::*value)() const;
  };
  const std::array<Measure, 2> measures = {
      Measure{"error", "mean estimating error", &EstimatingError::mean},
      Measure{"deviation", "deviation of the estimating error", &EstimatingError::deviation}};
  using Place = std::tuple<std::string, std::uint32_t>;
  const auto place_of = [](const AccuracyRecord& record) { return Place(record.input_short, record.chunk_bytes); };
  for (const Place& place : distinct(all, place_of)) {
    std::vector<AccuracyRecord> records;
    std::copy_if(all.begin(), all.end(), std::back_inserter(records),
                 [&](const AccuracyRecord& record) { return place_of(record) == place; });
    const auto& [input, chunk_bytes] = place;
    for (const Axis& axis : axes()) {
      const Pooled pooled = pool(records, axis);
      for (const Measure& measure : measures) {
        BarChart chart = chart_of(
            fmt::format("{}-{}-{}-{}", measure.name, axis.name, input, format_size(chunk_bytes)),
            fmt::format("{}, chunks of {}, by the {} of modifications", input, size_name(chunk_bytes), axis.name),
            measure.label);
        add_series(chart, methods_of(records));
        for (const auto& [key, errors] : pooled)
          for (const auto& [method, error] : errors)
            chart.bars.push_back({axis.label(key.value), method, (error.*measure.value)()});
        figures.push_back(figure_of(chart));
      }
    }
  }
}

void add_reduction_figures(std::vector<Figure>& figures, const std::vector<ReductionRecord>& records) {
  struct Measure {
    std::string name, label;
    double (Reduction::*value)() const;
    double scale;
  };
  const std::array<Measure, 3> measures = {
      Measure{"scr", "similar chunks (%)", &Reduction::similar_chunk_ratio, 100},
      Measure{"dce", "delta compression efficiency (%)", &Reduction::delta_compression_efficiency, 100},
      Measure{"dcr", "delta compression ratio", &Reduction::delta_compression_ratio, 1}};
  for (const std::uint32_t avg : distinct(records, [](const ReductionRecord& record) { return record.avg_bytes; }))
    for (const Measure& measure : measures) {
      BarChart chart =
          chart_of(fmt::format("{}-{}", measure.name, format_size(avg)), size_name(avg) + " on average", measure.label);
      add_series(chart, methods_of(records));
      for (const ReductionRecord& record : records)
        if (record.avg_bytes == avg)
          chart.bars.push_back(
              {record.input_short, record.method, measure.scale * (record.reduction.*measure.value)()});
      figures.push_back(figure_of(chart));
    }
}

void add_speed_figures(std::vector<Figure>& figures, const std::vector<SpeedRecord>& records) {
  struct Measure {
    std::string name, label;
    double (SpeedRecord::*value)() const;
  };
  const std::array<Measure, 3> measures = {
      Measure{"features", "features (GB/s)", &SpeedRecord::feature_gb_per_s},
      Measure{"super-features", "super-features (GB/s)", &SpeedRecord::sketch_gb_per_s},
      Measure{"n-transform", "speed-up over N-Transform", &SpeedRecord::speedup_over_n_transform}};
  for (const std::uint32_t avg : distinct(records, [](const SpeedRecord& record) { return record.avg_bytes; }))
    for (const Measure& measure : measures) {
      BarChart chart =
          chart_of(fmt::format("{}-{}", measure.name, format_size(avg)),
                   fmt::format("{} on average, {}, one thread", size_name(avg), cpu_model()), measure.label);
      add_series(chart, distinct(records, [](const SpeedRecord& record) { return record.input_short; }));
      for (const SpeedRecord& record : records)
        if (record.avg_bytes == avg)
          chart.bars.push_back({record.method + " " + record.isa, record.input_short, (record.*measure.value)()});
      figures.push_back(figure_of(chart));
    }
}

}  // namespace

std::string format_resemble(const ResembleRecords& records) {
  std::string text;
  if (!records.accuracy.empty()) text += format_accuracy(records.accuracy);
  if (!records.reduction.empty()) text += format_reduction(records.reduction);
  if (!records.speed.empty()) text += format_speed(records.speed);
  return text;
}

nlohmann::json resemble_json(const ResembleRecords& records) {
  auto objects = nlohmann::json::array();
  append_json(objects, records.accuracy);
  append_json(objects, records.reduction);
  append_json(objects, records.speed);
  return {{"records", objects}};
}

std::vector<Figure> resemble_figures(const ResembleRecords& records) {
  std::vector<Figure> figures;
  add_accuracy_figures(figures, records.accuracy);
  add_reduction_figures(figures, records.reduction);
  add_speed_figures(figures, records.speed);
  return figures;
}

}  // namespace dedupfs::bench
