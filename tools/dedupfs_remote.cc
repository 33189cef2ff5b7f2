#include "dedupfs_remote.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <nlohmann/json.hpp>
#include <optional>
#include <thread>
#include <utility>

#include "attach_volume.h"
#include "base/mutex.h"
#include "base/size.h"
#include "clone_target.h"
#include "command/command.h"
#include "command/common_options.h"
#include "exit_codes.h"
#include "job_progress.h"
#include "json/document.h"
#include "log_to.h"
#include "mount/control/control_jobs.h"
#include "mount/control/control_socket.h"
#include "mount/system/mount_table.h"
#include "older_copy.h"
#include "remote_arguments.h"
#include "remote_screen.h"
#include "replica/eviction/evicting_disk.h"
#include "replica/replica_check.h"
#include "replica/shipper.h"
#include "show.h"
#include "store/format/superblock.h"
#include "store/seal/key_header.h"
#include "store/volume/capture.h"
#include "store/volume/ownership.h"
#include "store/volume/vacant_folder.h"
#include "store/volume/volume.h"
#include "store_prices.h"
#include "volume_disk.h"

namespace dedupfs::tools {
namespace {

constexpr std::string_view kName = "dedupfs-remote";
constexpr std::chrono::hours kDefaultGrace{24};
constexpr std::size_t kMostNamedObjects = 100;

// One run: what it goes by, and what it shows.
class RemoteRun {
 public:
  RemoteRun(const RemoteToolArguments& asked, const Console& console, const Process& process, const OpenBucket& open)
      : asked_(asked), process_(process), open_(open), progress_(console, process), begun_(Clock::now()) {}

  Result<nlohmann::json> run() {
    document_ = {{"action", asked_.action}, {"volume", nullptr},  {"address", nullptr}, {"endpoint", nullptr},
                 {"uuid", nullptr},         {"role", nullptr},    {"epoch", nullptr},   {"head", nullptr},
                 {"shipped", nullptr},      {"deleted", nullptr}, {"check", nullptr},   {"usage", nullptr},
                 {"mount", nullptr}};
    auto done = act();
    progress_.clear();
    if (!done) return done.error();
    return document_;
  }
  bool found_damage() const { return found_damage_; }

 private:
  using Clock = std::chrono::steady_clock;

  Result<void> act() {
    if (asked_.action == "attach") return attach();
    if (asked_.action == "set") return set();
    if (asked_.action == "push") return push();
    if (asked_.action == "takeover") return take_over();
    if (asked_.action == "clone") return clone();
    DEDUPFS_TRY(find());
    DEDUPFS_ASSIGN(const Replica replica, newest());
    if (asked_.action == "verify") return verify(replica);
    ask_mount();
    if (asked_.action == "usage") return measure(replica);
    return {};
  }

  // ---------------------------------------------------------------- what it is about

  Result<void> open_volume(bool exclusively) {
    DEDUPFS_ASSIGN(const Path path, find_whole_volume(asked_.target));
    document_["volume"] = path.string();
    DEDUPFS_ASSIGN(folder_, Volume::open_folder(path, volume_disk(asked_.foreign)));
    if (!asked_.foreign) DEDUPFS_TRY(require_own_or_busy(*folder_));
    DEDUPFS_ASSIGN(const auto header, read_key_header(*folder_));
    if (header) {
      record_.volume = header->uuid;
    } else {
      DEDUPFS_ASSIGN(const Superblock superblock, read_superblock(*folder_));
      record_.volume = superblock.uuid;
    }
    document_["uuid"] = record_.volume;
    if (exclusively) {
      DEDUPFS_ASSIGN(lock_, Volume::lock(*folder_, /*read_only=*/false));
    }
    return {};
  }
  Result<void> load_record() {
    DEDUPFS_ASSIGN(record_, load_remote_record(*folder_, record_.volume));
    return {};
  }
  Result<void> save_record() { return save_remote_record(*folder_, record_); }

