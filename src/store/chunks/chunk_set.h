// Sets of chunks: a bit for each chunk, in a tree of small pages. A page is made when its first bit is set. Gaps between ids cost
// almost nothing, so the memory depends on the chunks of the set, not on the number of ids ever given away.
//
// Threads: one user at a time. On a set that was made with an `end`, contains() and insert_beside_others() may run on any
//          threads.
// Memory:  1.3 bits a chunk if ids are dense, half a KiB for one that is alone among 32,768 ids, some KiB for one that is alone
//          among millions, and never more than `max_bytes`.
// Failure: an id stays out if it would take more than that, or if the system has no memory; is_complete() is false from then on.
//          Ask is_complete() before you draw conclusions from the absence of an id.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <vector>

#include "base/mutex.h"
#include "base/result.h"
#include "store/format/types.h"

namespace dedupfs {

class Database;

class ChunkSet {
 public:
  static constexpr std::uint64_t kMinLimit = 64 << 20;  // enough for 400 million chunks
  // The limit for sets of the chunks of a volume: 64 MiB, and twice the size of the tables of its extents. Whole volumes need a
  // twentieth of that. Recipes that name ids at random, and would fill any memory, reach the limit.
  static std::uint64_t limit_for(const Database& database);

  explicit ChunkSet(std::uint64_t max_bytes) : max_bytes_(max_bytes) {}
  // With room for ids below `end`: for insert_beside_others().
  ChunkSet(std::uint64_t max_bytes, std::uint64_t end);
  ChunkSet(const ChunkSet&) = delete;
  ChunkSet& operator=(const ChunkSet&) = delete;

  // True if the id was not in the set and is now.
  bool insert(ChunkId id) {
    const std::uint64_t number = number_of(id);
    if (!covers(number)) grow_over(number);
    std::atomic<std::uint64_t>* const word = get_word(number);
    if (word == nullptr) return false;
    const std::uint64_t before = word->load(std::memory_order_relaxed);
    word->store(before | bit_of(number), std::memory_order_relaxed);
    return (before & bit_of(number)) == 0;
  }
  bool insert_beside_others(ChunkId id) {
    std::atomic<std::uint64_t>* const word = get_word(number_of(id));
    const std::uint64_t bit = bit_of(number_of(id));
    return word != nullptr && (word->fetch_or(bit, std::memory_order_relaxed) & bit) == 0;
  }
  bool contains(ChunkId id) const {
    const std::uint64_t number = number_of(id);
    const Leaf* const leaf = find_leaf(number);
    return leaf != nullptr && (leaf->words[word_of(number)].load(std::memory_order_relaxed) & bit_of(number)) != 0;
  }
  // It keeps the memory of the page. Nobody else may use the set meanwhile.
  void erase(ChunkId id) {
    const std::uint64_t number = number_of(id);
    Leaf* const leaf = find_leaf(number);
    if (leaf == nullptr) return;
    std::atomic<std::uint64_t>& word = leaf->words[word_of(number)];
    word.store(word.load(std::memory_order_relaxed) & ~bit_of(number), std::memory_order_relaxed);
  }
  bool empty() const { return leaves_.bytes() == 0; }  // of a set from which nothing was erased
  void clear();                                        // is_complete() stays as it is

  // Calls visit(id) for each chunk in order of id, until it returns an Error.
  template <class Visit>
  Result<void> for_each(Visit visit) const {
    return root_ == nullptr ? Result<void>() : for_each_below(*root_, shift_, 0, visit);
  }

  bool is_complete() const { return is_complete_.load(std::memory_order_relaxed); }
  // kNoMemory with the remedy, unless the set is complete.
  Result<void> require_complete() const;
  std::uint64_t memory_bytes() const { return leaves_.bytes() + nodes_.bytes(); }

 private:
  static constexpr unsigned kLeafShift = 9;  // a leaf has 512 bits
  static constexpr unsigned kNodeShift = 6;  // a node has 64 children
  static constexpr std::size_t kWordsOfALeaf = (1 << kLeafShift) / 64;

  struct Leaf {
    std::uint64_t number = 0;  // of its first id, divided by the ids of a leaf
    std::array<std::atomic<std::uint64_t>, kWordsOfALeaf> words{};
  };
  struct Node {
    std::array<std::atomic<void*>, 1 << kNodeShift> children{};  // leaves on the lowest level, else nodes
  };

