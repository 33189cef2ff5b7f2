#include "dedupfs_receive.h"

#include <fcntl.h>
#include <fmt/format.h>

#include <cerrno>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "base/unique_fd.h"
#include "command/command.h"
#include "command/common_options.h"
#include "exit_codes.h"
#include "fs/transfer/receiver.h"
#include "job_progress.h"
#include "log_to.h"
#include "mount/control/control_socket.h"
#include "mount/control/daemon_streams.h"
#include "mount/reports/transfer_report.h"
#include "mount/system/mount_table.h"
#include "show.h"
#include "stream_ends.h"
#include "transfer_progress.h"
#include "volume_key.h"

namespace dedupfs::tools {
namespace {

struct ReceiveArguments {
  std::string path;
  transfer::ReceiveRequest request;
  std::string file;
  bool wants_token = false;
  bool foreign = false;
  KeyArguments key;
};

Result<std::unique_ptr<Filesystem>> open_filesystem(const ReceiveArguments& asked, const Path& path) {
  DEDUPFS_ASSIGN(auto volume, Volume::open(path, {.foreign = asked.foreign}, keyed_backing(asked.key, asked.foreign)));
  return Filesystem::open(std::move(volume), {});
}

// The document of the tool.
Result<nlohmann::json> receive_in(const ReceiveArguments& asked, const WaitingSource& source, const Console& console,
                                  const Process& process) {
  DEDUPFS_ASSIGN(const Path path, find_whole_volume(asked.path));
  DEDUPFS_ASSIGN(const bool is_mounted, has_daemon(path));
  TransferProgress progress(console, process, "receive", "received");
  if (is_mounted)
    return stream_to_daemon(path,
                            {{"command", "receive"},
                             {"folder", asked.request.folder},
                             {"snapshot_name", asked.request.snapshot_name},
                             {"transfer", progress.name()}},
                            [&](MutableByteSpan room, const GoOn& still_wanted) -> Result<std::size_t> {
                              DEDUPFS_TRY(progress.watch_daemon(path));
                              return source(room, still_wanted);
                            });
  DEDUPFS_ASSIGN(const auto filesystem, open_filesystem(asked, path));
  const auto totals = transfer::receive(
      *filesystem, asked.request, [&](MutableByteSpan room) { return source(room, nullptr); },
      [&](const transfer::ReceiveTotals& so_far) {
        return progress.watch(so_far.stream_bytes, so_far.done_bytes, so_far.content_bytes);
      });
  const auto closed = filesystem->close();
  if (!totals) return totals.error();
  if (!closed) return closed.error();
  return received_json(*totals);
}

Result<nlohmann::json> run(const ReceiveArguments& asked, const Console& console, const Process& process, int stream) {
  if (asked.file.empty()) return receive_in(asked, stream_from(stream, "standard input", process), console, process);
  const UniqueFd file(::open(asked.file.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file) return Error::from_errno(errno, asked.file);
  return receive_in(asked, stream_from(file.get(), asked.file, process), console, process);
}

// The token, or nothing if the folder waits for no stream.
Result<nlohmann::json> find_token(const ReceiveArguments& asked) {
  DEDUPFS_ASSIGN(const Path path, find_whole_volume(asked.path));
  DEDUPFS_ASSIGN(const bool is_mounted, has_daemon(path));
  if (is_mounted) return control_request(path, {{"command", "received"}, {"folder", asked.request.folder}});
  DEDUPFS_ASSIGN(const auto filesystem, open_filesystem(asked, path));
  const auto state = transfer::find_received(*filesystem, asked.request.folder);
  DEDUPFS_TRY(filesystem->close());
  if (!state) return state.error();
  return token_json(*state);
}

int show_token(const ReceiveArguments& asked, const Console& console) {
  const auto found = find_token(asked);
  if (!found) return console.fail(found.error());
  return show(console, "dedupfs-receive-token", *found, kDone, [](const nlohmann::json& json) {
    const nlohmann::json& token = json.at("token");
    return token.is_null() ? std::string() : token.get<std::string>() + '\n';
  });
}

void define_options(Command& app, ReceiveArguments& asked) {
  define_common_options(app);
  app.add_option("MOUNTPOINT|VOLUME", asked.path, "the mount point of the volume, or its folder").required();
  app.add_option("--into", asked.request.folder, "the folder in the volume to receive into (default: its root)")
      .type_name("FOLDER");
  const Option name =
      app.add_option("--as", asked.request.snapshot_name, "the name of the snapshot (default: as it was sent)")
          .type_name("NAME");
  const Option file =
      app.add_option("--from-file", asked.file, "read the stream from a file that dedupfs-send has made")
          .type_name("FILE");
  app.add_flag("--token", asked.wants_token,
               "receive nothing; print the token of a stream that was interrupted, for dedupfs-send --resume")
      .excludes(name)
      .excludes(file);
  add_json_flag(app, "print one JSON object");
  define_progress_flag(app);
  app.add_flag("--foreign", asked.foreign, std::string(kForeignHelp));
  define_key_options(app, asked.key);
}

}  // namespace

int run_receive(Arguments arguments, std::ostream& out, std::ostream& err, const Process& process, int stream) {
  Console console({.name = "dedupfs-receive", .usage_error = kUsageError, .failed = kFailed}, out, err);
  ReceiveArguments asked;
  Command app("Makes a snapshot in a dedupfs volume of a stream of dedupfs-send.", "dedupfs-receive");
  app.example("dedupfs-receive --from-file /mnt/usb/monday.dedupfs /srv/copy");
  define_options(app, asked);
  if (const auto exit_code = console.parse(app, arguments)) return *exit_code;

  const LogTo log(console.err(), "dedupfs-receive", spdlog::level::warn);
  process.catch_stop_signals();
  if (asked.wants_token) return show_token(asked, console);
  const auto received = run(asked, console, process, stream);
  if (!received)
    return console.fail(received.error(), received.error().code() == ErrorCode::kInterrupted ? kUnfinished : kFailed);
  return show(console, "dedupfs-receive", *received, kDone, received_screen);
}

}  // namespace dedupfs::tools
