#include "store/seal/sealed_content.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <new>
#include <numeric>
#include <random>
#include <set>
#include <utility>

#include "support/crash_replay.h"
#include "support/memory_disk.h"
#include "support/sanitized.h"

namespace dedupfs {
namespace {

constexpr std::string_view kFile = "file";
constexpr SessionId kSession = {1, 2, 3};
constexpr SessionId kOtherSession = {4, 5, 6};

std::shared_ptr<const VolumeKey> some_key() {
  static const auto key = std::make_shared<const VolumeKey>(Cipher::kAes256Gcm, VolumeKey::make_master());
  return key;
}

std::string random_text(std::mt19937_64& random, std::size_t length) {
  std::string text(length, '\0');
  for (char& c : text) c = static_cast<char>(random());
  return text;
}

void put(std::string& content, std::size_t offset, std::string_view bytes) {
  if (content.size() < offset + bytes.size()) content.resize(offset + bytes.size());
  content.replace(offset, bytes.size(), bytes);
}

// A file on a disk in memory, opened again whenever a test wants it.
class SealedContentTest : public testing::Test {
 protected:
  void open(const std::shared_ptr<MemoryDisk>& disk, Backing::Mode mode = Backing::Mode::kOpenOrCreate) {
    file_ = disk->open_root("/").value()->open(kFile, mode).value();
    content_ = load(*file_, some_key(), "file");
  }
  static std::shared_ptr<SealedContent> load(const BackingFile& file, std::shared_ptr<const VolumeKey> key,
                                             std::string place) {
    return SealedContent::load(file, std::move(key), std::move(place), kSession);
  }
  std::string read_all() const {
    const auto size = content_->size();
    if (!size) return "error: " + size.error().message();
    std::string text(*size + 10, 'x');
    const auto got = content_->read_up_to(*file_, 0, {reinterpret_cast<std::uint8_t*>(text.data()), text.size()});
    if (!got) return "error: " + got.error().message();
    EXPECT_EQ(*got, *size);
    text.resize(*got);
    return text;
  }
  void write(std::uint64_t offset, std::string_view text) {
    ASSERT_TRUE(content_->write(*file_, offset, bytes_of(text)));
  }
  void flip_byte(std::uint64_t place) {
    std::array<std::uint8_t, 1> byte{};
    ASSERT_TRUE(file_->read(place, byte));
    byte[0] ^= 1;
    ASSERT_TRUE(file_->write(place, byte));
  }
  std::string on_disk(const std::shared_ptr<MemoryDisk>& disk) {
    const auto file = disk->open_root("/").value()->open(kFile, Backing::Mode::kRead).value();
    std::string text(file->size().value(), '\0');
    EXPECT_TRUE(file->read(0, {reinterpret_cast<std::uint8_t*>(text.data()), text.size()}));
    return text;
  }

