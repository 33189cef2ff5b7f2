#include "dedupfs_top.h"

#include <fmt/format.h>

#include <chrono>
#include <cstdint>
#include <ctime>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <utility>

#include "command/command.h"
#include "command/common_options.h"
#include "exit_codes.h"
#include "json/document.h"
#include "mount/clients/ask_publicly.h"
#include "mount/control/control_socket.h"
#include "mount/reports/live_report.h"
#include "mount/reports/live_screen.h"
#include "mount/system/mount_table.h"

namespace dedupfs::tools {
namespace {

struct TopArguments {
  std::string path;
  double interval_seconds = 1;
  bool once = false;
};

// Asks the daemon of one mount.
class Watched {
 public:
  explicit Watched(std::string path) : path_(std::move(path)) {}

  // By the control socket; for who may not use that, and where there is none, through the mount.
  Result<nlohmann::json> ask() {
    auto answer = ask_privately();
    if (answer) return answer;
    DEDUPFS_ASSIGN(PublicAnswer shown, ask_publicly_instead(answer.error(), path_, "dedupfs.live"));
    if (const auto doubt = doubt_about(shown.mount)) title_ = fmt::format("{} ({})", path_, *doubt);
    return std::move(shown.json);
  }
  const std::string& title() const { return title_; }

 private:
  Result<nlohmann::json> ask_privately() const {
    DEDUPFS_ASSIGN(const Path volume, find_volume(path_));
    return control_request(volume, {{"command", "live"}});
  }

  const std::string path_;
  std::string title_ = path_;
};

class Top {
 public:
  Top(TopArguments asked, const Console& console, const Process& process, const Terminal& terminal)
      : asked_(std::move(asked)), console_(console), process_(process), terminal_(terminal), watched_(asked_.path) {}

  int run() {
    auto before = watched_.ask();
    if (!before) return console_.fail(before.error());
    process_.catch_stop_signals();
    const auto keys = asked_.once ? nullptr : terminal_.read_keys();
    if (draws()) console_.out() << "\x1b[2J";
    while (!is_ended()) {
      auto after = watched_.ask();
      if (!after) return console_.fail(after.error().with(asked_.path + ": its mount is gone, or does not answer"));
      const auto text = text_between(*before, *after);
      if (!text) return console_.fail(text.error());
      if (text->empty()) continue;  // the same answer again: through the mount, each serves for a second
      console_.out() << *text << std::flush;
      if (asked_.once || !console_.out()) break;
      before = std::move(after);
    }
    return console_.end(kDone);
  }

 private:
  bool draws() const { return terminal_.is_terminal && !asked_.once && !console_.as_json(); }

  bool is_ended() const {
    const auto interval = std::chrono::milliseconds(static_cast<std::int64_t>(asked_.interval_seconds * 1000));
    return terminal_.wait_for_quit(interval) || process_.stop_was_asked_for();
  }

  Result<std::string> text_between(const nlohmann::json& before, const nlohmann::json& after) const {
    return read_answer([&]() -> std::string {
      if (seconds_between(before, after) <= 0) return {};
      const nlohmann::json rates = live_rates(before, after, std::thread::hardware_concurrency());
      // On one line each, for who reads them one by one.
      if (console_.as_json())
        return document_text("dedupfs-top", with_time(rates, "time", std::time(nullptr)),
                             asked_.once ? JsonLayout::kIndented : JsonLayout::kLine);
      if (!draws()) return live_screen(rates, watched_.title(), {}) + (asked_.once ? "" : "\n");
      return drawn(rates);
    });
  }

  // In place of the view before: each line clears the rest of its row, and the end clears all below.
  std::string drawn(const nlohmann::json& rates) const {
    const TerminalSize size = terminal_.size();
    const std::size_t lines = size.lines == 0 ? 0 : size.lines - 1;
    std::string text = "\x1b[H";
    for (const char c : live_screen(rates, watched_.title(),
                                    {.columns = size.columns, .lines = lines, .has_color = terminal_.has_color})) {
      if (c == '\n') text += "\x1b[K";
      text += c;
    }
    return text + "\x1b[J";
  }

  const TopArguments asked_;
  const Console& console_;
  const Process& process_;
  const Terminal& terminal_;
  Watched watched_;
};

void define_options(Command& app, TopArguments& asked) {
  app.add_option("MOUNTPOINT", asked.path, "the mount point of the volume, or a folder in it").required();
  app.add_option("--interval", asked.interval_seconds, "the time between two views, in seconds")
      .type_name("SECONDS")
      .in_range(0.1, 3600.0)
      .capture_default_str();
  app.add_flag("--once", asked.once, "show one view, of one interval, and end");
  add_json_flag(app, "print a JSON object for each view");
  define_common_options(app);
}

}  // namespace

int run_top(Arguments arguments, std::ostream& out, std::ostream& err, const Process& process,
            const Terminal& terminal) {
  Console console({.name = "dedupfs-top", .usage_error = kUsageError, .failed = kFailed}, out, err);
  TopArguments asked;
  Command app("Shows what goes on in a mounted dedupfs volume, and what holds it up. The key q ends it.",
              "dedupfs-top");
  app.example("dedupfs-top /backup");
  define_options(app, asked);
  if (const auto exit_code = console.parse(app, arguments)) return *exit_code;
  return Top(std::move(asked), console, process, terminal).run();
}

}  // namespace dedupfs::tools
