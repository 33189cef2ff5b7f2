#include "fs/estimate/extrapolation.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace dedupfs {
namespace {

constexpr double kDeviations = 2.5;  // of a margin of 95 %: 1.96 if the columns were alike, but a few of them hold much
// Of two columns, three, ...: the quantiles of Student's distribution.
constexpr std::array<double, 4> kDeviationsOfFew{12.71, 4.30, 3.18, 2.78};
constexpr double kModelShare = 0.5;    // of the distance to the extremes that the law allows
constexpr double kMethodShare = 0.01;  // what is cut apart at the borders of columns
constexpr double kMostCopies = 1e6;

struct Ratio {
  double value = 0;
  double deviation = 0;
};

// The ratio of two sums over columns, and how far it may be off for columns that are few.
template <class Of, class By>
Ratio ratio_of(std::span<const ColumnCost> columns, const Of& of, const By& by) {
  double numerator = 0;
  double denominator = 0;
  for (const ColumnCost& column : columns) {
    numerator += of(column);
    denominator += by(column);
  }
  if (denominator <= 0) return {};
  const double value = numerator / denominator;
  double squares = 0;
  for (const ColumnCost& column : columns) squares += std::pow(of(column) - value * by(column), 2);
  const auto n = static_cast<double>(columns.size());
  // A single column tells nothing of the others.
  const double deviation = n < 2 ? value : std::sqrt(squares * n / (n - 1)) / denominator;
  return {value, deviation};
}

// The mean of 1 - (1 - q)^k for q between two shares.
double mean_saving(double k, double from, double to) {
  if (to - from < 1e-12) return 1 - std::pow(1 - to, k);
  return 1 - (std::pow(1 - from, k + 1) - std::pow(1 - to, k + 1)) / ((k + 1) * (to - from));
}

// The k in [1, kMostCopies] where a falling or rising function crosses `wanted`.
template <class Function>
double solve(const Function& function, double wanted) {
  double low = 1;
  double high = kMostCopies;
  const bool rises = function(high) > function(low);
  for (int i = 0; i < 60; ++i) {
    const double middle = std::sqrt(low * high);
    ((function(middle) < wanted) == rises ? low : high) = middle;
  }
  return low;
}

// What the rest of the data saves where the sample ends at `share`, and the first and second half of the sample save so much.
class Law {
 public:
  Law(double share, double middle) : share_(share), middle_(middle) {}

  double rest(double first, double second) const {
    if (second <= 0) return 0;
    const double growth = second / std::max(first, second * 1e-3);
    const double k =
        solve([&](double each) { return mean_saving(each, middle_, share_) / mean_saving(each, 0, middle_); }, growth);
    return rest_for(k, second);
  }
  // Every piece occurs as rarely as possible: the savings grow most.
  double most(double second) const {
    if (second <= 0) return 0;
    const double k = solve([&](double each) { return mean_saving(each, middle_, share_); }, second);
    return rest_for(k, second);
  }

 private:
  double rest_for(double k, double second) const {
    const double part = std::min(1.0, second / std::max(mean_saving(k, middle_, share_), 1e-12));
    return std::max(part * mean_saving(k, share_, 1), std::min(second, 1.0));
  }

  const double share_;
  const double middle_;
};

double alone(const ColumnCost& column) {
  return column.alone;
}
double saved(const ColumnCost& column) {
  return column.saved;
}

double deviations_of(std::size_t columns) {
  return columns >= 2 && columns - 2 < kDeviationsOfFew.size() ? kDeviationsOfFew.at(columns - 2) : kDeviations;
}

// The first columns that have half of the data.
std::size_t middle_of(std::span<const ColumnCost> columns, double sampled) {
  double sum = 0;
  std::size_t middle = 0;
  while (middle < columns.size() && sum + columns[middle].bytes / 2 < sampled / 2) sum += columns[middle++].bytes;
  return middle;
}

}  // namespace

Extrapolation extrapolate(std::span<const ColumnCost> columns, double total_bytes) {
  double sampled = 0;
  double taken = 0;
  for (const ColumnCost& column : columns) {
    sampled += column.bytes;
    taken += column.alone - column.saved;
  }
  if (sampled <= 0) return {.value = total_bytes / 2, .margin = total_bytes / 2};
  const double share = std::min(1.0, sampled / std::max(total_bytes, 1.0));
  if (share >= 1) return {.value = taken * total_bytes / sampled};

  const std::size_t middle = middle_of(columns, sampled);
  double first_bytes = 0;
  for (const ColumnCost& column : columns.first(middle)) first_bytes += column.bytes;
  const Law law(share, share * first_bytes / sampled);
  const Ratio cost = ratio_of(columns, alone, [](const ColumnCost& column) { return column.bytes; });
  const Ratio first = ratio_of(columns.first(middle), saved, alone);
  const Ratio second = ratio_of(columns.subspan(middle), saved, alone);

  const double rest_bytes = total_bytes - sampled;
  const double rest_alone = cost.value * rest_bytes;
  const double saving = law.rest(first.value, second.value);
  const double value = taken + rest_alone * (1 - saving);

  const double by_cost = cost.deviation * rest_bytes * (1 - saving) * std::sqrt(1 / (1 - share));
  const double by_first = law.rest(std::max(0.0, first.value - first.deviation), second.value) - saving;
  const double by_second = law.rest(first.value, std::min(1.0, second.value + second.deviation)) - saving;
  const double by_model = kModelShare * std::max(law.most(second.value) - saving, saving - second.value);
  const double deviation = std::hypot(by_cost, rest_alone * by_first, rest_alone * by_second);
  const double margin = deviations_of(columns.size()) * deviation + rest_alone * std::max(0.0, by_model) +
                        kMethodShare * value * (1 - share);
  return {.value = value, .margin = std::min(margin, std::max(value, total_bytes - value))};
}

}  // namespace dedupfs
