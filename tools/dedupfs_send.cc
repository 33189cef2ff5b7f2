#include "dedupfs_send.h"

#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <thread>

#include "command/command.h"
#include "command/common_options.h"
#include "exit_codes.h"
#include "fs/extract/readable_volume.h"
#include "fs/transfer/sender.h"
#include "job_progress.h"
#include "log_to.h"
#include "mount/control/closing_daemon.h"
#include "mount/control/control_socket.h"
#include "mount/control/daemon_streams.h"
#include "mount/options/memory_limits.h"
#include "mount/reports/transfer_report.h"
#include "mount/system/mount_table.h"
#include "show.h"
#include "stream_ends.h"
#include "transfer_progress.h"
#include "volume_key.h"

namespace dedupfs::tools {
namespace {

struct SendArguments {
  std::string path;
  std::string snapshot;
  std::string since;
  std::string resume;
  std::string file;
  std::optional<std::uint64_t> level;
  bool is_dry_run = false;
  bool foreign = false;
  KeyArguments key;
};

Result<transfer::SendRequest> request_of(const SendArguments& asked) {
  transfer::SendRequest request{.snapshot = asked.snapshot};
  if (!asked.since.empty()) request.since = asked.since;
  if (!asked.resume.empty()) {
    DEDUPFS_ASSIGN(request.resume, transfer::ResumeToken::parse(asked.resume));
  }
  if (asked.level) request.level = static_cast<int>(*asked.level);
  return request;
}

nlohmann::json json_of(const transfer::SendRequest& request) {
  nlohmann::json json{{"command", "send"},
                      {"snapshot", request.snapshot},
                      {"since", nullptr},
                      {"resume", nullptr},
                      {"level", request.level}};
  if (request.since) json["since"] = *request.since;
  if (request.resume) json["resume"] = request.resume->text();
  return json;
}

Result<nlohmann::json> send_of(const SendArguments& asked, const StreamSink& sink, const Console& console,
                               const Process& process) {
  DEDUPFS_ASSIGN(const Path path, find_whole_volume(asked.path));
  DEDUPFS_ASSIGN(const transfer::SendRequest request, request_of(asked));
  DEDUPFS_ASSIGN(const bool is_mounted, has_daemon(path));
  TransferProgress progress(console, process, "send", "sent");
  if (is_mounted) {
    nlohmann::json asked_daemon = json_of(request);
    asked_daemon["transfer"] = progress.name();
    return stream_from_daemon(path, asked_daemon, [&](ByteSpan bytes) -> Result<void> {
      DEDUPFS_TRY(progress.watch_daemon(path));
      return sink(bytes);
    });
  }

  const MemoryLimits limits = memory_limits_for(memory_of_machine(), std::thread::hardware_concurrency());
  ReadableVolumeOptions options;
  options.volume.foreign = asked.foreign;
  options.volume.index_memory_bytes = limits.index;
  options.volume.cache_bytes = limits.cache;
  options.say = [&](const std::string& line) { console.say(line); };
  const auto backing = reading_backing(asked.key, asked.foreign, console);
  DEDUPFS_ASSIGN(const auto volume, when_closed(path, [&] { return ReadableVolume::open(path, options, backing); }));
  const auto totals = transfer::send(volume->filesystem(), request, sink, [&](const transfer::SendTotals& so_far) {
    return progress.watch(so_far.stream_bytes, so_far.done_bytes, so_far.content_bytes);
  });
  if (!totals) return totals.error();
  return sent_json(*totals);
}

Result<nlohmann::json> run(const SendArguments& asked, const Console& console, const Process& process, int stream) {
  if (asked.is_dry_run)
    return send_of(
        asked, [](ByteSpan) { return Result<void>(); }, console, process);
  if (asked.file.empty()) return send_of(asked, stream_to(stream, "standard output", process), console, process);
  DEDUPFS_ASSIGN(NewStreamFile file, NewStreamFile::create(asked.file));
  DEDUPFS_ASSIGN(nlohmann::json sent,
                 send_of(asked, stream_to(file.descriptor(), asked.file, process), console, process));
  DEDUPFS_TRY(file.keep());
  return sent;
}

void define_options(Command& app, SendArguments& asked) {
  define_common_options(app);
  app.add_option("MOUNTPOINT|VOLUME", asked.path, "the mount point of the volume, or its folder").required();
  app.add_option("--snapshot", asked.snapshot, "the snapshot to send").type_name("NAME");
  const Option since =
      app.add_option("--since", asked.since, "send only what changed since this snapshot, which the receiver has")
          .type_name("NAME");
  app.add_option("--resume", asked.resume, "go on where a receiver stopped: it prints the token")
      .type_name("TOKEN")
      .excludes(since);
  const Option file = app.add_option("--to-file", asked.file, "write the stream to a new file").type_name("FILE");
  app.add_flag("--dry-run", asked.is_dry_run, "write nothing; say how long the stream would be").excludes(file);
  app.add_option("--level", asked.level, "how hard zstd compresses the stream, from 1 to 19")
      .type_name("N")
      .default_str(std::to_string(transfer::kDefaultLevel))
      .in_range(1U, 19U);
  add_json_flag(app, "with --to-file or --dry-run, print what was sent as one JSON object");
  define_progress_flag(app);
  app.add_flag("--foreign", asked.foreign, std::string(kForeignHelp));
  define_key_options(app, asked.key);
}

}  // namespace

int run_send(Arguments arguments, std::ostream& out, std::ostream& err, const Process& process, int stream) {
  Console console({.name = "dedupfs-send", .usage_error = kUsageError, .failed = kFailed}, out, err);
  SendArguments asked;
  Command app("Writes a snapshot of a dedupfs volume as a stream, all of it or what changed since an older one.",
              "dedupfs-send");
  app.example("dedupfs-send /backup --snapshot tuesday --since monday | ssh host dedupfs-receive /srv/copy");
  define_options(app, asked);
  if (const auto exit_code = console.parse(app, arguments)) return *exit_code;
  const bool writes_stream = asked.file.empty() && !asked.is_dry_run;
  if (asked.snapshot.empty() && asked.resume.empty())
    return console.fail(invalid_argument("--snapshot says which snapshot to send"), kUsageError);
  if (writes_stream && console.as_json())
    return console.fail(invalid_argument("--json needs --to-file or --dry-run: the stream goes to standard output"),
                        kUsageError);
  if (writes_stream && process.out_is_terminal)
    return console.fail(invalid_argument("a stream on a terminal is of no use: send it to dedupfs-receive, or to a "
                                         "file with --to-file"),
                        kUsageError);

  const LogTo log(console.err(), "dedupfs-send", spdlog::level::warn);
  process.catch_stop_signals();
  const auto sent = run(asked, console, process, stream);
  if (!sent) return console.fail(sent.error(), sent.error().code() == ErrorCode::kInterrupted ? kUnfinished : kFailed);
  if (!writes_stream) return show(console, "dedupfs-send", *sent, kDone, sent_screen);
  return kDone;
}

}  // namespace dedupfs::tools
