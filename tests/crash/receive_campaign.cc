// A volume receives two snapshots as streams, and loses its power at any moment. What it had before is there, a snapshot is there as a whole
// or not at all, and the streams go on where the volume says, or from their beginning.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <random>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "crash/campaign.h"
#include "crash/oracle.h"
#include "crash/reporter.h"
#include "crash/workloads.h"
#include "fs/transfer/receiver.h"
#include "fs/transfer/sender.h"
#include "fs/transfer/streams.h"
#include "support/crash_replay.h"

namespace dedupfs {
namespace {

constexpr std::uint64_t kStatesOfAReception = 40;
constexpr std::uint64_t kVariations = 40;
constexpr std::size_t kReceiveFrameBytes = 300;  // so that the end of a stream is often between two records
const std::string kOwnFile = "the receiver's own";
const std::string kOwnContent(5000, 'o');

// One snapshot of a tree, without what another volume cannot have: numbers of inodes, and times at which files were made.
std::string snapshot_in(const std::string& tree, const std::string& name, const std::string& folder) {
  const std::string head = fmt::format("/{}/{}/", kSnapshotsName, name);
  const auto without = [](std::string line, std::string_view field) {
    const std::size_t begin = line.find(field);
    if (begin == std::string::npos) return line;
    const std::size_t end = line.find(' ', begin + field.size());
    return line.erase(begin, end == std::string::npos ? end : end - begin);
  };
  std::istringstream lines(tree);
  std::string text;
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with(head)) continue;
    std::string path = line.substr(head.size());
    if (!folder.empty()) {
      if (!path.starts_with(folder)) continue;
      path.erase(0, folder.size());
      if (path.starts_with('/')) path.erase(0, 1);
    }
    if (path.starts_with(kOwnFile)) continue;
    text += without(without(path, " inode "), " born ") + '\n';
  }
  return text;
}

