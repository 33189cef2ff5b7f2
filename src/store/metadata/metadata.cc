#include "store/metadata/metadata.h"

#include <algorithm>
#include <array>
#include <functional>
#include <map>
#include <utility>

#include "base/check.h"

// Why every read looks at the overlays first and at the database second, with no lock in between: a group moves down
// only, from the open overlay to the frozen one to the database, and it is dropped above after it has arrived below. So
// a reader that goes down too meets each change at least once, and where it meets it twice the upper one wins. The
// other way round it could look into the database before a commit and into the overlays after it, and miss the whole
// group.

namespace dedupfs {
namespace {

thread_local std::uint64_t changes_of_thread = 0;

}  // namespace

// The changes of one transaction group.
class Metadata::Overlay {
 public:
  using Map = std::map<std::string, std::optional<std::string>, std::less<>>;

  const Map& of(Family family) const { return families_[static_cast<std::size_t>(family)]; }

  void set(Family family, std::string_view key, std::optional<std::string> value) {
    Map& changes = families_[static_cast<std::size_t>(family)];
    auto at = changes.lower_bound(key);
    if (at != changes.end() && at->first == key) {
      bytes_ -= heap_bytes(at->second);
      at->second.swap(value);  // a short one would stay in the room of a long one
    } else {
      at = changes.emplace_hint(at, key, std::move(value));
      bytes_ += kNodeBytes + heap_bytes(at->first);
    }
    bytes_ += heap_bytes(at->second);
  }

  void apply(Family family, std::vector<KeyChange> wanted) {
    Map staged;
    for (KeyChange& change : wanted) staged.emplace(std::move(change.key), std::move(change.value));
    Map& changes = families_[static_cast<std::size_t>(family)];
    while (!staged.empty()) {  // nothing here can fail
      auto [at, is_new, node] = changes.insert(staged.extract(staged.begin()));
      if (is_new) {
        bytes_ += kNodeBytes + heap_bytes(at->first) + heap_bytes(at->second);
        continue;
      }
      bytes_ -= heap_bytes(at->second);
      at->second.swap(node.mapped());
      bytes_ += heap_bytes(at->second);
    }
  }

  bool empty() const { return bytes_ == 0; }
  std::size_t bytes() const { return bytes_; }

 private:
  static constexpr std::size_t kAllocationBytes = 16;  // the C library's overhead for each
  static constexpr std::size_t kNodeBytes = 4 * sizeof(void*) + sizeof(Map::value_type) + kAllocationBytes;

  // Counts the capacity of a string, not its length.
  static std::size_t heap_bytes(const std::string& text) {
    static const std::size_t kInPlace = std::string().capacity();
    return text.capacity() > kInPlace ? text.capacity() + 1 + kAllocationBytes : 0;
  }
  static std::size_t heap_bytes(const std::optional<std::string>& text) { return text ? heap_bytes(*text) : 0; }

