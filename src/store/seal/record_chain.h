// The records of a sealed file that has no map, from the first to the last that counts: those that were synced for certain, and what
// is whole behind them. And the pieces that all readers and writers of sealed files share.
//
// Threads: a RecordChain belongs to one; free functions are safe from any.
// Failure: errors of the file. What nobody sealed ends the chain, without an error: see damage().
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "base/backing.h"
#include "base/result.h"
#include "store/seal/sealed_layout.h"

namespace dedupfs {

// Seals `plain` piece by piece for `place` in the file; `out` has room for sealed_bytes_of(plain).
void seal_pieces(Aead& aead, std::uint64_t place, ByteSpan plain, std::uint8_t* out);
// The reverse. False if a piece is not what was sealed.
bool open_pieces(Aead& aead, std::uint64_t place, ByteSpan sealed, std::uint8_t* out);

class RecordChain {
 public:
  struct Record {
    RecordHead head;
    std::uint64_t place = 0;  // of its header
    std::uint32_t segment = 0;
  };
  // By the number of the master key.
  using KeyOfSegment = std::function<Secret(const SealSalt&, std::uint32_t key_number)>;

  // Of a file of this length, which must outlive the chain.
  RecordChain(const BackingFile& file, std::uint64_t file_bytes) : file_(file), file_bytes_(file_bytes) {}

  // `key_numbers`: which master keys may have sealed it, the newest first.
  Result<void> read(const KeyOfSegment& key_of, std::span<const std::uint32_t> key_numbers, Cipher cipher);

  const std::vector<SealedSegment>& segments() const { return segments_; }
  const std::vector<Record>& records() const { return records_; }
  std::uint64_t end() const { return place_; }
  // Where something stands that neither a writer nor a crash can have left there.
  std::optional<std::uint64_t> damage() const { return damage_; }

 private:
  Result<bool> next_segment(const KeyOfSegment& key_of, Cipher cipher);
  std::span<const std::uint32_t> keys_of_next_segment() const;
  Result<bool> next_record();
  Result<std::optional<RecordHead>> head_at(Aead& opener, std::uint64_t place) const;
  Result<bool> is_whole(const Record& record) const;
  Result<void> find_damage(const KeyOfSegment& key_of, Cipher cipher);
  struct Run {
    bool proves_damage = false;
    std::uint64_t end = 0;
  };
  Result<Run> run_from(Aead& opener, std::uint64_t place) const;
  Result<void> cut_torn_end();

  const BackingFile& file_;
  const std::uint64_t file_bytes_;
  std::span<const std::uint32_t> key_numbers_;
  std::uint64_t place_ = 0;
  std::optional<std::uint64_t> damage_;
  std::vector<SealedSegment> segments_;
  std::vector<std::unique_ptr<Aead>> openers_;  // of the segments
  std::vector<Record> records_;
};

}  // namespace dedupfs
