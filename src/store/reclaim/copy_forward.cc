#include "store/reclaim/copy_forward.h"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <functional>
#include <map>
#include <set>
#include <string>

#include "base/crash_point.h"
#include "store/chunks/chunk_reader.h"
#include "store/chunks/dropped_bytes.h"
#include "store/format/container_format.h"
#include "store/format/format.h"
#include "store/reclaim/gather_plan.h"
#include "store/relocation/erasure.h"
#include "store/relocation/relocator.h"
#include "store/volume/outdated_files.h"

namespace dedupfs {
namespace {

constexpr std::uint64_t kMovedBetweenCommits = 256 << 20;  // bytes a commit
// The limit for the live bytes of containers that are emptied together. A stop leaves at most this many bytes twice.
constexpr std::uint64_t kMaxInBatch = std::uint64_t{4} << 30;
constexpr std::uint64_t kRoomShareOfABatch = 2;
// Moving a container for less is not worth it, however much garbage there is in all.
constexpr double kMinShare = 0.02;
// A container of less than this part of the full size, to which nothing is appended any more, is joined with others of that kind.
constexpr std::uint64_t kSmallPart = 16;
// Chunks that are moved in the order of files, some 40 GB. The rest moves as it lies.
constexpr std::size_t kMaxInOrder = 4 << 20;
constexpr std::uint64_t kReferencesBetweenReports = 1 << 12;
constexpr std::uint64_t kMaxMisses = 1 << 20;  // references
// Chunks of a container that is emptied anyway move as they lie, if a move in order must decode more than this many times their
// bytes. Gathering has no such limit: a reader of the files would have to decode as much.
constexpr std::uint64_t kMaxDecoded = 16;
// A container of which so much is garbage is emptied when chunks were gathered from it.
constexpr double kMinShareAfterGathering = 0.1;

}  // namespace

struct CopyForward::Usage {
  std::uint32_t container = 0;
  std::uint64_t bytes = 0;  // of the file
  std::uint64_t live_bytes = 0;
  std::uint64_t live_chunks = 0;
  std::uint64_t moved_chunks = 0;  // of these, in order
  bool is_damaged = false;         // its header
  bool is_landed = false;
  bool is_outdated = false;  // under a former key
  bool is_far = false;       // not on this machine

