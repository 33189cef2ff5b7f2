#include "volume_key.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <linux/keyctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>

#include "dedupfs.h"
#include "dedupfs_key.h"
#include "encrypted_volume.h"
#include "fsck_dedupfs.h"
#include "manual.h"
#include "mount/options/memory_limits.h"
#include "replica/remote_file.h"
#include "store/seal/key_header.h"
#include "store/volume/volume.h"
#include "support/child_process.h"

namespace dedupfs::tools {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

class VolumeKeyTest : public EncryptedVolume {
 protected:
  // Where nobody can be asked.
  static void without_terminal(const std::function<void()>& body) {
    in_child_process([&] {
      ::setsid();
      body();
    });
  }
  static Outcome mount(const std::string& volume, const std::string& options) {
    std::ostringstream out, err;
    const int exit_code = run_dedupfs("/usr/bin/dedupfs", std::vector<std::string>{volume, "/mnt", "-o", options}, out,
                                      err, [](const MountRequest&) { return 0; });
    return {exit_code, out.str(), err.str()};
  }
};

TEST_F(VolumeKeyTest, WhoReadsAPassphraseWritesNoCoreFile) {
  const rlimit generous{.rlim_cur = 1 << 20, .rlim_max = RLIM_INFINITY};
  (void)::setrlimit(RLIMIT_CORE, &generous);  // may be lowered for good already
  ASSERT_EQ(::prctl(PR_SET_DUMPABLE, 1), 0);

  EXPECT_TRUE(opens_with(first_));

  EXPECT_EQ(::prctl(PR_GET_DUMPABLE), 0);
  rlimit left{};
  ::getrlimit(RLIMIT_CORE, &left);
  EXPECT_EQ(left.rlim_cur, 0U);
}

TEST_F(VolumeKeyTest, AMountThatWouldDumpTheKeyIsRefused) {
  const Outcome refused = mount(volume_, "core_dump,key_file=" + first_);
  EXPECT_EQ(refused.exit_code, 1);
  EXPECT_THAT(refused.err, HasSubstr("-o core_dump"));

  const std::string plain = folder_.path() / "plain";
  ASSERT_EQ(outcome_of(run_mkfs, {plain}).exit_code, 0);
  EXPECT_EQ(mount(plain, "core_dump").exit_code, 0);
}

TEST_F(VolumeKeyTest, OneSourceOfAPassphraseIsEnough) {
  const Outcome refused = mount(volume_, "passphrase_command=true,key_file=" + first_);
  EXPECT_EQ(refused.exit_code, 1);
  EXPECT_THAT(refused.err, HasSubstr("give one of -o key_file"));
}

TEST_F(VolumeKeyTest, AKeyFileOfWindowsGetsAHint) {
  const std::string file = folder_.path() / "windows";
  std::ofstream(file) << "passphrase\r\n";
  std::filesystem::permissions(file, std::filesystem::perms::owner_read);
  const Outcome refused = outcome_of(run_stat, {"--key-file", file, volume_});
  EXPECT_NE(refused.exit_code, 0);
  EXPECT_THAT(refused.err, HasSubstr("CR LF"));
}

// A tool ignores SIGPIPE, so that its work goes on when nobody reads its output. The command is not to inherit that.
TEST_F(VolumeKeyTest, ACommandThatPrintsTooMuchEnds) {
  const auto before = std::signal(SIGPIPE, SIG_IGN);
  const auto refused =
      read_passphrase({.key_file = {}, .command = "while :; do echo 0123456789; done", .keyring = {}}, "Passphrase");
  std::signal(SIGPIPE, before);
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message(), HasSubstr("longer than 64 KiB"));
}

TEST_F(VolumeKeyTest, AMountReadOnlyGoesOnWhereFilesWereChanged) {
  add_a_stray_container();
  const auto open_as_asked = [](const MountRequest& request) {
    return Volume::open(request.volume, {.read_only = request.options.read_only}, request.backing) ? 0 : 32;
  };
  for (const auto& [options, exit_code] : {std::pair("ro,key_file=", 0), std::pair("key_file=", 32)}) {
    std::ostringstream out, err;
    EXPECT_EQ(run_dedupfs("/usr/bin/dedupfs", std::vector<std::string>{volume_, "/mnt", "-o", options + first_}, out,
                          err, open_as_asked),
              exit_code)
        << options;
  }
}

