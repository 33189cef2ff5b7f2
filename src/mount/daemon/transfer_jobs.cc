#include "mount/daemon/transfer_jobs.h"

#include <algorithm>
#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "fs/transfer/receiver.h"
#include "fs/transfer/sender.h"
#include "mount/reports/transfer_report.h"

namespace dedupfs {
namespace {

using Json = nlohmann::json;

// {"command": "send", "snapshot": "tuesday", "since": "monday", "resume": null, "level": 6}
Result<transfer::SendRequest> send_request_of(const Json& request) {
  transfer::SendRequest asked{.snapshot = request.at("snapshot").get<std::string>()};
  if (const Json& since = request.at("since"); !since.is_null()) asked.since = since.get<std::string>();
  if (const Json& token = request.at("resume"); !token.is_null()) {
    DEDUPFS_ASSIGN(asked.resume, transfer::ResumeToken::parse(token.get<std::string>()));
  }
  asked.level = std::clamp(request.at("level").get<int>(), 1, 19);
  return asked;
}

// Notes how far a stream is, until it ends: among the jobs of the mount, and for its client.
class NotedTransfer {
 public:
  NotedTransfer(Filesystem& filesystem, std::string_view job, RunningTransfers& running, const Json& request)
      : job_(filesystem.running_jobs(), job), running_(running), name_(request.value("transfer", std::string())) {}
  ~NotedTransfer() { running_.end(name_); }
  NotedTransfer(const NotedTransfer&) = delete;
  NotedTransfer& operator=(const NotedTransfer&) = delete;

  template <class Totals>
  void note(const Totals& so_far) {
    job_.meter().set(so_far.done_bytes, so_far.content_bytes);
    running_.note(
        name_,
        {.stream_bytes = so_far.stream_bytes, .done_bytes = so_far.done_bytes, .content_bytes = so_far.content_bytes});
  }

 private:
  RunningJobs::Job job_;
  RunningTransfers& running_;
  const std::string name_;
};

// Accepts the request when there is something to send: what is wrong with it is an answer.
Result<Json> send(Filesystem& filesystem, const Json& request, ControlStream& stream, NotedTransfer& noted,
                  const GoOn& go_on) {
  DEDUPFS_ASSIGN(const transfer::SendRequest asked, send_request_of(request));
  bool is_accepted = false;
  const StreamSink sink = [&](ByteSpan bytes) -> Result<void> {
    if (!std::exchange(is_accepted, true)) DEDUPFS_TRY(stream.accept(Json::object()));
    return stream.write(bytes);
  };
  const auto sent = transfer::send(filesystem, asked, sink, [&](const transfer::SendTotals& so_far) {
    noted.note(so_far);
    return go_on();
  });
  if (!sent) return sent.error();
  return sent_json(*sent);
}

Result<Json> receive(FuseMount& mount, const Json& request, ControlStream& stream, NotedTransfer& noted,
                     const GoOn& go_on) {
  const transfer::ReceiveRequest asked{.folder = request.at("folder").get<std::string>(),
                                       .snapshot_name = request.at("snapshot_name").get<std::string>()};
  DEDUPFS_TRY(stream.accept(Json::object()));
  const auto received = transfer::receive(
      mount.filesystem(), asked, [&](MutableByteSpan room) { return stream.read(room); },
      [&](const transfer::ReceiveTotals& so_far) {
        noted.note(so_far);
        return go_on();
      },
      [&](const std::vector<ChangedName>& changed) { mount.invalidate(changed); });
  if (!received) return received.error();
  return received_json(*received);
}

}  // namespace

void RunningTransfers::note(const std::string& name, const Done& done) {
  if (name.empty()) return;
  const MutexLock lock(mutex_);
  running_[name] = done;
}

void RunningTransfers::end(const std::string& name) {
  const MutexLock lock(mutex_);
  running_.erase(name);
}

Result<Json> RunningTransfers::answer(const Json& request) const {
  const MutexLock lock(mutex_);
  const auto found = running_.find(request.at("transfer").get<std::string>());
  if (found == running_.end()) return Error{ErrorCode::kNotFound, "no such stream is under way"};
  const Done& done = found->second;
  return Json{
      {"stream_bytes", done.stream_bytes}, {"done_bytes", done.done_bytes}, {"content_bytes", done.content_bytes}};
}

StreamJobs::Jobs transfer_jobs(FuseMount& mount, const std::shared_ptr<RunningTransfers>& running) {
  const auto receives = std::make_shared<std::atomic<bool>>(false);
  const auto send_one = [&mount, running](const Json& request, ControlStream& stream, const GoOn& go_on) {
    NotedTransfer noted(mount.filesystem(), "send", *running, request);
    return send(mount.filesystem(), request, stream, noted, go_on);
  };
  const auto receive_one = [&mount, running, receives](const Json& request, ControlStream& stream,
                                                       const GoOn& go_on) -> Result<Json> {
    // Two into one folder would disturb each other.
    if (receives->exchange(true))
      return Error{ErrorCode::kBusy, "the volume is receiving another stream: wait until it has"};
    const auto end = [](std::atomic<bool>* flag) { *flag = false; };
    const std::unique_ptr<std::atomic<bool>, decltype(end)> turn(receives.get(), end);
    NotedTransfer noted(mount.filesystem(), "receive", *running, request);
    return receive(mount, request, stream, noted, go_on);
  };
  return {{"send", {StreamDirection::kToClient, send_one}}, {"receive", {StreamDirection::kFromClient, receive_one}}};
}

Result<Json> received_token(FuseMount& mount, const Json& request) {
  DEDUPFS_ASSIGN(const auto state,
                 transfer::find_received(mount.filesystem(), request.at("folder").get<std::string>()));
  return token_json(state);
}

}  // namespace dedupfs
