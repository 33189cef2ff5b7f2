#include "dedupfs_key.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cctype>
#include <nlohmann/json.hpp>
#include <regex>

#include "encrypted_volume.h"
#include "manual.h"
#include "mkfs_dedupfs.h"
#include "store/volume/volume.h"

namespace dedupfs::tools {
namespace {

using testing::AllOf;
using testing::HasSubstr;

class KeyToolTest : public EncryptedVolume {
 protected:
  Outcome add(const std::string& file, const std::string& name = "second") const {
    return outcome_of(
        run_key, {"add", "--key-file", first_, "--new-key-file", file, "--kdf-memory", "8m", "--name", name, volume_});
  }
  nlohmann::json slots() const {
    return nlohmann::json::parse(outcome_of(run_key, {"list", "--json", volume_}).out).at("slots");
  }
};

TEST_F(KeyToolTest, ListsTheSlotsWithoutAKey) {
  const Outcome outcome = outcome_of(run_key, {"list", volume_});

  EXPECT_EQ(outcome.exit_code, 0);
  EXPECT_THAT(outcome.out, AllOf(HasSubstr("1 of 8 key slots"), HasSubstr("8.00 MiB  key file")));
  const auto json = nlohmann::json::parse(outcome_of(run_key, {"list", "--json", volume_}).out);
  EXPECT_EQ(json.at("slots").at(0).at("kdf_memory_bytes"), 8 << 20);
  EXPECT_TRUE(json.at("slot").is_null());
  EXPECT_EQ(keys_missing_in(manual_text("dedupfs-key.8"), json), "");
}

TEST_F(KeyToolTest, AnAddedKeyOpensTheVolumeUntilItsSlotIsRemoved) {
  const std::string second = key_file("second", "battery staple");
  EXPECT_FALSE(opens_with(second));

  const Outcome added = add(second);
  EXPECT_EQ(added.exit_code, 0) << added.err;
  EXPECT_THAT(added.out, HasSubstr("key slot 2"));
  EXPECT_TRUE(opens_with(first_) && opens_with(second));
  EXPECT_EQ(slots().at(1).at("name"), "second");

  EXPECT_EQ(outcome_of(run_key, {"remove", "--key-file", second, volume_, "1"}).exit_code, 0);
  EXPECT_FALSE(opens_with(first_));
  EXPECT_TRUE(opens_with(second));
  const Outcome last = outcome_of(run_key, {"remove", "--key-file", second, volume_, "2"});
  EXPECT_EQ(last.exit_code, 2);
  EXPECT_THAT(last.err, HasSubstr("the last key slot"));
}

TEST_F(KeyToolTest, AChangedPassphraseTakesThePlaceOfTheOld) {
  const std::string second = key_file("second", "battery staple");

  const Outcome changed =
      outcome_of(run_key, {"change", "--key-file", first_, "--new-key-file", second, "--kdf-memory", "16m", volume_});

  EXPECT_EQ(changed.exit_code, 0) << changed.err;
  EXPECT_FALSE(opens_with(first_));
  EXPECT_TRUE(opens_with(second));
  EXPECT_EQ(slots().size(), 1U);
  EXPECT_EQ(slots().at(0).at("kdf_memory_bytes"), 16 << 20);
}

TEST_F(KeyToolTest, AnotherMasterKeyTakesANewPassphraseAndNamesTheSlotsThatGo) {
  const std::string second = key_file("second", "battery staple");
  ASSERT_EQ(add(second).exit_code, 0);
  const std::string third = key_file("third", "a new passphrase");
  EXPECT_THAT(outcome_of(run_key, {"rotate", "--key-file", first_, "--new-key-file", second, volume_}).err,
              HasSubstr("Give a new passphrase"));

  const Outcome rotated = outcome_of(run_key, {"rotate", "--key-file", first_, "--new-key-file", third, volume_});

  EXPECT_EQ(rotated.exit_code, 0) << rotated.err;
  EXPECT_THAT(rotated.out, AllOf(HasSubstr("Master key 2"), HasSubstr("Key slot 2 (second) is removed"),
                                 HasSubstr("dedupfs-key add")));
  EXPECT_TRUE(opens_with(third));
  EXPECT_FALSE(opens_with(first_));
  EXPECT_FALSE(opens_with(second));
  EXPECT_THAT(outcome_of(run_key, {"list", volume_}).out, HasSubstr("still under former ones: 1"));
  const auto json = nlohmann::json::parse(
      outcome_of(run_key, {"rotate", "--json", "--key-file", third, "--new-key-file", first_, volume_}).out);
  EXPECT_EQ(json.at("key_number"), 3);
  EXPECT_EQ(json.at("former_keys"), nlohmann::json::array({1, 2}));
  EXPECT_TRUE(json.at("removed_slots").empty());
}

TEST_F(KeyToolTest, TheRecoveryKeyReplacesAForgottenPassphrase) {
  const Outcome exported = outcome_of(run_key, {"export", "--key-file", first_, volume_});
  ASSERT_EQ(exported.exit_code, 0) << exported.err;
  std::smatch found;
  ASSERT_TRUE(std::regex_search(exported.out, found, std::regex("([0-9A-Z]{4}-){8}[0-9A-Z]{4}"))) << exported.out;
  const std::string printed = found[0];
  EXPECT_TRUE(opens_with(key_file("paper", printed)));

  std::string typed;
  for (char symbol : printed) typed += static_cast<char>(std::tolower(static_cast<unsigned char>(symbol)));
  const std::string next = key_file("next", "a new one");
  const Outcome recovered = outcome_of(run_key, {"recover", "--key-file", key_file("typed", typed), "--new-key-file",
                                                 next, "--kdf-memory", "8m", volume_});

  EXPECT_EQ(recovered.exit_code, 0) << recovered.err;
  EXPECT_TRUE(opens_with(next));
}

TEST_F(KeyToolTest, AMistypedRecoveryKeyIsToldFromAWrongOne) {
  const std::string next = key_file("next", "a new one");
  const auto recover_with = [&](const std::string& typed) {
    return outcome_of(run_key, {"recover", "--key-file", key_file("typed", typed), "--new-key-file", next, volume_});
  };
  const Outcome mistyped = recover_with("0123-4567-89AB-CDEF-GHJK-MNPQ-RSTV-WXYZ-MCW3");
  EXPECT_EQ(mistyped.exit_code, 2);
  EXPECT_THAT(mistyped.err, HasSubstr("mistake in the recovery key"));
  const Outcome wrong = recover_with("0123-4567-89AB-CDEF-GHJK-MNPQ-RSTV-WXYZ-MCW2");
  EXPECT_EQ(wrong.exit_code, 2);
  EXPECT_THAT(wrong.err, HasSubstr("no key slot opens"));
}

TEST_F(KeyToolTest, JsonHasTheRecoveryKeyOnlyWhenItIsMade) {
  const auto made = nlohmann::json::parse(outcome_of(run_key, {"export", "--json", "--key-file", first_, volume_}).out);
  EXPECT_EQ(made.at("recovery_key").get<std::string>().size(), 44U);
  EXPECT_EQ(made.at("slot"), 2);
  const Outcome listed = outcome_of(run_key, {"list", "--json", volume_});
  EXPECT_TRUE(nlohmann::json::parse(listed.out).at("recovery_key").is_null());
}

TEST_F(KeyToolTest, AWrongPassphraseChangesNothing) {
  const std::string wrong = key_file("wrong", "correct horsf");
  for (const std::vector<std::string>& action :
       {std::vector<std::string>{"add", "--new-key-file", first_}, {"change", "--new-key-file", first_}, {"export"}}) {
    std::vector<std::string> arguments = action;
    arguments.insert(arguments.end(), {"--key-file", wrong, volume_});
    const Outcome outcome = outcome_of(run_key, arguments);
    EXPECT_EQ(outcome.exit_code, 2) << action[0];
    EXPECT_THAT(outcome.err, HasSubstr("no key slot opens")) << action[0];
  }
  EXPECT_EQ(slots().size(), 1U);
}

TEST_F(KeyToolTest, RefusesWhenAllSlotsAreUsedBeforeItAsks) {
  for (int i = 2; i <= 8; ++i) ASSERT_EQ(add(key_file("more", "passphrase " + std::to_string(i))).exit_code, 0);

  const Outcome outcome = outcome_of(run_key, {"add", "--key-file", folder_.path() / "none", volume_});

  EXPECT_EQ(outcome.exit_code, 2);
  EXPECT_THAT(outcome.err, HasSubstr("all 8 key slots are used"));
}

TEST_F(KeyToolTest, AVolumeInUseIsOnlyListed) {
  const auto folder = Volume::open_folder(volume_);
  ASSERT_TRUE(folder);
  const auto lock = Volume::lock(**folder, /*read_only=*/false);
  ASSERT_TRUE(lock);

  EXPECT_EQ(outcome_of(run_key, {"list", volume_}).exit_code, 0);
  const Outcome outcome = add(key_file("second", "battery staple"));
  EXPECT_EQ(outcome.exit_code, 2);
  EXPECT_THAT(outcome.err, HasSubstr("in use by"));
}

TEST_F(KeyToolTest, APlainVolumeHasNoKeys) {
  const std::string plain = folder_.path() / "plain";
  ASSERT_EQ(outcome_of(run_mkfs, {plain}).exit_code, 0);

  const Outcome outcome = outcome_of(run_key, {"list", plain});

  EXPECT_EQ(outcome.exit_code, 2);
  EXPECT_THAT(outcome.err, HasSubstr("is not encrypted"));
}

TEST_F(KeyToolTest, AHeaderWithoutAWholeCopyIsNamedAndNotTakenForThatOfAPlainVolume) {
  damage_key_header("superblock.json");
  EXPECT_EQ(slots().size(), 1U);
  damage_key_header("superblock.copy.json");

  const Outcome outcome = outcome_of(run_key, {"list", volume_});

  EXPECT_EQ(outcome.exit_code, 2);
  EXPECT_THAT(outcome.err,
              AllOf(HasSubstr("superblock.json: its checksum differs"),
                    HasSubstr("superblock.copy.json: its checksum differs"), HasSubstr("put one of them back")));
}

TEST_F(KeyToolTest, TheMemoryOfAGuessHasBounds) {
  const Outcome outcome =
      outcome_of(run_key, {"add", "--key-file", first_, "--new-key-file", first_, "--kdf-memory", "1m", volume_});
  EXPECT_EQ(outcome.exit_code, 2);
  EXPECT_THAT(outcome.err, HasSubstr("from 8m to 4g"));
}

}  // namespace
}  // namespace dedupfs::tools