TEST_F(VolumeKeyTest, StatNamesWhatWasChangedAndGoesOn) {
  add_a_stray_container();

  const Outcome outcome = outcome_of(run_stat, {"--json", "--key-file", first_, volume_});

  EXPECT_EQ(outcome.exit_code, 0);
  EXPECT_THAT(outcome.err, HasSubstr("0000009999.container was not there"));
  EXPECT_TRUE(nlohmann::json::accept(outcome.out));
}

TEST_F(VolumeKeyTest, StatTellsTheGeneration) {
  const Outcome full = outcome_of(run_stat, {"-v", "--key-file", first_, volume_});
  EXPECT_THAT(full.out, AllOf(HasSubstr("Encrypted, generation "), HasSubstr(", unmounted 2")));
  const auto json = nlohmann::json::parse(outcome_of(run_stat, {"--json", "--key-file", first_, volume_}).out);
  EXPECT_GT(json.at("encryption").at("generation"), 0);
  EXPECT_GT(json.at("encryption").at("unmounted_unix_seconds"), 1'700'000'000);

  const std::string plain = folder_.path() / "plain";
  ASSERT_EQ(outcome_of(run_mkfs, {plain}).exit_code, 0);
  EXPECT_TRUE(nlohmann::json::parse(outcome_of(run_stat, {"--json", plain}).out).at("encryption").is_null());
}

TEST_F(VolumeKeyTest, WithoutTheKeyStatShowsWhatAnyoneSees) {
  without_terminal([this] {
    const Outcome outcome = outcome_of(run_stat, {volume_});
    EXPECT_EQ(outcome.exit_code, 0);
    EXPECT_THAT(outcome.out, AllOf(HasSubstr("without its key"), HasSubstr("8.00 MiB  key file"),
                                   HasSubstr("containers"), HasSubstr("Features encryption")));
    const Outcome as_json = outcome_of(run_stat, {"--json", volume_});
    const auto json = nlohmann::json::parse(as_json.out);
    EXPECT_EQ(json.at("schema"), "dedupfs-stat-sealed");
    EXPECT_EQ(json.at("slots").size(), 1U);
    EXPECT_EQ(json.at("key_number"), 1);
    EXPECT_EQ(json.at("former_keys"), nlohmann::json::array());
    EXPECT_EQ(json.at("evicted").at("containers"), 0);
    EXPECT_EQ(json.at("remote"), nullptr);
    EXPECT_EQ(json.at("folders").at(2).at("name"), "index");
    EXPECT_GT(json.at("folders").at(2).at("bytes"), 0);
    EXPECT_EQ(keys_missing_in(manual_text("dedupfs-stat.1"), json), "");
    EXPECT_EQ(outcome_of(run_stat, {"--prometheus", "-", volume_}).exit_code, 1);
  });
}

TEST_F(VolumeKeyTest, WithoutTheKeyStatShowsTheFormerKeysTheBucketAndWhatIsThereOnly) {
  ASSERT_EQ(outcome_of(run_key, {"rotate", "--key-file", first_, "--new-key-file", key_file("second", "battery staple"),
                                 volume_})
                .exit_code,
            0);
  const auto folder = Backing::posix()->open_root(volume_).value();
  ASSERT_TRUE(save_remote_record(
      *folder, {.volume = read_key_header(*folder).value()->uuid,
                .where = {.address = "s3://bucket/prefix", .endpoint = "https://example.org", .credentials_file = "/k"},
                .position = {.epoch = 3, .head = RemotePosition::Known{.sequence = 7, .sha256 = {}}}}));
  const auto evicted = folder->make_and_open_folder(kEvictedDirectory).value();
  ASSERT_TRUE(evicted->open("0000000007.container", Backing::Mode::kCreate).value()->truncate(1 << 20));
  without_terminal([this] {
    EXPECT_THAT(
        outcome_of(run_stat, {volume_}).out,
        AllOf(HasSubstr("Master key 2; files are still under former ones: 1\n"),
              HasSubstr("1 container of 1.00 MiB is evicted: 0 B of that on this disk"),
              HasSubstr("Remote: s3://bucket/prefix at https://example.org, epoch 3, newest head 7, credentials "
                        "in /k\n")));
    const auto json = nlohmann::json::parse(outcome_of(run_stat, {"--json", volume_}).out);
    EXPECT_EQ(json.at("key_number"), 2);
    EXPECT_EQ(json.at("former_keys"), nlohmann::json({1}));
    EXPECT_EQ(json.at("evicted"), nlohmann::json({{"containers", 1}, {"bytes", 1 << 20}, {"here_bytes", 0}}));
    ASSERT_TRUE(json.at("remote").is_object());
    EXPECT_EQ(json.at("remote").at("address"), "s3://bucket/prefix");
    EXPECT_EQ(json.at("remote").at("head"), 7);
    EXPECT_EQ(keys_missing_in(manual_text("dedupfs-stat.1"), json.at("remote")), "");
    EXPECT_EQ(keys_missing_in(manual_text("dedupfs-stat.1"), json.at("evicted")), "");
  });

  ASSERT_TRUE(replace_file(*folder, "remote.json", bytes_of("{")));
  without_terminal([this] {
    const auto json = nlohmann::json::parse(outcome_of(run_stat, {"--json", volume_}).out);
    ASSERT_TRUE(json.at("remote").is_object());
    EXPECT_EQ(json.at("remote").at("address"), nullptr);
    EXPECT_THAT(json.at("remote").at("error").get<std::string>(), HasSubstr("remote.json"));
  });
}

TEST_F(VolumeKeyTest, WithoutTheKeyFsckChecksWhatItCanAndSaysSo) {
  without_terminal([this] {
    const Outcome sound = outcome_of(run_fsck, {volume_}, Process());
    EXPECT_EQ(sound.exit_code, 8);
    EXPECT_THAT(sound.out, AllOf(HasSubstr("no key was given"), Not(HasSubstr("error:"))));
    EXPECT_EQ(nlohmann::json::parse(outcome_of(run_fsck, {"--json", volume_}, Process()).out).at("exit_status"), 8);

    std::filesystem::remove(volume_ + "/superblock.copy.json");
    std::filesystem::remove_all(volume_ + "/containers");
    const Outcome damaged = outcome_of(run_fsck, {volume_}, Process());
    EXPECT_EQ(damaged.exit_code, 12);
    EXPECT_THAT(damaged.out, AllOf(HasSubstr("superblock.copy.json"), HasSubstr("containers is missing")));
  });
}

TEST_F(VolumeKeyTest, WithTheKeyFsckFindsAndMendsADamagedCopyOfTheKeyHeader) {
  for (const std::string copy : {"superblock.json", "superblock.copy.json"}) {
    damage_key_header(copy);

    const Outcome found = outcome_of(run_fsck, {"-n", "--key-file", first_, volume_}, Process());
    EXPECT_EQ(found.exit_code, 4);
    EXPECT_THAT(found.out, HasSubstr(copy + ": its checksum differs"));

    const Outcome mended = outcome_of(run_fsck, {"-p", "--key-file", first_, volume_}, Process());
    EXPECT_EQ(mended.exit_code, 1);
    EXPECT_THAT(mended.out, HasSubstr("repaired: " + copy + ": restored from the other copy"));
    EXPECT_EQ(outcome_of(run_fsck, {"-n", "--key-file", first_, volume_}, Process()).exit_code, 0);
  }
}

// A keyring that is this process's own, so that nothing is left of it.
TEST_F(VolumeKeyTest, TheKeyringOfTheKernelHasThePassphrase) {
  const std::string name = "dedupfs-test:" + std::to_string(::getpid());
  const std::string passphrase = "correct horse\n";
  const long added =
      ::syscall(SYS_add_key, "user", name.c_str(), passphrase.data(), passphrase.size(), KEY_SPEC_PROCESS_KEYRING);
  if (added < 0) GTEST_SKIP() << "this machine has no keyrings";

  EXPECT_EQ(outcome_of(run_stat, {"--keyring", name, volume_}).exit_code, 0);
  EXPECT_EQ(mount(volume_, "keyring=" + name).exit_code, 0);
  const Outcome missing = outcome_of(run_stat, {"--keyring", name + "-of-nobody", volume_});
  EXPECT_EQ(missing.exit_code, 1);
  EXPECT_THAT(missing.err, HasSubstr("keyctl padd user"));
  const Outcome both = outcome_of(run_stat, {"--keyring", name, "--key-file", first_, volume_});
  EXPECT_THAT(both.err, HasSubstr("excludes"));
}

TEST(KdfMemory, ACostlySlotTakesAtMostHalfOfTheMemoryOfTheMachine) {
  EXPECT_EQ(parse_kdf_memory("1g", std::uint64_t{1} << 30)->memory_kib, 1U << 20);
  const auto refused = parse_kdf_memory("1025m", std::uint64_t{1} << 30);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code(), ErrorCode::kInvalidArgument);
  EXPECT_THAT(refused.error().message(), HasSubstr("half of the memory of this machine, 1.00 GiB"));
  EXPECT_EQ(most_kdf_memory(), memory_of_machine() / 2);
}

}  // namespace
}  // namespace dedupfs::tools
