#include "mount/options/mount_options.h"

#include <fmt/format.h>
#include <libmount.h>
#include <sys/mount.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <functional>
#include <optional>
#include <vector>

#include "base/size.h"
#include "mount/options/binary_units.h"
#include "mount/options/mount_flags.h"

namespace dedupfs {
namespace {

using SnapshotAccess = FilesystemOptions::SnapshotAccess;

Error bad_value(std::string_view name, std::string_view value, std::string_view allowed) {
  return Error{ErrorCode::kInvalidArgument, fmt::format("mount option {}={}: must be {}", name, value, allowed)};
}

Result<std::uint64_t> size_between(std::string_view name, std::string_view value, std::uint64_t least,
                                   std::uint64_t most) {
  const auto size = parse_size(value);
  if (!size || *size < least || *size > most) {
    return bad_value(name, value, fmt::format("a size from {} to {}", format_size(least), format_size(most)));
  }
  return *size;
}

Result<std::uint64_t> number_between(std::string_view name, std::string_view value, std::uint64_t least,
                                     std::uint64_t most) {
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), number);
  if (error != std::errc() || end != value.data() + value.size() || number < least || number > most) {
    return bad_value(name, value, fmt::format("a number from {} to {}", least, most));
  }
  return number;
}

// An option of dedupfs: how its value is read, and how it is written (for comparing and for showing).
struct OwnOption {
  std::string_view name;
  std::string_view help;
  std::function<Result<void>(MountOptions&, std::string_view name, std::string_view value)> parse;
  std::function<std::string(const MountOptions&)> format;
  std::string_view shown_value{};  // in the help, where the default is none that could be given
};

OwnOption size_option(std::string_view name, std::uint64_t MountOptions::*field, std::uint64_t least,
                      std::uint64_t most, std::string_view help, std::string_view shown_value = {}) {
  return {name, help,
          [=](MountOptions& options, std::string_view option, std::string_view value) -> Result<void> {
            DEDUPFS_ASSIGN(options.*field, size_between(option, value, least, most));
            return {};
          },
          [=](const MountOptions& options) { return format_size(options.*field); }, shown_value};
}

// 0, or a size of at least `least`. Absent: it depends on other options.
OwnOption size_or_none_option(std::string_view name, std::optional<std::uint64_t> MountOptions::*field,
                              std::uint64_t least, std::uint64_t most, std::string_view help) {
  return {name, help,
          [=](MountOptions& options, std::string_view option, std::string_view value) -> Result<void> {
            if (value == "0") {
              options.*field = 0;
              return {};
            }
            DEDUPFS_ASSIGN(options.*field, size_between(option, value, least, most));
            return {};
          },
          [=](const MountOptions& options) { return options.*field ? format_size(*(options.*field)) : std::string(); },
          "SIZE"};
}

OwnOption number_option(std::string_view name, std::uint64_t MountOptions::*field, std::uint64_t least,
                        std::uint64_t most, std::string_view help, std::string_view shown_value = {}) {
  return {name, help,
          [=](MountOptions& options, std::string_view option, std::string_view value) -> Result<void> {
            DEDUPFS_ASSIGN(options.*field, number_between(option, value, least, most));
            return {};
          },
          [=](const MountOptions& options) { return std::to_string(options.*field); }, shown_value};
}

OwnOption seconds_option(std::string_view name, std::chrono::seconds MountOptions::*field, std::uint64_t least,
                         std::uint64_t most, std::string_view help) {
  return {name, help,
          [=](MountOptions& options, std::string_view option, std::string_view value) -> Result<void> {
            DEDUPFS_ASSIGN(const std::uint64_t seconds, number_between(option, value, least, most));
            options.*field = std::chrono::seconds(seconds);
            return {};
          },
          [=](const MountOptions& options) { return std::to_string((options.*field).count()); }};
}

template <class Value>
using Choices = std::vector<std::pair<std::string_view, Value>>;

// `allowed` lists the names of the choices, for people.
template <class Value>
OwnOption choice_option(std::string_view name, Value MountOptions::*field, const Choices<Value>& choices,
                        std::string_view allowed, std::string_view help) {
  return {name, help,
          [=](MountOptions& options, std::string_view option, std::string_view value) -> Result<void> {
            for (const auto& [choice, meaning] : choices) {
              if (value != choice) continue;
              options.*field = meaning;
              return {};
            }
            return bad_value(option, value, allowed);
          },
          [=](const MountOptions& options) {
            return std::string(
                std::ranges::find(choices, options.*field, &std::pair<std::string_view, Value>::second)->first);
          }};
}

