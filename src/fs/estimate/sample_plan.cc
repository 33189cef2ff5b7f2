#include "fs/estimate/sample_plan.h"

#include <algorithm>
#include <bit>
#include <cctype>
#include <iterator>

namespace dedupfs {
namespace {

constexpr std::uint64_t kLargeBytes = 1 << 20;       // from here on a file is no member of a bucket
constexpr std::uint64_t kFilesInABucket = 64;        // on average
constexpr std::uint32_t kGenerationsInAColumn = 32;  // more of one name are taken in turns
constexpr std::uint64_t kMaxWindows = 1 << 20;       // of a file
constexpr std::size_t kNodeBytes = 64;               // of a piece in a column, about

// FNV-1a with a final mix. Parts are told apart by a byte that no name has.
class Key {
 public:
  explicit Key(std::uint64_t seed) { add(seed); }

  Key& add(std::string_view text) {
    for (const char c : text) step(static_cast<unsigned char>(c));
    step(0);
    return *this;
  }
  Key& add(std::uint64_t number) {
    for (int i = 0; i < 8; ++i, number >>= 8) step(number & 0xff);
    return *this;
  }
  std::uint64_t value() const {
    std::uint64_t mixed = value_;
    mixed = (mixed ^ (mixed >> 30)) * 0xbf58476d1ce4e5b9;
    mixed = (mixed ^ (mixed >> 27)) * 0x94d049bb133111eb;
    return mixed ^ (mixed >> 31);
  }

 private:
  void step(std::uint64_t byte) { value_ = (value_ ^ byte) * 0x100000001b3; }

  std::uint64_t value_ = 0xcbf29ce484222325;
};

}  // namespace

std::string generic_name(std::string_view name) {
  std::string generic;
  for (const char c : name) {
    if (std::isdigit(static_cast<unsigned char>(c)) == 0)
      generic += c;
    else if (!generic.ends_with('#'))
      generic += '#';
  }
  return generic;
}

Result<void> SamplePlan::visit(const SourceEntry& entry) {
  switch (entry.status.st_mode & S_IFMT) {
    case S_IFDIR: ++totals_.directories; break;
    case S_IFLNK: ++totals_.symlinks; break;
    case S_IFREG: add_file(entry); break;
    default: ++totals_.special_files;
  }
  return {};
}

void SamplePlan::add_file(const SourceEntry& entry) {
  if (entry.status.st_nlink > 1 && !linked_.emplace(entry.status.st_dev, entry.status.st_ino).second) return;
  const std::uint64_t data_bytes = tree_.data_bytes_of(entry);
  ++totals_.files;
  totals_.logical_bytes += static_cast<std::uint64_t>(entry.status.st_size);
  totals_.data_bytes += data_bytes;
  if (data_bytes == 0) return;

  if (folder_ != entry.directory || folder_root_ != entry.root) {
    note_top_folder(entry);
    folder_ = entry.directory;
    folder_root_ = entry.root;
    bucket_.clear();
    generations_.clear();
  }
  const std::string directory = generic_directory(entry);
  if (data_bytes < kLargeBytes) {
    if (bucket_.empty() || Key(0).add(entry.name).value() % kFilesInABucket == 0) bucket_ = entry.name;
    const std::uint64_t key =
        Key(settings_.seed).add("small").add(directory).add(std::uint64_t{top_turn_}).add(bucket_).value();
    add_piece(key, entry, {}, data_bytes);
    return;
  }
  const std::string name =
      generic_name(entry.depth == 0 ? tree_.path_of(entry.root, {}).filename().string() : entry.name);
  const std::uint32_t turn = generations_[name]++ / kGenerationsInAColumn;
  add_large_file(
      entry,
      Key(settings_.seed).add(directory).add(std::uint64_t{top_turn_}).add(name).add(std::uint64_t{turn}).value(),
      data_bytes);
}

// A generation is cut into as many windows as the first one, so that a window covers the same part of each. Not if its length is
// another altogether.
void SamplePlan::add_large_file(const SourceEntry& entry, std::uint64_t file_key, std::uint64_t data_bytes) {
  const auto wanted =
      static_cast<std::uint32_t>(std::clamp<std::uint64_t>(data_bytes / settings_.window_bytes, 1, kMaxWindows));
  std::uint32_t count = windows_.try_emplace(file_key, wanted).first->second;
  if (count > 2 * wanted || wanted > 2 * count) {
    file_key = Key(file_key).add(static_cast<std::uint64_t>(std::bit_width(wanted))).value();
    count = wanted;
  }
  for (std::uint32_t index = 0; index < count; ++index)
    add_piece(Key(file_key).add(std::uint64_t{index}).value(), entry, {.index = index, .count = count},
              data_bytes / count);
}

// The folders of a root whose names differ in digits only are generations. Deeper ones are rather parts of one thing.
std::string SamplePlan::generic_directory(const SourceEntry& entry) const {
  const std::size_t end = std::min(entry.directory.find('/'), entry.directory.size());
  return generic_name(std::string_view(entry.directory).substr(0, end)) + entry.directory.substr(end);
}

// As with the files of one name, a column has not all of very many folders.
void SamplePlan::note_top_folder(const SourceEntry& entry) {
  const std::string top = entry.directory.substr(0, entry.directory.find('/'));
  if (folder_root_ != entry.root) top_generations_.clear();
  if (folder_root_ == entry.root && top == top_folder_) return;
  top_folder_ = top;
  top_turn_ = top_generations_[generic_name(top)]++ / kGenerationsInAColumn;
}

void SamplePlan::add_piece(std::uint64_t key, const SourceEntry& entry, FilePart part, std::uint64_t bytes) {
  if (key >= end_of_keys_) return;
  const auto memory_of = [](const SamplePiece& piece) { return sizeof piece + piece.relative.capacity() + kNodeBytes; };
  SamplePiece piece{.root = entry.root, .relative = entry.relative_path(), .part = part, .bytes = bytes};
  bytes_ += memory_of(piece);
  columns_[key].push_back(std::move(piece));
  while (bytes_ > settings_.max_bytes && columns_.size() > 1) {
    const auto last = std::prev(columns_.end());
    end_of_keys_ = last->first;
    for (const SamplePiece& dropped : last->second) bytes_ -= memory_of(dropped);
    columns_.erase(last);
  }
}

}  // namespace dedupfs
