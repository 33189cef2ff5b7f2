// What the parts of FileContent share (file_content.cc, file_content_read.cc, file_content_flush.cc, file_content_stream.cc).
// Private to them.
#pragma once

#include <algorithm>
#include <array>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"
#include "fs/content/dirty_budget.h"
#include "fs/content/dirty_map.h"
#include "fs/content/recipe.h"
#include "fs/content/write_stream.h"
#include "fs/format/types.h"
#include "store/volume/volume.h"

namespace dedupfs {

// Holes that were made on purpose stay holes from this size on; shorter ones would only chop chunks up.
inline constexpr std::uint64_t kMinHole = 4096;
inline constexpr std::uint64_t kEndOfRecipe = UINT64_MAX;
inline constexpr std::array<std::uint8_t, 64 * 1024> kZeros{};

struct FileContentState {
  FileContentState(Volume& v, DirtyBudget& b, InodeNumber number, std::uint64_t s, std::uint64_t data)
      : volume(v), budget(b), inode(number), recipe(v.metadata(), number, s), size(s), recipe_data_bytes(data) {}

  using Lock = std::unique_lock<std::mutex>;

  // One changing operation at a time; readers, and results of the chunk store, go on beside it. Whoever is inside may let go
  // of the lock: nobody else changes the recipe, but for results of its own stream, nor the dirty extents.
  class Exclusive {
   public:
    explicit Exclusive(FileContentState& state) : state_(state), lock_(state.mutex) {
      state_.changed.wait(lock_, [this] { return !state_.busy; });
      state_.busy = true;
    }
    ~Exclusive() {
      if (!lock_.owns_lock()) lock_.lock();
      state_.busy = false;
      state_.changed.notify_all();
    }
    Exclusive(const Exclusive&) = delete;
    Exclusive& operator=(const Exclusive&) = delete;
    Lock& lock() { return lock_; }

   private:
    FileContentState& state_;
    Lock lock_;
  };
  // Lets go of the lock for its scope.
  class Unlocked {
   public:
    explicit Unlocked(Lock& lock) : lock_(lock) { lock_.unlock(); }
    ~Unlocked() { lock_.lock(); }
    Unlocked(const Unlocked&) = delete;
    Unlocked& operator=(const Unlocked&) = delete;

   private:
    Lock& lock_;
  };

  // What the content is at some offset, and how far it is that.
  struct View {
    enum class Source { kHole, kDirty, kStream, kRecipe } source = Source::kHole;
    std::uint64_t length = 0;
    DirtyMap::Extent dirty;
    WriteStream::Part stream;
    PlacedEntry entry;

    bool is_hole() const { return source == Source::kHole; }
  };
  // Bytes that are here, or the chunk that has them.
  struct Fetch {
    PinnedBytes bytes;
    std::optional<ChunkId> chunk;
    std::uint64_t skip = 0;  // of the chunk
    std::uint64_t length = 0;
    std::uint64_t offset = 0;
  };

  Result<View> view_at(const Lock& lock, std::uint64_t offset);
  Result<std::uint64_t> run_start(const Lock& lock, std::uint64_t from, bool of_hole);
  Result<std::vector<Fetch>> gather(const Lock& lock, std::uint64_t from, std::uint64_t to);
  Result<std::vector<PinnedBytes>> fetch(const std::vector<Fetch>& wanted) const;
  Result<std::vector<PinnedBytes>> read(std::uint64_t from, std::uint64_t to);
  // The same for whoever has the lock, which is let go meanwhile.
  Result<std::vector<PinnedBytes>> fetch_range(Lock& lock, std::uint64_t from, std::uint64_t to);

