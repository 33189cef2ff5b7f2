#include "dedupfs_extract.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "fs/test_filesystem.h"
#include "manual.h"
#include "outcome.h"
#include "shipped_volume.h"
#include "support/files.h"
#include "support/memory_bucket.h"

namespace dedupfs::tools {
namespace {

using testing::AllOf;
using testing::HasSubstr;

class RunExtract : public testing::Test {
 protected:
  RunExtract() {
    const InodeNumber docs = volume_.make_directory(kRootInode, "docs");
    volume_.make_file(docs, "letter", text_, 0640);
    volume_.make_file(kRootInode, "odd\x1b[2J", "x");
    volume_.close();
  }
  Outcome run(std::vector<std::string> arguments, const Process& process = {}) const {
    arguments.insert(arguments.begin(), volume_.path());
    return outcome_of(run_extract, arguments, process, open_bucket);
  }

  const std::string text_ = random_text(50'000, 1);
  TestFilesystem volume_{TestFilesystem::with_checkpoints()};
  const TempDir dir_;
  const Path out_ = dir_.path() / "out";
};

TEST_F(RunExtract, WritesFilesIntoAFolder) {
  const Outcome outcome = run({"docs/letter", "-o", out_});

  EXPECT_EQ(outcome.exit_code, 0);
  EXPECT_EQ(outcome.out + outcome.err, "");
  EXPECT_EQ(content_of(out_ / "docs/letter"), text_);
}

TEST_F(RunExtract, ReadsAVolumeInABucket) {
  const auto objects = std::make_shared<MemoryObjects>();
  MemoryBucket bucket(objects);
  ship_once(bucket, volume_.path());

  const Outcome outcome =
      outcome_of(run_extract, {"s3://backups/volume", "docs/letter", "-o", out_, "--endpoint", "https://store"},
                 Process(), [&](const RemoteAddress& where, const GoOn&) -> Result<std::unique_ptr<Bucket>> {
                   EXPECT_EQ(where, (RemoteAddress{.address = "s3://backups/volume", .endpoint = "https://store"}));
                   return std::make_unique<MemoryBucket>(objects, where.address);
                 });

  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_EQ(content_of(out_ / "docs/letter"), text_);
}

TEST_F(RunExtract, AFolderIsInNoStore) {
  const Outcome outcome = run({"--list", "--endpoint", "https://store"});

  EXPECT_EQ(outcome.exit_code, 1);
  EXPECT_THAT(outcome.err, AllOf(HasSubstr("https://store"), HasSubstr("s3://BUCKET/PREFIX")));
}

TEST_F(RunExtract, DoesNotReplaceWhatIsThere) {
  run({"docs", "-o", out_});
  const Outcome same = run({"docs", "-o", out_});
  EXPECT_EQ(same.exit_code, 0);
  EXPECT_THAT(same.err, HasSubstr("there already"));
  overwrite(std::filesystem::path(out_) / "docs/letter", "mine");

  const Outcome again = run({"docs", "-o", out_});
  EXPECT_EQ(again.exit_code, 3);
  EXPECT_THAT(again.err, AllOf(HasSubstr("docs/letter: "), HasSubstr("--overwrite")));
  EXPECT_EQ(run({"docs", "-o", out_, "--overwrite"}).exit_code, 0);
}

TEST_F(RunExtract, WritesAnArchive) {
  const Outcome outcome = run({"docs", "--tar"});

  EXPECT_EQ(outcome.exit_code, 0);
  EXPECT_THAT(outcome.out, AllOf(HasSubstr("docs/letter"), HasSubstr(text_)));
  EXPECT_EQ(run({"--tar"}, {.out_is_terminal = true}).exit_code, 1);
}

TEST_F(RunExtract, FailsIfTheArchiveCannotBeWritten) {
  const Outcome outcome = outcome_on_full_disk(run_extract, {volume_.path(), "--tar"}, Process(), open_bucket);

  EXPECT_EQ(outcome.exit_code, 2);
  EXPECT_NE(outcome.err, "");
}

TEST_F(RunExtract, ListsWithoutControlCharacters) {
  const Outcome outcome = run({"--list"});

  EXPECT_EQ(outcome.exit_code, 0);
  EXPECT_THAT(outcome.out, AllOf(HasSubstr("-rw-r----- 0/0        50000 "), HasSubstr(" docs/letter\n"),
                                 HasSubstr(" odd\\033[2J\n")));
}

TEST_F(RunExtract, ListsAsJsonLines) {
  std::istringstream lines(run({"docs", "--list", "--json"}).out);
  std::string line;
  std::getline(lines, line);
  EXPECT_EQ(nlohmann::json::parse(line).at("path"), "docs");
  std::getline(lines, line);
  EXPECT_EQ(nlohmann::json::parse(line).at("size"), text_.size());
  EXPECT_FALSE(std::getline(lines, line));
}

TEST_F(RunExtract, JsonSaysWhatWasTaken) {
  const auto json = nlohmann::json::parse(run({"docs", "-o", out_, "--json"}).out);
  EXPECT_EQ(json.at("entries"), 2);
  EXPECT_EQ(json.at("bytes"), text_.size());
  EXPECT_EQ(json.at("failures"), nlohmann::json::array());
  EXPECT_EQ(keys_missing_in(manual_text("dedupfs-extract.1"), json), "");

  const auto again = nlohmann::json::parse(run({"docs", "-o", out_, "--json"}).out);
  EXPECT_EQ(again.at("already_there"), 1);
  overwrite(std::filesystem::path(out_) / "docs/letter", "mine");
  const auto refused = nlohmann::json::parse(run({"docs", "-o", out_, "--json"}).out);
  EXPECT_EQ(refused.at("refused"), 1);
  EXPECT_EQ(refused.at("failures").at(0).at("path"), "docs/letter");
  EXPECT_EQ(run({"--tar", "--json"}).exit_code, 1) << "the output is the archive";
}

TEST_F(RunExtract, ProgressIsJsonLinesWithTheResultLast) {
  const Outcome outcome = run({"docs", "-o", out_, "--json", "--progress"}, {.err_is_terminal = true});

  EXPECT_EQ(outcome.err, "") << "none on the terminal";
  std::istringstream lines(outcome.out);
  std::string line;
  std::getline(lines, line);
  const auto progress = nlohmann::json::parse(line);
  EXPECT_EQ(progress.at("event"), "progress");
  EXPECT_EQ(progress.at("stage"), "extract");
  EXPECT_EQ(progress.at("total_bytes"), text_.size());
  nlohmann::json last;
  while (std::getline(lines, line)) last = nlohmann::json::parse(line);
  EXPECT_EQ(last.at("event"), "result");
  EXPECT_EQ(last.at("entries"), 2);
}

TEST_F(RunExtract, NamesADamagedFileAndGoesOn) {
  for (const auto& container : std::filesystem::directory_iterator(volume_.path() / "containers"))
    flip_bit(container.path(), std::filesystem::file_size(container.path()) / 2);

  const Outcome outcome = run({"-o", out_});

  EXPECT_EQ(outcome.exit_code, 4);
  EXPECT_THAT(outcome.err, HasSubstr("dedupfs-extract: docs/letter: "));
  EXPECT_FALSE(std::filesystem::exists(out_ / "docs/letter"));
  EXPECT_TRUE(std::filesystem::exists(out_ / "docs"));
}

TEST_F(RunExtract, KeepsWhatCanBeReadOfADamagedFileIfThatIsAskedFor) {
  volume_.open();
  const std::string large = random_text(4 << 20, 2);
  volume_.make_file(kRootInode, "large", large);
  volume_.close();
  const auto size = [](const Path& container) { return std::filesystem::file_size(container); };
  Path largest;
  for (const auto& container : std::filesystem::directory_iterator(volume_.path() / "containers"))
    if (largest.empty() || size(container.path()) > size(largest)) largest = container.path();
  flip_bit(largest, size(largest) / 2);

  const Outcome outcome = run({"large", "-o", out_, "--keep-damaged"});

  EXPECT_EQ(outcome.exit_code, 4);
  EXPECT_THAT(outcome.err, testing::ContainsRegex("large: [0-9]+ of its bytes are missing in large.damaged: "));
  EXPECT_FALSE(std::filesystem::exists(out_ / "large"));
  const std::string kept = content_of(out_ / "large.damaged");
  ASSERT_EQ(kept.size(), large.size());
  std::size_t wrong = 0;
  std::size_t missing = 0;
  for (std::size_t i = 0; i < kept.size(); ++i)
    if (kept[i] != large[i]) ++(kept[i] == '\0' ? missing : wrong);
  EXPECT_EQ(wrong, 0);
  EXPECT_GT(missing, 0);
  EXPECT_LT(missing, 1 << 20);
}

TEST_F(RunExtract, ReadsAVolumeWithoutItsIndex) {
  std::filesystem::remove_all(volume_.path() / "index");

  const Outcome outcome = run({"docs/letter", "-o", out_, "--scratch", dir_.path()});

  EXPECT_EQ(outcome.exit_code, 4);  // what came after the checkpoint would be missing
  EXPECT_THAT(outcome.err, HasSubstr("lost: files and directories are restored from"));
  EXPECT_EQ(content_of(out_ / "docs/letter"), text_);
}

TEST_F(RunExtract, SaysWhatToDoWithAMountedVolume) {
  volume_.open();

  const Outcome outcome = run({"-o", out_});

  EXPECT_EQ(outcome.exit_code, 2);
  EXPECT_THAT(outcome.err, HasSubstr("copy the files from the mount"));
}

TEST_F(RunExtract, FailsForAPathThatIsNotThere) {
  const Outcome outcome = run({"docs/none", "-o", out_});

  EXPECT_EQ(outcome.exit_code, 2);
  EXPECT_THAT(outcome.err, HasSubstr("docs/none is not in the volume"));
}

TEST_F(RunExtract, DrawsProgressOnATerminalOnly) {
  EXPECT_THAT(run({"docs", "-o", out_}, {.err_is_terminal = true}).err,
              AllOf(HasSubstr("MB/s"), testing::EndsWith("\r\x1b[K")));
}

TEST_F(RunExtract, StopsWhenItIsAskedTo) {
  EXPECT_EQ(run({"-o", out_}, {.stop_was_asked_for = [] { return true; }}).exit_code, 3);
}

}  // namespace
}  // namespace dedupfs::tools
