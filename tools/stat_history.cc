#include "stat_history.h"

#include <ctime>
#include <nlohmann/json.hpp>

#include "exit_codes.h"
#include "mount/clients/ask_publicly.h"
#include "mount/control/control_socket.h"
#include "mount/reports/growth.h"
#include "mount/reports/history_plot.h"
#include "mount/reports/history_report.h"
#include "mount/system/mount_table.h"
#include "point_in_time.h"
#include "volume_source.h"

namespace dedupfs::tools {
namespace {

Result<nlohmann::json> private_samples_of(const HistoryQuestion& question) {
  DEDUPFS_ASSIGN(const Path volume_path, find_volume(question.path));
  return VolumeSource(volume_path, question.access).history();
}

// All of them for root and the owner; for everybody else who can see the mount, what the daemon tells everybody.
Result<nlohmann::json> samples_of(const HistoryQuestion& question, const Console& console) {
  auto samples = private_samples_of(question);
  if (samples || samples.error().code() != ErrorCode::kAccessDenied) return samples;
  const auto shown = ask_publicly(question.path, "dedupfs.history");
  if (!shown) return samples;
  if (const auto doubt = doubt_about(shown->mount)) console.say(*doubt);
  return read_answer([&] { return shown->json.at("samples"); });
}

nlohmann::json growth_json(const History& history) {
  const auto growth = growth_of(history);
  if (!growth) return nullptr;
  return {{"bytes_per_day", growth->bytes_per_day}, {"days", growth->days}};
}

std::string text_of(const History& history, HistoryQuestion::Form form, const Terminal& terminal) {
  switch (form) {
    case HistoryQuestion::Form::kCsv: return history_csv(history);
    case HistoryQuestion::Form::kPlot:
      return history_plot(history, {.columns = terminal.size().columns, .has_blocks = terminal.has_utf8});
    case HistoryQuestion::Form::kTable: break;
  }
  return history_screen(history);
}

}  // namespace

int show_history(const HistoryQuestion& question, const Console& console, const Terminal& terminal) {
  Result<std::int64_t> since = 0;
  if (!question.since.empty()) since = parse_past_time(question.since, std::time(nullptr));
  if (!since) return console.fail(since.error());
  const auto samples = samples_of(question, console);
  if (!samples) return console.fail(samples.error());
  auto history = read_answer([&] { return history_of(*samples); });
  if (!history) return console.fail(history.error());
  std::erase_if(*history, [&](const HistorySample& sample) { return sample.unix_seconds < *since; });
  if (console.as_json())
    console.print("dedupfs-stat-history", {{"samples", history_json(*history)}, {"growth", growth_json(*history)}});
  else
    console.out() << text_of(*history, question.form, terminal);
  return console.end(kDone);
}

}  // namespace dedupfs::tools
