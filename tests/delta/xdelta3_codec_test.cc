#include "delta/xdelta3_codec.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <thread>
#include <vector>

#include "edits.h"

extern "C" {
#include <xdelta3.h>
}

namespace dedupfs {
namespace {

// Bytes with a frame around them, which shows a write beyond them also where no sanitizer watches.
class Framed {
 public:
  explicit Framed(std::size_t size) : memory_(kFrame + size + kFrame, kMark), size_(size) {}

  MutableByteSpan bytes() { return MutableByteSpan(memory_).subspan(kFrame, size_); }
  bool frame_is_whole() const {
    const auto is_mark = [](std::uint8_t byte) { return byte == kMark; };
    return std::all_of(memory_.begin(), memory_.begin() + kFrame, is_mark) &&
           std::all_of(memory_.end() - kFrame, memory_.end(), is_mark);
  }

 private:
  static constexpr std::ptrdiff_t kFrame = 4096;
  static constexpr std::uint8_t kMark = 0xa5;

  ByteBuffer memory_;
  std::size_t size_;
};

ByteBuffer encode(ByteSpan source, ByteSpan target, std::size_t likely_offset = 0) {
  ByteBuffer delta(target.size() + 64);
  const auto delta_bytes = Xdelta3Codec::encode(source, target, delta, likely_offset);
  EXPECT_TRUE(delta_bytes && *delta_bytes);
  delta.resize(delta_bytes && *delta_bytes ? **delta_bytes : 0);
  return delta;
}

void expect_restored(ByteSpan source, ByteSpan delta, ByteSpan target) {
  ByteBuffer restored(target.size());
  const auto decoded = Xdelta3Codec::decode(source, delta, restored);
  ASSERT_TRUE(decoded) << decoded.error().message();
  EXPECT_TRUE(std::ranges::equal(restored, target));
}

void expect_corruption(ByteSpan source, ByteSpan delta, std::size_t target_size) {
  Framed target(target_size);
  const auto decoded = Xdelta3Codec::decode(source, delta, target.bytes());
  ASSERT_FALSE(decoded);
  EXPECT_EQ(decoded.error().code(), ErrorCode::kCorruption) << decoded.error().message();
  EXPECT_TRUE(target.frame_is_whole());
}

// ---- Encoding

TEST(Xdelta3Codec, RestoresWhatItEncoded) {
  for (const std::size_t size : {1UL, 2UL, 7UL, 31UL, 32UL, 100UL, 4096UL, 8191UL, 16384UL, 65536UL, 300000UL}) {
    for (const Edit edit : {Edit::kReplace, Edit::kInsert, Edit::kRemove, Edit::kAny}) {
      for (const bool of_rows : {false, true}) {
        SCOPED_TRACE(testing::Message() << size << " bytes, edit " << static_cast<int>(edit) << ", rows " << of_rows);
        const ByteBuffer source = of_rows ? rows(size, 1) : random_bytes(size, 1);
        ByteBuffer target = edited(source, edit, 2);
        if (target.empty()) target = source;

        expect_restored(source, encode(source, target), target);
      }
    }
  }
}

TEST(Xdelta3Codec, RestoresFromWideSourcesWhateverWasLikely) {
  std::mt19937 random(3);
  for (int round = 0; round < 300; ++round) {
    const Seed seed = random();
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    const std::size_t size = 1 + random() % 20000;
    const ByteBuffer source = random() % 2 == 0 ? rows(5 * size, seed) : random_bytes(5 * size, seed);
    const ByteSpan part = ByteSpan(source).subspan(random() % (4 * size), size);
    ByteBuffer target = edited(part, Edit::kAny, seed, 20 + random() % 2000);
    if (target.empty()) target = source;

    expect_restored(source, encode(source, target, random() % source.size()), target);
  }
}

TEST(Xdelta3Codec, RestoresWhatHasNothingInCommonWithTheSource) {
  const ByteBuffer source = random_bytes(5000, 4);
  const ByteBuffer target = random_bytes(70000, 5);

  expect_restored(source, encode(source, target), target);
}

TEST(Xdelta3Codec, TakesTheLargestSourceAndTarget) {
  const ByteBuffer source = random_bytes(Xdelta3Codec::kMaxSourceBytes, 6);
  const ByteBuffer target(source.end() - Xdelta3Codec::kMaxTargetBytes, source.end());

  const ByteBuffer delta = encode(source, target);

  expect_restored(source, delta, target);
  EXPECT_LT(delta.size(), 100U);
}

// As many instructions as there can be: nothing goes on where it did.
TEST(Xdelta3Codec, TakesATargetOfShortMatchesOnly) {
  const ByteBuffer source = random_bytes(std::size_t{128} << 10, 7);
  std::mt19937 random(8);
  ByteBuffer target;
  while (target.size() + 20 < Xdelta3Codec::kMaxTargetBytes) {
    const auto from = source.begin() + static_cast<std::ptrdiff_t>(random() % (source.size() - 20));
    target.insert(target.end(), from, from + 16 + random() % 4);
  }

  expect_restored(source, encode(source, target), target);
}

TEST(Xdelta3Codec, ItsDeltasAreWithinThreePercentOfThoseOfXdelta3) {
  for (const std::size_t size : {8192UL, 16384UL, 65536UL}) {
    std::size_t ours = 0;
    std::size_t theirs = 0;
    for (Seed seed = 0; seed < 20; ++seed) {
      const ByteBuffer source = random_bytes(size, seed);
      const ByteBuffer target = edited(source, Edit::kAny, seed + 100);
      ByteBuffer delta(target.size() + 64);
      usize_t delta_bytes = 0;
      ASSERT_EQ(xd3_encode_memory(target.data(), static_cast<usize_t>(target.size()), source.data(),
                                  static_cast<usize_t>(source.size()), delta.data(), &delta_bytes,
                                  static_cast<usize_t>(delta.size()), 0),
                0);
      theirs += delta_bytes;
      ours += encode(source, target).size();
    }

    EXPECT_LE(static_cast<double>(ours), 1.03 * static_cast<double>(theirs)) << size;
  }
}

TEST(Xdelta3Codec, Xdelta3ReadsItsDeltas) {
  const ByteBuffer source = rows(80000, 9);
  const ByteBuffer target = edited(ByteSpan(source).subspan(30000, 20000), Edit::kAny, 10);
  const ByteBuffer delta = encode(source, target, 30000);
  ByteBuffer restored(target.size());
  usize_t restored_bytes = 0;

  ASSERT_EQ(xd3_decode_memory(delta.data(), static_cast<usize_t>(delta.size()), source.data(),
                              static_cast<usize_t>(source.size()), restored.data(), &restored_bytes,
                              static_cast<usize_t>(restored.size()), 0),
            0);

  EXPECT_EQ(restored_bytes, target.size());
  EXPECT_EQ(restored, target);
}

TEST(Xdelta3Codec, AWrongLikelyOffsetCostsFewBytes) {
  const ByteBuffer source = random_bytes(80 << 10, 11);
  const ByteBuffer target = edited(ByteSpan(source).subspan(32768, 16384), Edit::kAny, 12);
  const std::size_t best = encode(source, target, 32768).size();

  for (const std::size_t likely_offset : {0UL, 1UL, 32000UL, 33000UL, source.size() - 1}) {
    EXPECT_LE(encode(source, target, likely_offset).size(), best + 16) << likely_offset;
  }
}

TEST(Xdelta3Codec, KeepsToTheBufferThatItIsGiven) {
  const ByteBuffer source = random_bytes(16384, 13);
  const ByteBuffer target = edited(source, Edit::kAny, 14);
  const ByteBuffer expected = encode(source, target);

  for (std::size_t size = 0; size <= expected.size() + 1; ++size) {
    Framed delta(size);
    const auto delta_bytes = Xdelta3Codec::encode(source, target, delta.bytes());

    ASSERT_TRUE(delta_bytes);
    ASSERT_EQ(delta_bytes->has_value(), size >= expected.size()) << size;
    ASSERT_TRUE(delta.frame_is_whole()) << size;
    if (!*delta_bytes) continue;
    ASSERT_TRUE(std::ranges::equal(delta.bytes().first(**delta_bytes), expected));
  }
}

TEST(Xdelta3Codec, GivesNothingForATargetThatIsNew) {
  ByteBuffer delta(4096);

  const auto delta_bytes = Xdelta3Codec::encode(random_bytes(8192, 15), random_bytes(8192, 16), delta);

  ASSERT_TRUE(delta_bytes) << delta_bytes.error().message();
  EXPECT_FALSE(*delta_bytes);
}

TEST(Xdelta3Codec, RefusesSizesOutOfRange) {
  const ByteBuffer some(10);
  const ByteBuffer too_much(Xdelta3Codec::kMaxTargetBytes + 1);
  ByteBuffer delta(100);

  for (const auto& result :
       {Xdelta3Codec::encode({}, some, delta), Xdelta3Codec::encode(some, {}, delta),
        Xdelta3Codec::encode(some, too_much, delta), Xdelta3Codec::encode(some, some, delta, some.size())}) {
    ASSERT_FALSE(result);
    EXPECT_EQ(result.error().code(), ErrorCode::kInvalidArgument);
  }
}

TEST(Xdelta3Codec, ServesManyThreadsAtOnce) {
  const ByteBuffer source = random_bytes(40000, 17);
  std::vector<std::thread> threads;
  for (Seed seed = 0; seed < 8; ++seed) {
    threads.emplace_back([&source, seed] {
      for (Seed round = 0; round < 10; ++round) {
        const ByteBuffer target = edited(ByteSpan(source).subspan(seed * 1000, 8192), Edit::kAny, seed + 100 * round);
        expect_restored(source, encode(source, target), target);
      }
    });
  }
  for (auto& thread : threads) thread.join();
}

// ---- Decoding what was not encoded like this

TEST(Xdelta3Codec, DecodingNeedsNoMoreOfTheSourceThanItsRange) {
  const ByteBuffer source = random_bytes(80'000, 1);
  const ByteBuffer target = edited(ByteSpan(source).subspan(30'000, 16'384), Edit::kAny, 2);
  const ByteBuffer delta = encode(source, target, 30'000);

  const auto range = Xdelta3Codec::source_range(delta);

  ASSERT_TRUE(range);
  EXPECT_LT(range->begin, range->end);
  EXPECT_LT(range->end - range->begin, 20'000U);
  ASSERT_LE(range->end, source.size());
  ByteBuffer other(source.size());
  for (std::size_t i = range->begin; i < range->end; ++i) other[i] = source[i];
  expect_restored(other, delta, target);
}

TEST(Xdelta3Codec, DeltaThatCopiesNothingHasNoRange) {
  const ByteBuffer target = random_bytes(1000, 2);
  const auto range = Xdelta3Codec::source_range(encode(random_bytes(1000, 1), target));

  ASSERT_TRUE(range);
  EXPECT_EQ(range->begin, range->end);
}

TEST(Xdelta3Codec, ADeltaThatCopiesNothingStaysAsItIsWithoutTheBeginningOfItsSource) {
  const ByteBuffer target = random_bytes(700, 2);
  const ByteBuffer delta = encode(random_bytes(1000, 1), target);

  for (const std::size_t bytes : {std::size_t{0}, std::size_t{600}}) {
    const auto shorter = Xdelta3Codec::without_begin_of_source(delta, bytes);

    ASSERT_TRUE(shorter) << bytes;
    EXPECT_EQ(*shorter, delta) << bytes;
  }
}

TEST(Xdelta3Codec, ADeltaMayDoWithoutTheBeginningOfItsSource) {
  ByteBuffer source = random_bytes(300'000, 1);
  ByteBuffer target(source.begin() + 200'000, source.begin() + 220'000);
  target[7000] ^= 1;
  const ByteBuffer delta = encode(source, target);
  const auto range = Xdelta3Codec::source_range(delta);
  ASSERT_TRUE(range);

  for (const std::size_t bytes :
       {std::size_t{0}, std::size_t{1}, std::size_t{127}, std::size_t{183'617}, range->begin - 127, range->begin}) {
    const auto shorter = Xdelta3Codec::without_begin_of_source(delta, bytes);

    ASSERT_TRUE(shorter) << bytes;
    EXPECT_LE(shorter->size(), delta.size());
    EXPECT_EQ(Xdelta3Codec::source_range(*shorter)->begin, range->begin - bytes);
    ByteBuffer made(target.size());
    ASSERT_TRUE(Xdelta3Codec::decode(ByteSpan(source).subspan(bytes), *shorter, made)) << bytes;
    EXPECT_EQ(made, target) << bytes;
  }
  EXPECT_FALSE(Xdelta3Codec::without_begin_of_source(delta, range->begin + 1));
  EXPECT_FALSE(Xdelta3Codec::without_begin_of_source(ByteSpan(delta).first(7), 0));
}

TEST(Xdelta3Codec, RangeOfWhatDoesNotBeginAsADeltaIsCorruption) {
  const ByteBuffer source = random_bytes(80'000, 1);
  const ByteBuffer delta = encode(source, ByteSpan(source).subspan(30'000, 16'384), 30'000);
  for (std::size_t bytes = 0; bytes <= 11; ++bytes) {
    const auto range = Xdelta3Codec::source_range(ByteSpan(delta).first(bytes));
    ASSERT_FALSE(range) << bytes;
    EXPECT_EQ(range.error().code(), ErrorCode::kCorruption);
  }
  EXPECT_TRUE(Xdelta3Codec::source_range(ByteSpan(delta).first(12)));

  ByteBuffer endless(100, 0xff);
  std::copy_n(delta.begin(), 6, endless.begin());
  EXPECT_FALSE(Xdelta3Codec::source_range(endless));
}

TEST(Xdelta3Codec, CallsATargetOfAnotherSizeCorruption) {
  const ByteBuffer source = random_bytes(8192, 18);
  const ByteBuffer target = edited(source, Edit::kAny, 19);
  const ByteBuffer delta = encode(source, target);

  for (const std::size_t size : {std::size_t{1}, target.size() - 1, target.size() + 1, 2 * target.size()}) {
    SCOPED_TRACE(size);
    expect_corruption(source, delta, size);
  }
}

TEST(Xdelta3Codec, CallsAnotherSourceCorruptionWhenItIsTooShort) {
  const ByteBuffer source = random_bytes(8192, 20);
  const ByteBuffer delta = encode(source, source);

  for (const std::size_t size : {1UL, 4000UL, 4096UL, 8191UL}) {
    SCOPED_TRACE(size);
    expect_corruption(ByteSpan(source).first(size), delta, source.size());
  }
}

TEST(Xdelta3Codec, CallsEveryTruncatedDeltaCorruption) {
  const ByteBuffer source = random_bytes(4096, 21);
  const ByteBuffer target = edited(source, Edit::kAny, 22);
  const ByteBuffer delta = encode(source, target);

  for (std::size_t size = 0; size < delta.size(); ++size) {
    SCOPED_TRACE(size);
    expect_corruption(source, ByteSpan(delta).first(size), target.size());
  }
}

TEST(Xdelta3Codec, CallsBytesBehindADeltaCorruption) {
  const ByteBuffer source = random_bytes(4096, 23);
  ByteBuffer delta = encode(source, source);
  const ByteBuffer twice = [&] {
    ByteBuffer both = delta;
    both.insert(both.end(), delta.begin() + 5, delta.end());  // its window once more
    return both;
  }();
  delta.push_back(0);

  expect_corruption(source, delta, source.size());
  expect_corruption(source, twice, source.size());
  expect_corruption(source, twice, 2 * source.size());
}

TEST(Xdelta3Codec, SurvivesMutatedDeltas) {
  const ByteBuffer source = random_bytes(4096, 24);
  const ByteBuffer target = edited(source, Edit::kAny, 25);
  const ByteBuffer delta = encode(source, target);
  Framed restored(target.size());

  std::mt19937 random(26);
  for (int round = 0; round < 20000; ++round) {
    ByteBuffer mutated = delta;
    for (auto changes = 1 + random() % 4; changes > 0; --changes) {
      mutated[random() % mutated.size()] = static_cast<std::uint8_t>(random());
    }
    const auto decoded = Xdelta3Codec::decode(source, mutated, restored.bytes());

    ASSERT_TRUE(decoded || decoded.error().code() == ErrorCode::kCorruption) << decoded.error().message();
  }
  EXPECT_TRUE(restored.frame_is_whole());
}

// A delta put together by hand, of what RFC 3284 (section 4) has in it.
struct HandMade {
  ByteBuffer header = {0xd6, 0xc3, 0xc4, 0, 0};
  std::uint8_t window = 1;  // copies from the source
  std::uint64_t source_bytes = 100;
  std::uint64_t source_begin = 0;
  std::uint64_t target_bytes = 20;
  std::uint8_t compression = 0;
  ByteBuffer data;
  ByteBuffer instructions = {19, 20};  // copy 20 bytes, from an address of its own
  ByteBuffer addresses = {0};
  ByteBuffer checksum;  // of xdelta3's, which RFC 3284 does not have

  ByteBuffer bytes() const {
    ByteBuffer body = integer(target_bytes);
    body.push_back(compression);
    for (const ByteBuffer* section : {&data, &instructions, &addresses}) append(body, integer(section->size()));
    append(body, checksum);
    for (const ByteBuffer* section : {&data, &instructions, &addresses}) append(body, *section);

    ByteBuffer all = header;
    all.push_back(window);
    if ((window & 3) != 0) {
      append(all, integer(source_bytes));
      append(all, integer(source_begin));
    }
    append(all, integer(body.size()));
    append(all, body);
    return all;
  }

  static ByteBuffer integer(std::uint64_t value) {
    ByteBuffer digits = {static_cast<std::uint8_t>(value & 0x7f)};
    while ((value >>= 7) != 0) digits.insert(digits.begin(), static_cast<std::uint8_t>(0x80 | (value & 0x7f)));
    return digits;
  }
  static void append(ByteBuffer& bytes, const ByteBuffer& more) { bytes.insert(bytes.end(), more.begin(), more.end()); }
};

TEST(Xdelta3Codec, DecodesDeltasThatOthersMade) {
  const ByteBuffer source = random_bytes(100, 27);
  expect_restored(source, HandMade().bytes(), ByteSpan(source).first(20));

  HandMade run;
  run.window = 0;
  run.data = {'x'};
  run.instructions = {0, 20};
  run.addresses = {};
  expect_restored(source, run.bytes(), ByteBuffer(20, 'x'));

  HandMade overlapping;  // two bytes, then again and again what was two before
  overlapping.window = 0;
  overlapping.data = {'a', 'b'};
  overlapping.instructions = {3, 19, 18};
  overlapping.addresses = {0};
  expect_restored(source, overlapping.bytes(), bytes_of("abababababababababab"));
}

struct Hostile {
  const char* name;
  void (*change)(HandMade& delta);
};
class Xdelta3CodecHostile : public testing::TestWithParam<Hostile> {};

TEST_P(Xdelta3CodecHostile, IsCorruption) {
  const ByteBuffer source = random_bytes(100, 28);
  HandMade delta;
  GetParam().change(delta);

  expect_corruption(source, delta.bytes(), 20);
}

constexpr std::uint64_t kGigabytes = 0xfffffff0;

INSTANTIATE_TEST_SUITE_P(
    Deltas, Xdelta3CodecHostile,
    testing::Values(
        Hostile{"AnotherMagic", [](HandMade& delta) { delta.header[0] = 'x'; }},
        Hostile{"AnotherVersion", [](HandMade& delta) { delta.header[3] = 1; }},
        Hostile{"SecondaryCompression", [](HandMade& delta) { delta.header = {0xd6, 0xc3, 0xc4, 0, 1, 1}; }},
        Hostile{"CodeTable", [](HandMade& delta) { delta.header = {0xd6, 0xc3, 0xc4, 0, 2, 9, 4, 3}; }},
        Hostile{"ApplicationHeader", [](HandMade& delta) { delta.header = {0xd6, 0xc3, 0xc4, 0, 4, 0}; }},
        Hostile{"ApplicationHeaderOfGigabytes",
                [](HandMade& delta) { delta.header = {0xd6, 0xc3, 0xc4, 0, 4, 0x8f, 0xff, 0xff, 0xff, 0x70}; }},
        Hostile{"WindowOfTheTarget", [](HandMade& delta) { delta.window = 2; }},
        Hostile{"WindowOfBoth", [](HandMade& delta) { delta.window = 3; }},
        Hostile{"WindowWithAChecksum",
                [](HandMade& delta) {
                  delta.window = 4;
                  delta.data = {0};
                  delta.instructions = {0, 20};
                  delta.addresses = {};
                  delta.checksum = {0, 20, 0, 1};  // Adler-32 of twenty zeros, so it is right
                }},
        Hostile{"WindowOfAnUnknownKind", [](HandMade& delta) { delta.window = 0x81; }},
        Hostile{"WindowThatIsLargerThanTheTarget", [](HandMade& delta) { delta.target_bytes = 21; }},
        Hostile{"WindowThatIsSmallerThanTheTarget", [](HandMade& delta) { delta.target_bytes = 19; }},
        Hostile{"WindowOfNothing", [](HandMade& delta) { delta.target_bytes = 0; }},
        Hostile{"WindowOfAMegabyte", [](HandMade& delta) { delta.target_bytes = 1 << 20; }},
        Hostile{"WindowOfGigabytes", [](HandMade& delta) { delta.target_bytes = kGigabytes; }},
        Hostile{"SourceThatIsLonger", [](HandMade& delta) { delta.source_bytes = 101; }},
        Hostile{"SourceThatEndsLater", [](HandMade& delta) { delta.source_begin = 1; }},
        Hostile{"SourceThatBeginsBehindTheEnd", [](HandMade& delta) { delta.source_begin = 1 << 20; }},
        Hostile{"SourceOfGigabytes", [](HandMade& delta) { delta.source_bytes = kGigabytes; }},
        Hostile{"SourceThatBeginsFarAway", [](HandMade& delta) { delta.source_begin = kGigabytes << 24; }},
        Hostile{"SourceThatWrapsAround", [](HandMade& delta) { delta.source_begin = ~std::uint64_t{0} - 50; }},
        Hostile{"CompressedSections", [](HandMade& delta) { delta.compression = 1; }},
        Hostile{"CopyBeyondTheSource", [](HandMade& delta) { delta.addresses = {90}; }},
        Hostile{"CopyFromWhatIsNotMadeYet", [](HandMade& delta) { delta.addresses = {100}; }},
        Hostile{"CopyFromFarAway",
                [](HandMade& delta) {
                  delta.addresses = {0x8f, 0xff, 0xff, 0xff, 0x70};
                }},
        Hostile{"CopyWithoutAnAddress", [](HandMade& delta) { delta.addresses = {}; }},
        Hostile{"CopyOfTooMuch",
                [](HandMade& delta) {
                  delta.instructions = {19, 21};
                }},
        Hostile{"CopyOfGigabytes", [](HandMade& delta) { delta.instructions = {19, 0x8f, 0xff, 0xff, 0xff, 0x70}; }},
        Hostile{"CopyOfTooLittle",
                [](HandMade& delta) {
                  delta.instructions = {19, 19};
                }},
        Hostile{"TwoCopies",
                [](HandMade& delta) {
                  delta.instructions = {19, 20, 19, 20};
                  delta.addresses = {0, 0};
                }},
        Hostile{"BytesWithoutData",
                [](HandMade& delta) {
                  delta.instructions = {1, 20};
                }},
        Hostile{"RunWithoutData",
                [](HandMade& delta) {
                  delta.instructions = {0, 20};
                }},
        Hostile{"RunOfGigabytes",
                [](HandMade& delta) {
                  delta.data = {'x'};
                  delta.instructions = {0, 0x8f, 0xff, 0xff, 0xff, 0x70};
                }},
        Hostile{"NoInstructions", [](HandMade& delta) { delta.instructions = {}; }},
        Hostile{"InstructionWithoutItsSize", [](HandMade& delta) { delta.instructions = {19}; }},
        Hostile{"DataThatNobodyAddsTo", [](HandMade& delta) { delta.data = {'x'}; }},
        Hostile{"AddressesThatNobodyCopiesFrom",
                [](HandMade& delta) {
                  delta.addresses = {0, 0};
                }}),
    [](const auto& instance) { return instance.param.name; });

}  // namespace
}  // namespace dedupfs
