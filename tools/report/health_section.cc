#include <fmt/format.h>

#include <cmath>

#include "base/size.h"
#include "fs/format/local_time.h"
#include "report/html.h"
#include "report/sections.h"

namespace dedupfs::tools {
namespace {

constexpr int kDaysBetweenScrubs = 30;  // as the alert rules for Prometheus
constexpr double kMuchGarbage = 0.1;

// A damaged record may name any time.
double days_between(std::int64_t then, std::int64_t now) {
  return (static_cast<double>(now) - static_cast<double>(then)) / kSecondsOfADay;
}

std::string age_text(std::int64_t then, std::int64_t now) {
  const double days = days_between(then, now);
  return fmt::format("{} ({})", minute_text(then),
                     days < 1   ? "today"
                     : days < 2 ? "a day ago"
                                : fmt::format("{:.0f} days ago", std::floor(days)));
}

std::string scrub_line(const ReportFacts& facts) {
  const nlohmann::json& scrub = facts.statistics.at("scrub");
  if (scrub.at("running").get<bool>()) return "a scrub is running";
  const nlohmann::json& last = scrub.at("last");
  if (last.is_null()) return "never: run dedupfs-scrub";
  const std::string when = age_text(last.at("ended_unix_seconds").get<std::int64_t>(), facts.unix_seconds);
  return last.at("complete").get<bool>() ? when : when + ", stopped before its end";
}

std::string garbage_line(const nlohmann::json& statistics) {
  const auto garbage = statistics.at("garbage_bytes").get<std::uint64_t>();
  const auto disk = statistics.at("disk_bytes").get<double>();
  const bool is_much = static_cast<double>(garbage) > kMuchGarbage * disk;
  return fmt::format("{}, {} of the disk space{}", human_size(garbage),
                     percent_text(static_cast<double>(garbage), disk), is_much ? ": dedupfs-gc frees it" : "");
}

std::string row(const char* name, const std::string& value) {
  return fmt::format("<dt>{}</dt><dd>{}</dd>\n", name, html(value));
}

}  // namespace

Health health_of(const ReportFacts& facts) {
  const nlohmann::json& statistics = facts.statistics;
  const nlohmann::json& last = statistics.at("scrub").at("last");
  if (const auto damaged = statistics.at("damaged_chunks").get<std::uint64_t>(); damaged != 0)
    return {"bad", fmt::format("Damaged: {} chunk{} cannot be read. fsck.dedupfs names the files.", damaged,
                               damaged == 1 ? "" : "s")};
  if (!last.is_null() && last.at("other_damage").get<std::uint64_t>() != 0)
    return {"bad", "Damaged: the last scrub found errors. Look into the log, and run fsck.dedupfs."};
  if (last.is_null()) return {"warn", "No damage is known, but nobody has looked: run dedupfs-scrub."};
  if (!last.at("complete").get<bool>()) return {"warn", "No damage is known, but the last scrub was stopped."};
  if (days_between(last.at("ended_unix_seconds").get<std::int64_t>(), facts.unix_seconds) > kDaysBetweenScrubs)
    return {"warn",
            fmt::format("No damage is known, but the last scrub was more than {} days ago.", kDaysBetweenScrubs)};
  return {"good", "No damage is known."};
}

std::string health_section(const ReportFacts& facts) {
  const nlohmann::json& statistics = facts.statistics;
  const Health health = health_of(facts);
  const nlohmann::json& snapshot = statistics.at("last_snapshot_unix_seconds");
  std::string rows = row("Last checked", scrub_line(facts));
  rows +=
      row("Last snapshot", snapshot.is_null() ? "none" : age_text(snapshot.get<std::int64_t>(), facts.unix_seconds));
  rows += row("Garbage", garbage_line(statistics));
  if (const auto landed = statistics.at("landed_bytes").get<std::uint64_t>(); landed != 0)
    rows += row("Not settled yet", human_size(landed) + ": it gets smaller while the volume is idle");
  if (facts.available_bytes) rows += row("Free on the disk", human_size(*facts.available_bytes));
  rows += row("Mounted", statistics.at("mounted").get<bool>() ? "yes" : "no");
  rows += row("Settings",
              fmt::format("chunker {}, delta {}, compression {}", statistics.at("chunker").get<std::string>(),
                          statistics.at("delta").get<std::string>(), statistics.at("compression").get<std::string>()));
  return fmt::format("<section>\n<h2>Health</h2>\n<p class=\"state {}\">{}</p>\n<dl>\n{}</dl>\n</section>\n",
                     health.css_class, html(health.text), rows);
}

}  // namespace dedupfs::tools
