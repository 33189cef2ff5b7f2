#include "crash/workloads.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <string>
#include <utility>
#include <vector>

namespace dedupfs {
namespace {

using Random = std::mt19937_64;

std::uint64_t below(Random& random, std::uint64_t limit) {
  return std::uniform_int_distribution<std::uint64_t>(0, limit - 1)(random);
}

std::string random_bytes(Random& random, std::size_t length) {
  std::string bytes(length, '\0');
  for (char& byte : bytes) byte = static_cast<char>(random());
  return bytes;
}

void append_to_a_log(RecordedRun& run, Random& random, int length) {
  const ModelPtr log = run.make_file(run.root(), "log");
  for (int i = 0; log && i < length; ++i) {
    run.write(log, log->content.size(), random_bytes(random, 1 + below(random, 3000)));
    if (below(random, 3) != 0) run.sync_file(log);
  }
}

void replace_a_file(RecordedRun& run, Random& random, int length) {
  for (int i = 0; i < length; ++i) {
    const ModelPtr fresh = run.make_file(run.root(), "target.new");
    run.write(fresh, 0, random_bytes(random, 1 + below(random, 20'000)));
    run.sync_file(fresh);
    run.rename(run.root(), "target.new", run.root(), "target");
    if (below(random, 2) == 0) run.sync();
  }
}

// After ACE, "CrashMonkey and ACE" (OSDI '18): sequences of two operations on a small tree, each followed by a sync or not.
void sequences_of_two(RecordedRun& run, Random& random, int length) {
  const ModelPtr a = run.make_directory(run.root(), "A");
  const ModelPtr b = run.make_directory(run.root(), "B");
  const std::array directories{run.root(), a, b};
  const std::array<std::string, 3> names{"foo", "bar", "baz"};
  const auto directory = [&] { return directories[below(random, directories.size())]; };
  const auto name = [&] { return names[below(random, names.size())]; };
  const auto file = [&]() -> ModelPtr {
    for (int tries = 0; tries < 10; ++tries) {
      const ModelPtr in = directory();
      const ModelPtr node = in ? FilesystemModel::find(*in, name()) : nullptr;
      if (node && is_regular(node->mode)) return node;
    }
    return nullptr;
  };
  const auto operation = [&] {
    switch (below(random, 16)) {
      case 0:
      case 1:
      case 2: run.write(run.make_file(directory(), name()), 0, random_bytes(random, 1 + below(random, 9000))); break;
      case 3: run.link(file(), directory(), name()); break;
      case 4:
      case 5: run.unlink(directory(), name()); break;
      case 6: run.rename(directory(), name(), directory(), name()); break;
      case 7: run.rename(directory(), name(), directory(), name(), Filesystem::RenameMode::kExchange); break;
      case 8:
        if (const ModelPtr node = file()) run.write(node, below(random, node->content.size() + 1), "overwritten");
        break;
      case 9:
        if (const ModelPtr node = file()) run.write(node, node->content.size(), random_bytes(random, 4000));
        break;
      case 10:
        if (const ModelPtr node = file()) run.truncate(node, below(random, 12'000));
        break;
      case 11: run.punch(file(), below(random, 4000), 1 + below(random, 4000)); break;
      case 12: run.copy_range(file(), below(random, 2000), file(), below(random, 9000), 1 + below(random, 5000)); break;
      case 13: run.set_xattr(file(), "user.note", random_bytes(random, below(random, 200))); break;
      case 14: run.set_mode(file(), static_cast<std::uint32_t>(below(random, 01000)), 1); break;
      default:
        run.make_symlink(directory(), "link", "../" + name());
        run.make_directory(directory(), "D");
        run.remove_directory(directory(), "D");
    }
  };
  for (int i = 0; i < length; ++i) {
    operation();
    if (below(random, 2) == 0) run.sync_file(file());
    operation();
    if (below(random, 2) == 0) run.sync();
  }
}

// Content that others share, and near-duplicates that are stored as deltas of it.
void overwrite_shared_chunks(RecordedRun& run, Random& random, int length) {
  const std::string content = random_bytes(random, 60'000);
  const ModelPtr original = run.make_file(run.root(), "original");
  run.write(original, 0, content);
  run.sync();
  for (int i = 0; i < length; ++i) {
    const ModelPtr copy = run.make_file(run.root(), "copy" + std::to_string(i));
    std::string near = content;
    for (int edit = 0; edit < 4; ++edit) near[below(random, near.size())] = 'x';
    run.write(copy, 0, near);
    run.write(original, below(random, 50'000), random_bytes(random, 1 + below(random, 6000)));
    if (below(random, 2) == 0) run.sync_file(copy);
  }
}

void delete_the_last_reference(RecordedRun& run, Random& random, int length) {
  for (int i = 0; i < length; ++i) {
    const std::string name = "file" + std::to_string(i % 3);
    const ModelPtr file = run.make_file(run.root(), name);
    if (!file) continue;
    run.write(file, 0, random_bytes(random, 20'000 + below(random, 20'000)));
    if (below(random, 2) == 0) run.sync();
    const bool opened = below(random, 2) == 0 && run.filesystem().open_file(file->number, false, {}).has_value();
    run.unlink(run.root(), name);
    if (below(random, 2) == 0) run.sync();
    if (opened) run.filesystem().release_file(file->number, true);
    if (below(random, 2) == 0) run.sync();
  }
}

void fill_containers(RecordedRun& run, Random& random, int length) {
  for (int i = 0; i < length; ++i) {
    const ModelPtr file = run.make_file(run.root(), "file" + std::to_string(i));
    if (!file) continue;
    const bool opened = run.filesystem().open_file(file->number, false, {}).has_value();
    for (int piece = 0; piece < 3; ++piece)
      run.write(file, file->content.size(), random_bytes(random, 10'000 + below(random, 60'000)));
    if (opened) run.filesystem().release_file(file->number, true);  // storing it begins
    if (below(random, 2) == 0) run.sync_file(file);
  }
}

// Space of what was deleted and overwritten comes back, while files share content with it and are deltas of it.
void reclaim_in_between(RecordedRun& run, Random& random, int length) {
  const std::string content = random_bytes(random, 60'000);
  const auto change_something = [&] {
    const std::string name = "file" + std::to_string(below(random, 5));
    const ModelPtr known = FilesystemModel::find(*run.root(), name);
    std::string near = content.substr(below(random, 2) * 4096, 10'000 + below(random, 50'000));
    for (int edit = 0; edit < 3; ++edit) near[below(random, near.size())] = static_cast<char>(random());
    switch (known ? below(random, 5) : 0) {
      case 0: run.write(known ? known : run.make_file(run.root(), name), 0, near); break;
      case 1: run.write(known, below(random, known->content.size()), near.substr(0, 9000)); break;
      case 2: run.truncate(known, below(random, known->content.size() + 1)); break;
      default: run.unlink(run.root(), name);
    }
  };
  for (int i = 0; i < length; ++i) {
    for (std::uint64_t changes = 1 + below(random, 4); changes != 0; --changes) change_something();
    if (below(random, 2) == 0) run.sync();
    run.begin_reclaim();
    if (below(random, 2) == 0) change_something();
    if (below(random, 3) == 0) run.sync();
    run.await_reclaim();
  }
}

// What landed is settled while files change, while space is reclaimed, and after the volume was opened again.
void settle_in_between(RecordedRun& run, Random& random, int length) {
  const auto letters = [&](std::size_t size) {  // a codec makes half of them
    std::string text(size, 'a');
    for (char& letter : text) letter = static_cast<char>('a' + static_cast<int>(below(random, 16)));
    return text;
  };
  const auto change_something = [&] {
    const std::string name = "file" + std::to_string(below(random, 5));
    const ModelPtr known = FilesystemModel::find(*run.root(), name);
    switch (known ? below(random, 4) : 0) {
      case 0:
      case 1: run.write(known ? known : run.make_file(run.root(), name), 0, letters(1 + below(random, 60'000))); break;
      case 2: run.write(known, below(random, known->content.size() + 1), letters(9000)); break;
      default: run.unlink(run.root(), name);
    }
  };
  for (int i = 0; i < length; ++i) {
    for (std::uint64_t changes = 1 + below(random, 4); changes != 0; --changes) change_something();
    if (below(random, 2) == 0) run.sync();
    if (below(random, 4) == 0) run.reopen();
    run.begin_reclaim(below(random, 4) == 0 ? ReclaimGoal::kFreeSpace : ReclaimGoal::kSettle);
    if (below(random, 2) == 0) change_something();
    if (below(random, 3) == 0) run.sync();
    run.await_reclaim();
  }
}

// An encrypted volume gets new master keys. Reclaims move what is under the former ones, and unmounts forget these.
void rotate_the_key(RecordedRun& run, Random& random, int length) {
  for (int i = 0; i < length; ++i) {
    const ModelPtr file = run.make_file(run.root(), "file" + std::to_string(i));
    run.write(file, 0, random_bytes(random, 1 + below(random, 40'000)));
    if (i > 2) run.unlink(run.root(), "file" + std::to_string(i - 2));
    if (below(random, 2) == 0) run.sync();
    if (below(random, 2) == 0) run.rotate_key();
    if (below(random, 2) == 0) {
      run.begin_reclaim();
      if (below(random, 2) == 0) run.write(file, 0, random_bytes(random, 9000));
      run.await_reclaim();
    }
    if (below(random, 3) == 0) run.reopen();
  }
}

// They are made, deleted and gone back to while files change, and while space is reclaimed.
void snapshots_in_between(RecordedRun& run, Random& random, int length) {
  const auto snapshot_name = [&] { return "s" + std::to_string(below(random, 4)); };
  const auto change_something = [&] {
    const ModelPtr found = FilesystemModel::find(*run.root(), "d");
    const ModelPtr directory = below(random, 2) == 0 ? run.root() : found ? found : run.make_directory(run.root(), "d");
    if (!directory) return;
    const std::string name = "file" + std::to_string(below(random, 4));
    const ModelPtr known = FilesystemModel::find(*directory, name);
    const std::string bytes = random_bytes(random, 1 + below(random, 20'000));
    switch (known ? below(random, 6) : 0) {
      case 0: run.write(known ? known : run.make_file(directory, name), 0, bytes); break;
      case 1: run.write(known, below(random, known->content.size() + 1), bytes); break;
      case 2: run.truncate(known, below(random, known->content.size() + 1)); break;
      case 3: run.rename(directory, name, run.root(), "moved"); break;
      case 4: run.set_xattr(known, "user.note", bytes.substr(0, 100)); break;
      default: run.unlink(directory, name);
    }
  };
  for (int i = 0; i < length; ++i) {
    for (std::uint64_t changes = 1 + below(random, 3); changes != 0; --changes) change_something();
    const bool reclaims = below(random, 4) == 0;
    if (reclaims) run.begin_reclaim();
    switch (below(random, 6)) {
      case 0:
      case 1: run.create_snapshot(snapshot_name()); break;
      case 2: run.delete_snapshot(snapshot_name()); break;
      case 3: run.roll_back(snapshot_name()); break;
      case 4: run.sync(); break;
      default: change_something();
    }
    if (reclaims) run.await_reclaim();
  }
}

// The whole tree gets a quota, loses it and gets it again, and goes back to times at which it had none.
void quotas_in_between(RecordedRun& run, Random& random, int length) {
  for (int i = 0; i < length; ++i) {
    if (below(random, 3) == 0)
      run.remove_quota();
    else
      run.set_quota(1'000'000 + static_cast<std::uint64_t>(i));
    const ModelPtr file = run.make_file(run.root(), "file" + std::to_string(i));
    run.write(file, 0, random_bytes(random, 1 + below(random, 30'000)));
    if (below(random, 2) == 0) run.sync_file(file);
    sequences_of_two(run, random, 2);
    const std::string snapshot = std::to_string(below(random, 3));
    if (below(random, 3) == 0) run.create_snapshot(snapshot);
    if (below(random, 4) == 0) run.roll_back(snapshot);
    if (below(random, 3) == 0) run.reopen();
  }
}

// Files are cloned, and made of pieces of others, so that what they need lies scattered and is stored once more.
void defragment_scattered_chunks(RecordedRun& run, Random& random, int length) {
  std::vector<std::string> contents;
  for (int i = 0; i < length; ++i) {
    contents.push_back(random_bytes(random, 50'000 + below(random, 30'000)));
    const ModelPtr old = run.make_file(run.root(), "old" + std::to_string(i));
    run.write(old, 0, contents.back());
    run.sync();
    if (below(random, 2) == 0) run.clone(old, run.root(), "clone" + std::to_string(i));
    if (below(random, 4) == 0) run.unlink(run.root(), "old" + std::to_string(below(random, contents.size())));
    if (i % 3 != 2) continue;
    std::string pieces;
    for (const std::string& content : contents) pieces += content.substr(below(random, 20'000), 20'000);
    const ModelPtr patchwork = run.make_file(run.root(), "patchwork" + std::to_string(i));
    run.write(patchwork, 0, pieces);
    if (below(random, 2) == 0) run.sync_file(patchwork);
    run.reopen();  // what is left to store once more is stored by then
  }
}

// Each closing turns the log of the index into tables, and every fourth time these are compacted.
void mount_again_and_again(RecordedRun& run, Random& random, int length) {
  for (int i = 0; i < length; ++i) {
    const ModelPtr file = run.make_file(run.root(), "file" + std::to_string(i));
    run.write(file, 0, random_bytes(random, 1 + below(random, 9000)));
    if (i > 2) run.unlink(run.root(), "file" + std::to_string(i - 2));
    if (below(random, 2) == 0) run.sync();
    run.reopen();
  }
}

// A group is committed every few milliseconds, whatever is under way.
void commits_in_between(RecordedRun& run, Random& random, int length) {
  sequences_of_two(run, random, length);
  fill_containers(run, random, 2);
}

// The disk takes nothing more for a while, although it says that it has space, as where a quota is used up. The first sync
// after that succeeds.
void fill_the_disk(RecordedRun& run, Random& random, int length) {
  const ModelPtr kept = run.make_file(run.root(), "kept");
  run.write(kept, 0, random_bytes(random, 30'000));
  run.sync();
  for (int i = 0; i < length; ++i) {
    const auto left = std::make_shared<std::atomic<std::int64_t>>(static_cast<std::int64_t>(below(random, 12)));
    const std::size_t partial = below(random, 2) * below(random, 20'000);
    run.disk().set_fault(
        [left, partial](std::string_view operation, const Path& path) -> std::optional<MemoryDisk::Fault> {
          if (operation != "write" && operation != "open") return std::nullopt;
          if (--*left >= 0) return std::nullopt;
          return MemoryDisk::Fault{Error{ErrorCode::kNoSpace, path.string() + ": the disk is full"}, partial};
        });
    run.tolerate_errors(true);
    const ModelPtr file = run.make_file(run.root(), "file" + std::to_string(i));
    run.write(file, 0, random_bytes(random, 1 + below(random, 40'000)));
    run.sync();
    run.unlink(run.root(), "file" + std::to_string(i - 1));
    run.sync();
    run.disk().set_fault(nullptr);
    run.tolerate_errors(false);
    run.sync();
  }
}

// The volume is made, mounted and used a little.
void make_the_volume(RecordedRun& run, Random& random, int /*length*/) {
  append_to_a_log(run, random, 2);
}

constexpr std::array kWorkloads{
    Workload{.name = "append", .drive = append_to_a_log, .length = 16},
    Workload{.name = "replace", .drive = replace_a_file},
    Workload{.name = "sequences", .drive = sequences_of_two, .length = 12, .short_length = 5},
    Workload{.name = "overwrite", .drive = overwrite_shared_chunks, .length = 6},
    Workload{.name = "delete", .drive = delete_the_last_reference},
    Workload{.name = "containers", .drive = fill_containers, .length = 6},
    Workload{.name = "reclaim", .drive = reclaim_in_between, .length = 8, .short_length = 3},
    Workload{.name = "settle", .drive = settle_in_between, .length = 8, .short_length = 3},
    Workload{.name = "rotate", .drive = rotate_the_key, .length = 6, .short_length = 2},
    Workload{.name = "snapshots", .drive = snapshots_in_between, .length = 14, .short_length = 6},
    Workload{.name = "quota", .drive = quotas_in_between, .length = 8, .short_length = 3},
    Workload{.name = "rewrite",
             .drive = defragment_scattered_chunks,
             .length = 9,
             .short_length = 3,
             .defragment_percent = 100},
    Workload{.name = "remount", .drive = mount_again_and_again, .length = 7, .short_length = 2},
    Workload{.name = "commits",
             .drive = commits_in_between,
             .length = 12,
             .short_length = 4,
             .commit_interval = std::chrono::milliseconds(5)},
    Workload{.name = "full-disk", .drive = fill_the_disk, .length = 5, .short_length = 0},
    Workload{.name = "mkfs", .drive = make_the_volume, .from_nothing = true},
};

}  // namespace

std::span<const Workload> workloads() {
  return kWorkloads;
}

namespace {

History record(const Workload& workload, std::uint64_t seed, const DiskImage& volume,
               const MemoryDisk::FaultSource& fault, RunOptions options) {
  Random random(seed);
  options.faults = fault != nullptr;
  options.commit_interval = workload.commit_interval;
  options.defragment_percent = workload.defragment_percent;
  options.sealing = sealing_of(volume);
  RecordedRun run(workload.from_nothing ? DiskImage() : volume, options);
  try {
    if (workload.from_nothing) {
      run.disk().set_fault(fault);
      run.make_volume();
    }
    run.open();
    if (options.faults && !workload.from_nothing) run.disk().set_fault(fault);
    workload.drive(run, random, options.faults ? workload.short_length : workload.length);
    if (options.faults || below(random, 2) == 0) run.close();
  } catch (const RunEnded&) {
  }
  return run.finish();
}

}  // namespace

History record(const Workload& workload, std::uint64_t seed, const DiskImage& volume, RunOptions options) {
  return record(workload, seed, volume, nullptr, std::move(options));
}

History record_with_fault(const Workload& workload, std::uint64_t seed, const DiskImage& volume,
                          MemoryDisk::FaultSource fault) {
  return record(workload, seed, volume, fault, {});
}

}  // namespace dedupfs