  Result<void> open_bucket_at(const RemoteAddress& where) {
    document_["address"] = where.address;
    document_["endpoint"] = where.endpoint.empty() ? nlohmann::json(nullptr) : nlohmann::json(where.endpoint);
    DEDUPFS_ASSIGN(bucket_, open_(where, [this] { return go_on(); }));
    return {};
  }
  // The volume or the bucket, to look at.
  Result<void> find() {
    if (asked_.names_bucket()) return open_bucket_at(asked_.where);
    DEDUPFS_TRY(open_volume(false));
    DEDUPFS_TRY(load_record());
    return open_bucket_at(record_.where);
  }
  Result<std::optional<Replica>> newest_if_any() {
    DEDUPFS_ASSIGN(auto replica, load_replica(*bucket_, parallel().requests));
    if (replica) note(*replica);
    return replica;
  }
  Result<Replica> newest() {
    DEDUPFS_ASSIGN(auto replica, newest_if_any());
    if (replica) return std::move(*replica);
    return Error{ErrorCode::kNotFound, bucket_->name() + " holds no volume yet; dedupfs-remote push puts one there"};
  }

  // ---------------------------------------------------------------- the actions

  Result<void> attach() {
    DEDUPFS_TRY(open_volume(true));
    DEDUPFS_TRY(folder_->open_folder(kContainersDirectory));  // which finds out what is evicted
    if (evicted_containers_of(*folder_) && !evicted_containers_of(*folder_)->names().empty())
      return Error{ErrorCode::kExists,
                   folder_->path().string() + " has containers that are in its bucket only; put back its remote.json"};
    DEDUPFS_TRY(open_bucket_at(asked_.where));
    DEDUPFS_ASSIGN(record_, attach_volume(*folder_, record_.volume, asked_.where, *bucket_));
    note_role();
    return {};
  }

  // Before the first push, the bucket has the epoch that attach took.
  Result<bool> has_this_volume() {
    DEDUPFS_ASSIGN(const auto there, newest_if_any());
    if (there) return there->head.volume == record_.volume;
    return has_epoch(*bucket_, record_.position.epoch);
  }
  // What is given changes, and the rest stays.
  Result<void> set() {
    DEDUPFS_TRY(open_volume(true));
    DEDUPFS_TRY(load_record());
    const RemoteAddress& given = asked_.where;
    const auto take = [](const std::string& from, std::string& to) {
      if (!from.empty()) to = from;
    };
    take(given.endpoint, record_.where.endpoint);
    take(given.region, record_.where.region);
    take(given.credentials_file, record_.where.credentials_file);
    take(given.ca_file, record_.where.ca_file);
    if (!asked_.rate.empty()) record_.where.bytes_per_second = given.bytes_per_second;
    DEDUPFS_TRY(open_bucket_at(record_.where));
    DEDUPFS_ASSIGN(const bool is_there, has_this_volume());  // so a mistake is found now
    if (!is_there)
      return Error{ErrorCode::kNotFound,
                   fmt::format("{} at {} does not have this volume: the address of the store is wrong", bucket_->name(),
                               record_.where.endpoint.empty() ? "AWS" : record_.where.endpoint)};
    DEDUPFS_TRY(save_record());
    note_role();
    return {};
  }

  Result<void> push() {
    DEDUPFS_TRY(open_volume(false));
    auto told = tell_mount();
    if (told || told.error().code() != ErrorCode::kNotFound) return told;
    DEDUPFS_ASSIGN(lock_, Volume::lock(*folder_, /*read_only=*/false));
    DEDUPFS_TRY(load_record());
    DEDUPFS_TRY(open_bucket_at(record_.where));
    DEDUPFS_ASSIGN(const auto captured, capture_closed(folder_));
    Shipper shipper(*bucket_, record_.position, settings());
    const auto shipped = shipper.ship(*captured);
    if (!shipped) return shipped.error();
    document_["shipped"] = {
        {"objects", shipped->objects}, {"bytes", shipped->bytes}, {"head_bytes", shipped->head_bytes}};
    record_.position = shipper.position();
    record_.containers.reset();  // all are there
    DEDUPFS_TRY(save_record());
    if (shipper.replica()) note(*shipper.replica());
    note_role();
    DEDUPFS_ASSIGN(const Shipper::Collected collected, shipper.collect(grace()));
    document_["deleted"] = deleted_json(collected);
    return {};
  }

