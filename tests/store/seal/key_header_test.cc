#include "store/seal/key_header.h"
#include "base/uuid.h"

#include <gtest/gtest.h>
#include <spdlog/sinks/ostream_sink.h>
#include <spdlog/spdlog.h>
#include <sys/resource.h>
#include <unistd.h>

#include <array>
#include <map>
#include <numeric>
#include <sstream>

#include "store/format/checked_json.h"
#include "store/format/format.h"
#include "store/format/superblock.h"
#include "store/seal/sealed_names.h"
#include "support/child_process.h"
#include "support/memory_disk.h"
#include "support/sanitized.h"

namespace dedupfs {
namespace {

constexpr KdfSettings kQuick{.memory_kib = 8, .passes = 1, .lanes = 1};

NewPassphrase new_passphrase(std::string_view text) {
  return {.bytes = bytes_of(text), .name = "anew", .kdf = {.memory_kib = 16, .passes = 1, .lanes = 1}};
}

class KeyHeaderTest : public testing::Test {
 protected:
  KeyHeaderTest() {
    EXPECT_EQ(add_slot(header_, master_.bytes(), bytes_of("correct horse"), "passphrase", kQuick).value(), 1u);
    EXPECT_EQ(add_slot(header_, master_.bytes(), bytes_of("battery staple"), "key file", kQuick).value(), 2u);
    EXPECT_TRUE(write_key_header(*folder_, header_, master_.bytes()));
  }
  KeyHeader stored() { return read_key_header(*folder_).value().value(); }
  std::string text_of_file(std::string_view name) { return read_file(*folder_, name, kMaxSuperblockBytes).value(); }

  const Secret master_ = VolumeKey::make_master();
  KeyHeader header_{.uuid = make_uuid(), .cipher = Cipher::kChaCha20Poly1305};
  std::shared_ptr<MemoryDisk> disk_ = std::make_shared<MemoryDisk>();
  std::shared_ptr<BackingFolder> folder_ = disk_->open_root("/").value();
};

TEST_F(KeyHeaderTest, EachSlotOpensWithItsPassphraseOnly) {
  for (const auto& [passphrase, slot] : {std::pair("correct horse", 1u), std::pair("battery staple", 2u)}) {
    const auto unlocked = unlock(stored(), bytes_of(passphrase));
    ASSERT_TRUE(unlocked) << unlocked.error().message();
    EXPECT_EQ(unlocked->slot, slot);
    EXPECT_TRUE(equal_in_constant_time(unlocked->key->master(), master_.bytes()));
    EXPECT_EQ(unlocked->key->cipher(), Cipher::kChaCha20Poly1305);
  }
  EXPECT_EQ(unlock(stored(), bytes_of("correct horsf")).error().code(), ErrorCode::kNotPermitted);
}

void expect_vector(std::string_view cipher, std::string_view mac) {
  nlohmann::ordered_json object = nlohmann::ordered_json::parse(R"({
    "magic": "dedupfs volume", "format_version": 1, "incompatible_features": ["encryption"], "read_only_features": [],
    "uuid": "01234567-89ab-4cde-8f01-23456789abcd", "cipher": "",
    "key_number": 2, "key_slots": [{"number": 1, "name": "passphrase", "kdf": "argon2id", "memory_kib": 8192, "passes": 1, "lanes": 1,
      "salt": "404142434445464748494a4b4c4d4e4f505152535455565758595a5b5c5d5e5f",
      "check": "cfee547406760701eb1a314a2b3fc0f0236af017e67591f972d1bb9b3e704806",
      "key": "32a9ff2c2b320e9951c6ed197000bdc1a8db1165ff4164ae0790fddefd060b12ea56e0d533ba47a6222acd687d84503d"}],
    "former_keys": [{"number": 1, "salt": "808182838485868788898a8b8c8d8e8f909192939495969798999a9b9c9d9e9f",
      "key": "932b0478abb39f49803d36c117e69e2bd21a95d005f9f8baf857bc145fe34bacae313df71b672dca7fc2785cee25c9a3"}],
    "mac": ""
  })");
  object["cipher"] = cipher;
  object["mac"] = mac;
  const auto header = decode_key_header(encode_checked_json(object));
  ASSERT_TRUE(header) << cipher << ": " << header.error().message();

