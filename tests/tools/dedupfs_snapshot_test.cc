#include "dedupfs_snapshot.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <ctime>
#include <nlohmann/json.hpp>

#include "manual.h"
#include "outcome.h"
#include "served_volume.h"

namespace dedupfs::tools {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::MatchesRegex;

Outcome snapshot(const std::vector<std::string>& arguments) {
  return outcome_of(run_snapshot, arguments);
}

nlohmann::json snapshots_in(const Outcome& outcome) {
  return nlohmann::json::parse(outcome.out).at("snapshots");
}

std::vector<std::string> names_of(const std::string& volume) {
  const Outcome outcome = snapshot({"list", "--json", volume});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  std::vector<std::string> names;
  const auto json = nlohmann::json::parse(outcome.out);
  for (const auto& entry : json.at("snapshots")) names.push_back(entry.at("name"));
  return names;
}

TEST(RunSnapshot, CreatesListsAndDeletesWithoutAMount) {
  const ClosedVolume volume;
  const std::string path = volume.path();

  EXPECT_EQ(snapshot({"create", path, "monday"}).err, "created monday\n");
  EXPECT_EQ(snapshot({"create", path, "tuesday"}).exit_code, 0);
  EXPECT_THAT(names_of(path), ElementsAre("monday", "tuesday"));
  EXPECT_THAT(snapshot({"list", path}).out,
              MatchesRegex("20.* +[0-9]+ inodes .* used .* own  monday\n20.*  tuesday\n"));
  EXPECT_EQ(snapshot({"delete", path, "monday"}).err, "deleted monday\n");
  EXPECT_THAT(names_of(path), ElementsAre("tuesday"));
}

TEST(RunSnapshot, ListSaysWhatEachTakesUnlessItShallBeQuick) {
  const ServedVolume volume;
  ASSERT_EQ(snapshot({"create", volume.path(), "monday"}).exit_code, 0);

  const auto json = snapshots_in(snapshot({"list", "--json", volume.path()}));
  const auto quick = snapshots_in(snapshot({"list", "--json", "--quick", volume.path()}));

  EXPECT_GT(json.at(0).at("used_bytes"), 2 * kFileBytes);
  EXPECT_EQ(json.at(0).at("own_bytes"), 0);
  EXPECT_FALSE(quick.at(0).contains("used_bytes"));
}

TEST(RunSnapshot, ListShowsHowFarItIsAtATerminalOnly) {
  const ClosedVolume volume;
  ASSERT_EQ(snapshot({"create", volume.path(), "monday"}).exit_code, 0);

  const Outcome seen = outcome_of(run_snapshot, {"list", volume.path()}, Process{.err_is_terminal = true});

  EXPECT_THAT(seen.err, HasSubstr("counting what snapshots take"));
  EXPECT_EQ(snapshot({"list", volume.path()}).err, "");
}

TEST(RunSnapshot, IsNamedAfterTheLocalTimeOrThatInUtc) {
  const ClosedVolume volume;
  const auto hours_between = [](const std::string& a, const std::string& b) {
    return std::abs(std::stoi(a.substr(11, 2)) - std::stoi(b.substr(11, 2)));
  };
  const char* const before = std::getenv("TZ");
  const std::string zone = before == nullptr ? "" : before;
  ::setenv("TZ", "XXX+12", 1);  // half a day behind
  ::tzset();
  EXPECT_EQ(snapshot({"create", volume.path()}).exit_code, 0);
  EXPECT_EQ(snapshot({"create", "--utc", volume.path()}).exit_code, 0);
  before == nullptr ? ::unsetenv("TZ") : ::setenv("TZ", zone.c_str(), 1);
  ::tzset();

  const auto names = names_of(volume.path());
  ASSERT_EQ(names.size(), 2u);
  EXPECT_GE(hours_between(names[0], names[1]), 11) << names[0] << ' ' << names[1];
  EXPECT_EQ(snapshot({"create", "--utc", volume.path(), "name"}).exit_code, 1);
}

TEST(RunSnapshot, IsNamedAfterTheTime) {
  const ClosedVolume volume;

  EXPECT_EQ(snapshot({"create", volume.path()}).exit_code, 0);

  EXPECT_THAT(names_of(volume.path()),
              ElementsAre(MatchesRegex("[0-9]{4}-[0-9]{2}-[0-9]{2}_[0-9]{2}-[0-9]{2}-[0-9]{2}")));
}

TEST(RunSnapshot, JsonDescribesEachSnapshot) {
  const ClosedVolume volume;

  const auto document = nlohmann::json::parse(snapshot({"create", "--json", volume.path(), "monday"}).out);

  EXPECT_EQ(document.at("action"), "create");
  EXPECT_EQ(document.at("created_name"), "monday");
  const auto& json = document.at("snapshots");
  ASSERT_EQ(json.size(), 1u);
  EXPECT_EQ(json[0].at("name"), "monday");
  for (const char* key : {"number", "created_unix_seconds", "inodes"}) EXPECT_TRUE(json[0].contains(key)) << key;
  EXPECT_EQ(keys_missing_in(manual_text("dedupfs-snapshot.8"), document), "");
  EXPECT_EQ(keys_missing_in(manual_text("dedupfs-snapshot.8"), json[0]), "");
}

TEST(RunSnapshot, JsonSaysWhatWasDoneAndWhatWouldBe) {
  const ClosedVolume volume;
  for (const std::string name : {"a", "b", "c"}) EXPECT_EQ(snapshot({"create", volume.path(), name}).exit_code, 0);

  const auto would =
      nlohmann::json::parse(snapshot({"delete", "--json", volume.path(), "--keep-last", "1", "--dry-run"}).out);
  const auto done = nlohmann::json::parse(snapshot({"delete", "--json", volume.path(), "--keep-last", "1"}).out);

  for (const auto& document : {would, done}) {
    EXPECT_EQ(document.at("created_name"), nullptr);
    EXPECT_EQ(document.at("deleted"), nlohmann::json({"a", "b"}));
  }
  EXPECT_EQ(would.at("dry_run"), true);
  EXPECT_EQ(would.at("snapshots").size(), 3u);
  EXPECT_EQ(done.at("dry_run"), false);
  EXPECT_EQ(done.at("snapshots").size(), 1u);
}

TEST(RunSnapshot, TheDaemonOfAVolumeDoesIt) {
  ServedVolume volume;
  EXPECT_EQ(snapshot({"create", volume.path(), "monday"}).exit_code, 0);
  EXPECT_TRUE(ok(volume.filesystem()->unlink(kRootInode, "other")));

  const Outcome outcome = snapshot({"rollback", volume.path(), "monday"});

  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_TRUE(ok(volume.filesystem().find("other")));
  EXPECT_THAT(names_of(volume.path()), ElementsAre("monday"));
}

TEST(RunSnapshot, RollsBackWithoutAMount) {
  ClosedVolume volume;
  EXPECT_EQ(snapshot({"create", volume.path(), "monday"}).exit_code, 0);
  volume.filesystem().open();
  EXPECT_TRUE(ok(volume.filesystem()->unlink(kRootInode, "other")));
  volume.filesystem().close();

  EXPECT_EQ(snapshot({"rollback", volume.path(), "monday"}).exit_code, 0);

  volume.filesystem().open();
  EXPECT_TRUE(ok(volume.filesystem().find("other")));
}

TEST(RunSnapshot, DeletesWhatTheRetentionPolicyDoesNotKeep) {
  const ClosedVolume volume;
  for (const std::string name : {"a", "b", "c"}) EXPECT_EQ(snapshot({"create", volume.path(), name}).exit_code, 0);

  EXPECT_EQ(snapshot({"delete", volume.path(), "--keep-last", "2", "--dry-run"}).err, "would delete a\n");
  EXPECT_EQ(names_of(volume.path()).size(), 3u);
  EXPECT_EQ(snapshot({"create", volume.path(), "d", "--keep-last", "2"}).err, "created d\ndeleted a\ndeleted b\n");
  EXPECT_THAT(names_of(volume.path()), ElementsAre("c", "d"));
}

TEST(RunSnapshot, ADryRunChangesNothing) {
  const ClosedVolume volume;

  EXPECT_EQ(snapshot({"create", volume.path(), "monday", "--dry-run"}).err, "would create monday\n");
  EXPECT_EQ(snapshot({"create", volume.path(), "a/b", "--dry-run"}).exit_code, 2);

  EXPECT_THAT(names_of(volume.path()), IsEmpty());
}

TEST(RunSnapshot, WhatIsHeldIsDeletedNeitherByNameNorByAPolicy) {
  const ClosedVolume volume;
  const std::string path = volume.path();
  for (const std::string name : {"a", "b", "c"}) EXPECT_EQ(snapshot({"create", path, name}).exit_code, 0);

  EXPECT_THAT(snapshot({"hold", path, "a", "--until", "30d"}).err, MatchesRegex("a is held until 20.* 30 days .*\n"));
  EXPECT_EQ(snapshot({"hold", path, "b"}).err, "b is held until it is released\n");
  const Outcome named = snapshot({"delete", path, "c", "a"});
  EXPECT_EQ(named.exit_code, 2);
  EXPECT_THAT(named.err, AllOf(HasSubstr("'a' is held until 20"), HasSubstr("none was deleted")));
  const Outcome by_policy = snapshot({"create", path, "d", "--keep-last", "1"});
  EXPECT_EQ(by_policy.exit_code, 0);
  EXPECT_THAT(by_policy.err, AllOf(HasSubstr("kept a: held until"), HasSubstr("kept b: held"), HasSubstr("deleted c")));
  EXPECT_THAT(names_of(path), ElementsAre("a", "b", "d"));
  EXPECT_THAT(snapshot({"list", path}).out, AllOf(HasSubstr("a  (held until 20"), HasSubstr("b  (held until it is")));
  EXPECT_EQ(snapshot({"release", path, "a"}).exit_code, 2);
  EXPECT_EQ(snapshot({"release", path, "b"}).exit_code, 0);
  EXPECT_EQ(snapshot({"delete", path, "b"}).exit_code, 0);
  const auto json = snapshots_in(snapshot({"list", "--json", path}));
  EXPECT_EQ(keys_missing_in(manual_text("dedupfs-snapshot.8"), json[0].at("hold")), "");
  EXPECT_EQ(json[1].at("hold"), nullptr);
}

TEST(RunSnapshot, TheDaemonHoldsSnapshotsToo) {
  ServedVolume volume;
  EXPECT_EQ(snapshot({"create", volume.path(), "monday"}).exit_code, 0);

  EXPECT_EQ(snapshot({"hold", volume.path(), "monday", "--until", "2w"}).exit_code, 0);
  EXPECT_EQ(snapshot({"delete", volume.path(), "monday"}).exit_code, 2);
  EXPECT_TRUE(fails_with(ErrorCode::kNotPermitted, volume.filesystem()->delete_snapshot("monday")));
  EXPECT_EQ(snapshot({"hold", volume.path(), "monday", "--until", "2001-01-01"}).exit_code, 2);
  EXPECT_THAT(snapshot({"hold", volume.path(), "monday", "--until", "soon"}).err, HasSubstr("'soon' is not a time"));
}

TEST(RunSnapshot, ShowsWhatChanged) {
  ClosedVolume volume;
  EXPECT_EQ(snapshot({"create", volume.path(), "monday"}).exit_code, 0);
  volume.filesystem().open();
  EXPECT_TRUE(ok(volume.filesystem()->unlink(kRootInode, "other")));
  volume.filesystem().make_file(kRootInode, "n\xff", "new");
  volume.filesystem().close();

  EXPECT_EQ(snapshot({"diff", volume.path(), "monday"}).out, "+ n\\377\n- other\n");
  EXPECT_EQ(snapshot({"diff", volume.path(), "monday", "now"}).out, "+ n\\377\n- other\n");
  EXPECT_EQ(snapshot({"diff", volume.path(), "monday", "monday"}).out, "");
  EXPECT_EQ(snapshot({"diff", volume.path(), "never"}).exit_code, 2);
  const auto json = nlohmann::json::parse(snapshot({"diff", "--json", volume.path(), "monday"}).out);
  EXPECT_EQ(json.at("from").at("name"), "monday");
  EXPECT_EQ(json.at("to"), nullptr);
  ASSERT_EQ(json.at("changes").size(), 2u);
  EXPECT_EQ(json.at("changes")[0].at("path_hex"), "6eff");
  const std::string manual = manual_text("dedupfs-snapshot.8");
  EXPECT_EQ(keys_missing_in(manual, json), "");
  for (const auto& change : json.at("changes")) EXPECT_EQ(keys_missing_in(manual, change), "");
}

TEST(RunSnapshot, TheDaemonShowsWhatChangedAndWasNotSynced) {
  ServedVolume volume;
  EXPECT_EQ(snapshot({"create", volume.path(), "monday"}).exit_code, 0);
  volume.filesystem().make_file(kRootInode, "new", "new");

  EXPECT_EQ(snapshot({"diff", volume.path(), "monday"}).out, "+ new\n");
  const Outcome missing = snapshot({"diff", volume.path(), "monday", "never"});
  EXPECT_EQ(missing.exit_code, 2);
  EXPECT_THAT(missing.err, HasSubstr("no snapshot 'never'"));
}

TEST(RunSnapshot, NowIsThePresentAndNoSnapshot) {
  const ClosedVolume volume;

  EXPECT_THAT(snapshot({"create", volume.path(), "now"}).err, HasSubstr("stands for the present"));
}

TEST(RunSnapshot, ErrorsNameTheSnapshot) {
  const ClosedVolume volume;
  EXPECT_EQ(snapshot({"create", volume.path(), "monday"}).exit_code, 0);

  const Outcome taken = snapshot({"create", volume.path(), "monday"});
  const Outcome missing = snapshot({"delete", volume.path(), "monday", "never"});

  EXPECT_EQ(taken.exit_code, 2);
  EXPECT_THAT(taken.err, HasSubstr("'monday'"));
  EXPECT_EQ(missing.exit_code, 2);
  EXPECT_THAT(missing.err, AllOf(HasSubstr("no snapshot 'never'"), HasSubstr("none was deleted")));
  EXPECT_THAT(names_of(volume.path()), ElementsAre("monday"));
}

TEST(RunSnapshot, WrongArgumentsAreUsageErrors) {
  EXPECT_THAT(snapshot({"delete", "/volume"}).err, AllOf(HasSubstr("name the snapshots"), HasSubstr("--keep-")));
  for (const std::vector<std::string>& arguments : {std::vector<std::string>{"delete", "/volume"},
                                                    {"delete", "/volume", "a", "--keep-last", "1"},
                                                    {"rollback", "/volume"},
                                                    {"create", "/volume", "a", "b"},
                                                    {"diff", "/volume"},
                                                    {"hold", "/volume"},
                                                    {"hold", "/volume", "a", "--until", "soon"},
                                                    {"release", "/volume", "a", "--until", "1d"},
                                                    {"diff", "/volume", "a", "b", "c"},
                                                    {"paint", "/volume"},
                                                    {"create", "/volume", "--keep-last", "many"}})
    EXPECT_EQ(snapshot(arguments).exit_code, 1) << testing::PrintToString(arguments);
}

TEST(RunSnapshot, AMissingVolumeIsNamed) {
  const TempDir folder;
  const std::string missing = folder.path() / "missing";

  const Outcome outcome = snapshot({"list", missing});

  EXPECT_EQ(outcome.exit_code, 2);
  EXPECT_THAT(outcome.err, HasSubstr(missing));
}

TEST(RunSnapshot, FailsIfItsOutputCannotBeWritten) {
  const ClosedVolume volume;

  EXPECT_EQ(outcome_on_full_disk(run_snapshot, {"list", "--json", volume.path()}).exit_code, 2);
}

}  // namespace
}  // namespace dedupfs::tools
