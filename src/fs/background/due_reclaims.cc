#include "fs/background/due_reclaims.h"

#include <cstdint>
#include <utility>

#include "store/chunks/dropped_bytes.h"
#include "store/volume/outdated_files.h"

namespace dedupfs {
namespace {

// An automatic reclaim for fewer bytes is never worth its cost.
constexpr std::uint64_t kMinDroppedBytes = 64 << 20;
// A reclaim is due when files dropped this share of the bytes in containers. Other files may still refer to the dropped data.
// The mark finds out whether they do, and is cheap.
constexpr double kDroppedShare = 0.2;
constexpr double kGarbageLeft = 0.1;

}  // namespace

DueReclaims::DueReclaims(Volume& volume, SettleMode settle, Host host)
    : volume_(volume), settle_(settle), host_(std::move(host)) {}

std::optional<ReclaimSettings> DueReclaims::find(ReclaimGoal goal) {
  if (!host_.is_writable()) return std::nullopt;
  return goal == ReclaimGoal::kSettle ? to_settle() : for_space();
}

// From a full container on: smaller ones would be many, and dedupfs-gc --settle takes them.
std::optional<ReclaimSettings> DueReclaims::to_settle() {
  if (settle_ == SettleMode::kOff || !host_.is_idle()) return std::nullopt;
  const auto landed = volume_.containers().landed_bytes();
  if (!landed || *landed < volume_.containers().container_bytes()) return std::nullopt;
  return ReclaimSettings{.goal = ReclaimGoal::kSettle, .yields = true};
}

std::optional<ReclaimSettings> DueReclaims::for_space() {
  if (auto due = for_garbage()) return due;
  if (!host_.is_idle() || !has_more_outdated_files()) return std::nullopt;
  return ReclaimSettings{.yields = true, .garbage_left = kGarbageLeft};
}

std::optional<ReclaimSettings> DueReclaims::for_garbage() {
  const std::uint64_t dropped = volume_.chunks().dropped().count();
  if (dropped < std::exchange(dropped_before_, dropped)) dropped_worth_a_look_ = 0;  // by a reclaim, which leaves less
  if (dropped < kMinDroppedBytes) return std::nullopt;
  if (host_.is_short_of_space()) return ReclaimSettings();
  if (dropped < dropped_worth_a_look_) return std::nullopt;
  const auto containers = volume_.containers().list();
  if (!containers) return std::nullopt;
  double bytes = 0;  // and more later, until a reclaim
  for (const auto& container : *containers) bytes += static_cast<double>(container.bytes);
  dropped_worth_a_look_ = static_cast<std::uint64_t>(kDroppedShare * bytes);
  if (dropped < dropped_worth_a_look_) return std::nullopt;
  return ReclaimSettings{.garbage_left = kGarbageLeft};
}

// Files that a reclaim could not write anew are tried once more, and then not before the next mount.
bool DueReclaims::has_more_outdated_files() {
  const std::size_t count = outdated_files(volume_).size();
  return count != 0 && std::exchange(outdated_files_, count) != count;
}

}  // namespace dedupfs
