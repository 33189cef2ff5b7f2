#include "dedupfs_extract.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "base/many_files.h"
#include "base/printable.h"
#include "base/size.h"
#include "bucket_options.h"
#include "command/command.h"
#include "command/common_options.h"
#include "exit_codes.h"
#include "fs/extract/extract.h"
#include "fs/extract/folder_sink.h"
#include "fs/extract/readable_volume.h"
#include "fs/extract/tar_sink.h"
#include "fs/format/local_time.h"
#include "fs/format/mode.h"
#include "job_progress.h"
#include "json/document.h"
#include "log_to.h"
#include "mount/control/closing_daemon.h"
#include "mount/options/memory_limits.h"
#include "mount/system/mount_table.h"
#include "replica/remote_backing.h"
#include "stream_archive.h"
#include "volume_disk.h"
#include "volume_key.h"

namespace dedupfs::tools {
namespace {

constexpr std::uint64_t kMostNamed = 1000;  // failures; a hostile volume could cause any number

struct ExtractArguments {
  std::string volume;
  ExtractRequest request;
  std::string folder = ".";
  bool as_tar = false;
  bool as_list = false;
  bool overwrites = false;
  bool keeps_damaged = false;
  bool foreign = false;
  KeyArguments key;
  bool rebuild_index = false;
  std::string scratch;
  RemoteAddress where;  // if the volume lies in a bucket

  bool names_bucket() const { return is_bucket_address(volume); }
};

// ---------------------------------------------------------------- lists

char type_letter(std::uint32_t mode) {
  switch (type_bits(mode)) {
    case S_IFDIR: return 'd';
    case S_IFLNK: return 'l';
    case S_IFCHR: return 'c';
    case S_IFBLK: return 'b';
    case S_IFIFO: return 'p';
    case S_IFSOCK: return 's';
    default: return '-';
  }
}

std::string mode_text(std::uint32_t mode) {
  std::string text(1, type_letter(mode));
  for (int shift = 6; shift >= 0; shift -= 3)
    for (int bit = 2; bit >= 0; --bit) text += (mode >> (shift + bit) & 1) != 0 ? "xwr"[bit] : '-';
  const auto mark = [&](std::uint32_t bit, std::size_t at, char with, char without) {
    if ((mode & bit) != 0) text[at] = text[at] == '-' ? without : with;
  };
  mark(S_ISUID, 3, 's', 'S');
  mark(S_ISGID, 6, 's', 'S');
  mark(S_ISVTX, 9, 't', 'T');
  return text;
}

class ListSink final : public ExtractSink {
 public:
  explicit ListSink(const Console& console) : console_(console), out_(console.out()) {}

  Result<void> begin_folder(const ExtractEntry& folder, EntrySource& /*source*/) override {
    return print(folder, "target", "");
  }
  Result<Taken> end_folder(const ExtractEntry& /*folder*/, EntrySource& /*source*/) override { return Taken(); }
  Result<Taken> put(const ExtractEntry& entry, EntrySource& source) override {
    std::string target;
    if (is_symlink(entry.attributes.mode)) {
      DEDUPFS_ASSIGN(target, source.symlink_target());
    }
    DEDUPFS_TRY(print(entry, "target", target));
    return Taken();
  }
  Result<void> put_link(const ExtractEntry& entry, const std::string& first) override {
    return print(entry, "link_to", first);
  }
  bool is_broken() const override { return !out_; }

 private:
  Result<void> print(const ExtractEntry& entry, const char* key, const std::string& target) {
    const Attributes& attributes = entry.attributes;
    if (console_.as_json()) {
      nlohmann::json line{{"path", entry.path},
                          {"mode", fmt::format("{:06o}", attributes.mode)},
                          {"uid", attributes.uid},
                          {"gid", attributes.gid},
                          {"size", attributes.size}};
      put_time(line, "mtime", attributes.mtime.seconds);
      if (!target.empty()) line[key] = target;
      console_.print_line("dedupfs-extract-list", std::move(line));
    } else {
      out_ << fmt::format("{} {}/{} {:>12} {} {}", mode_text(attributes.mode), attributes.uid, attributes.gid,
                          attributes.size, second_text(attributes.mtime.seconds), printable(entry.path));
      if (!target.empty()) out_ << (key == std::string_view("target") ? " -> " : " link to ") << printable(target);
      out_ << '\n';
    }
    if (!out_) return Error{ErrorCode::kIo, "cannot write the output"};
    return {};
  }