  // Pieces that are given back all at once.
  template <class Piece>
  class Pool {
   public:
    // Null: they would take more than `max_bytes` together, or there is no memory.
    Piece* make(std::uint64_t max_bytes) {
      if (used_ == length_) {
        const std::size_t length = std::clamp(length_ * 2, kFirstBytes / sizeof(Piece), kLaterBytes / sizeof(Piece));
        if (bytes_ + length * sizeof(Piece) > max_bytes) return nullptr;
        std::unique_ptr<Piece[]> block(new (std::nothrow) Piece[length]);
        if (block == nullptr) return nullptr;
        blocks_.push_back(std::move(block));
        bytes_ += length * sizeof(Piece);
        length_ = length;
        used_ = 0;
      }
      return &blocks_.back()[used_++];
    }
    std::uint64_t bytes() const { return bytes_; }

   private:
    static constexpr std::size_t kFirstBytes = 1 << 10;
    static constexpr std::size_t kLaterBytes = 256 << 10;

    std::vector<std::unique_ptr<Piece[]>> blocks_;
    std::size_t length_ = 0;  // of the last block
    std::size_t used_ = 0;    // of it
    std::uint64_t bytes_ = 0;
  };

  static std::uint64_t bit_of(std::uint64_t number) { return std::uint64_t{1} << (number % 64); }
  static std::size_t word_of(std::uint64_t number) { return number / 64 % kWordsOfALeaf; }
  static std::size_t child_of(std::uint64_t number, unsigned shift) {
    return static_cast<std::size_t>(number >> (shift - kNodeShift)) % (1 << kNodeShift);
  }
  bool covers(std::uint64_t number) const { return shift_ != 0 && (shift_ >= 64 || number >> shift_ == 0); }

  Leaf* find_leaf(std::uint64_t number) const {
    Leaf* const last = last_.load(std::memory_order_acquire);
    if (last != nullptr && last->number == number >> kLeafShift) return last;
    if (!covers(number)) return nullptr;
    void* at = root_;
    for (unsigned shift = shift_; at != nullptr && shift > kLeafShift; shift -= kNodeShift)
      at = static_cast<const Node*>(at)->children[child_of(number, shift)].load(std::memory_order_acquire);
    if (at != nullptr) last_.store(static_cast<Leaf*>(at), std::memory_order_release);
    return static_cast<Leaf*>(at);
  }
  // Null: it is not there and cannot be made.
  std::atomic<std::uint64_t>* get_word(std::uint64_t number) {
    Leaf* leaf = find_leaf(number);
    if (leaf == nullptr) leaf = make_leaf(number);
    return leaf == nullptr ? nullptr : &leaf->words[word_of(number)];
  }
  Leaf* make_leaf(std::uint64_t number);
  template <class Piece>
  Piece* make(Pool<Piece>& pool);
  void grow_over(std::uint64_t number);

  template <class Visit>
  static Result<void> for_each_below(const Node& node, unsigned shift, std::uint64_t first, Visit& visit) {
    const unsigned below = shift - kNodeShift;
    for (std::size_t i = 0; i < node.children.size(); ++i) {
      const void* const child = node.children[i].load(std::memory_order_acquire);
      if (child == nullptr) continue;
      const std::uint64_t its_first = first + (static_cast<std::uint64_t>(i) << below);
      DEDUPFS_TRY(below == kLeafShift ? for_each_of(*static_cast<const Leaf*>(child), its_first, visit)
                                      : for_each_below(*static_cast<const Node*>(child), below, its_first, visit));
    }
    return {};
  }
  template <class Visit>
  static Result<void> for_each_of(const Leaf& leaf, std::uint64_t first, Visit& visit) {
    for (const auto& word : leaf.words) {
      for (std::uint64_t bits = word.load(std::memory_order_relaxed); bits != 0; bits &= bits - 1)
        DEDUPFS_TRY(visit(ChunkId{first + static_cast<std::uint64_t>(std::countr_zero(bits))}));
      first += 64;
    }
    return {};
  }

  const std::uint64_t max_bytes_;
  std::atomic<bool> is_complete_ = true;
  Node* root_ = nullptr;
  mutable std::atomic<Leaf*> last_ = nullptr;  // that was found: most ids come in order
  unsigned shift_ = 0;                         // ids below 1 << shift_ have a place; 0: none has
  Mutex mutex_;                                // of those who make pieces
  Pool<Node> nodes_;
  Pool<Leaf> leaves_;
};

}  // namespace dedupfs