  bool is_empty() const { return live_chunks == 0; }
  std::uint64_t garbage_bytes() const { return bytes - std::min(bytes, live_bytes); }
  double share() const { return bytes == 0 ? 1 : static_cast<double>(garbage_bytes()) / static_cast<double>(bytes); }
  // The bytes that are stored twice until this container is removed.
  std::uint64_t moved_bytes() const { return is_empty() ? 0 : live_bytes * moved_chunks / live_chunks; }
};

std::uint64_t CopyForward::garbage_in(std::span<const Usage> containers) {
  std::uint64_t bytes = 0;
  for (const Usage& container : containers) bytes += container.garbage_bytes();
  return bytes;
}

Result<void> CopyForward::run() {
  stored_before_ = volume_.chunks().moved_disk_bytes();
  DEDUPFS_ASSIGN(std::vector<Usage> containers, choose());
  for (const Usage& container : containers) all_bytes_ += container.bytes;
  DEDUPFS_TRY(find_order(containers));
  for (std::span<Usage> rest = containers; !rest.empty();) {
    DEDUPFS_ASSIGN(const std::uint64_t available, host_.available_bytes());
    const std::uint64_t room = std::min(available / kRoomShareOfABatch, kMaxInBatch);
    std::uint64_t bytes = rest.front().live_bytes;
    std::size_t count = 1;
    for (; count < rest.size() && rest[count].is_empty() == rest.front().is_empty(); ++count) {
      if (bytes + rest[count].live_bytes > room) break;
      bytes += rest[count].live_bytes;
    }
    const std::span<Usage> batch = rest.first(count);
    rest = rest.subspan(count);
    // A container that fills most of the room moves as it lies. If it finds no room, smaller ones still may.
    if (bytes <= room)
      DEDUPFS_TRY(empty(batch));
    else if (bytes < available)
      DEDUPFS_TRY(empty_as_they_lie(batch));
    else
      findings_.lacked_room = true;
  }
  if (settings_.goal == ReclaimGoal::kSettle) DEDUPFS_TRY(gather());
  findings_.stored_bytes = volume_.chunks().moved_disk_bytes() - stored_before_;
  return {};
}

// ---------------------------------------------------------------- choose

// The emptiest first: they give back most for each moved byte.
Result<std::vector<CopyForward::Usage>> CopyForward::choose() {
  // The index does not know the chunks of open groups yet. So a container is looked at when nothing more is appended to it, and
  // after a commit.
  const std::uint32_t end = volume_.containers().begin_new_container();
  DEDUPFS_TRY(host_.commit());
  DEDUPFS_ASSIGN(std::vector<Usage> containers, usage_before(end));
  std::uint64_t all_bytes = 0;
  for (const Usage& container : containers) all_bytes += container.bytes;
  findings_.garbage_bytes = garbage_in(containers);
  std::erase_if(containers, [](const Usage& container) { return container.is_damaged && !container.is_empty(); });
  if (settings_.goal == ReclaimGoal::kSettle)
    std::erase_if(containers, [](const Usage& container) { return !container.is_landed || container.is_far; });
  std::erase_if(containers, [this](const Usage& container) {
    return container.is_far && !container.is_empty() && !container.is_outdated && container.share() < host_.far_garbage;
  });
  if (host_.least_age.count() != 0) keep_the_young(containers);
  std::ranges::sort(containers, {}, [](const Usage& container) { return -container.share(); });
  if (settings_.goal == ReclaimGoal::kFreeSpace) keep_those_with_garbage(containers, all_bytes);
  return containers;
}

// An evicted container is as old as its eviction.
void CopyForward::keep_the_young(std::vector<Usage>& containers) const {
  const auto now = std::chrono::system_clock::to_time_t(std::chrono::system_clock::now());
  std::erase_if(containers, [&](const Usage& container) {
    if (container.is_empty() || container.is_outdated) return false;
    const auto modified = volume_.containers().modified(container.container);
    return modified && *modified > now - host_.least_age.count();
  });
}

void CopyForward::keep_those_with_garbage(std::vector<Usage>& containers, std::uint64_t all_bytes) const {
  std::uint64_t garbage_bytes = findings_.garbage_bytes;
  auto end_of_chosen = containers.begin();
  for (; end_of_chosen != containers.end(); ++end_of_chosen) {
    const bool is_enough =
        static_cast<double>(garbage_bytes) <= settings_.garbage_left * static_cast<double>(all_bytes);
    if (!end_of_chosen->is_empty() && (is_enough || end_of_chosen->share() < kMinShare)) break;
    garbage_bytes -= end_of_chosen->garbage_bytes();
    all_bytes -= end_of_chosen->garbage_bytes();
  }
  end_of_chosen = std::stable_partition(end_of_chosen, containers.end(), std::mem_fn(&Usage::is_outdated));
  const std::uint64_t small = volume_.containers().container_bytes() / kSmallPart;
  const auto is_small = [small](const Usage& container) { return container.bytes < small; };
  const auto end_of_small = std::stable_partition(end_of_chosen, containers.end(), is_small);
  if (end_of_small - end_of_chosen > 1) end_of_chosen = end_of_small;
  containers.erase(end_of_chosen, containers.end());
}

Result<std::vector<CopyForward::Usage>> CopyForward::usage_before(std::uint32_t end) {
  std::map<std::uint32_t, Usage> by_container;
  std::uint64_t extents_seen = 0;
  DEDUPFS_ASSIGN(const auto containers, volume_.containers().list());
  const std::set<std::string> outdated = outdated_files(volume_);
  for (const auto& container : containers)
    if (container.id < end && container.is_file)
      by_container[container.id] = {
          .container = container.id,
          .bytes = container.bytes,
          .is_damaged = container.damage.has_value(),
          .is_landed = container.tier == ContainerTier::kLanded,
          .is_outdated = outdated.contains(std::string(kContainersDirectory) + '/' + container_name(container.id)),
          .is_far = !volume_.containers().is_near({{container.id, 0}, static_cast<std::uint32_t>(container.bytes)})};
  const auto walked =
      walk_extents(volume_.database(), *volume_.database().snapshot(), [&](const ChunkExtent& extent) -> Result<void> {
        if (extents_seen++ % kReferencesBetweenReports == 0) DEDUPFS_TRY(report(0));
        const auto usage = by_container.find(extent.place.container);
        if (usage == by_container.end()) return {};
        std::uint64_t payload_bytes = 0;
        for (const ChunkExtent::Chunk& chunk : extent.chunks) payload_bytes += chunk.payload_length();
        usage->second.live_bytes += extent.disk_bytes_of(payload_bytes);
        usage->second.live_chunks += extent.chunks.size();
        findings_.live_chunks += extent.chunks.size();
        return {};
      });
  DEDUPFS_TRY(walked);
  std::vector<Usage> usage;
  usage.reserve(by_container.size());
  for (const auto& [number, of_container] : by_container) usage.push_back(of_container);
  return usage;
}

// ---------------------------------------------------------------- order

Result<void> CopyForward::find_order(const std::vector<Usage>& containers) {
  if (!host_.newest_references) return {};
  std::set<std::uint32_t> emptied;
  std::uint64_t chunks = 0;
  for (const Usage& container : containers) {
    if (container.is_empty()) continue;
    emptied.insert(container.container);
    chunks += container.live_chunks;
  }
  const auto wanted = static_cast<std::size_t>(std::min<std::uint64_t>(chunks, kMaxInOrder));
  if (wanted == 0) return {};
  order_.reserve(wanted);
  ChunkSet seen(ChunkSet::limit_for(volume_.database()));
  ExtentFinder extents(volume_.database());
  std::uint64_t references = 0;
  std::uint64_t misses = 0;  // since the last chunk that moves
  Result<void> visited;
  DEDUPFS_TRY(host_.newest_references(
      [&](ChunkId id) {
        visited = visit_needed(id, extents, seen, [&](ChunkId needed, const ChunkExtent& extent) {
          if (order_.size() == wanted || !emptied.contains(extent.place.container)) return;
          order_.push_back({needed, extent.place.container});
          misses = 0;
        });
        if (visited && references++ % kReferencesBetweenReports == 0) visited = report(0);
        // What landed belongs to the newest files, or to none.
        const bool is_hopeless = settings_.goal == ReclaimGoal::kSettle && misses++ > kMaxMisses + wanted;
        return visited.has_value() && order_.size() < wanted && !is_hopeless;
      },
      [this] { return report(0); }));
  return visited;
}

// Visits the chunks that a reader of this chunk needs and that were not seen yet: the chunk, and its sources.
Result<void> CopyForward::visit_needed(ChunkId id, ExtentFinder& extents, ChunkSet& seen,
                                       const std::function<void(ChunkId, const ChunkExtent&)>& visit) const {
  const std::uint64_t end = volume_.chunks().erasure().end_of_ids();
  for (std::vector<ChunkId> wanted{id}; !wanted.empty();) {
    const ChunkId next = wanted.back();
    wanted.pop_back();
    if (number_of(next) >= end || !seen.insert(next)) continue;  // a damaged recipe may name any
    DEDUPFS_ASSIGN(const ChunkExtent* const extent, extents.find(next));
    if (extent == nullptr) continue;
    visit(next, *extent);
    const DeltaSources& sources = extent->at(next).sources;
    wanted.insert(wanted.end(), sources.rbegin(), sources.rend());
  }
  return {};
}

// ---------------------------------------------------------------- move

Result<void> CopyForward::empty(std::span<Usage> batch) {
  std::set<std::uint32_t> emptied_numbers;
  for (const Usage& container : batch) emptied_numbers.insert(container.container);
  std::vector<ChunkId> order;
  for (const Place& place : order_)
    if (emptied_numbers.contains(place.container)) order.push_back(place.id);
  DEDUPFS_TRY(move_in_order(order, batch, kMaxDecoded));
  return empty_as_they_lie(batch);
}

Result<void> CopyForward::move_in_order(const std::vector<ChunkId>& order, std::span<Usage> containers,
                                        std::uint64_t max_decoded) {
  if (order.empty()) return {};
  std::map<std::uint32_t, Usage*> by_number;
  for (Usage& container : containers) by_number[container.container] = &container;

  MovedChunks moved;
  const auto note_moved = [&] {
    findings_.under_way_bytes = 0;
    for (const auto& [container, chunks] : moved)
      if (const auto found = by_number.find(container); found != by_number.end()) {
        found->second->moved_chunks = chunks;
        findings_.under_way_bytes += found->second->moved_bytes();
      }
  };
  std::uint64_t reported = 0;
  std::uint64_t committed = 0;
  const auto between = [&](std::uint64_t bytes) -> Result<void> {
    note_moved();
    DEDUPFS_TRY(report(bytes - std::exchange(reported, bytes)));
    if (bytes - committed < kMovedBetweenCommits) return {};
    committed = bytes;
    return host_.commit();
  };
  const auto in_order = volume_.chunks().relocator().move_in_order(order, between, host_.in_group, max_decoded, moved);
  note_moved();
  for (const auto& [container, chunks] : moved)
    if (const auto found = by_number.find(container); found != by_number.end())
      volume_.chunks().dropped().add(garbage_of_moves(*found->second));  // until the container is emptied
  DEDUPFS_TRY(in_order);
  return host_.commit();
}

// What moves in order leave for a reclaim if the container stays. With landed containers the next settling goes on.
std::uint64_t CopyForward::garbage_of_moves(const Usage& container) const {
  return container.is_landed && settings_.goal == ReclaimGoal::kSettle ? 0 : container.moved_bytes();
}

Result<void> CopyForward::empty_as_they_lie(std::span<const Usage> batch) {
  std::uint64_t moved = 0;
  for (const Usage& container : batch) {
    DEDUPFS_TRY(report(container.bytes - std::min(container.bytes, container.moved_bytes())));
    DEDUPFS_ASSIGN(const bool is_emptied, empty(container));
    if (!is_emptied) continue;
    moved += container.live_bytes - container.moved_bytes();
    if (moved < kMovedBetweenCommits) continue;
    DEDUPFS_TRY(host_.commit());  // frees the containers that were emptied before
    moved = 0;
  }
  return host_.commit();
}

// False if it stays.
Result<bool> CopyForward::empty(const Usage& container) {
  const auto evacuated = volume_.chunks().relocator().evacuate(
      container.container, container.live_chunks - container.moved_chunks, host_.in_group);
  findings_.under_way_bytes -= container.moved_bytes();
  if (!evacuated) {
    findings_.moved_bytes += container.moved_bytes();
    findings_.garbage_bytes += container.moved_bytes();
    const ErrorCode code = evacuated.error().code();
    if (code != ErrorCode::kCorruption && code != ErrorCode::kIo && code != ErrorCode::kBusy) return evacuated.error();
    spdlog::warn("container {} stays as it is: {}", container.container, evacuated.error().message());
    return false;
  }
  volume_.chunks().dropped().subtract(garbage_of_moves(container));
  ++findings_.emptied_containers;
  findings_.emptied_bytes += container.bytes;
  findings_.moved_bytes += container.live_bytes;
  findings_.garbage_bytes -= container.garbage_bytes();
  crash_point("reclaim.evacuated");
  return true;
}

// ---------------------------------------------------------------- gather

Result<void> CopyForward::gather() {
  if (host_.gather_percent == 0 || !host_.newest_references) return {};
  DEDUPFS_ASSIGN(const std::uint64_t budget, gather_budget());
  if (budget == 0) return {};
  DEDUPFS_ASSIGN(GatherPlan plan, plan_gathering(volume_, host_, budget, [this] { return report(0); }));
  std::erase_if(plan.order, [this](ChunkId id) { return !volume_.chunks().reader().is_near(id); });
  if (plan.order.empty()) {
    volume_.note_gathered(volume_.containers().begin_new_container());
    return host_.commit();
  }
  // What is in open groups has no place in the index yet: as in choose().
  const std::uint32_t end = volume_.containers().begin_new_container();
  DEDUPFS_TRY(host_.commit());
  findings_.live_chunks = 0;  // they are counted once more
  DEDUPFS_ASSIGN(std::vector<Usage> containers, usage_before(end));
  findings_.garbage_bytes = garbage_in(containers);  // and so is this: there are containers that were not there before
  all_bytes_ += plan.disk_bytes;
  if (auto moved = move_in_order(plan.order, containers, Relocator::kAnyDecoded); !moved) {
    for (const Usage& container : containers) volume_.add_gathered_bytes(container.moved_bytes());
    return moved;
  }
  const Result<void> emptied = empty_gathered(containers, budget);
  // All of the plan has moved, whatever became of the former containers.
  volume_.note_gathered(volume_.containers().begin_new_container());
  DEDUPFS_TRY(emptied);
  return host_.commit();
}

// The bytes that may be gathered. It costs no walk over the index: sizes of containers decide.
Result<std::uint64_t> CopyForward::gather_budget() const {
  std::uint64_t new_bytes = 0;  // stored since the last time
  DEDUPFS_ASSIGN(const auto containers, volume_.containers().list());
  for (const auto& container : containers)
    if (container.is_file && container.id >= volume_.end_of_gathered()) new_bytes += container.bytes;
  DEDUPFS_ASSIGN(const std::uint64_t available, host_.available_bytes());
  const std::uint64_t room = std::min(available / kRoomShareOfABatch, kMaxInBatch);
  // Gatherings that were stopped took a part of the share, and their copies are no new data.
  const std::uint64_t taken = volume_.gathered_bytes();
  const std::uint64_t share = (new_bytes - std::min(new_bytes, taken)) / 100 * host_.gather_percent;
  return std::min(share - std::min(share, taken), room);
}

// The emptiest first, as far as the budget goes. The garbage that is left is for a reclaim.
Result<void> CopyForward::empty_gathered(std::vector<Usage>& containers, std::uint64_t budget) {
  const auto left_in = [](const Usage& container) { return container.live_bytes - container.moved_bytes(); };
  const auto share_of = [&](const Usage& container) {
    return 1 -
           static_cast<double>(left_in(container)) / static_cast<double>(std::max<std::uint64_t>(container.bytes, 1));
  };
  std::erase_if(containers, [](const Usage& container) { return container.moved_chunks == 0; });
  std::ranges::sort(containers, {}, [&](const Usage& container) { return -share_of(container); });
  std::uint64_t bytes = 0;
  auto end_of_emptied = containers.begin();
  for (; end_of_emptied != containers.end(); ++end_of_emptied) {
    bytes += left_in(*end_of_emptied);
    if (share_of(*end_of_emptied) < kMinShareAfterGathering || bytes > budget) break;
    all_bytes_ += end_of_emptied->bytes;
  }
  for (auto container = end_of_emptied; container != containers.end(); ++container) {
    findings_.garbage_bytes += container->moved_bytes();
    findings_.moved_bytes += container->moved_bytes();
    findings_.under_way_bytes -= container->moved_bytes();
  }
  return empty_as_they_lie({containers.begin(), end_of_emptied});
}

Result<void> CopyForward::report(std::uint64_t more_bytes) {
  done_bytes_ += more_bytes;
  findings_.stored_bytes = volume_.chunks().moved_disk_bytes() - stored_before_;
  const double all = static_cast<double>(std::max<std::uint64_t>(all_bytes_, 1));  // there may be empty files only
  return progress_(ReclaimPhase::kCopyForward, std::min(1.0, static_cast<double>(done_bytes_) / all), findings_);
}

}  // namespace dedupfs
