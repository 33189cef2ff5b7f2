#include "mount/reports/live_screen.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "base/size.h"
#include "fs/format/local_time.h"
#include "mount/reports/jobs_report.h"
#include "mount/reports/reclaim_report.h"
#include "mount/reports/scrub_report.h"

namespace dedupfs {
namespace {

using Json = nlohmann::json;

constexpr std::size_t kMostOperations = 8;
constexpr std::size_t kBarColumns = 30;

// Three digits: "85.1 us", "1.20 ms".
std::string latency_text(double seconds) {
  const auto [value, unit] = seconds < 1e-3  ? std::pair(seconds * 1e6, "us")
                             : seconds < 1.0 ? std::pair(seconds * 1e3, "ms")
                                             : std::pair(seconds, "s");
  return fmt::format("{:.{}f} {}", value, value < 10 ? 2 : value < 100 ? 1 : 0, unit);
}

// The first so many columns. Bytes that go on a UTF-8 character take none.
std::string cut_to(std::string line, std::size_t columns) {
  std::size_t used = 0;
  for (std::size_t i = 0; i < line.size(); ++i) {
    if ((static_cast<unsigned char>(line[i]) & 0xc0) == 0x80) continue;
    if (++used > columns) {
      line.resize(i);
      break;
    }
  }
  return line;
}

class LiveScreen {
 public:
  LiveScreen(const Json& rates, const LiveScreenStyle& style) : rates_(rates), style_(style) {}

  std::string shown(std::string_view mountpoint) {
    totals(mountpoint);
    jobs();
    operations();
    stages();
    caches_and_queues();
    return joined();
  }

 private:
  struct Line {
    std::string text;
    const char* color = "";  // the code that begins it
  };
  static constexpr const char* kBold = "\x1b[1m";
  static constexpr const char* kYellow = "\x1b[33m";

  void add(std::string text, const char* color = "") { lines_.push_back({std::move(text), color}); }

  void totals(std::string_view mountpoint) {
    const auto megabytes = [&](const char* key) { return rates_.at(key).get<double>() / 1e6; };
    add(fmt::format("dedupfs-top {}, mounted for {}", mountpoint, mounted_text()), kBold);
    add(fmt::format("In {:.1f} MB/s   Out {:.1f} MB/s", megabytes("written_bytes_per_second"),
                    megabytes("read_bytes_per_second")));
    add_wrapped(rates_.at("bottleneck").get<std::string>(), kYellow);
  }

  std::string mounted_text() const {
    const double seconds = std::clamp(rates_.at("mounted_seconds").get<double>(), 0.0, 1e12);
    return duration_text(static_cast<std::uint64_t>(seconds));
  }

  void add_wrapped(std::string text, const char* color) {
    while (text.size() > style_.columns) {
      std::size_t end = text.rfind(' ', style_.columns);
      if (end == std::string::npos || end == 0) break;
      add(text.substr(0, end), color);
      text.erase(0, end + 1);
    }
    add(std::move(text), color);
  }

  void jobs() {
    const auto first_line = [](const std::string& screen) { return screen.substr(0, screen.find('\n')); };
    if (!rates_.at("reclaim").is_null()) add(first_line(reclaim_screen(rates_.at("reclaim"))));
    add(first_line(scrub_screen(rates_.at("scrub"))));
    for (const Json& job : rates_.at("jobs")) add("Running: " + job_text(job));
  }

  void operations() {
    add("");
    add(fmt::format("{:<16}{:>10}{:>11}{:>11}{:>10}{:>15}", "Operation", "each s", "mean", "99 of 100", "MB/s",
                    "errors each s"),
        kBold);
    const Json& operations = rates_.at("operations");
    for (std::size_t i = 0; i < std::min(operations.size(), kMostOperations); ++i) {
      const Json& one = operations.at(i);
      const auto number = [&](const char* key) { return one.at(key).get<double>(); };
      add(fmt::format("{:<16}{:>10.1f}{:>11}{:>11}{:>10.1f}{:>15.1f}", one.at("name").get<std::string>(),
                      number("per_second"), latency_text(number("mean_seconds")), latency_text(number("p99_seconds")),
                      number("bytes_per_second") / 1e6, number("errors_per_second")));
    }
    if (operations.empty()) add("none");
  }

  void stages() {
    add("");
    add(fmt::format("{:<16}{:>10}{:>8}{:>10}", "Stage of ingest", "threads", "share", "MB/s"), kBold);
    for (const Json& stage : rates_.at("stages")) {
      const double share = std::clamp(stage.at("share").get<double>(), 0.0, 1.0);
      add(fmt::format("{:<16}{:>10.2f}{:>6.0f} %{:>10.1f}  {}", stage.at("name").get<std::string>(),
                      stage.at("busy_threads").get<double>(), 100 * share,
                      stage.at("bytes_per_second").get<double>() / 1e6,
                      std::string(static_cast<std::size_t>(std::lround(share * kBarColumns)), '#')));
    }
    for (const Json& wait : rates_.at("waits"))
      add(fmt::format("{:<16}{:>10.2f}  writers wait", wait.at("name").get<std::string>(),
                      wait.at("waiting_threads").get<double>()));
  }

  // Side by side.
  void caches_and_queues() {
    add("");
    add(fmt::format("{:<16}{:>10}{:>8}    {:<16}{:>12}", "Cache", "each s", "hits", "Queue", "waiting"), kBold);
    const Json& caches = rates_.at("caches");
    const Json& queues = rates_.at("queues");
    for (std::size_t i = 0; i < std::max(caches.size(), queues.size()); ++i)
      add(fmt::format("{:<34}    {}", i < caches.size() ? cache_text(caches.at(i)) : "",
                      i < queues.size() ? queue_text(queues.at(i)) : ""));
  }
  static std::string cache_text(const Json& cache) {
    const Json& hits = cache.at("hit_ratio");
    return fmt::format("{:<16}{:>10.1f}{:>8}", cache.at("name").get<std::string>(),
                       cache.at("look_ups_per_second").get<double>(),
                       hits.is_null() ? "-" : fmt::format("{:.0f} %", 100 * hits.get<double>()));
  }
  static std::string queue_text(const Json& queue) {
    const auto name = queue.at("name").get<std::string>();
    const auto waiting = queue.at("waiting").get<std::uint64_t>();
    return fmt::format("{:<16}{:>12}", name,
                       name.ends_with("_bytes") ? human_size(waiting) : fmt::format("{}", waiting));
  }

  std::string joined() const {
    const std::size_t count = style_.lines == 0 ? lines_.size() : std::min(style_.lines, lines_.size());
    std::string out;
    for (std::size_t i = 0; i < count; ++i) {
      const bool has_color = style_.has_color && *lines_[i].color != '\0';
      out += fmt::format("{}{}{}\n", has_color ? lines_[i].color : "", cut_to(lines_[i].text, style_.columns),
                         has_color ? "\x1b[0m" : "");
    }
    return out;
  }

  const Json& rates_;
  const LiveScreenStyle style_;
  std::vector<Line> lines_;
};

}  // namespace

std::string live_screen(const Json& rates, std::string_view mountpoint, const LiveScreenStyle& style) {
  return LiveScreen(rates, style).shown(mountpoint);
}

}  // namespace dedupfs