// A filesystem with two snapshots, which nobody changes any more.
class Sender {
 public:
  Sender(std::uint64_t seed, const DiskImage& volume) : run_(volume, {}) {
    std::mt19937_64 random(seed);
    run_.open();
    for (const std::string name : {"1", "2"}) {
      for (const Workload& workload : workloads())
        if (workload.name == "sequences" || workload.name == (seed % 2 == 0 ? "overwrite" : "delete"))
          workload.drive(run_, random, 12);
      // One that is long enough for a stream to break in the middle of it.
      std::string content(200'000, '\0');
      for (char& byte : content) byte = static_cast<char>(random());
      run_.write(run_.make_file(run_.root(), "long " + name), 0, content);
      run_.create_snapshot(name);
    }
    tree_ = tree_of(run_.filesystem()).value().text;
  }
  std::string tree(const std::string& snapshot) const { return snapshot_in(tree_, snapshot, ""); }
  std::string stream(const transfer::SendRequest& request) {
    transfer::SendRequest small = request;
    small.frame_bytes = kReceiveFrameBytes;
    std::string bytes;
    const auto sent = transfer::send(run_.filesystem(), small, transfer::into(bytes),
                                     [](const transfer::SendTotals&) { return Result<void>(); });
    return sent ? bytes : "it was not sent: " + sent.error().message();
  }
  std::string whole() { return stream({.snapshot = "1"}); }
  std::string changes() { return stream({.snapshot = "2", .since = "1"}); }

 private:
  RecordedRun run_;
  std::string tree_;
};

Result<void> receive_from(Filesystem& filesystem, const std::string& folder, std::string_view stream) {
  DEDUPFS_TRY(transfer::receive(filesystem, {.folder = folder}, transfer::out_of(stream),
                                [](const transfer::ReceiveTotals&) { return Result<void>(); }));
  return {};
}

// What is received, beside what is sure at which moment.
struct Reception {
  DiskImage start;
  std::vector<DiskEvent> events;
  std::size_t has_own = 0;           // on the disk from this event on
  std::array<std::size_t, 2> has{};  // each snapshot
  std::string folder;
  std::vector<std::string> problems;
};

Reception record_reception(Sender& sender, std::uint64_t seed, const DiskImage& volume) {
  std::mt19937_64 random(seed);
  Reception reception{.start = volume, .folder = seed % 3 == 0 ? "" : "copies"};
  const auto disk = std::make_shared<MemoryDisk>(volume);
  const auto expect = [&](const std::string& what, const Result<void>& done) {
    if (!done) reception.problems.push_back(what + " failed: " + done.error().message());
  };
  auto opened = open_filesystem(disk, {.commit_interval = std::chrono::milliseconds(seed % 2 == 0 ? 2 : 3'600'000)});
  if (!opened) {
    expect("opening", opened.error());
    return reception;
  }
  Filesystem& filesystem = **opened;
  const auto own = filesystem.create(kRootInode, kOwnFile, 0644, {});
  expect("making a file", own ? filesystem.write(own->inode, 0, bytes_of(kOwnContent), {}, nullptr) : own.error());
  expect("sync", filesystem.sync());
  reception.has_own = disk->event_count();

  const std::string whole = sender.whole();
  for (std::uint64_t breaks = random() % 4; breaks != 0; --breaks)
    (void)receive_from(filesystem, reception.folder, std::string_view(whole).substr(0, random() % whole.size()));
  expect("the first stream", receive_from(filesystem, reception.folder, whole));
  reception.has[0] = disk->event_count();
  const std::string changes = sender.changes();
  for (std::uint64_t breaks = random() % 4; breaks != 0; --breaks) {  // the stream breaks, and begins anew
    const std::string part = changes.substr(0, random() % changes.size());
    if (receive_from(filesystem, reception.folder, part)) reception.problems.emplace_back("a part was taken for all");
  }
  expect("the second stream", receive_from(filesystem, reception.folder, changes));
  reception.has[1] = disk->event_count();
  expect("closing", filesystem.close());
  reception.events = disk->events();
  return reception;
}

// Until both snapshots are there. `from_beginning`: without a token.
Result<void> go_on(Filesystem& filesystem, Sender& sender, const std::string& folder, bool from_beginning,
                   std::uint64_t seed) {
  std::mt19937_64 random(seed);
  bool breaks_once = true;
  for (int tries = 0; tries < 5; ++tries) {
    auto found = transfer::find_received(filesystem, folder);
    const bool is_folder_gone = !found && found.error().code() == ErrorCode::kNotFound;  // it was not made yet
    if (!found && !is_folder_gone) return found.error();
    const auto state = is_folder_gone ? std::nullopt : *found;
    if (!state) {
      DEDUPFS_TRY(receive_from(filesystem, folder, sender.whole()));
      continue;
    }
    if (state->has_snapshot && state->snapshot.name == "2") return {};
    if (state->has_snapshot) {
      DEDUPFS_TRY(receive_from(filesystem, folder, sender.changes()));
    } else if (from_beginning) {
      DEDUPFS_TRY(receive_from(filesystem, folder, state->snapshot.name == "1" ? sender.whole() : sender.changes()));
    } else {
      const std::string rest = sender.stream({.snapshot = {}, .since = {}, .resume = state->token()});
      if (std::exchange(breaks_once, false))  // and goes on in the middle of something
        (void)receive_from(filesystem, folder, std::string_view(rest).substr(0, random() % rest.size()));
      else
        DEDUPFS_TRY(receive_from(filesystem, folder, rest));
    }
  }
  return Error{ErrorCode::kBusy, "the streams never end"};
}

class ReceptionJudge {
 public:
  ReceptionJudge(Sender& sender, const Reception& reception) : sender_(sender), reception_(reception) {}

