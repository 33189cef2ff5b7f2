#include "remote_arguments.h"

#include <fmt/format.h>

#include <array>

#include "base/size.h"
#include "bucket_options.h"
#include "command/command.h"
#include "command/common_options.h"
#include "console.h"
#include "exit_codes.h"
#include "job_progress.h"
#include "store/volume/ownership.h"

namespace dedupfs::tools {
namespace {

Command& add_remote_action(Command& app, RemoteToolArguments& asked, const std::string& action,
                           const std::string& meaning) {
  Command& command = app.add_subcommand(action, meaning);
  command.callback([&asked, action] { asked.action = action; });
  add_json_flag(command, "print one JSON object");
  return command;
}

void add_volume(Command& command, RemoteToolArguments& asked) {
  command.add_option("VOLUME", asked.target, "the folder of the volume").required();
  command.add_flag("--foreign", asked.foreign, std::string(kForeignHelp));
}

void add_target(Command& command, RemoteToolArguments& asked) {
  command
      .add_option("VOLUME", asked.target, "the folder of the volume, or the address of its bucket, s3://BUCKET/PREFIX")
      .required();
  command.add_flag("--foreign", asked.foreign, std::string(kForeignHelp));
}

void add_bucket_options(Command& command, RemoteToolArguments& asked) {
  define_bucket_options(command, asked.where);
  command.add_option("--rate", asked.rate, "send and receive no more than this in a second; 0: as fast as it goes")
      .type_name("SIZE");
}

}  // namespace

void define_remote_commands(Command& app, RemoteToolArguments& asked) {
  define_common_options(app);
  app.require_subcommand();
  Command& attach = add_remote_action(app, asked, "attach", "say which bucket a volume is replicated to");
  add_volume(attach, asked);
  attach.add_option("ADDRESS", asked.where.address, "s3://BUCKET/PREFIX; nothing is there yet").required();
  Command& set = add_remote_action(app, asked, "set", "change how the store of a volume is reached");
  add_volume(set, asked);
  Command& push = add_remote_action(app, asked, "push", "ship what the bucket lacks");
  add_volume(push, asked);
  push.add_option("--grace", asked.grace_hours,
                  "delete objects only when this many hours have passed since a head dropped them")
      .type_name("HOURS")
      .in_range(std::uint64_t{0}, std::uint64_t{366 * 24})
      .default_str("24, or what the mount says");
  Command& status = add_remote_action(app, asked, "status", "show the newest head of the bucket");
  Command& verify = add_remote_action(app, asked, "verify", "look for every object that the volume needs");
  verify.add_flag("--read-data", asked.reads_all, "read all of them, and compare the bytes");
  verify.add_flag("--repair", asked.repairs, "put back what is missing or damaged, as far as the volume has it");
  Command& usage = add_remote_action(app, asked, "usage", "count what is in the bucket");
  for (Command* const command : {&status, &verify, &usage}) add_target(*command, asked);
  define_price_options(usage, asked.prices);
  Command& clone = add_remote_action(app, asked, "clone", "make a local volume of what the bucket has");
  clone.add_option("ADDRESS", asked.where.address, "s3://BUCKET/PREFIX").required();
  clone
      .add_option("FOLDER", asked.folder,
                  "the folder of the new volume; it must be empty, and is made if it is missing")
      .required();
  clone.add_flag(
      "--index-only", asked.index_only,
      "leave the content in the bucket, from where the volume reads it: for a disk that is smaller than the volume");
  Command& takeover =
      add_remote_action(app, asked, "takeover", "write to the bucket from now on, instead of another machine");
  add_volume(takeover, asked);
  for (Command* const command : {&attach, &set, &status, &verify, &usage, &clone}) add_bucket_options(*command, asked);
  for (Command* const command : {&push, &verify, &usage, &clone}) define_progress_flag(*command);
  for (Command* const command : {&push, &verify, &clone})
    command->add_option("--parallel", asked.parallel, "send or receive so many objects at once")
        .type_name("N")
        .in_range(std::uint64_t{1}, std::uint64_t{kMostParallel})
        .capture_default_str();
}

Result<void> finish_arguments(RemoteToolArguments& asked) {
  if (asked.names_bucket()) asked.where.address = asked.target;
  if (!asked.rate.empty()) {
    const auto rate = parse_size(asked.rate);
    if (!rate) return rate.error().with("--rate");
    asked.where.bytes_per_second = *rate;
  }
  const bool is_of_volume = asked.action == "status" || asked.action == "verify" || asked.action == "usage";
  if (asked.repairs && asked.names_bucket())
    return invalid_argument("--repair: give the folder of the volume, which has what the bucket lacks");
  if (!is_of_volume || asked.names_bucket()) return {};
  if (!asked.rate.empty())
    return invalid_argument(fmt::format("--rate: {} goes by what dedupfs-remote set says", asked.target));
  return require_no_store(asked.where, asked.target);
}

}  // namespace dedupfs::tools