  const auto unlocked = unlock(*header, bytes_of("correct horse"));

  ASSERT_TRUE(unlocked) << cipher << ": " << unlocked.error().message();
  std::array<std::uint8_t, kCipherKeyBytes> master;
  std::iota(master.begin(), master.end(), std::uint8_t{0});
  EXPECT_TRUE(equal_in_constant_time(unlocked->key->master(), master));
  EXPECT_EQ(unlocked->key->numbers(), (std::vector<std::uint32_t>{2, 1}));
  std::iota(master.begin(), master.end(), std::uint8_t{0xe0});
  EXPECT_TRUE(equal_in_constant_time(unlocked->key->all()[1].master.bytes(), master));
}

// The vectors of docs/format.md, which vectors.py wrote.
TEST(KeyHeaderVectors, AreReadAsTheFormatSays) {
  expect_vector("aes-256-gcm", "44b4a2b7b519d6f334d84bd9a163488936901dca400d23715f2b329eb68509d5");
  expect_vector("chacha20-poly1305", "4561412a2ade86577f9b92b58d77c9a16434d149262236c8f197340870417f25");
}

TEST_F(KeyHeaderTest, NothingOfTheKeysIsOnTheDisk) {
  const std::string text = text_of_file(kSuperblockFile);
  EXPECT_EQ(text.find("horse"), std::string::npos);
  EXPECT_EQ(text, text_of_file(kSuperblockCopyFile));
}

TEST_F(KeyHeaderTest, ARemovedSlotOpensNoMoreAndTheLastStays) {
  ASSERT_TRUE(remove_slot(header_, 1));
  ASSERT_TRUE(write_key_header(*folder_, header_, master_.bytes()));
  EXPECT_EQ(unlock(stored(), bytes_of("correct horse")).error().code(), ErrorCode::kNotPermitted);
  EXPECT_TRUE(unlock(stored(), bytes_of("battery staple")));
  EXPECT_EQ(remove_slot(header_, 1).error().code(), ErrorCode::kNotFound);
  EXPECT_EQ(remove_slot(header_, 2).error().code(), ErrorCode::kInvalidArgument);
  EXPECT_EQ(add_slot(header_, master_.bytes(), bytes_of("third"), "", kQuick).value(), 1u) << "the free number";
}

TEST_F(KeyHeaderTest, AChangedSlotKeepsItsNumberAndNameAndOpensWithTheNewPassphraseOnly) {
  ASSERT_TRUE(change_slot(header_, 1, master_.bytes(), bytes_of("new horse"), kQuick));
  ASSERT_TRUE(write_key_header(*folder_, header_, master_.bytes()));
  EXPECT_EQ(stored().slots[0].number, 1u);
  EXPECT_EQ(stored().slots[0].name, "passphrase");
  EXPECT_EQ(unlock(stored(), bytes_of("new horse")).value().slot, 1u);
  EXPECT_EQ(unlock(stored(), bytes_of("correct horse")).error().code(), ErrorCode::kNotPermitted);
  EXPECT_TRUE(unlock(stored(), bytes_of("battery staple")));
  EXPECT_EQ(change_slot(header_, 3, master_.bytes(), bytes_of("x"), kQuick).error().code(), ErrorCode::kNotFound);
  EXPECT_EQ(change_slot(header_, 1, master_.bytes(), {}, kQuick).error().code(), ErrorCode::kInvalidArgument);
  EXPECT_EQ(unlock(header_, bytes_of("new horse")).error().code(), ErrorCode::kCorruption)
      << "only the file has its MAC";
}

TEST_F(KeyHeaderTest, ANameThatCouldNotBeReadAgainIsRefused) {
  EXPECT_EQ(add_slot(header_, master_.bytes(), bytes_of("third"), std::string(256, 'n'), kQuick).error().code(),
            ErrorCode::kInvalidArgument);
  EXPECT_TRUE(add_slot(header_, master_.bytes(), bytes_of("third"), std::string(255, 'n'), kQuick));
  // JSON is UTF-8: other bytes would come back as something else, and the MAC would be wrong for everybody.
  EXPECT_EQ(add_slot(header_, master_.bytes(), bytes_of("fourth"), "B\xfcro", kQuick).error().code(),
            ErrorCode::kInvalidArgument);
}

// Whatever puts such a name there: what is written can be opened, or nothing is written.
TEST_F(KeyHeaderTest, AHeaderThatNobodyCouldOpenIsNotWritten) {
  const std::string before = text_of_file(kSuperblockFile);
  KeyHeader header = stored();
  header.slots[0].name = "B\xfcro";
  EXPECT_FALSE(write_key_header(*folder_, header, master_.bytes()));
  EXPECT_EQ(text_of_file(kSuperblockFile), before);
  EXPECT_EQ(text_of_file(kSuperblockCopyFile), before);
}

TEST_F(KeyHeaderTest, ANewerFormatIsNamedAndNotTakenForAnAttack) {
  KeyHeader header = stored();
  header.clear.format_version = kFormatVersionWritten + 1;
  for (const std::string_view name : {kSuperblockFile, kSuperblockCopyFile})
    ASSERT_TRUE(replace_file(*folder_, name, bytes_of(encode_key_header(header))));
  ASSERT_TRUE(replace_file(*folder_, kVolumeRecordFile, bytes_of("sealed")));
  const auto refused = read_key_header(*folder_);
  EXPECT_EQ(refused.error().code(), ErrorCode::kVersion) << refused.error().message();
}

TEST_F(KeyHeaderTest, ThereAreEightSlotsAndNoneWithoutAPassphrase) {
  EXPECT_EQ(add_slot(header_, master_.bytes(), {}, "", kQuick).error().code(), ErrorCode::kInvalidArgument);
  while (header_.slots.size() < KeyHeader::kMaxSlots)
    ASSERT_TRUE(add_slot(header_, master_.bytes(), bytes_of("more"), "", kQuick));
  EXPECT_EQ(add_slot(header_, master_.bytes(), bytes_of("more"), "", kQuick).error().code(), ErrorCode::kTooLarge);
}

// Somebody who can write to the folder, but has no key.
TEST_F(KeyHeaderTest, WhatWasChangedWithoutTheKeyIsRefused) {
  const KeyHeader good = stored();
  const auto refusal = [](const KeyHeader& changed) {
    const auto unlocked = unlock(changed, bytes_of("correct horse"));
    return unlocked ? std::optional<ErrorCode>() : unlocked.error().code();
  };
  KeyHeader changed = good;
  changed.cipher = Cipher::kAes256Gcm;
  EXPECT_EQ(refusal(changed), ErrorCode::kCorruption);
  changed = good;
  changed.slots.pop_back();
  EXPECT_EQ(refusal(changed), ErrorCode::kCorruption);
  changed = good;
  changed.slots[1].name = "another";
  EXPECT_EQ(refusal(changed), ErrorCode::kCorruption);
  changed = good;
  changed.uuid = make_uuid();
  EXPECT_EQ(refusal(changed), ErrorCode::kCorruption);
  changed = good;
  changed.slots[0].sealed_key[3] ^= 1;
  EXPECT_EQ(refusal(changed), ErrorCode::kCorruption);
  changed = good;
  changed.slots[0].salt[3] ^= 1;
  EXPECT_EQ(refusal(changed), ErrorCode::kNotPermitted);
}

TEST_F(KeyHeaderTest, OneDamagedCopyIsMadeGoodByTheOther) {
  for (const std::string_view name : {kSuperblockFile, kSuperblockCopyFile}) {
    std::string damaged = text_of_file(name);
    damaged[damaged.size() / 2] ^= 1;
    ASSERT_TRUE(folder_->open(name, Backing::Mode::kReadWrite).value()->write(0, bytes_of(damaged)));
    EXPECT_TRUE(unlock(stored(), bytes_of("correct horse")));
    ASSERT_TRUE(repair_key_header(*folder_, master_.bytes()));
    EXPECT_EQ(text_of_file(kSuperblockFile), text_of_file(kSuperblockCopyFile));
  }
}

// A crash while slots change leaves two that differ, and so does who puts an older one back: nobody can tell.
TEST_F(KeyHeaderTest, CopiesThatDifferAreNamedWhenOneIsWrittenAnew) {
  const std::string older = text_of_file(kSuperblockFile);
  KeyHeader header = stored();
  ASSERT_TRUE(remove_slot(header, 2));
  ASSERT_TRUE(write_key_header(*folder_, header, master_.bytes()));
  ASSERT_TRUE(replace_file(*folder_, kSuperblockFile, bytes_of(older)));
  std::ostringstream lines;
  const auto before = spdlog::default_logger();
  spdlog::set_default_logger(
      std::make_shared<spdlog::logger>("test", std::make_shared<spdlog::sinks::ostream_sink_mt>(lines)));

  ASSERT_TRUE(repair_key_header(*folder_, master_.bytes()));

  spdlog::set_default_logger(before);
  EXPECT_NE(lines.str().find("dedupfs-key list"), std::string::npos) << lines.str();
  EXPECT_EQ(text_of_file(kSuperblockCopyFile), older);
}

// Its checksum is right, since that needs no key. While the volume is open, somebody put it there.
TEST_F(KeyHeaderTest, ACopyOfSomebodyWithoutTheKeyIsMadeGoodByTheOther) {
  const std::string good = text_of_file(kSuperblockFile);
  KeyHeader changed = stored();
  changed.slots.pop_back();
  for (const std::string_view name : {kSuperblockFile, kSuperblockCopyFile}) {
    ASSERT_TRUE(replace_file(*folder_, name, bytes_of(encode_key_header(changed))));
    EXPECT_EQ(damage_of_key_header(*folder_, master_.bytes()).size(), 1u) << name;
    EXPECT_EQ(repair_key_header(*folder_, master_.bytes()).value(), std::string(name));
    EXPECT_EQ(text_of_file(name), good) << name;
  }
}

// What was reported must be what was repaired, also if somebody writes to the folder meanwhile.
TEST_F(KeyHeaderTest, ARepairReadsEachCopyOnce) {
  std::string damaged = text_of_file(kSuperblockFile);
  damaged[damaged.size() / 2] ^= 1;
  ASSERT_TRUE(replace_file(*folder_, kSuperblockFile, bytes_of(damaged)));
  std::map<std::string, int> reads;
  disk_->set_fault([&](std::string_view operation, const Path& path) -> std::optional<MemoryDisk::Fault> {
    if (operation == "read") ++reads[path.filename()];
    return std::nullopt;
  });

  ASSERT_TRUE(repair_key_header(*folder_, master_.bytes()));

  EXPECT_EQ(reads[std::string(kSuperblockFile)], 1);
  EXPECT_EQ(reads[std::string(kSuperblockCopyFile)], 1);
}

TEST_F(KeyHeaderTest, WhoHasNoKeyIsTold) {
  EXPECT_EQ(read_superblock(*folder_).error().code(), ErrorCode::kNotPermitted);
}

// It reads the header as the superblock of a plain volume, whose members are missing here. The feature comes first.
TEST_F(KeyHeaderTest, AProgramThatIsTooOldNamesTheFeature) {
  auto object = nlohmann::ordered_json::parse(text_of_file(kSuperblockFile));
  object.erase("checksum");
  object["incompatible_features"] = {"newer-encryption"};

  const auto refused = decode_superblock(encode_checked_json(object));

  EXPECT_EQ(refused.error().code(), ErrorCode::kVersion);
  EXPECT_NE(refused.error().message().find("'newer-encryption'"), std::string::npos) << refused.error().message();
}

TEST_F(KeyHeaderTest, APlainVolumeHasNone) {
  ASSERT_TRUE(write_superblock(*folder_, Superblock{.uuid = make_uuid(), .chunker = "gear"}));
  EXPECT_FALSE(read_key_header(*folder_).value());
  EXPECT_FALSE(read_key_header(*std::make_shared<MemoryDisk>()->open_root("/").value()).value());
}

// Somebody exchanged one of the copies, so that a plain volume is taken for the one that it was.
TEST_F(KeyHeaderTest, PartsOfAPlainVolumeBesideAnEncryptedOneAreNotBelieved) {
  const std::shared_ptr<BackingFolder> plain = std::make_shared<MemoryDisk>()->open_root("/").value();
  ASSERT_TRUE(write_superblock(*plain, Superblock{.uuid = make_uuid(), .chunker = "gear"}));
  const std::string superblock = read_file(*plain, kSuperblockFile, kMaxSuperblockBytes).value();
  for (const std::string_view name : {kSuperblockFile, kSuperblockCopyFile}) {
    const std::string before = text_of_file(name);
    ASSERT_TRUE(replace_file(*folder_, name, bytes_of(superblock)));
    EXPECT_EQ(read_key_header(*folder_).error().code(), ErrorCode::kCorruption) << name;
    ASSERT_TRUE(replace_file(*folder_, name, bytes_of(before)));
  }
  EXPECT_TRUE(read_key_header(*folder_).value());

  ASSERT_TRUE(plain->open("unmounted", Backing::Mode::kCreate));
  EXPECT_EQ(read_key_header(*plain).error().code(), ErrorCode::kCorruption);
}

TEST_F(KeyHeaderTest, ASlotThatAsksForTooMuchIsNamedAndTheOthersOpen) {
  KeyHeader costly = header_;
  costly.slots[0].kdf.memory_kib = 1 << 20;

  EXPECT_EQ(unlock(costly, bytes_of("wrong"), 1 << 10).error().code(), ErrorCode::kTooLarge);
  const std::string refusal = unlock(costly, bytes_of("wrong"), 1 << 10).error().message();
  EXPECT_NE(refusal.find("key slot 1 "), std::string::npos) << refusal;
  EXPECT_NE(refusal.find("1.00 GiB"), std::string::npos) << refusal;
  EXPECT_NE(refusal.find("1.00 MiB"), std::string::npos) << refusal;
  EXPECT_EQ(unlock(costly, bytes_of("battery staple"), 1 << 10).error().code(), ErrorCode::kCorruption)
      << "it opened, and its MAC is of other slots";
}

// Each slot may ask for little memory and many passes, and all of them together for hours.
TEST_F(KeyHeaderTest, TheWorkOfAllSlotsIsBounded) {
  KeyHeader costly = header_;
  costly.slots[0].kdf = {.memory_kib = 3 << 20, .passes = 64, .lanes = 1};
  const std::string refusal = unlock(costly, bytes_of("wrong")).error().message();
  EXPECT_NE(refusal.find("key slot 1 was not tried"), std::string::npos) << refusal;
  EXPECT_NE(refusal.find("64.00 GiB is the most"), std::string::npos) << refusal;

  KeyHeader full = header_;
  full.slots[0].kdf = {.memory_kib = 4 << 20, .passes = 15, .lanes = 1};
  const KdfSettings more{.memory_kib = 2 << 20, .passes = 3, .lanes = 4};
  EXPECT_EQ(add_slot(full, master_.bytes(), bytes_of("third"), "", more).error().code(), ErrorCode::kTooLarge);
  EXPECT_EQ(change_slot(full, 2, master_.bytes(), bytes_of("third"), more).error().code(), ErrorCode::kTooLarge);
}

// What a guess computes with is locked, or counts as memory that is not.
TEST_F(KeyHeaderTest, AGuessIsMadeInTheMemoryOfSecrets) {
  in_child_process([] {
    KeyHeader header{.uuid = make_uuid()};
    const rlimit small{.rlim_cur = 1 << 20, .rlim_max = 1 << 20};
    ASSERT_EQ(::setrlimit(RLIMIT_MEMLOCK, &small), 0);
    if (kSanitized) ::_exit(kNotAllowedHere);                                // sanitizers let mlock() do nothing
    if (::geteuid() == 0 && ::setuid(65534) != 0) ::_exit(kNotAllowedHere);  // root may lock what it wants
    lock_secrets_again();
    const Secret master = VolumeKey::make_master();
    if (!are_secrets_locked()) ::_exit(kNotAllowedHere);
    ASSERT_TRUE(
        add_slot(header, master.bytes(), bytes_of("secret"), "", {.memory_kib = 4 << 10, .passes = 1, .lanes = 1}));
    EXPECT_FALSE(are_secrets_locked());
  });
}

TEST_F(KeyHeaderTest, ARotatedHeaderHasTheFormerKeysAndOneSlot) {
  const UnlockedKey unlocked = unlock(stored(), bytes_of("battery staple")).value();
  KeyHeader header = stored();
  const auto first = rotate_master(header, unlocked, new_passphrase("new"));
  ASSERT_TRUE(first) << first.error().message();
  ASSERT_EQ(first->removed.size(), 1u);
  EXPECT_EQ(first->removed[0].name, "passphrase");
  ASSERT_TRUE(write_key_header(*folder_, header, first->key->master()));

  const auto opened = unlock(stored(), bytes_of("new"));
  ASSERT_TRUE(opened) << opened.error().message();
  EXPECT_EQ(opened->slot, 2u);
  EXPECT_EQ(stored().slots[0].name, "anew");
  EXPECT_EQ(stored().slots[0].kdf.memory_kib, 16u);
  EXPECT_EQ(opened->key->numbers(), (std::vector<std::uint32_t>{2, 1}));
  EXPECT_FALSE(equal_in_constant_time(opened->key->master(), master_.bytes()));
  EXPECT_TRUE(equal_in_constant_time(opened->key->all()[1].master.bytes(), master_.bytes()));
  for (const char* const former : {"correct horse", "battery staple"})
    EXPECT_EQ(unlock(stored(), bytes_of(former)).error().code(), ErrorCode::kNotPermitted) << former;
  EXPECT_EQ(text_of_file(kSuperblockFile), text_of_file(kSuperblockCopyFile));
}

TEST_F(KeyHeaderTest, FormerKeysAreBoundedAndForgotten) {
  KeyHeader header = stored();
  UnlockedKey unlocked = unlock(header, bytes_of("correct horse")).value();
  for (std::size_t i = 0; i < KeyHeader::kMaxFormerKeys; ++i)
    unlocked.key = rotate_master(header, unlocked, new_passphrase("new " + std::to_string(i))).value().key;
  const auto refused = rotate_master(header, unlocked, new_passphrase("new"));
  EXPECT_EQ(refused.error().code(), ErrorCode::kTooLarge);
  EXPECT_NE(refused.error().message().find("dedupfs-gc"), std::string::npos);
  ASSERT_TRUE(write_key_header(*folder_, header, unlocked.key->master()));
  EXPECT_EQ(unlock(stored(), bytes_of("new 7")).value().key->numbers().size(), 9u);

  ASSERT_TRUE(forget_former_keys(*folder_, *unlocked.key, 8));
  EXPECT_EQ(unlock(stored(), bytes_of("new 7")).value().key->numbers(), (std::vector<std::uint32_t>{9, 8}));
  ASSERT_TRUE(forget_former_keys(*folder_, *unlocked.key, 9));
  EXPECT_FALSE(unlock(stored(), bytes_of("new 7")).value().key->has_former());
}

// Who has the header of before could put it back, and the owner would not notice.
TEST_F(KeyHeaderTest, ARotationWantsAnotherPassphrase) {
  KeyHeader header = stored();
  const UnlockedKey unlocked = unlock(header, bytes_of("correct horse")).value();
  for (const char* const known : {"correct horse", "battery staple"}) {
    const auto refused = rotate_master(header, unlocked, new_passphrase(known));
    EXPECT_EQ(refused.error().code(), ErrorCode::kInvalidArgument) << known;
  }
  EXPECT_EQ(header.key_number, VolumeKey::kFirstKey);
}

TEST_F(KeyHeaderTest, ARotationTriesNoSlotThatAsksForTooMuchMemory) {
  KeyHeader header = stored();
  const UnlockedKey unlocked = unlock(header, bytes_of("correct horse")).value();
  EXPECT_EQ(rotate_master(header, unlocked, new_passphrase("new"), 7).error().code(), ErrorCode::kTooLarge);
  EXPECT_TRUE(rotate_master(header, unlocked, new_passphrase("new"), 8));
}

TEST_F(KeyHeaderTest, ChangedFormerKeysAreRefused) {
  KeyHeader header = stored();
  const auto rotated = rotate_master(header, unlock(header, bytes_of("correct horse")).value(), new_passphrase("new"));
  ASSERT_TRUE(write_key_header(*folder_, header, rotated.value().key->master()));
  const KeyHeader whole = stored();
  const auto opens = [](const KeyHeader& changed) { return unlock(changed, bytes_of("new")).has_value(); };
  ASSERT_TRUE(opens(whole));
  KeyHeader changed = whole;
  changed.former_keys[0].sealed_key[5] ^= 1;
  EXPECT_FALSE(opens(changed));
  EXPECT_TRUE(write_key_header(*folder_, changed, rotated->key->master())) << "even with a right MAC";
  EXPECT_EQ(unlock(stored(), bytes_of("new")).error().code(), ErrorCode::kCorruption);
  changed = whole;
  changed.former_keys[0].salt[5] ^= 1;
  EXPECT_FALSE(opens(changed));
  changed = whole;
  changed.former_keys.clear();
  EXPECT_FALSE(opens(changed));
  changed = whole;
  changed.key_number = 3;
  EXPECT_FALSE(opens(changed));
  changed = whole;
  changed.former_keys[0].number = 2;
  EXPECT_EQ(decode_key_header(encode_key_header(changed)).error().code(), ErrorCode::kCorruption);
}

// Before anything is authenticated, a slot must not ask for all memory, or for years.
TEST_F(KeyHeaderTest, CostsOfAHostileSlotAreBounded) {
  for (const KdfSettings& kdf : {KdfSettings{.memory_kib = 8 << 20}, KdfSettings{.passes = 1000},
                                 KdfSettings{.lanes = 200}, KdfSettings{.memory_kib = 0}}) {
    KeyHeader hostile = stored();
    hostile.slots[0].kdf = kdf;
    EXPECT_EQ(decode_key_header(encode_key_header(hostile)).error().code(), ErrorCode::kCorruption);
  }
  KeyHeader hostile = stored();
  hostile.slots.resize(KeyHeader::kMaxSlots + 1, hostile.slots[0]);
  EXPECT_EQ(decode_key_header(encode_key_header(hostile)).error().code(), ErrorCode::kCorruption);
}

}  // namespace
}  // namespace dedupfs
