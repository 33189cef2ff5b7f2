// What a filesystem tells the reclaims of its volume: what it refers to, when one is due, when the time to keep a state has come.
#include "fs/filesystem_state.h"
#include "fs/recipe_format.h"
#include "fs/reclaimer.h"

namespace dedupfs {
namespace {

constexpr std::chrono::seconds kLookInterval{10};
// While others write, a reclaim waits so long for one of their commits, since each holds them up.
constexpr std::chrono::seconds kPatience{2};
// Less is never worth a reclaim that nobody asked for.
constexpr std::uint64_t kLeastDroppedBytes = 64 << 20;
// One is due when files dropped this share of what the containers hold. Others may still refer to what they dropped; whether
// they do is known after the mark, which is cheap.
constexpr double kDroppedShare = 0.2;
constexpr double kGarbageLeft = 0.1;
// With less than this share of the disk to spare, one is due earlier and frees more.
constexpr double kShortOfSpace = 0.1;

}  // namespace

std::unique_ptr<Reclaimer> Filesystem::State::make_reclaimer() {
  return std::make_unique<Reclaimer>(
      *volume,
      ReclaimHost{
          .in_group =
              [this](const std::function<Result<void>()>& change) {
                const Change within(*this);
                return change();
              },
          .commit = [this] { return sync(table.has_dirty() ? kPatience : std::chrono::milliseconds(0)); },
          .before_erasing = [this] { checkpointer->take_now(); },
          .references = [this](const auto& snapshot, const auto& visit) { return visit_references(snapshot, visit); },
          .available_bytes = [this] { return space.metadata_room(); }},
      [this] { return due_reclaim(); }, kLookInterval);
}

Result<void> Filesystem::State::visit_references(const Database::Snapshot& snapshot,
                                                 const ReclaimHost::Visit& visit) const {
  const double end = static_cast<double>(numbers->end());
  const auto visit_segment = [&](std::string_view key, std::string_view value) -> Result<void> {
    DEDUPFS_ASSIGN(const RecipeKey segment, decode_recipe_key(key));
    DEDUPFS_ASSIGN(const auto entries, decode_segment(value));
    for (const RecipeEntry& entry : entries)
      if (entry.kind == RecipeEntry::Kind::kChunk)
        DEDUPFS_TRY(visit(entry.chunk, static_cast<double>(segment.inode) / end));
    return {};
  };
  Result<void> result;
  DEDUPFS_TRY(volume->database().walk(snapshot, Family::kRecipes, [&](std::string_view key, std::string_view value) {
    result = visit_segment(key, value);
    return result.has_value();
  }));
  return result;  // a recipe that does not parse may refer to anything
}

std::optional<ReclaimSettings> Filesystem::State::due_reclaim() {
  const std::uint64_t dropped = volume->chunks().dropped_bytes();
  if (dropped < kLeastDroppedBytes || aborted) return std::nullopt;
  const auto room = space.room();
  if (room && static_cast<double>(room->available_bytes) < kShortOfSpace * static_cast<double>(room->total_bytes))
    return ReclaimSettings();
  const auto containers = volume->containers().list();
  if (!containers) return std::nullopt;
  double bytes = 0;
  for (const auto& container : *containers) bytes += static_cast<double>(container.bytes);
  if (static_cast<double>(dropped) < kDroppedShare * bytes) return std::nullopt;
  return ReclaimSettings{.garbage_left = kGarbageLeft};
}

}  // namespace dedupfs
