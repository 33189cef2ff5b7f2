// Hashes a list of messages in two lanes. The SHA instructions of one message wait for each other; those of two do not. When the
// message of a lane ends, the next one of the list takes the lane. A third lane would gain nothing on the CPUs that were measured.
//
// `Sha` has the instructions. They take the 64 rounds of a block in sixteen groups of four.
//   State                the eight words of the hash, in the order that the instructions want
//   Words                four words of the message schedule: those of one group
//   initial()            the State before the first block
//   load()               the Words of 16 bytes of a block
//   round_constants()    those of a group
//   after_four_rounds()  a State after the rounds of a group
//   next_words()         from the Words of four groups, the oldest first, those of the group after them
//   sum()                of two States, word by word
//   store()              writes a State as a digest
#pragma once

#include <cstring>

#include "hash/simd/kernels.h"

namespace dedupfs::sha256 {
namespace {

constexpr std::size_t kBlockBytes = 64;
constexpr std::size_t kLengthBytes = 8;

// FIPS 180-4, section 4.2.2.
alignas(64) constexpr std::uint32_t kRoundConstants[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

// Adds `blocks` blocks of each of kLanes messages to their States.
template <class Sha, std::size_t kLanes>
void compress(typename Sha::State* const (&states)[kLanes], const std::uint8_t* const (&bytes)[kLanes],
              std::size_t blocks) {
  constexpr std::size_t kGroups = 16;
  typename Sha::State now[kLanes];
  for (std::size_t lane = 0; lane < kLanes; ++lane) now[lane] = *states[lane];
  for (std::size_t block = 0; block < blocks; ++block) {
    typename Sha::State before[kLanes];
    typename Sha::Words words[kLanes][4];  // a ring: those of this group, the oldest, and of the three groups after it
    for (std::size_t lane = 0; lane < kLanes; ++lane) {
      before[lane] = now[lane];
      for (std::size_t i = 0; i < 4; ++i) words[lane][i] = Sha::load(bytes[lane] + block * kBlockBytes + 16 * i);
    }
#pragma GCC unroll 16
    for (std::size_t group = 0; group < kGroups; ++group) {
      const typename Sha::Words constants = Sha::round_constants(group);
#pragma GCC unroll 2
      for (std::size_t lane = 0; lane < kLanes; ++lane) {
        typename Sha::Words(&ring)[4] = words[lane];
        now[lane] = Sha::after_four_rounds(now[lane], ring[group % 4], constants);
        if (group + 4 < kGroups)
          ring[group % 4] =
              Sha::next_words(ring[group % 4], ring[(group + 1) % 4], ring[(group + 2) % 4], ring[(group + 3) % 4]);
      }
    }
    for (std::size_t lane = 0; lane < kLanes; ++lane) now[lane] = Sha::sum(now[lane], before[lane]);
  }
  for (std::size_t lane = 0; lane < kLanes; ++lane) *states[lane] = now[lane];
}

// A message on its way: first its whole blocks where they lie, then its rest and the padding in a buffer.
template <class Sha>
struct Lane {
  typename Sha::State state;
  const std::uint8_t* next;  // of `blocks` blocks
  std::size_t blocks;
  bool in_tail;
  std::size_t size;      // of the message
  std::uint8_t* digest;  // goes here
  std::uint8_t tail[2 * kBlockBytes];
};

template <class Sha>
class Lanes {
 public:
  Lanes(const Message* messages, std::size_t count, std::uint8_t* digests)
      : message_(messages), end_(messages + count), digest_(digests) {}

  void run() {
    Lane<Sha> first, second;
    bool first_has_work = take_message(first), second_has_work = take_message(second);
    while (first_has_work && second_has_work) {
      const std::size_t blocks = first.blocks < second.blocks ? first.blocks : second.blocks;
      compress<Sha, 2>({&first.state, &second.state}, {first.next, second.next}, blocks);
      first_has_work = advance(first, blocks);
      second_has_work = advance(second, blocks);
    }
    if (first_has_work) finish(first);
    if (second_has_work) finish(second);
  }

 private:
  // False: there are no more.
  bool take_message(Lane<Sha>& lane) {
    if (message_ == end_) return false;
    lane.state = Sha::initial();
    lane.next = message_->data;
    lane.blocks = message_->size / kBlockBytes;
    lane.in_tail = false;
    lane.size = message_->size;
    lane.digest = digest_;
    digest_ += kDigestBytes;
    ++message_;
    if (lane.blocks == 0) start_tail(lane);
    return true;
  }

  // FIPS 180-4, section 5.1.1: a bit that is one, zeros, and the length in bits.
  void start_tail(Lane<Sha>& lane) {
    const std::size_t rest = lane.size % kBlockBytes;
    std::memset(lane.tail, 0, sizeof(lane.tail));
    if (rest != 0) std::memcpy(lane.tail, lane.next, rest);
    lane.tail[rest] = 0x80;
    lane.next = lane.tail;
    lane.blocks = rest + 1 + kLengthBytes <= kBlockBytes ? 1 : 2;
    lane.in_tail = true;
    std::uint8_t* const end = lane.tail + lane.blocks * kBlockBytes;
    const std::uint64_t bits = std::uint64_t{lane.size} * 8;
    for (std::size_t i = 0; i < kLengthBytes; ++i)
      end[-1 - static_cast<std::ptrdiff_t>(i)] = static_cast<std::uint8_t>(bits >> 8 * i);
  }

  // `blocks` blocks of the lane are done. False: so are all messages.
  bool advance(Lane<Sha>& lane, std::size_t blocks) {
    lane.next += blocks * kBlockBytes;
    lane.blocks -= blocks;
    if (lane.blocks != 0) return true;
    if (!lane.in_tail) {
      start_tail(lane);
      return true;
    }
    Sha::store(lane.state, lane.digest);
    return take_message(lane);
  }

  // The other lane has nothing left to take.
  void finish(Lane<Sha>& lane) {
    do compress<Sha, 1>({&lane.state}, {lane.next}, lane.blocks);
    while (advance(lane, lane.blocks));
  }

  const Message* message_;  // that is taken next
  const Message* const end_;
  std::uint8_t* digest_;  // of that message
};

template <class Sha>
void hash_in_lanes(const Message* messages, std::size_t count, std::uint8_t* digests) {
  Lanes<Sha>(messages, count, digests).run();
}

}  // namespace
}  // namespace dedupfs::sha256