  // The daemon ships what it has mounted. kNotFound: no daemon serves the volume.
  Result<void> tell_mount() {
    const Path path = folder_->path();
    nlohmann::json request{{"command", "remote"}, {"action", "push"}};
    if (asked_.grace_hours) request["grace_hours"] = *asked_.grace_hours;
    DEDUPFS_ASSIGN(const auto answer, control_request(path, request));
    DEDUPFS_ASSIGN(const auto awaited, read_answer([&] { return answer.at("awaited_tries").get<std::uint64_t>(); }));
    DEDUPFS_ASSIGN(const auto before,
                   read_answer([&] { return answer.at("remote").at("shipped_bytes").get<std::uint64_t>(); }));
    begin("ship");
    for (;;) {
      DEDUPFS_ASSIGN(const auto remote, ask_job(path, "remote", {{"action", "status"}}));
      DEDUPFS_ASSIGN(const bool is_done, read_answer([&] {
                       done_ = remote.at("shipped_bytes").get<std::uint64_t>() - before;
                       return remote.at("tries").get<std::uint64_t>() >= awaited;
                     }));
      if (is_done) return show_told(remote);
      DEDUPFS_TRY(go_on());
      std::this_thread::sleep_for(kJobLookInterval);
    }
  }
  // What the daemon that ships the volume says of that. Nothing, if there is none.
  void ask_mount() {
    if (!folder_) return;
    const auto remote = ask_job(folder_->path(), "remote", {{"action", "status"}});
    if (!remote) return;
    nlohmann::json mount;
    const auto known = read_answer([&] {
      for (const char* const key : {"lag_seconds", "lacking_bytes", "requests", "requests_seconds"})
        mount[key] = remote->at(key);
      return true;
    });
    if (known) document_["mount"] = std::move(mount);  // otherwise it is a daemon of another version
  }
  Result<void> show_told(const nlohmann::json& remote) {
    DEDUPFS_ASSIGN(const std::string failure, read_answer([&] {
                     const auto& error = remote.at("error");
                     return error.is_null() ? std::string() : error.get<std::string>();
                   }));
    if (!failure.empty()) return Error{ErrorCode::kIo, failure};
    document_["shipped"] = remote.value("last", nlohmann::json());
    DEDUPFS_TRY(load_record());
    DEDUPFS_TRY(open_bucket_at(record_.where));
    DEDUPFS_ASSIGN([[maybe_unused]] const Replica shown, newest());
    return {};
  }

  Result<void> take_over() {
    DEDUPFS_ASSIGN(const auto unfinished, find_unfinished_copy(whole_path(asked_.target)));
    if (unfinished) {
      record_ = *unfinished;
    } else {
      DEDUPFS_TRY(open_volume(true));
      DEDUPFS_TRY(load_record());
    }
    DEDUPFS_TRY(open_bucket_at(record_.where));
    DEDUPFS_TRY(probe(*bucket_));
    auto taken = unfinished ? Error{kFenced, "it is not at the newest head"}
                            : Shipper::take_over(*bucket_, record_.position, this_writer(), settings());
    if (!taken && taken.error().code() != kFenced) return taken.error();
    if (!taken) DEDUPFS_TRY(take_over_with_older_copy());
    if (taken) record_.position = *taken;
    DEDUPFS_TRY(save_record());
    note_role();
    DEDUPFS_TRY(newest());
    return {};
  }
  // The other machine went on, and may do so now.
  Result<void> take_over_with_older_copy() {
    OlderCopy copy{.path = folder_ ? folder_->path() : whole_path(asked_.target),
                   .record = record_,
                   .who = this_writer(),
                   .shipping = settings(),
                   .cloning = clone_settings()};
    document_["volume"] = copy.path.string();
    begin("clone");
    DEDUPFS_TRY(take_over_with(copy, *bucket_, folder_.get(), lock_));
    record_ = std::move(copy.record);
    DEDUPFS_ASSIGN(folder_, Backing::posix()->open_root(copy.path));
    return {};
  }