  std::vector<std::string> problems(const DiskImage& image, std::size_t position, bool from_beginning) {
    problems_.clear();
    if (const auto judged = judge(image, position, from_beginning); !judged)
      problems_.push_back(judged.error().message());
    return problems_;
  }

 private:
  Result<void> judge(const DiskImage& image, std::size_t position, bool from_beginning) {
    const auto disk = std::make_shared<MemoryDisk>(image);
    {
      DEDUPFS_ASSIGN(const auto filesystem, open_filesystem(disk));
      DEDUPFS_TRY(look(*filesystem, position));
      const auto done = go_on(*filesystem, sender_, reception_.folder, from_beginning, position);
      if (!done) return done.error().with("it does not go on");
      DEDUPFS_TRY(look(*filesystem, reception_.has[1]));
      DEDUPFS_TRY(filesystem->close());
    }
    DEDUPFS_ASSIGN(const auto again, open_filesystem(disk));
    DEDUPFS_TRY(look(*again, reception_.has[1]));
    return again->close();
  }
  // What must be there when so many events are on the disk.
  Result<void> look(Filesystem& filesystem, std::size_t position) {
    check_filesystem(filesystem, problems_);
    DEDUPFS_ASSIGN(const Attributes own, filesystem.lookup(kRootInode, kOwnFile));
    filesystem.forget(own.inode, 1);
    DEDUPFS_ASSIGN(const auto pieces, filesystem.read(own.inode, 0, own.size));
    std::string content;
    for (const PinnedBytes& piece : pieces) content += text_of(piece.bytes);
    if (content != kOwnContent) problems_.emplace_back("the receiver's own file has changed");

    DEDUPFS_ASSIGN(const Tree tree, tree_of(filesystem));
    for (const std::size_t i : {0U, 1U}) {
      const std::string name = std::to_string(i + 1);
      const std::string found = snapshot_in(tree.text, name, reception_.folder);
      if (found.empty() && position < reception_.has[i]) continue;
      if (found != sender_.tree(name))
        problems_.push_back(
            fmt::format("snapshot {} is not the sender's: {}", name, difference(sender_.tree(name), found)));
    }
    return {};
  }

  Sender& sender_;
  const Reception& reception_;
  std::vector<std::string> problems_;
};

}  // namespace

CampaignResult run_receive_states(const CampaignOptions& options, std::ostream& out) {
  Reporter reporter(options, out);
  const DiskImage plain = make_small_volume();
  const DiskImage volume = options.encrypted ? make_small_volume(Sealing::kEncrypted) : plain;
  for (std::uint64_t seed = options.seed; reporter.result().states < options.states && !reporter.enough(); ++seed) {
    const std::string recording = fmt::format("--receive {}--seed {}", options.encrypted ? "--encrypted " : "", seed);
    Sender sender(seed, plain);
    const Reception reception = record_reception(sender, seed, volume);
    for (const std::string& problem : reception.problems)
      reporter.violation(recording + ", while it was recorded", problem);
    const std::uint64_t states = std::min(options.states - reporter.result().states, kStatesOfAReception);
    in_parallel(options.threads, states, [&](std::size_t from, std::size_t to) {
      CrashReplay replay(reception.start, reception.events);
      for (std::size_t i = from; i < to && !reporter.enough(); ++i) {
        const std::size_t moments = reception.events.size() - reception.has_own;
        const std::size_t position = reception.has_own + moments * i / states;
        std::mt19937_64 random(seed * 1'000'003 + i);
        replay.go_to(position);
        const std::uint64_t variation = random() % kVariations;
        ReceptionJudge judge(sender, reception);
        for (const std::string& problem : judge.problems(replay.state(variation, random()), position, i % 3 == 0))
          reporter.violation(fmt::format("{}, state {} of {} (event {} of {}, variation {})", recording, i, states,
                                         position, reception.events.size(), variation),
                             problem);
        reporter.state();
      }
    });
  }
  return reporter.result();
}

}  // namespace dedupfs