OwnOption compression_option(std::string_view name, std::optional<Compression> MountOptions::*field,
                             std::string_view help) {
  return {name, help,
          [=](MountOptions& options, std::string_view option, std::string_view value) -> Result<void> {
            const auto compression = parse_compression(value);
            if (!compression) return compression.error().with(fmt::format("mount option {}", option));
            options.*field = *compression;
            return {};
          },
          [=](const MountOptions& options) {
            return options.*field ? format_compression(*(options.*field)) : std::string();
          },
          "SPEC"};
}

OwnOption text_option(std::string_view name, std::string MountOptions::*field, std::string_view help,
                      std::string_view shown_value) {
  return {name, help,
          [=](MountOptions& options, std::string_view option, std::string_view value) -> Result<void> {
            if (value.empty()) return bad_value(option, value, "given");
            options.*field = value;
            return {};
          },
          [=](const MountOptions& options) { return options.*field; }, shown_value};
}

const std::vector<OwnOption>& own_options() {
  static const std::vector<OwnOption> options = {
      size_option("cache", &MountOptions::cache_bytes, 16 * kMiB, 1024 * kGiB,
                  "memory for decompressed data of recent reads (default: 1/16 of memory up to 256m, or 1/64)", "SIZE"),
      size_option("index_mem", &MountOptions::index_memory_bytes, 16 * kMiB, 1024 * kGiB,
                  "memory for the index (default: as for cache)", "SIZE"),
      size_option("dirty", &MountOptions::dirty_bytes, 16 * kMiB, 1024 * kGiB,
                  "memory for written data that is not stored yet (default: 1/16 of memory, up to 256m)", "SIZE"),
      seconds_option("commit", &MountOptions::commit_interval, 1, 3600,
                     "seconds until changes are durable without fsync"),
      seconds_option("checkpoint", &MountOptions::checkpoint_interval, 0, 7 * 24 * 3600,
                     "seconds between checkpoints, which fsck.dedupfs repairs from; 0: none"),
      number_option("threads", &MountOptions::threads, 1, 1024,
                    "threads of the ingest pipeline (default: one per core)", "N"),
      size_option("readahead", &MountOptions::read_ahead_bytes, 0, kGiB, "how far the kernel reads ahead"),
      number_option("rewrite", &MountOptions::defragment_percent, 0, 100,
                    "percent of the written data that defragmentation may store again; 0: none"),
      compression_option("landing", &MountOptions::landing,
                         "compression of new data that arrives fast (default: as the volume says)"),
      compression_option("settled", &MountOptions::settled,
                         "compression of data that stays (default: as the volume says)"),
      size_option("slow_source", &MountOptions::slow_source_bytes, 0, 1024 * kGiB,
                  "new data that comes no faster than this in a second does not land, but is settled at once"),
      choice_option<SettleMode>(
          "settle", &MountOptions::settle,
          {{"idle", SettleMode::kIdle}, {"always", SettleMode::kAlways}, {"off", SettleMode::kOff}},
          "idle, always or off",
          "when landed data is compressed for good: while nobody uses the volume (or: always, off)"),
      number_option("settle_cpu", &MountOptions::settle_cpu_percent, 1, 100,
                    "percent of the time in which settling works"),
      number_option("gather", &MountOptions::gather_percent, 0, 100,
                    "percent of the stored data that settling may move to bring the newest files together; 0: none"),
      choice_option<Durability>("durability", &MountOptions::durability,
                                {{"local", Durability::kLocal}, {"remote", Durability::kRemote}}, "local or remote",
                                "where data is when fsync returns: on the disk (or: remote, in the bucket, too)"),
      seconds_option("remote_lag", &MountOptions::remote_lag, 0, 7 * 24 * 3600,
                     "seconds after which the bucket of the volume gets what is new; 0: only at the unmount"),
      size_option("remote_cache", &MountOptions::remote_cache_bytes, 16 * kMiB, 1024 * kGiB,
                  "what a volume that is shipped to a bucket may keep of its content on this disk (default: all); of a "
                  "volume in a bucket: memory for its blocks (default: as for cache)",
                  "SIZE"),
      size_or_none_option("remote_unshipped", &MountOptions::remote_unshipped_bytes, 16 * kMiB, 1024 * kGiB,
                          "what the bucket of the volume may lack of its content before writers wait (default: as "
                          "remote_cache); 0: no limit"),
      seconds_option("remote_follow", &MountOptions::remote_follow, 0, 7 * 24 * 3600,
                     "of a volume in a bucket: seconds between looks for a newer state; 0: that of the mount is kept"),
      number_option(
          "remote_parallel", &MountOptions::remote_parallel, 1, 64,
          "objects that are sent to a bucket at once, or blocks that are read ahead from there; 1: nothing is "
          "read ahead"),
      number_option("remote_grace", &MountOptions::remote_grace_hours, 0, 366 * 24,
                    "hours after which an object is deleted from the bucket that the volume no longer needs"),
      number_option(
          "remote_payback", &MountOptions::payback_months, 0, 120,
          "months in which a reclaim must save what it costs to fetch from the bucket what it stores anew; 0: it "
          "fetches nothing"),
      number_option("remote_min_age", &MountOptions::remote_min_age_days, 0, 3650,
                    "days that the store wants to be paid for each object; a reclaim stores nothing anew before that"),
      size_option("remote_delta_budget", &MountOptions::remote_delta_budget_bytes, 0, 1024 * kGiB,
                  "bytes an hour that may be fetched from the bucket so that new data becomes deltas of what is only "
                  "there; 0: none"),
      text_option("endpoint", &MountOptions::endpoint,
                  "the server of the store that has the volume (default: that of AWS)", "URL"),
      text_option("region", &MountOptions::region, "the region of the bucket (default: us-east-1)", "REGION"),
      text_option("credentials_file", &MountOptions::credentials_file,
                  "read the keys of the store from this file (default: where the programs of AWS look)", "FILE"),
      text_option("ca_file", &MountOptions::ca_file, "trust the certificates in this file, and no others", "FILE"),
      choice_option<DirectIo>("direct_io", &MountOptions::direct_io,
                              {{"wronly", DirectIo::kWriteOnly}, {"off", DirectIo::kOff}, {"all", DirectIo::kAll}},
                              "wronly, off or all", "bypass the page cache for files opened write-only (or: off, all)"),
      choice_option<SnapshotAccess>(
          "snapshots", &MountOptions::snapshots,
          {{"visible", SnapshotAccess::kVisible},
           {"owner", SnapshotAccess::kOwner},
           {"hidden", SnapshotAccess::kHidden}},
          "visible, owner or hidden",
          "who may enter .snapshots: the owner of the root folder (or: visible, for all; hidden)"),
      {"log", "log to this file instead of syslog",
       [](MountOptions& parsed, std::string_view name, std::string_view value) -> Result<void> {
         if (!value.starts_with('/')) return bad_value(name, value, "an absolute path");
         parsed.log_file = value;
         return {};
       },
       [](const MountOptions& parsed) { return parsed.log_file; }, "FILE"},
      text_option("key_file", &MountOptions::key_file, "read the passphrase of an encrypted volume from this file",
                  "FILE"),
      text_option("passphrase_command", &MountOptions::passphrase_command,
                  "take what this command prints as the passphrase", "CMD"),
      text_option("keyring", &MountOptions::keyring, "take the passphrase from this key in the keyring of the kernel",
                  "NAME"),
  };
  return options;
}