  // --- dirty extents
  // Every change of the map has one, so that the budget holds what the map holds, whether or not the change fails.
  class BudgetedChange {
   public:
    explicit BudgetedChange(FileContentState& state) : state_(state), before_(state.dirty.memory_bytes()) {}
    ~BudgetedChange() {
      const std::uint64_t after = state_.dirty.memory_bytes();
      if (before_ > after) state_.budget.release(before_ - after);
      if (after > before_) state_.budget.force(after - before_);
    }
    BudgetedChange(const BudgetedChange&) = delete;
    BudgetedChange& operator=(const BudgetedChange&) = delete;

   private:
    FileContentState& state_;
    const std::uint64_t before_;
  };
  template <class Change>
  void change_dirty(const Lock&, const Change& change) {
    const BudgetedChange budgeted(*this);
    change(dirty);
  }
  void keep_dirty(const Lock& lock, const WriteStream::Part& part);
  Result<void> flush_dirty(Lock& lock);
  Result<void> flush_inline(Lock& lock);
  Result<void> flush_extent(Lock& lock, std::uint64_t offset);
  Result<std::uint64_t> restart_point(Lock& lock, std::uint64_t offset);
  Result<bool> entry_is_zeros(Lock& lock, const PlacedEntry& entry);
  class Recutting;  // file_content_flush.cc
  void feed_hole(WriteStream& into, std::uint64_t length);
  Result<bool> is_boundary(const Lock& lock, std::uint64_t offset);
  Result<std::uint64_t> data_bytes_in(const Lock& lock, std::uint64_t from, std::uint64_t to);

  // --- the stream at the end of the file
  std::optional<std::uint64_t> stream_start(const Lock& lock) const;
  Result<std::vector<WriteStream::Part>> stream_head(Lock& lock, std::uint64_t start, std::uint64_t from);
  Result<void> start_stream(Lock& lock, std::uint64_t from);
  void append_to_stream(const Lock& lock, std::uint64_t offset, ByteSpan bytes);
  void land(Result<std::vector<ChunkId>> ids) noexcept;
  Result<void> end_stream(Lock& lock);

  Result<void> settle(Lock& lock) {
    DEDUPFS_TRY(end_stream(lock));
    return flush_dirty(lock);
  }
  Result<void> replace(const Lock&, std::uint64_t from, std::uint64_t to, std::vector<RecipeEntry> entries) {
    std::uint64_t new_bytes = 0;
    for (const RecipeEntry& entry : entries) new_bytes += entry.is_data() ? entry.length : 0;
    DEDUPFS_ASSIGN(const std::int64_t change, recipe.replace(from, to, std::move(entries)));
    // The record on disk may have counted wrong: what is written back is a number that a record may have.
    recipe_data_bytes = std::min(change < 0 && static_cast<std::uint64_t>(-change) > recipe_data_bytes
                                     ? 0
                                     : recipe_data_bytes + static_cast<std::uint64_t>(change),
                                 kMaxFileBytes);
    volume.chunks().dropped().add(new_bytes - static_cast<std::uint64_t>(change));
    return {};
  }
  Result<void> write(Lock& lock, std::uint64_t offset, ByteSpan bytes);
  Result<void> cut_off(Lock& lock, std::uint64_t new_size);
  struct Clone;
  static Result<void> clone_range(FileContentState& source, std::uint64_t from_offset, FileContentState& target,
                                  std::uint64_t offset, std::uint64_t length);
  Result<void> clone_to(Clone& clone, std::uint64_t from, std::uint64_t to, std::uint64_t offset);

  Volume& volume;
  DirtyBudget& budget;
  const InodeNumber inode;

  mutable std::mutex mutex;
  std::condition_variable changed;
  bool busy = false;
  Recipe recipe;
  DirtyMap dirty;
  std::unique_ptr<WriteStream> stream;
  bool stream_starts = false;         // it has not taken everything over from the dirty extents yet
  std::optional<Error> stream_error;  // from here on flights stay in the stream, whatever becomes of them
  std::uint64_t size;
  std::uint64_t recipe_data_bytes;
  std::uint64_t punched_bytes = 0;  // about so much of it is under dirty holes
};

}  // namespace dedupfs