  Result<void> clone() {
    DEDUPFS_TRY(open_bucket_at(asked_.where));
    DEDUPFS_ASSIGN(const Replica replica, newest());
    DEDUPFS_ASSIGN(const auto target, CloneTarget::open(whole_path(asked_.folder), replica));
    folder_ = target->folder();
    document_["volume"] = folder_->path().string();
    total_ = total_bytes(replica.files);
    begin("clone");
    DEDUPFS_TRY(target->fill(*bucket_, replica, clone_settings(), asked_.index_only));
    record_ = {
        .volume = replica.head.volume,
        .where = asked_.where,
        .position = {.head = RemotePosition::Known{.sequence = replica.head.sequence, .sha256 = replica.sha256}}};
    note_role();
    DEDUPFS_TRY(save_record());
    return target->finish(asked_.index_only);
  }

  CloneSettings clone_settings() {
    return {.go_on = [this] { return go_on(); },
            .when_written = [this](auto bytes) { done_ += bytes; },
            .parallel = parallel()};
  }

  Result<void> verify(const Replica& replica) {
    begin("verify");
    nlohmann::json findings = nlohmann::json::array();
    if (asked_.reads_all) total_ = total_bytes(replica.files);
    const auto visit = [&](const Error& error, bool is_put_back) -> Result<void> {
      if (findings.size() < kMostNamedObjects)
        findings.push_back(error.message() + (is_put_back ? "; it was put back" : ""));
      return {};
    };
    const CheckSettings settings{.reads_all = asked_.reads_all,
                                 .go_on = [this] { return go_on(); },
                                 .visit = visit,
                                 .when_read = [this](auto bytes) { done_ += bytes; },
                                 .other_copy = asked_.repairs ? files_of(folder_) : OtherCopy(),
                                 .parallel = parallel()};
    DEDUPFS_ASSIGN(const ReplicaCheck check, check_replica(*bucket_, replica, settings));
    found_damage_ = check.bad != check.put_back;
    document_["check"] = {{"objects", check.objects},
                          {"bytes", check.bytes},
                          {"read", asked_.reads_all},
                          {"bad_objects", check.bad},
                          {"put_back", asked_.repairs ? nlohmann::json(check.put_back) : nlohmann::json(nullptr)},
                          {"findings", std::move(findings)}};
    return {};
  }
  Result<void> measure(const Replica& replica) {
    begin("usage");
    std::uint64_t objects = 0;
    std::uint64_t bytes = 0;
    DEDUPFS_TRY(bucket_->list("", "", [&](const Bucket::Object& object) -> Result<void> {
      ++objects;
      bytes += object.size;
      return go_on();
    }));
    std::uint64_t needed_objects = 0;
    for (const auto& [path, file] : replica.files) needed_objects += file.pieces.size();
    document_["usage"] = {
        {"objects", objects},
        {"bytes", bytes},
        {"needed_objects", needed_objects},
        {"needed_bytes", total_bytes(replica.files)},
        {"cost", cost_json(asked_.prices, bytes, needed_objects, total_bytes(replica.files), document_["mount"])}};
    return {};
  }

  // ---------------------------------------------------------------- what it shows

