#include "support/crash_replay.h"

#include <algorithm>
#include <set>

#include "base/check.h"

namespace dedupfs {
namespace {

using Kind = DiskEvent::Kind;

// Variations; 0: nothing is lost.
constexpr std::uint64_t kAllLost = 1;
constexpr std::uint64_t kNamesLost = 2;
constexpr std::uint64_t kDataLost = 3;
constexpr std::uint64_t kFirstSubset = 4;
constexpr std::uint64_t kMixture = UINT64_MAX;
constexpr std::size_t kMaxForSubsets = 8;

std::uint64_t below(std::mt19937_64& random, std::uint64_t limit) {
  return std::uniform_int_distribution<std::uint64_t>(0, limit - 1)(random);
}

std::string directory_of(const DiskEvent& event) {
  const bool has_target = event.kind == Kind::kRename || event.kind == Kind::kLink;
  return Path(has_target ? event.other : event.path).parent_path().string();
}

void write_part(DiskImage& image, const DiskEvent& event, std::size_t from, std::size_t length) {
  length = std::min(length, event.data->size() - from);
  if (length == 0) return;
  DiskEvent part = event;
  part.offset += from;
  part.data = std::make_shared<const std::string>(event.data->substr(from, length));
  apply(image, part);
}

void extend(DiskImage& image, const DiskEvent& event) {
  const std::uint64_t end = event.offset + event.data->size();
  if (image.contents[event.file]->size() < end)
    apply(image, {.kind = Kind::kTruncate, .file = event.file, .offset = end});
}

}  // namespace

CrashReplay::CrashReplay(DiskImage start, const std::vector<DiskEvent>& events)
    : start_(std::move(start)), events_(events), durable_(start_) {}

void CrashReplay::go_to(std::size_t position) {
  DEDUPFS_CHECK(position <= events_.size());
  if (position < position_) {
    durable_ = start_;
    unsynced_data_.clear();
    unsynced_names_.clear();
    position_ = 0;
  }
  while (position_ < position) step();
}

void CrashReplay::step() {
  const DiskEvent& event = events_[position_++];
  switch (event.kind) {
    case Kind::kWrite:
    case Kind::kTruncate: unsynced_data_[event.file].push_back(&event); break;
    case Kind::kDatasync:
      for (const DiskEvent* const change : unsynced_data_[event.file]) apply(durable_, *change);
      unsynced_data_.erase(event.file);
      break;
    case Kind::kFailedDatasync: unsynced_data_.erase(event.file); break;
    case Kind::kSyncDirectory:
      for (const DiskEvent* const change : unsynced_names_[event.path]) apply(durable_, *change);
      unsynced_names_.erase(event.path);
      break;
    case Kind::kCreate:
      durable_.contents[event.file] = std::make_shared<std::string>();  // without a name, for the time being
      durable_.next_id = std::max(durable_.next_id, event.file + 1);
      [[fallthrough]];
    default: unsynced_names_[directory_of(event)].push_back(&event);
  }
}

std::size_t CrashReplay::unsynced_writes() const {
  std::size_t writes = 0;
  for (const auto& [file, changes] : unsynced_data_) writes += changes.size();
  return writes;
}

std::uint64_t CrashReplay::exact_variations() const {
  const std::size_t writes = unsynced_writes();
  return kFirstSubset + (writes <= kMaxForSubsets ? std::uint64_t{1} << writes : 0);
}

DiskImage CrashReplay::state(std::uint64_t variation, std::uint64_t seed) const {
  Choice choice{.variation = variation, .random = std::mt19937_64(seed)};
  if (variation >= exact_variations()) choice.variation = kMixture;

  DiskImage image = durable_;
  apply_names(image, choice);
  if (variation != kAllLost && variation != kDataLost)
    for (const auto& [file, changes] : unsynced_data_)
      for (const DiskEvent* const change : changes) apply_write(image, *change, choice);

  // What lies in a directory that is not there is not there either.
  std::erase_if(image.names, [&](const auto& entry) {
    return entry.first != "/" && !image.names.contains(Path(entry.first).parent_path().string());
  });
  return image;
}

void CrashReplay::apply_names(DiskImage& image, Choice& choice) const {
  if (choice.variation == kAllLost || choice.variation == kNamesLost) return;
  for (const auto& [directory, changes] : unsynced_names_) {
    std::size_t kept = changes.size();
    std::set<std::string> missing;
    if (choice.variation >= kFirstSubset) {
      if (below(choice.random, 2) == 0) kept = below(choice.random, changes.size() + 1);
      std::map<std::string, int> uses;
      for (const DiskEvent* const change : changes) ++uses[change->path], ++uses[change->other];
      for (const DiskEvent* const change : changes)
        if (change->kind == Kind::kCreate && uses[change->path] == 1 && below(choice.random, 4) == 0)
          missing.insert(change->path);
    }
    for (std::size_t i = 0; i < kept; ++i)
      if (!missing.contains(changes[i]->path)) apply(image, *changes[i]);
  }
}

void CrashReplay::apply_write(DiskImage& image, const DiskEvent& event, Choice& choice) const {
  const std::size_t number = choice.writes_seen++;
  if (choice.variation < kFirstSubset) return apply(image, event);
  if (choice.variation != kMixture) {  // a subset
    if (((choice.variation - kFirstSubset) >> number & 1) != 0) apply(image, event);
    return;
  }
  const std::uint64_t fate = below(choice.random, 6);
  if (event.kind == Kind::kTruncate || fate <= 1) {
    if (fate != 0) apply(image, event);
    return;
  }
  const std::size_t block = below(choice.random, 2) == 0 ? 512 : 4096;
  switch (fate) {
    case 2: extend(image, event); break;  // the new size, without the data
    case 3:                               // cut off, with the new size or without
      if (below(choice.random, 2) == 0) extend(image, event);
      write_part(image, event, 0, below(choice.random, event.data->size() / block + 1) * block);
      break;
    case 4: apply(image, event); break;
    default: {  // any of its blocks, which lie at multiples of their size in the file
      if (below(choice.random, 2) == 0) extend(image, event);
      for (std::size_t from = 0; from < event.data->size();) {
        const std::size_t length = block - (event.offset + from) % block;
        if (below(choice.random, 2) == 0) write_part(image, event, from, length);
        from += length;
      }
    }
  }
}

}  // namespace dedupfs