// Options with a value that mount(8) keeps for itself, or hands back from the mount table on a remount.
bool is_ignored_with_value(std::string_view name) {
  static constexpr std::array kNames = {"comment", "user",     "uhelper",  "helper", "fsname",   "subtype",
                                        "user_id", "group_id", "rootmode", "fd",     "max_read", "blksize"};
  return name.starts_with("x-") || name.starts_with("X-") || std::ranges::find(kNames, name) != kNames.end();
}

bool is_security_context(std::string_view name) {
  static constexpr std::array kNames = {"context", "fscontext", "defcontext", "rootcontext", "seclabel"};
  return std::ranges::find(kNames, name) != kNames.end();
}

// `item` is the name and, if there is one, the value.
Result<void> parse_option(MountOptions& options, std::string_view item, std::string_view name,
                          std::optional<std::string_view> given_value, bool sloppy) {
  const bool has_value = given_value.has_value();
  const std::string_view value = given_value.value_or("");

  const auto own = std::ranges::find(own_options(), name, &OwnOption::name);
  if (own != own_options().end()) {
    if (!has_value) {
      return Error{ErrorCode::kInvalidArgument, fmt::format("mount option {} needs a value: {}=...", name, name)};
    }
    return own->parse(options, own->name, value);
  }
  if (is_security_context(name)) {
    if (!options.security_context.empty()) options.security_context += ',';
    options.security_context += item;
    return {};
  }
  if (const MountFlag flag = has_value ? nullptr : find_mount_flag(name)) {
    flag(options);
    return {};
  }
  if (is_ignored_with_value(name) || sloppy) return {};
  std::string known;
  for (const OwnOption& option : own_options()) known += fmt::format("{}=, ", option.name);
  return Error{ErrorCode::kInvalidArgument,
               fmt::format("unknown mount option {}; the options of dedupfs are {}foreign, allow_other, noallow_other, "
                           "auto_unmount, core_dump",
                           item, known)};
}

struct HelpRow {
  std::string option;  // "commit=5", "foreign"
  std::string_view help;
};