  const Console& console_;
  std::ostream& out_;
};

// ---------------------------------------------------------------- progress

// Counts what is to be read, for the time that is left.
class CountingSink final : public ExtractSink {
 public:
  Result<void> begin_folder(const ExtractEntry& /*folder*/, EntrySource& /*source*/) override { return {}; }
  Result<Taken> end_folder(const ExtractEntry& /*folder*/, EntrySource& /*source*/) override { return Taken(); }
  Result<Taken> put(const ExtractEntry& entry, EntrySource& /*source*/) override {
    bytes_ += entry.attributes.data_bytes;
    return Taken();
  }
  Result<void> put_link(const ExtractEntry& /*entry*/, const std::string& /*first*/) override { return {}; }

  std::uint64_t bytes() const { return bytes_; }

 private:
  std::uint64_t bytes_ = 0;
};

class CountingObserver final : public ExtractObserver {
 public:
  explicit CountingObserver(const Process& process) : process_(process) {}
  void note_failure(const std::string& /*path*/, const Error& /*error*/) override {}  // the extraction says it
  bool goes_on(const ExtractTotals& /*so_far*/) override { return !process_.stop_was_asked_for(); }

 private:
  const Process& process_;
};

class ExtractReport final : public ExtractObserver {
 public:
  ExtractReport(const Console& console, const Process& process)
      : console_(console), process_(process), progress_(console, process) {}

  void begin(std::uint64_t expected_bytes) {
    expected_ = expected_bytes;
    begun_ = Clock::now();
  }

  void note_failure(const std::string& path, const Error& error) override {
    if (++failures_ > kMostNamed) return;
    say(printable(path) + ": " + printable(error.message()));
    if (console_.as_json()) named_.push_back({{"path", path}, {"message", error.message()}});
  }

  // A file of an encrypted volume that is not as its last unmount left it. What needs it cannot be read.
  void note_difference(const Error& difference) {
    if (differences_.insert(difference.message()).second) say(printable(difference.message()));
  }
  std::uint64_t differences() const { return differences_.size(); }

  bool goes_on(const ExtractTotals& so_far) override {
    if (progress_.is_due()) {
      const double seconds = std::chrono::duration<double>(Clock::now() - begun_).count();
      JobState state = state_of_copy("extract", so_far.bytes, expected_, seconds);
      state.items_done = so_far.entries;
      progress_.show(
          fmt::format("{} entries, {}{}", so_far.entries, human_size(so_far.bytes), rate_and_time_left(state)), state);
    }
    return !process_.stop_was_asked_for();
  }

  Result<void> note_archive(const transfer::ReceiveTotals& so_far) {
    if (progress_.is_due())
      progress_.show(fmt::format("reading the archive: {}", human_size(so_far.stream_bytes)),
                     {.stage = "read_archive"});
    if (process_.stop_was_asked_for()) return Error{ErrorCode::kInterrupted, "stopped"};
    return {};
  }

  Result<void> note_rebuild(std::uint64_t current, std::uint64_t max) {
    if (progress_.is_due()) {
      const double percent = percent_of(current, max);
      progress_.show(fmt::format("making an index: {:.0f} %", percent), {.stage = "rebuild_index", .percent = percent});
    }
    if (process_.stop_was_asked_for()) return Error{ErrorCode::kInterrupted, "stopped"};
    return {};
  }

  void say(const std::string& text) {
    progress_.clear();
    console_.say(text);
  }

  void end() {
    progress_.clear();
    if (failures_ > kMostNamed) console_.say(fmt::format("{} more failures", failures_ - kMostNamed));
  }

  bool is_seen() const { return progress_.is_seen(); }

  nlohmann::json json_of(const ExtractTotals& totals, std::uint64_t losses) const {
    return {{"entries", totals.entries}, {"already_there", totals.already_there},
            {"bytes", totals.bytes},     {"damaged", totals.damaged},
            {"refused", totals.refused}, {"losses", losses},
            {"failures", named_}};
  }

 private:
  using Clock = std::chrono::steady_clock;

