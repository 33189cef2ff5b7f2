#include "mount/reports/growth.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/size.h"
#include "fs/format/local_time.h"

namespace dedupfs {
namespace {

constexpr std::size_t kMinDays = 3;
constexpr double kForeverDays = 36'525;

// The last sample of each of the days that the growth comes from.
std::vector<HistorySample> last_days_of(const std::vector<HistorySample>& history) {
  std::vector<HistorySample> days;
  for (const HistorySample& sample : history) {
    const bool is_new_day =
        days.empty() || sample.unix_seconds / kSecondsOfADay != days.back().unix_seconds / kSecondsOfADay;
    if (is_new_day)
      days.push_back(sample);
    else
      days.back() = sample;
  }
  const auto is_recent = [&](const HistorySample& day) {
    return history.back().unix_seconds - day.unix_seconds <= kDaysOfGrowth * kSecondsOfADay;
  };
  const std::size_t before = static_cast<std::size_t>(std::ranges::find_if(days, is_recent) - days.begin());
  const std::size_t most = days.size() - std::min(days.size(), kSamplesOfGrowth);
  days.erase(days.begin(), days.begin() + static_cast<std::ptrdiff_t>(std::min(before, most)));
  return days;
}

double slope_between(const HistorySample& early, const HistorySample& late) {
  const double bytes = static_cast<double>(late.disk_bytes) - static_cast<double>(early.disk_bytes);
  return bytes * kSecondsOfADay / static_cast<double>(late.unix_seconds - early.unix_seconds);
}

}  // namespace

std::optional<Growth> growth_of(const std::vector<HistorySample>& history) {
  const std::vector<HistorySample> days = last_days_of(history);
  if (days.size() < kMinDays) return std::nullopt;
  std::vector<double> slopes;
  for (std::size_t late = 1; late < days.size(); ++late)
    for (std::size_t early = 0; early < late; ++early) slopes.push_back(slope_between(days[early], days[late]));
  const auto median = slopes.begin() + static_cast<std::ptrdiff_t>(slopes.size() / 2);
  std::ranges::nth_element(slopes, median);
  return Growth{.bytes_per_day = *median,
                .days = (days.back().unix_seconds - days.front().unix_seconds + kSecondsOfADay / 2) / kSecondsOfADay};
}

std::optional<double> days_until_full(const Growth& growth, std::uint64_t available_bytes) {
  if (growth.bytes_per_day <= 0) return std::nullopt;
  const double days = static_cast<double>(available_bytes) / growth.bytes_per_day;
  return days > kForeverDays ? std::nullopt : std::optional(days);
}

std::string growth_text(const Growth& growth) {
  const std::string bytes = human_size(static_cast<std::uint64_t>(std::min(std::fabs(growth.bytes_per_day), 1e18)));
  return fmt::format("{} by {} a day (median of {} days).", growth.bytes_per_day < 0 ? "Shrinks" : "Grows", bytes,
                     growth.days);
}

}  // namespace dedupfs