  Shipper::Settings settings() {
    begin("ship");
    return {.volume = record_.volume,
            .save = [this](const RemotePosition& position) -> Result<void> {
              record_.position = position;
              return save_record();
            },
            .go_on = [this] { return go_on(); },
            .when_put = [this](std::uint64_t bytes) { done_ += bytes; },
            .parallel = parallel()};
  }
  std::chrono::hours grace() const {
    return asked_.grace_hours ? std::chrono::hours(*asked_.grace_hours) : kDefaultGrace;
  }
  Parallel parallel() const {
    return {.requests = static_cast<std::size_t>(asked_.parallel), .memory = asked_.parallel * kMaxPieceBytes};
  }
  void note(const Replica& replica) {
    nlohmann::json head{{"sequence", replica.head.sequence},
                        {"epoch", replica.head.epoch},
                        {"files", replica.files.size()},
                        {"bytes", total_bytes(replica.files)}};
    put_time(head, "shipped", replica.head.unix_seconds);
    document_["head"] = std::move(head);
    document_["uuid"] = replica.head.volume;
    newest_ = RemotePosition::Known{.sequence = replica.head.sequence, .sha256 = replica.sha256};
    note_role();
  }
  // What this volume is there.
  void note_role() {
    if (record_.where.address.empty()) return;
    const RemotePosition& position = record_.position;
    const bool is_newest = !newest_ || position.knows(*newest_);
    document_["role"] = position.epoch == 0 ? "copy" : is_newest ? "writer" : "fenced";
    document_["epoch"] = position.epoch == 0 ? nlohmann::json(nullptr) : nlohmann::json(position.epoch);
  }
  void begin(const std::string& stage) {
    stage_ = stage;
    begun_ = Clock::now();
    progress_.begin_stage();
  }
  // On each thread that asks the bucket.
  Result<void> go_on() {
    const MutexLock one_at_a_time(showing_);
    if (process_.stop_was_asked_for())
      return Error{ErrorCode::kInterrupted, "stopped; the next run goes on with what is in the bucket"};
    if (!progress_.is_due() || stage_.empty()) return {};
    const JobState state =
        state_of_copy(stage_, done_, total_, std::chrono::duration<double>(Clock::now() - begun_).count());
    progress_.show(fmt::format("{}{}", human_size(done_), rate_and_time_left(state)), state);
    return {};
  }

  const RemoteToolArguments& asked_;
  const Process& process_;
  const OpenBucket& open_;
  JobProgress progress_;
  std::string stage_;
  Clock::time_point begun_;
  std::atomic<std::uint64_t> done_ = 0;
  std::uint64_t total_ = 0;  // 0: not known
  Mutex showing_;
  nlohmann::json document_;
  bool found_damage_ = false;
  std::shared_ptr<BackingFolder> folder_;  // as the disk has it
  std::shared_ptr<const void> lock_;
  RemoteRecord record_;
  std::unique_ptr<Bucket> bucket_;
  std::optional<RemotePosition::Known> newest_;
};

}  // namespace

int run_remote(Arguments arguments, std::ostream& out, std::ostream& err, const Process& process,
               const OpenBucket& open) {
  Console console({.name = kName, .usage_error = kUsageError, .failed = kFailed}, out, err);
  RemoteToolArguments asked;
  Command app("Replicates a dedupfs volume to a bucket of an object store, and restores it from there.",
              std::string(kName));
  app.example("dedupfs-remote clone s3://backups/volume /srv/volume");
  define_remote_commands(app, asked);
  if (const auto exit_code = console.parse(app, arguments)) return *exit_code;
  if (const auto finished = finish_arguments(asked); !finished) return console.fail(finished.error(), kUsageError);

  const LogTo log(err, std::string(kName), spdlog::level::warn);
  process.catch_stop_signals();
  RemoteRun run(asked, console, process, open);
  auto document = run.run();
  if (!document)
    return console.fail(document.error(), document.error().code() == ErrorCode::kInterrupted ? kUnfinished : kFailed);
  return show(console, "dedupfs-remote", std::move(*document), run.found_damage() ? kDamaged : kDone, remote_screen);
}

}  // namespace dedupfs::tools