  const Console& console_;
  const Process& process_;
  JobProgress progress_;
  nlohmann::json named_ = nlohmann::json::array();
  std::uint64_t failures_ = 0;
  std::set<std::string> differences_;
  std::uint64_t expected_ = 0;
  Clock::time_point begun_;
};

// ---------------------------------------------------------------- the extraction

// As much of what is in a bucket is kept as of what is decompressed.
std::shared_ptr<Backing> disk_of(const ExtractArguments& asked, const MemoryLimits& limits, const OpenBucket& open) {
  if (!asked.names_bucket()) return volume_disk(asked.foreign);
  return std::make_shared<RemoteBacking>(
      asked.where, BucketBacking::Settings{.cache_bytes = limits.cache, .parallel = kDefaultParallel}, open);
}

Result<std::unique_ptr<ReadableVolume>> open_volume(const ExtractArguments& asked, const OpenBucket& open,
                                                    ExtractReport& report) {
  Path path = asked.volume;
  if (!asked.names_bucket()) {
    DEDUPFS_ASSIGN(path, find_whole_volume(asked.volume));
  }
  const MemoryLimits limits = memory_limits_for(memory_of_machine(), std::thread::hardware_concurrency());
  ReadableVolumeOptions options;
  options.rebuild_index = asked.rebuild_index;
  options.scratch = asked.scratch;
  options.volume.foreign = asked.foreign;
  options.volume.index_memory_bytes = limits.index;
  options.volume.cache_bytes = limits.cache;
  options.say = [&](const std::string& line) { report.say(printable(line)); };
  options.progress = [&](int, std::uint64_t current, std::uint64_t max) { return report.note_rebuild(current, max); };
  const auto judge = [&report](const Error& difference) -> Result<void> {
    report.note_difference(difference);
    return {};
  };
  const auto backing = keyed_backing(asked.key, asked.foreign, judge, disk_of(asked, limits, open));
  auto volume = when_closed(path, [&] { return ReadableVolume::open(path, options, backing); });
  if (!volume && volume.error().code() == ErrorCode::kBusy)
    return Error{ErrorCode::kBusy, volume.error().message() + ", or copy the files from the mount"};
  return volume;
}

Result<ExtractTotals> extract_to(Filesystem& filesystem, const ExtractArguments& asked, const Console& console,
                                 ExtractReport& report) {
  if (asked.as_list) {
    ListSink sink(console);
    return extract(filesystem, asked.request, sink, report);
  }
  if (asked.as_tar) {
    DEDUPFS_ASSIGN(
        const auto sink, TarSink::open([&](std::string_view bytes) {
          return static_cast<bool>(console.out().write(bytes.data(), static_cast<std::streamsize>(bytes.size())));
        }));
    DEDUPFS_ASSIGN(const ExtractTotals totals, extract(filesystem, asked.request, *sink, report));
    DEDUPFS_TRY(sink->finish());
    return totals;
  }
  DEDUPFS_ASSIGN(const auto sink, FolderSink::open({.folder = asked.folder,
                                                    .overwrites = asked.overwrites,
                                                    .keeps_damaged = asked.keeps_damaged,
                                                    .is_root = ::geteuid() == 0}));
  return extract(filesystem, asked.request, *sink, report);
}

struct Extracted {
  ExtractTotals totals;
  std::uint64_t losses = 0;  // of the volume's index, and files of an encrypted volume that were changed
};

int exit_code_of(const Extracted& extracted) {
  if (extracted.totals.damaged != 0 || extracted.losses != 0) return kDamaged;
  return extracted.totals.refused != 0 ? kUnfinished : kDone;
}

Result<ExtractTotals> extract_from(Filesystem& filesystem, const ExtractArguments& asked, const Console& console,
                                   const Process& process, ExtractReport& report) {
  std::uint64_t expected = 0;
  if (report.is_seen() && !asked.as_list) {
    CountingSink counting;
    CountingObserver observer(process);
    DEDUPFS_TRY(extract(filesystem, asked.request, counting, observer));
    expected = counting.bytes() * (asked.as_tar ? 2 : 1);  // an archive needs everything twice
  }
  report.begin(expected);
  return extract_to(filesystem, asked, console, report);
}

Result<Extracted> run(const ExtractArguments& asked, const Console& console, const Process& process,
                      const OpenBucket& open, ExtractReport& report) {
  if (!asked.names_bucket() && StreamArchive::is_one(asked.volume)) {
    DEDUPFS_ASSIGN(const auto archive,
                   StreamArchive::open(asked.volume, asked.scratch, [&](const transfer::ReceiveTotals& so_far) {
                     return report.note_archive(so_far);
                   }));
    DEDUPFS_ASSIGN(const ExtractTotals totals, extract_from(archive->filesystem(), asked, console, process, report));
    return Extracted{totals};
  }
  DEDUPFS_ASSIGN(const auto volume, open_volume(asked, open, report));
  DEDUPFS_ASSIGN(const ExtractTotals totals, extract_from(volume->filesystem(), asked, console, process, report));
  return Extracted{totals, volume->losses() + report.differences()};
}

std::string default_scratch() {
  const char* const folder = std::getenv("TMPDIR");
  return folder != nullptr && *folder != '\0' ? folder : "/tmp";
}

void define_options(Command& app, ExtractArguments& asked) {
  define_common_options(app);
  app.add_option(
         "VOLUME", asked.volume,
         "the folder of a volume that is not mounted, the address of its bucket, s3://BUCKET/PREFIX, or a file of "
         "dedupfs-send")
      .required();
  app.add_option("PATH", asked.request.paths, "files and folders in the volume (default: all)");
  const Option folder =
      app.add_option("-o,--output", asked.folder, "the folder to write to").type_name("DIR").capture_default_str();
  const Option tar = app.add_flag("--tar", asked.as_tar, "write a tar archive to standard output").excludes(folder);
  const Option list = app.add_flag("--list", asked.as_list, "only list what would be taken");
  list.excludes(folder).excludes(tar);
  add_json_flag(app, "print one JSON object with what was done; with --list, one a line for each entry").excludes(tar);
  define_progress_flag(app);
  app.add_option("--snapshot", asked.request.snapshot, "take the files as they are in this snapshot").type_name("NAME");
  app.add_flag("--overwrite", asked.overwrites, "replace files that are there already").excludes(tar).excludes(list);
  app.add_flag("--keep-damaged", asked.keeps_damaged,
               "of a damaged file, write what can be read, as NAME.damaged, with holes for the rest")
      .excludes(tar)
      .excludes(list);
  app.add_flag("--rebuild-index", asked.rebuild_index,
               "make a new index from the last checkpoint, even if the volume's own can be opened");
  app.add_option("--scratch", asked.scratch,
                 "the folder for a new index, or for what is in a file of dedupfs-send, while it is needed")
      .type_name("DIR")
      .default_str("$TMPDIR or /tmp");
  app.add_flag("--foreign", asked.foreign, std::string(kForeignHelp));
  define_key_options(app, asked.key);
  define_bucket_options(app, asked.where);
}

}  // namespace

int run_extract(Arguments arguments, std::ostream& out, std::ostream& err, const Process& process,
                const OpenBucket& open) {
  Console console({.name = "dedupfs-extract", .usage_error = kUsageError, .failed = kFailed}, out, err);
  ExtractArguments asked;
  Command app("Takes files out of a dedupfs volume without mounting it. It changes nothing in the volume.",
              "dedupfs-extract");
  app.example("dedupfs-extract /srv/volume home/anna/letters -o /srv/restored");
  define_options(app, asked);
  if (const auto exit_code = console.parse(app, arguments)) return *exit_code;
  if (asked.scratch.empty()) asked.scratch = default_scratch();
  if (asked.names_bucket())
    asked.where.address = asked.volume;
  else if (const auto allowed = require_no_store(asked.where, asked.volume); !allowed)
    return console.fail(allowed.error(), kUsageError);
  if (asked.as_tar && process.out_is_terminal)
    return console.fail(invalid_argument("an archive on a terminal is of no use: send it to a file or a program"),
                        kUsageError);

  const LogTo log(console.err(), "dedupfs-extract", spdlog::level::critical);  // what fails is named here
  // A folder is open for each level.
  allow_many_files();
  process.catch_stop_signals();
  ExtractReport report(console, process);
  const auto extracted = run(asked, console, process, open, report);
  report.end();
  if (!extracted)
    return console.fail(extracted.error(), extracted.error().code() == ErrorCode::kInterrupted ? kUnfinished : kFailed);
  if (console.as_json() && !asked.as_list)
    console.print("dedupfs-extract", report.json_of(extracted->totals, extracted->losses));
  else if (extracted->totals.already_there != 0)
    console.say(
        fmt::format("left, since it was there already with the same size and time of modification: {} of {} entries",
                    extracted->totals.already_there, extracted->totals.entries));
  return console.end(exit_code_of(*extracted));
}

}  // namespace dedupfs::tools