  std::shared_ptr<MemoryDisk> disk_ = std::make_shared<MemoryDisk>();
  std::unique_ptr<BackingFile> file_;
  std::shared_ptr<SealedContent> content_;
};

TEST_F(SealedContentTest, IsAsAPlainFileWhateverIsDoneToIt) {
  std::mt19937_64 random(1);
  for (int round = 0; round < 40; ++round) {
    disk_ = std::make_shared<MemoryDisk>();
    open(disk_);
    std::string model;
    for (int step = 0; step < 60; ++step) {
      const std::size_t offset = random() % 3 == 0 ? random() % (model.size() + 1) : model.size();
      switch (random() % 10) {
        case 0: {
          const std::size_t size = random() % (model.size() + 100);
          ASSERT_TRUE(content_->truncate(*file_, size));
          model.resize(size);
          break;
        }
        case 1: ASSERT_TRUE(content_->datasync(*file_)); break;
        case 2: content_->finish(*file_); [[fallthrough]];
        case 3: open(disk_); break;
        case 4: {
          const std::string sparse = random_text(random, 10);
          write(model.size() + 5000, sparse);
          put(model, model.size() + 5000, sparse);
          break;
        }
        default: {
          const std::string text = random_text(random, 1 + random() % (step % 5 == 0 ? 40'000 : 300));
          write(offset, text);
          put(model, offset, text);
        }
      }
      ASSERT_EQ(content_->size().value(), model.size());
      const std::size_t begin = random() % (model.size() + 1);
      std::string part(random() % 20'000, 'x');
      const auto got = content_->read_up_to(*file_, begin, {reinterpret_cast<std::uint8_t*>(part.data()), part.size()});
      ASSERT_TRUE(got) << got.error().message();
      ASSERT_EQ(part.substr(0, *got), model.substr(begin, part.size()));
    }
    ASSERT_EQ(read_all(), model);
  }
}

// The vectors of docs/format.md, which vectors.py wrote.
struct SealedVector {
  Cipher cipher;
  std::string_view hex;
};
constexpr SealedVector kSealedVectors[] = {
    {Cipher::kAes256Gcm,
     "202122232425262728292a2b2c2d2e2f303132333435363738393a3b3c3d3e3f2f470363b9073c64ebd7bb6e2beced704946"
     "a2064289a6d56099c26c71cd5bcc35d20804eee7b49ad6652c123c11004b4fc666475eb7c695511be6d3d1ccf98676d5cd30"
     "a1eecc8b133ab6a24414605d3bc8ef521443d9c451e5cba939e10525b93102df63c45a33547596404a5e57a1220e6c5f84fd"
     "966ec32f9e8825f2502b8c0d230915d6e67e5af2b1155d77cdb6f4b53f210896b04eda9fff787c95c6762237e21abfada974"
     "04093cd1629947952505d5d774cc8efcdbeb0466504fb7ee16495c3e0adae716d442b47a9b6e75c611f34966a115a786d49f"
     "ec91f58c6dd73cd934f4adaf387c73f0b1002dba54493b8ea8b078606162636465666768696a6b6c6d6e6f70717273747576"
     "7778797a7b7c7d7e7f02ab6a71f2a385ca2c5931aafdb72b4042b9cc3a214b38b7474abe88b7e1551ade7ffbdbde31f7cb"},
    {Cipher::kChaCha20Poly1305,
     "202122232425262728292a2b2c2d2e2f303132333435363738393a3b3c3d3e3fce4a729d04782c5df16764162e2c128feb59"
     "fe6d20bcb6e70e7858e1515ae948e7a64db9d1e06394ec0b441ed4a6fe0292946a495b8509ce0735dedd1aa23cacef5c325a"
     "33927ae63db52da58678974d592e3fe444bb680d73c7f1351cb1eb263910ebf531e6e6473f88a8b3911e2eae6d5c83381235"
     "5108efaf268c249be3eaf1c2a117588ad1eda16f1a80b43ed58a07beab8c88c8a2a458d6834b49ad59678565906d4bbc6af7"
     "85a445ebf5e2ddeb4436ee549271c6929e4ba3ad55d0dc16fc7e41fda05361867f8e9498e39a7364e8dd2b843dbb4aa17fe4"
     "76c1407107ac7f6014283a05bc7012a06a4d6c3cbf3ca3d64c5525606162636465666768696a6b6c6d6e6f70717273747576"
     "7778797a7b7c7d7e7fa8475e8885cf6bffea2219bf81dccf33dd76e0e30b18373888026109b9ecd4894373810795372d1f"},
};

class SealedVectorTest : public SealedContentTest, public testing::WithParamInterface<SealedVector> {};

TEST_P(SealedVectorTest, ReadsWhatTheFormatSays) {
  const std::string_view sealed = GetParam().hex;
  constexpr std::size_t kMapBytes = 65 + kTagBytes;
  Secret master(kCipherKeyBytes);
  std::iota(master.bytes().begin(), master.bytes().end(), std::uint8_t{0});
  const auto key = std::make_shared<const VolumeKey>(
      GetParam().cipher, NumberedKey{.number = 2, .master = std::move(master)}, std::vector<NumberedKey>());
  open(disk_);
  ByteBuffer bytes(sealed.size() / 2);
  for (std::size_t i = 0; i < bytes.size(); ++i)
    ASSERT_EQ(std::from_chars(&sealed[2 * i], &sealed[2 * i] + 2, bytes[i], 16).ec, std::errc());
  ASSERT_TRUE(file_->write(0, bytes));

  content_ = load(*file_, key, "index/000012.sst");
  EXPECT_EQ(read_all(), "hello, world");

  // As a crash would leave it, without the map.
  ASSERT_TRUE(file_->truncate(bytes.size() - kSealTrailerBytes - kMapBytes));
  content_ = load(*file_, key, "index/000012.sst");
  EXPECT_EQ(read_all(), "hello, world");

  content_ = load(*file_, key, "index/000013.sst");
  EXPECT_TRUE(read_all().starts_with("error: ")) << "another file";
}

INSTANTIATE_TEST_SUITE_P(All, SealedVectorTest, testing::ValuesIn(kSealedVectors));

TEST_F(SealedContentTest, ADamagedMapCostsNothing) {
  open(disk_);
  write(0, "one, ");
  write(5, "two");
  content_->finish(*file_);
  flip_byte(file_->size().value() - kSealTrailerBytes - 5);

  open(disk_);

  EXPECT_EQ(read_all(), "one, two");
}

// Without the map the records say what is there, and they end where a header is damaged.
TEST_F(SealedContentTest, ADamagedMapAndADamagedHeaderDoNotMakeAShorterFile) {
  open(disk_);
  write(0, "one, ");
  write(5, "two");
  content_->finish(*file_);
  flip_byte(file_->size().value() - kSealTrailerBytes - 5);
  flip_byte(kSegmentHeadBytes + kSealedHeadBytes + sealed_bytes_of(5) + 3);

  open(disk_);

  EXPECT_TRUE(read_all().starts_with("error: ")) << read_all();
}

TEST_F(SealedContentTest, AnEndThatACrashToreIsMended) {
  open(disk_);
  write(0, "one, ");
  write(5, "two");
  ASSERT_TRUE(file_->truncate(file_->size().value() - 1));
  open(disk_);
  EXPECT_EQ(read_all(), "one, ");

  ASSERT_TRUE(content_->mend_end(*file_));

  open(disk_);
  EXPECT_EQ(read_all(), "one, ");
  write(5, "three");
  EXPECT_EQ(read_all(), "one, three");
}

TEST_F(SealedContentTest, NothingOfTheContentIsOnTheDisk) {
  open(disk_);
  const std::string secret(3000, 'S');
  for (std::uint64_t i = 0; i < 10; ++i) write(i * secret.size(), secret);
  content_->finish(*file_);
  EXPECT_EQ(on_disk(disk_).find("SSSS"), std::string::npos);
}

TEST_F(SealedContentTest, TheSameContentIsNeverSealedTheSameWayTwice) {
  std::set<std::string> seen;
  for (int i = 0; i < 20; ++i) {
    disk_ = std::make_shared<MemoryDisk>();
    open(disk_);
    write(0, "the same");
    EXPECT_TRUE(seen.insert(on_disk(disk_)).second);
  }
}

// A copy of the folder goes on beside the first: what both append has different keys.
TEST_F(SealedContentTest, CopiesThatDivergeShareNoKeyStream) {
  open(disk_);
  write(0, "begin");
  const auto copy = std::make_shared<MemoryDisk>(disk_->image());
  const std::size_t before = on_disk(disk_).size();
  std::vector<std::string> ends;
  for (const auto& disk : {disk_, copy}) {
    open(disk);
    write(5, std::string(100, '\0'));
    ends.push_back(on_disk(disk).substr(before));
  }
  std::size_t equal = 0;
  for (std::size_t i = 0; i < ends[0].size(); ++i) equal += ends[0][i] == ends[1][i] ? 1U : 0U;
  EXPECT_LT(equal, ends[0].size() / 10);
}

TEST_F(SealedContentTest, AFailedWriteLeavesNothingAndItsKeyIsNotUsedAgain) {
  open(disk_);
  write(0, "first");
  const std::string before = on_disk(disk_);
  disk_->set_fault([](std::string_view operation, const Path&) -> std::optional<MemoryDisk::Fault> {
    if (operation != "write") return std::nullopt;
    return MemoryDisk::Fault{{ErrorCode::kNoSpace, "full"}, 60};
  });
  EXPECT_EQ(content_->write(*file_, 5, bytes_of("second")).error().code(), ErrorCode::kNoSpace);
  disk_->set_fault(nullptr);
  EXPECT_EQ(on_disk(disk_), before);
  EXPECT_EQ(read_all(), "first");
  write(5, "another");
  EXPECT_EQ(on_disk(disk_).size(), before.size() + kSegmentHeadBytes + kSealedHeadBytes + 7 + kTagBytes)
      << "a segment of its own";
  open(disk_);
  EXPECT_EQ(read_all(), "firstanother");
}

// What was written in between is gone from the disk, too.
TEST_F(SealedContentTest, AnEndThatOnlyAppendsWroteIsCutOffTheFile) {
  open(disk_);
  write(0, "kept");
  const std::size_t before = on_disk(disk_).size();
  write(4, "a record that is not whole");
  write(30, "more");
  ASSERT_TRUE(content_->truncate(*file_, 4));
  EXPECT_EQ(on_disk(disk_).size(), before);
  write(4, "!");
  EXPECT_EQ(read_all(), "kept!");
  open(disk_);
  EXPECT_EQ(read_all(), "kept!");
}

TEST_F(SealedContentTest, AnotherFileInItsPlaceIsAnError) {
  open(disk_);
  write(0, "of this file");
  content_->finish(*file_);
  const auto other = load(*file_, some_key(), "other");
  EXPECT_EQ(other->size().error().code(), ErrorCode::kCorruption);
  const auto stranger = std::make_shared<const VolumeKey>(Cipher::kAes256Gcm, VolumeKey::make_master());
  EXPECT_EQ(load(*file_, stranger, "file")->size().error().code(), ErrorCode::kCorruption);
}

// ---------------------------------------------------------------- former keys

struct KeyGenerations {
  Secret masters[3] = {VolumeKey::make_master(), VolumeKey::make_master(), VolumeKey::make_master()};

  // As it was when the key with this number was the current one.
  std::shared_ptr<const VolumeKey> key(std::uint32_t number, std::uint32_t oldest = 1) const {
    std::vector<NumberedKey> former;
    for (std::uint32_t each = oldest; each < number; ++each)
      former.push_back({.number = each, .master = masters[each - 1].copy()});
    return std::make_shared<const VolumeKey>(
        Cipher::kAes256Gcm, NumberedKey{.number = number, .master = masters[number - 1].copy()}, std::move(former));
  }
};

TEST_F(SealedContentTest, AFileUnderSeveralKeysIsReadByItsMapAndByItsRecords) {
  const KeyGenerations keys;
  open(disk_);
  for (std::uint32_t number = 1; number <= 3; ++number) {
    content_ = load(*file_, keys.key(number), "file");
    write(content_->size().value(), "key " + std::to_string(number) + ", ");
    ASSERT_TRUE(content_->datasync(*file_));
    content_->finish(*file_);
    EXPECT_EQ(content_->mark().oldest_key, 1u);
  }
  content_ = load(*file_, keys.key(3), "file");
  EXPECT_EQ(read_all(), "key 1, key 2, key 3, ");
  EXPECT_EQ(content_->mark().oldest_key, 1u);
  const FileMark whole = content_->mark();
  EXPECT_TRUE(content_->is(whole));
  EXPECT_EQ(load(*file_, keys.key(3, 2), "file")->size().error().code(), ErrorCode::kCorruption)
      << "the first key is forgotten";

  ASSERT_TRUE(file_->truncate(file_->size().value() - kSealTrailerBytes));
  content_ = load(*file_, keys.key(3), "file");
  EXPECT_EQ(read_all(), "key 1, key 2, key 3, ");
  EXPECT_EQ(content_->mark().oldest_key, 1u);
}

// Who has a former key can make segments and maps with it.
TEST_F(SealedContentTest, AFormerKeySealsNothingBehindANewerOne) {
  const KeyGenerations keys;
  open(disk_);
  content_ = load(*file_, keys.key(2), "file");
  write(0, "of the newer key");
  ASSERT_TRUE(content_->datasync(*file_));
  const FileMark mark = content_->mark();
  const std::string records = on_disk(disk_);
  content_->finish(*file_);
  const std::string whole = on_disk(disk_);

  // A file of the former key, whose end takes the place of the real one.
  const auto forged = disk_->open_root("/").value()->open("forged", Backing::Mode::kCreate).value();
  const auto forger = load(*forged, keys.key(1), "file");
  ASSERT_TRUE(forger->write(*forged, 0, bytes_of("forged")));
  forger->finish(*forged);
  std::string bytes(forged->size().value(), '\0');
  ASSERT_TRUE(forged->read(0, {reinterpret_cast<std::uint8_t*>(bytes.data()), bytes.size()}));
  content_ = load(*forged, keys.key(2), "file");
  EXPECT_EQ(content_->mark().oldest_key, 1u);
  EXPECT_FALSE(content_->is(mark));
  EXPECT_FALSE(content_->continues(&mark, std::array<SessionId, 1>{kSession})) << "it would need the current key";
  EXPECT_FALSE(content_->continues(nullptr, std::array<SessionId, 1>{kSession}));

  // The same state as far as lengths and salts tell.
  FileMark same = content_->mark();
  same.oldest_key = 2;
  EXPECT_FALSE(content_->is(same));
  same.oldest_key = 1;
  EXPECT_TRUE(content_->is(same));

  // Its end behind the records of the real file.
  ASSERT_TRUE(file_->truncate(records.size()));
  ASSERT_TRUE(file_->write(records.size(), bytes_of(bytes)));
  content_ = load(*file_, keys.key(2), "file");
  EXPECT_EQ(read_all(), "of the newer key");
  EXPECT_EQ(content_->mark().records_end, records.size());

  ASSERT_TRUE(file_->truncate(0));
  ASSERT_TRUE(file_->write(0, bytes_of(whole)));
  content_ = load(*file_, keys.key(2), "file");
  EXPECT_EQ(read_all(), "of the newer key");
}

// No byte can be changed so that other content is read: only errors, and, where the end of the file is not mapped, older states.
TEST_F(SealedContentTest, AChangedByteNeverGivesOtherContent) {
  std::mt19937_64 random(2);
  for (const bool is_finished : {false, true}) {
    disk_ = std::make_shared<MemoryDisk>();
    open(disk_);
    std::vector<std::string> states = {""};
    for (int i = 0; i < 6; ++i) {
      const std::string text = random_text(random, i == 2 ? 20'000 : 200);
      write(states.back().size(), text);
      states.push_back(states.back() + text);
    }
    if (is_finished) content_->finish(*file_);
    const std::string whole = on_disk(disk_);
    std::size_t errors = 0;
    for (int i = 0; i < (kSanitized ? 600 : 3000); ++i) {
      std::string changed = whole;
      switch (random() % 3) {
        case 0: changed[random() % changed.size()] ^= static_cast<char>(1 + random() % 255); break;
        case 1: changed.resize(random() % changed.size()); break;
        default: {  // a stretch from elsewhere in the file
          const std::size_t length = 1 + random() % 100;
          const std::size_t from = random() % (changed.size() - length);
          const std::size_t to = random() % (changed.size() - length);
          changed.replace(to, length, whole.substr(from, length));
        }
      }
      const auto disk = std::make_shared<MemoryDisk>();
      const auto file = disk->open_root("/").value()->open(kFile, Backing::Mode::kCreate).value();
      ASSERT_TRUE(file->write(0, bytes_of(changed)));
      open(disk);
      const std::string found = read_all();
      if (found.starts_with("error: "))
        ++errors;
      else
        ASSERT_NE(std::ranges::find(states, found), states.end()) << "case " << i;
    }
    EXPECT_GT(errors, is_finished ? 100u : 0u);
  }
}

// In each state that a crash can leave, the content is that after some operation, and none that was synced is missing.
TEST_F(SealedContentTest, ACrashLeavesAnEarlierMomentNotBeforeTheLastSync) {
  std::mt19937_64 random(3);
  std::uint64_t judged = 0;
  for (int round = 0; round < 12; ++round) {
    const auto disk = std::make_shared<MemoryDisk>();
    open(disk);
    ASSERT_TRUE(disk->open_root("/").value()->sync());
    std::vector<std::string> states = {""};
    std::vector<std::size_t> begun;                             // events when the operation began
    std::vector<std::pair<std::size_t, std::size_t>> synced{};  // events, state
    for (int step = 0; step < 14; ++step) {
      std::string next = states.back();
      begun.push_back(disk->event_count());
      switch (random() % 8) {
        case 0:
          content_->finish(*file_);
          synced.emplace_back(disk->event_count(), states.size() - 1);
          open(disk);
          break;
        case 1:
        case 2:
          ASSERT_TRUE(content_->datasync(*file_));
          synced.emplace_back(disk->event_count(), states.size() - 1);
          break;
        case 3: {
          const std::string byte = random_text(random, 1);
          if (next.empty()) break;
          const std::size_t at = random() % next.size();
          put(next, at, byte);
          write(at, byte);
          break;
        }
        default: {
          const std::string text = random_text(random, 1 + random() % 3000);
          write(next.size(), text);
          next += text;
        }
      }
      states.push_back(next);
    }
    const auto events = disk->events();
    CrashReplay replay({}, events);
    for (std::size_t position = 0; position <= events.size(); ++position) {
      replay.go_to(position);
      std::size_t first = 0;
      for (const auto& [at, state] : synced)
        if (at <= position) first = std::max(first, state);
      const auto last = static_cast<std::size_t>(std::ranges::upper_bound(begun, position) - begun.begin());
      for (std::uint64_t variation = 0; variation < 12; ++variation) {
        const auto after = std::make_shared<MemoryDisk>(replay.state(variation, random()));
        if (!after->open_root("/").value()->exists(kFile).value()) continue;
        open(after);
        const std::string found = read_all();
        const auto begin = states.begin() + static_cast<std::ptrdiff_t>(first);
        const auto end = states.begin() + static_cast<std::ptrdiff_t>(std::min(last + 1, states.size()));
        ASSERT_NE(std::find(begin, end, found), end)
            << "round " << round << " position " << position << " variation " << variation << ": " << found.size()
            << " bytes, " << (found.starts_with("error") ? found : "");
        ++judged;
        write(found.size(), "goes on");
        open(after);
        ASSERT_EQ(read_all(), found + "goes on");
      }
    }
  }
  EXPECT_GT(judged, 1000u);
}

TEST_F(SealedContentTest, MarksTellTheStatesOfAFileFromEachOther) {
  open(disk_);
  write(0, "one");
  const auto mark = content_->finish(*file_);
  ASSERT_TRUE(mark);
  EXPECT_FALSE(content_->finish(*file_)) << "nothing was written since";
  open(disk_);
  EXPECT_EQ(content_->mark(), *mark);
  EXPECT_TRUE(content_->is(*mark));
  write(3, "two");
  EXPECT_FALSE(content_->is(*mark));
}

TEST_F(SealedContentTest, TellsInWhichSessionsItWasWrittenSinceAMark) {
  const auto goes_on_in = [&](const SessionId& session, std::string_view text) {
    content_ = SealedContent::load(*file_, some_key(), "file", session);
    write(content_->size().value(), text);
    return content_->finish(*file_).value();
  };
  open(disk_);
  const FileMark old = goes_on_in(kSession, "old");
  const std::string old_bytes = on_disk(disk_);
  const FileMark mark = goes_on_in(kSession, "listed");
  const std::vector<SessionId> other = {kOtherSession};
  EXPECT_FALSE(content_->continues(&old, other));
  (void)goes_on_in(kOtherSession, "new");
  for (int round = 0; round < 2; ++round) {  // by its map, and by its records
    EXPECT_TRUE(content_->continues(&mark, other));
    EXPECT_FALSE(content_->continues(&old, other)) << "what was listed is not of that session";
    EXPECT_FALSE(content_->continues(nullptr, other));
    EXPECT_FALSE(content_->continues(&mark, std::vector<SessionId>{kSession}));
    flip_byte(file_->size().value() - kSealTrailerBytes - 5);
    open(disk_);
  }
  ASSERT_TRUE(file_->truncate(mark.records_end - 1));
  open(disk_);
  EXPECT_FALSE(content_->continues(&mark, other)) << "shorter than listed";
  ASSERT_TRUE(content_->truncate(*file_, 0));
  (void)goes_on_in(kOtherSession, "made anew");
  EXPECT_TRUE(content_->continues(&mark, other));
}

// The segments of one history do not fit those of another one, at the same place of the same file.
TEST_F(SealedContentTest, SegmentsOfCopiesThatDivergedDoNotMix) {
  open(disk_);
  write(0, "first");
  const std::size_t first_end = on_disk(disk_).size();
  content_->finish(*file_);
  std::vector<std::string> copies;
  for (const std::string_view text : {"one way", "another"}) {
    const auto copy = std::make_shared<MemoryDisk>();
    open(copy);
    write(0, "FIRST");  // as long as that of the other
    open(copy);
    write(5, text);
    copies.push_back(on_disk(copy));
  }
  for (const auto& [begin, end] : {std::pair(0, 1), std::pair(1, 0)}) {
    const auto mixed = std::make_shared<MemoryDisk>();
    const auto file = mixed->open_root("/").value()->open(kFile, Backing::Mode::kCreate).value();
    const std::string bytes = copies[static_cast<std::size_t>(begin)].substr(0, first_end) +
                              copies[static_cast<std::size_t>(end)].substr(first_end);
    ASSERT_TRUE(file->write(0, bytes_of(bytes)));
    open(mixed);
    EXPECT_EQ(read_all(), "FIRST");
  }
}

TEST_F(SealedContentTest, WhoKnowsTheMarkReadsAFileWhoseEndIsDamaged) {
  open(disk_);
  write(0, "one, ");
  write(5, "two");
  const FileMark mark = content_->finish(*file_).value();
  flip_byte(file_->size().value() - 1);
  content_ = SealedContent::load(*file_, some_key(), "file", kSession, &mark);
  EXPECT_TRUE(content_->is(mark));
  EXPECT_EQ(read_all(), "one, two");
  flip_byte(mark.records_end);  // the map, too
  content_ = SealedContent::load(*file_, some_key(), "file", kSession, &mark);
  EXPECT_TRUE(content_->is(mark));
  EXPECT_EQ(read_all(), "one, two");
}

// A crash tears what was not synced. What was synced behind it says that it was not torn.
TEST_F(SealedContentTest, ADamagedHeaderOfWhatWasSyncedIsDamageAndNothingIsCutOff) {
  for (const bool is_big : {false, true}) {
    disk_ = std::make_shared<MemoryDisk>();
    open(disk_);
    write(0, "begin");
    const std::size_t place = on_disk(disk_).size();
    const std::string text(is_big ? 100'000 : 10, 't');
    write(5, text);
    write(5 + text.size(), text);
    ASSERT_TRUE(content_->datasync(*file_));
    write(5 + 2 * text.size(), "not synced");
    const std::string whole = on_disk(disk_);
    for (const std::size_t damaged : {1U, 110U}) {  // one header; and the next one, too, if the record is small
      std::string bytes = whole;  // what is sealed is random, so only other bytes than its own are damage in each run
      for (std::size_t i = place; i < place + damaged; ++i) bytes[i] = static_cast<char>(~bytes[i]);
      const auto disk = std::make_shared<MemoryDisk>();
      ASSERT_TRUE(disk->open_root("/").value()->open(kFile, Backing::Mode::kCreate).value()->write(0, bytes_of(bytes)));
      open(disk);
      EXPECT_TRUE(read_all().starts_with("error: ")) << read_all().size();
      EXPECT_FALSE(content_->write(*file_, 0, bytes_of("over it")));
      EXPECT_TRUE(content_->mend_end(*file_));
      EXPECT_EQ(on_disk(disk), bytes);
    }
  }
}

TEST_F(SealedContentTest, ADamagedHeadOfASegmentThatWasSyncedIsDamage) {
  open(disk_);
  write(0, "begin");
  const std::size_t place = on_disk(disk_).size();
  open(disk_);
  write(5, "synced");
  ASSERT_TRUE(content_->datasync(*file_));
  write(11, "more");
  flip_byte(place + kSegmentHeadBytes - 1);
  open(disk_);
  EXPECT_TRUE(read_all().starts_with("error: ")) << read_all();
}

TEST_F(SealedContentTest, WhatIsBehindADamagedHeaderAndWasNotSyncedIsTorn) {
  open(disk_);
  write(0, "begin");
  const std::size_t place = on_disk(disk_).size();
  write(5, "torn");
  write(9, "whole");
  flip_byte(place);
  open(disk_);
  EXPECT_EQ(read_all(), "begin");
}

// A later sync that succeeds says nothing of what was written before.
TEST_F(SealedContentTest, WhatAFailedSyncLostIsTornAndNoMapSaysOtherwise) {
  open(disk_);
  ASSERT_TRUE(disk_->open_root("/").value()->sync());
  write(0, "kept");
  ASSERT_TRUE(content_->datasync(*file_));
  write(4, "lost");
  disk_->set_fault([](std::string_view operation, const Path&) -> std::optional<MemoryDisk::Fault> {
    if (operation != "datasync") return std::nullopt;
    return MemoryDisk::Fault{{ErrorCode::kIo, "a bad disk"}};
  });
  EXPECT_FALSE(content_->datasync(*file_));
  disk_->set_fault(nullptr);
  EXPECT_TRUE(content_->has_failed_sync());
  write(8, "more");
  ASSERT_TRUE(content_->datasync(*file_));
  write(12, "and more");
  EXPECT_FALSE(content_->finish(*file_));
  ASSERT_TRUE(file_->datasync());
  const std::vector<DiskEvent> events = disk_->events();
  CrashReplay replay({}, events);
  replay.go_to(events.size());
  const auto after = std::make_shared<MemoryDisk>(replay.state(1, 1));
  open(after);
  EXPECT_EQ(read_all(), "kept");
}

TEST_F(SealedContentTest, AnUnreadableSectorCostsNoMoreThanDamage) {
  open(disk_);
  write(0, "one, ");
  write(5, "two");
  const FileMark mark = content_->finish(*file_).value();
  const auto size = file_->size().value();
  int failures = 0;
  disk_->set_fault([&](std::string_view operation, const Path&) -> std::optional<MemoryDisk::Fault> {
    if (operation != "read" || failures == 0) return std::nullopt;
    --failures;
    return MemoryDisk::Fault{{ErrorCode::kIo, "a bad sector"}};
  });
  for (const int first : {1, 2}) {  // the trailer; and the map
    failures = first;
    content_ = SealedContent::load(*file_, some_key(), "file", kSession, &mark);
    EXPECT_EQ(failures, 0);
    EXPECT_EQ(read_all(), "one, two");
  }
  failures = 1000;
  content_ = load(*file_, some_key(), "file");
  failures = 0;
  EXPECT_EQ(content_->size().error().code(), ErrorCode::kIo);
  EXPECT_FALSE(content_->write(*file_, 0, bytes_of("over it")));
  EXPECT_EQ(file_->size().value(), size);
  disk_->set_fault(nullptr);
}

TEST_F(SealedContentTest, AWriteThatRanOutOfMemoryLeavesNothingAndItsKeyIsNotUsedAgain) {
  open(disk_);
  write(0, "first");
  const std::string before = on_disk(disk_);
  disk_->set_fault([](std::string_view operation, const Path&) -> std::optional<MemoryDisk::Fault> {
    if (operation == "write") throw std::bad_alloc();
    return std::nullopt;
  });
  EXPECT_EQ(content_->write(*file_, 5, bytes_of("second")).error().code(), ErrorCode::kNoMemory);
  disk_->set_fault(nullptr);
  EXPECT_EQ(on_disk(disk_), before);
  EXPECT_EQ(read_all(), "first");
  write(5, "another");
  open(disk_);
  EXPECT_EQ(read_all(), "firstanother");
}

TEST_F(SealedContentTest, AReadBesideACutAndANewWriteFindsNoDamage) {
  open(disk_);
  write(0, "kept");
  write(4, "gone");
  bool is_done = false;
  disk_->set_fault([&](std::string_view operation, const Path&) -> std::optional<MemoryDisk::Fault> {
    if (operation != "read" || is_done) return std::nullopt;
    is_done = true;
    const MemoryDisk::FaultsPaused paused;
    EXPECT_TRUE(content_->truncate(*file_, 4));
    EXPECT_TRUE(content_->write(*file_, 4, bytes_of("NEW!")));
    return std::nullopt;
  });
  EXPECT_EQ(read_all(), "keptNEW!");
  EXPECT_TRUE(is_done);
}

TEST_F(SealedContentTest, AFailedWriteOfManyRecordsLeavesNothing) {
  open(disk_);
  write(0, "first");
  const std::string before = on_disk(disk_);
  int writes = 0;
  disk_->set_fault([&](std::string_view operation, const Path&) -> std::optional<MemoryDisk::Fault> {
    if (operation != "write" || ++writes != 3) return std::nullopt;
    return MemoryDisk::Fault{{ErrorCode::kNoSpace, "full"}, 60};
  });
  const ByteBuffer big(3 * kMaxRecordBytes, 'b');
  EXPECT_EQ(content_->write(*file_, 2, big).error().code(), ErrorCode::kNoSpace);
  EXPECT_EQ(writes, 3);
  disk_->set_fault(nullptr);
  EXPECT_EQ(on_disk(disk_), before);
  EXPECT_EQ(read_all(), "first");
  write(5, "another");
  open(disk_);
  EXPECT_EQ(read_all(), "firstanother");
}

TEST_F(SealedContentTest, ReadsNothingOnceItIsCondemned) {
  open(disk_);
  write(0, "one");
  content_->condemn(corruption("rolled back"));
  EXPECT_EQ(content_->size().error().message(), "rolled back");
  EXPECT_TRUE(read_all().starts_with("error: rolled back"));
}

TEST_F(SealedContentTest, TakesLittleMoreRoomThanTheContent) {
  open(disk_);
  const std::string region(200 << 10, 'r');
  for (std::uint64_t i = 0; i < 20; ++i) write(i * region.size(), region);
  content_->finish(*file_);
  EXPECT_LT(on_disk(disk_).size(), 20 * region.size() + 20 * region.size() / 300);
}

}  // namespace
}  // namespace dedupfs
