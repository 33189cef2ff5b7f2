#include "mount/reports/history_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/size.h"
#include "fs/format/local_time.h"
#include "json/document.h"
#include "mount/reports/growth.h"

namespace dedupfs {
namespace {

using Counts = HistorySample::Counts;
using Speed = HistorySample::RestoreSpeed;

template <class Of>
struct Field {
  const char* key;
  std::uint64_t Of::*member;
};
constexpr std::array<Field<Counts>, 7> kCountFields{{{"files", &Counts::files},
                                                     {"logical_bytes", &Counts::logical},
                                                     {"unique_bytes", &Counts::unique},
                                                     {"after_delta_bytes", &Counts::after_delta},
                                                     {"stored_bytes", &Counts::stored},
                                                     {"kept_bytes", &Counts::kept},
                                                     {"garbage_bytes", &Counts::garbage}}};
constexpr std::array<Field<Speed>, 2> kSpeedFields{
    {{"hard_disk_bytes_per_second", &Speed::hard_disk}, {"ssd_bytes_per_second", &Speed::ssd}}};

template <class Of, std::size_t kCount>
void put_fields(nlohmann::json& json, const std::array<Field<Of>, kCount>& fields, const std::optional<Of>& of) {
  for (const auto& field : fields) json[field.key] = of ? nlohmann::json((*of).*field.member) : nlohmann::json(nullptr);
}

// Not of a number with a sign or a fraction, whose conversion may be undefined.
std::uint64_t count_in(const nlohmann::json& value) {
  return value.get_ref<const nlohmann::json::number_unsigned_t&>();
}

// None if one of them is null.
template <class Of, std::size_t kCount>
std::optional<Of> get_fields(const nlohmann::json& json, const std::array<Field<Of>, kCount>& fields) {
  Of of;
  for (const auto& field : fields) {
    const nlohmann::json& value = json.at(field.key);
    if (value.is_null()) return std::nullopt;
    of.*field.member = count_in(value);
  }
  return of;
}

template <class Of, std::size_t kCount>
std::string csv_fields(const std::array<Field<Of>, kCount>& fields, const std::optional<Of>& of) {
  std::string text;
  for (const auto& field : fields) text += of ? fmt::format(",{}", (*of).*field.member) : std::string(",");
  return text;
}

constexpr std::string_view kHistoryRow = "{:<16}{:>10}{:>12}{:>12}{:>12}{:>12}{:>12}{:>12}{:>10}\n";

std::string row_of(const HistorySample& sample) {
  const auto bytes = [&](std::uint64_t Counts::*count) {
    return sample.counts ? human_size((*sample.counts).*count) : std::string("-");
  };
  return fmt::format(
      fmt::runtime(kHistoryRow), minute_text(sample.unix_seconds),
      sample.counts ? fmt::format("{}", sample.counts->files) : "-", bytes(&Counts::logical), bytes(&Counts::unique),
      bytes(&Counts::after_delta), bytes(&Counts::stored), bytes(&Counts::garbage), human_size(sample.disk_bytes),
      sample.restore ? fmt::format("{:.1f}", static_cast<double>(sample.restore->hard_disk) / 1e6) : "-");
}

}  // namespace

nlohmann::json history_json(const History& history) {
  nlohmann::json samples = nlohmann::json::array();
  for (const HistorySample& sample : history) {
    nlohmann::json object = {{"disk_bytes", sample.disk_bytes}};
    put_time(object, "taken", sample.unix_seconds);
    object["taken_unix_seconds"] = static_cast<std::uint64_t>(sample.unix_seconds);  // as it is read again
    put_fields(object, kCountFields, sample.counts);
    put_fields(object, kSpeedFields, sample.restore);
    samples.push_back(std::move(object));
  }
  return samples;
}

History history_of(const nlohmann::json& samples) {
  History history;
  for (const nlohmann::json& object : samples) {
    HistorySample sample;
    const std::uint64_t time = count_in(object.at("taken_unix_seconds"));
    if (time > HistorySample::kMaxUnixSeconds) continue;
    sample.unix_seconds = static_cast<std::int64_t>(time);
    sample.disk_bytes = count_in(object.at("disk_bytes"));
    sample.counts = get_fields(object, kCountFields);
    sample.restore = get_fields(object, kSpeedFields);
    history.push_back(sample);
  }
  std::ranges::stable_sort(history, {}, &HistorySample::unix_seconds);
  return history;
}

std::string history_csv(const History& history) {
  std::string csv = "taken_unix_seconds,disk_bytes";
  for (const auto& field : kCountFields) csv += fmt::format(",{}", field.key);
  for (const auto& field : kSpeedFields) csv += fmt::format(",{}", field.key);
  csv += '\n';
  for (const HistorySample& sample : history)
    csv += fmt::format("{},{}{}{}\n", sample.unix_seconds, sample.disk_bytes, csv_fields(kCountFields, sample.counts),
                       csv_fields(kSpeedFields, sample.restore));
  return csv;
}

std::string history_screen(const History& history) {
  if (history.empty()) return "There is no sample yet: a mounted volume takes one each hour in which it changes.\n";
  std::string screen = fmt::format(fmt::runtime(kHistoryRow), "Time", "Files", "Logical", "Unique", "After delta",
                                   "Stored", "Garbage", "On disk", "HDD MB/s");
  for (const HistorySample& sample : history) screen += row_of(sample);
  if (history.size() == 1)
    screen += "\nThis is the first sample. A mounted volume takes one each hour in which it changes.\n";
  if (const auto growth = growth_of(history)) screen += '\n' + growth_text(*growth) + '\n';
  return screen;
}

History thinned(const History& history, std::size_t most) {
  if (history.size() <= most) return history;
  History some;
  for (std::size_t i = 0; i < most; ++i) some.push_back(history[i * (history.size() - 1) / (most - 1)]);
  return some;
}

}  // namespace dedupfs