  std::array<Map, kFamilyCount> families_;
  std::size_t bytes_ = 0;
};

Metadata::Metadata(const Database& database, SnapshotList& snapshots)
    : database_(database), snapshots_(snapshots), open_(std::make_shared<Overlay>()) {}
Metadata::~Metadata() = default;

// Upper one first.
std::array<const Metadata::Overlay*, 2> Metadata::layers() const {
  static const Overlay kNoChanges;
  return {open_.get(), frozen_ ? frozen_.get() : &kNoChanges};
}

std::optional<KeyChange> Metadata::find_change(Family family, std::string_view key) const {
  const ReaderLock lock(mutex_);
  for (const Overlay* layer : layers()) {
    const Overlay::Map& changes = layer->of(family);
    if (const auto at = changes.find(key); at != changes.end()) return KeyChange{at->first, at->second};
  }
  return std::nullopt;
}

std::optional<KeyChange> Metadata::last_change_before(Family family, std::string_view key,
                                                      std::string_view from) const {
  const ReaderLock lock(mutex_);
  const Overlay::Map::value_type* last = nullptr;
  for (const Overlay* layer : layers()) {
    const Overlay::Map& changes = layer->of(family);
    auto at = changes.lower_bound(key);
    if (at == changes.begin() || (--at)->first < from) continue;
    if (last == nullptr || at->first > last->first) last = &*at;
  }
  if (last == nullptr) return std::nullopt;
  return KeyChange{last->first, last->second};
}

ChangePage Metadata::page_of_changes(Family family, std::string_view from, std::string_view end,
                                     std::size_t limit) const {
  const ReaderLock lock(mutex_);
  const auto [upper, lower] = layers();
  const auto end_of = [&](const Overlay::Map& changes) {
    return end.empty() ? changes.end() : changes.lower_bound(end);
  };
  auto above = upper->of(family).lower_bound(from);
  auto below = lower->of(family).lower_bound(from);
  const auto above_end = end_of(upper->of(family));
  const auto below_end = end_of(lower->of(family));

  ChangePage page;
  while (above != above_end || below != below_end) {
    const bool take_above = below == below_end || (above != above_end && above->first <= below->first);
    const auto& [key, value] = take_above ? *above : *below;
    if (page.changes.size() == limit) {
      page.behind = key;
      break;
    }
    page.changes.push_back({key, value});
    if (take_above && below != below_end && below->first == key) ++below;
    take_above ? ++above : ++below;
  }
  return page;
}

Result<void> Metadata::check_tree(TreeNumber tree) const {
  if (tree == kLiveTree || snapshots_.find(tree)) return {};
  return Error{ErrorCode::kStale, "the snapshot is gone"};
}

Result<std::optional<SnapshotView>> Metadata::view_of(Family family, std::string_view key) const {
  const TreeNumber tree = is_of_tree(family) ? tree_of(node_in_key(key)) : kLiveTree;
  if (tree == kLiveTree) return std::nullopt;
  const auto snapshot = snapshots_.find(tree);
  if (!snapshot) return Error{ErrorCode::kStale, "the snapshot is gone"};
  return SnapshotView(database_, snapshots_, *snapshot);
}

// Reads from a snapshot. The result counts only if no part of the snapshot was reaped meanwhile.
template <class Read>
auto Metadata::read_snapshot(std::string_view key, const Read& read) const -> decltype(read()) {
  auto result = read();
  DEDUPFS_TRY(check_tree(tree_of(node_in_key(key))));
  return result;
}

Result<std::optional<std::string>> Metadata::get(Family family, std::string_view key) const {
  DEDUPFS_ASSIGN(const auto view, view_of(family, key));
  if (view) return read_snapshot(key, [&] { return view->get(family, key_in_tree(key, kLiveTree)); });
  if (auto change = find_change(family, key)) return std::move(change->value);
  return database_.get(family, key);
}

Result<std::optional<KeyValue>> Metadata::find_at_or_before(Family family, std::string_view key,
                                                            std::string_view from) const {
  DEDUPFS_ASSIGN(const auto view, view_of(family, key));
  if (view) {
    DEDUPFS_ASSIGN(auto found, read_snapshot(key, [&] {
                     return view->find_at_or_before(family, key_in_tree(key, kLiveTree), key_in_tree(from, kLiveTree));
                   }));
    if (found) found->first = key_in_tree(found->first, tree_of(node_in_key(key)));
    return found;
  }
  std::string before(key);
  before.push_back('\0');  // the least key behind `key`
  for (;;) {
    auto change = last_change_before(family, before, from);
    DEDUPFS_ASSIGN(auto stored, database_.find_before(family, before, from));
    if (!change || (stored && stored->first > change->key)) return stored;
    if (change->value) return KeyValue{std::move(change->key), std::move(*change->value)};
    before = std::move(change->key);  // erased: look further down
  }
}

Result<std::vector<KeyValue>> Metadata::list(Family family, std::string_view from, std::string_view end,
                                             std::size_t limit) const {
  constexpr std::size_t kMaxPage = 1024;  // entries copied under the lock
  std::vector<KeyValue> found;
  if (!end.empty() && from >= end) return found;
  DEDUPFS_ASSIGN(const auto view, view_of(family, from));
  if (view) {
    DEDUPFS_ASSIGN(found, read_snapshot(from, [&] {
                     return view->list(family, key_in_tree(from, kLiveTree), key_in_tree(end, kLiveTree), limit);
                   }));
    for (auto& [key, value] : found) key = key_in_tree(key, tree_of(node_in_key(from)));
    return found;
  }
  std::string next(from);
  // Pages grow, so that neither a small limit copies much, nor a long row of erased entries takes many rounds.
  for (std::size_t page = 0; found.size() < limit;) {
    page = std::min(std::max(limit - found.size(), 2 * page), kMaxPage);
    ChangePage changed = page_of_changes(family, next, end, page);
    DEDUPFS_ASSIGN(auto stored, database_.list(family, next, changed.behind ? *changed.behind : end, page));
    // Both are complete for the keys before `behind`; the changes of the keys from there on come in the next round.
    std::optional<std::string> behind = std::move(changed.behind);
    if (stored.size() == page) behind = stored.back().first + '\0';
    merge(std::move(stored), std::move(changed.changes), behind, limit, found);
    if (!behind) break;
    next = std::move(*behind);
  }
  return found;
}

void Metadata::set(Family family, std::string_view key, std::optional<std::string> value) {
  const WriterLock lock(mutex_);
  open_->set(family, key, std::move(value));
  ++changes_of_thread;
}

void Metadata::apply(Family family, std::vector<KeyChange> changes) {
  const WriterLock lock(mutex_);
  open_->apply(family, std::move(changes));
  ++changes_of_thread;
}

std::uint64_t Metadata::changes_of_this_thread() {
  return changes_of_thread;
}

void Metadata::put(Family family, std::string_view key, std::string value) {
  set(family, key, std::move(value));
}
void Metadata::erase(Family family, std::string_view key) {
  set(family, key, std::nullopt);
}

std::size_t Metadata::open_bytes() const {
  const ReaderLock lock(mutex_);
  return open_->bytes();
}

bool Metadata::open_is_empty() const {
  return open_bytes() == 0;
}

void Metadata::freeze() {
  const WriterLock lock(mutex_);
  DEDUPFS_CHECK(!frozen_);                  // Volume::freeze() follows a commit
  auto next = std::make_shared<Overlay>();  // nothing fails behind it
  preservation_ = snapshots_.preservation();
  frozen_ = std::exchange(open_, std::move(next));
}

bool Metadata::has_frozen() const {
  const ReaderLock lock(mutex_);
  return frozen_ != nullptr;
}

Result<void> Metadata::append_to(Database::Batch& batch) {
  std::shared_ptr<const Overlay> frozen;
  {
    const ReaderLock lock(mutex_);
    frozen = frozen_;
  }
  if (!frozen) return {};
  for (std::size_t i = 0; i < kFamilyCount; ++i) {
    const auto family = static_cast<Family>(i);
    for (const auto& [key, value] : frozen->of(family)) {
      if (preservation_) DEDUPFS_TRY(preserve(database_, *preservation_, family, key, value, batch));
      value ? batch.put(family, key, *value) : batch.erase(family, key);
    }
  }
  return {};
}

void Metadata::committed() {
  std::shared_ptr<const Overlay> dropped;  // destroyed outside of the lock: it may have a million nodes
  const WriterLock lock(mutex_);
  dropped = std::exchange(frozen_, nullptr);
}

}  // namespace dedupfs