std::vector<HelpRow> help_rows() {
  const MountOptions defaults;
  std::vector<HelpRow> rows;
  for (const OwnOption& option : own_options()) {
    const std::string value = option.shown_value.empty() ? option.format(defaults) : std::string(option.shown_value);
    rows.push_back({fmt::format("{}={}", option.name, value), option.help});
  }
  rows.insert(rows.end(),
              {{"foreign", "for root: mount a volume that others own or can write to"},
               {"noallow_other", "for root: other users have no access"},
               {"allow_other", "for a user: other users have access"},
               {"allow_suid", "honour set-user-id bits (like suid, which mount(8) does not pass on)"},
               {"allow_dev", "honour device files (like dev, which mount(8) does not pass on)"},
               {"auto_unmount", "unmount when the daemon dies: programs then see the folder below"},
               {"core_dump", "write a core dump when the daemon crashes; it holds file contents of all users"}});
  return rows;
}

// libfuse splits its list at commas and takes backslashes as escapes.
std::string escaped(std::string_view value) {
  std::string result;
  for (const char c : value) {
    if (c == ',' || c == '\\') result += '\\';
    result += c;
  }
  return result;
}

}  // namespace

Result<MountOptions> parse_mount_options(std::string_view list, bool sloppy) {
  MountOptions options;
  std::string text(list);
  char* rest = text.data();
  char* name = nullptr;
  char* value = nullptr;
  std::size_t name_length = 0, value_length = 0;
  int result = 0;
  while ((result = mnt_optstr_next_option(&rest, &name, &name_length, &value, &value_length)) == 0) {
    const std::string_view option(name, name_length);
    const auto given = value == nullptr ? std::nullopt : std::optional(std::string_view(value, value_length));
    const std::string_view item = given ? std::string_view(name, value + value_length) : option;
    DEDUPFS_TRY(parse_option(options, item, option, given, sloppy));
  }
  if (result < 0) return Error{ErrorCode::kInvalidArgument, fmt::format("mount options \"{}\" cannot be parsed", list)};
  return options;
}

std::string format_own_options(const MountOptions& options) {
  const MountOptions defaults;
  std::string list;
  for (const OwnOption& option : own_options()) {
    const std::string value = option.format(options);
    if (value == option.format(defaults)) continue;
    if (!list.empty()) list += ',';
    list += fmt::format("{}={}", option.name, value);
  }
  return list;
}

std::string mount_options_help() {
  std::string text;
  for (const auto& [option, help] : help_rows()) text += fmt::format("  {:<16} {}\n", option, help);
  return text;
}

std::vector<std::string> mount_option_words() {
  std::vector<std::string> words;
  for (const HelpRow& row : help_rows()) {
    const std::size_t equals = row.option.find('=');
    words.push_back(equals == std::string::npos ? row.option : row.option.substr(0, equals + 1));
  }
  return words;
}

std::string libfuse_options(const MountOptions& options, std::string_view source, bool privileged) {
  std::string list = fmt::format("fsname={},subtype=dedupfs,default_permissions", escaped(source));
  const auto add = [&list](bool condition, std::string_view option) {
    if (condition) list.append(",").append(option);
  };
  add(options.allow_other.value_or(privileged), "allow_other");
  add(options.auto_unmount, "auto_unmount");
  add(options.read_only, "ro");
  add(true, options.suid.value_or(false) ? "suid" : "nosuid");
  add(true, options.dev.value_or(false) ? "dev" : "nodev");
  add(!options.exec, "noexec");
  add(options.sync, "sync");
  add(options.dirsync, "dirsync");
  add(options.noatime, "noatime");
  add(!options.security_context.empty(), escaped(options.security_context));
  return list;
}

Result<void> check_remount(const MountOptions& current, const MountOptions& requested) {
  if (current.read_only && !requested.read_only) {
    return Error{ErrorCode::kNotPermitted,
                 "the volume was mounted read-only, so its daemon cannot write: unmount it, then mount it with rw"};
  }
  const MountOptions defaults;
  for (const OwnOption& option : own_options()) {
    const std::string wanted = option.format(requested);
    if (wanted == option.format(defaults) || wanted == option.format(current)) continue;
    return Error{
        ErrorCode::kNotPermitted,
        fmt::format("a remount cannot change the option {} from {} to {}: unmount the volume, then mount it again",
                    option.name, option.format(current), wanted)};
  }
  return {};
}

unsigned long mount_flags(const MountOptions& options) {
  unsigned long flags = 0;
  if (options.read_only) flags |= MS_RDONLY;
  if (!options.suid.value_or(false)) flags |= MS_NOSUID;
  if (!options.dev.value_or(false)) flags |= MS_NODEV;
  if (!options.exec) flags |= MS_NOEXEC;
  if (options.sync) flags |= MS_SYNCHRONOUS;
  if (options.dirsync) flags |= MS_DIRSYNC;
  if (options.noatime) flags |= MS_NOATIME;
  return flags;
}

}  // namespace dedupfs
