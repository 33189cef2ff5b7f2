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

// Snapshots of the set "hourly", as if one had been made each hour of a day. They are made now, so policies take them for as many of one hour.
void make_hours(const std::string& volume, const std::vector<std::string>& hours) {
  for (const std::string& hour : hours)
    EXPECT_EQ(snapshot({"create", volume, "2026-11-28_" + hour + "-00-00_hourly"}).exit_code, 0);
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

// Faster than one a second.
TEST(RunSnapshot, JobsOfTheSameSecondGetNamesOfTheirOwnAndTheirPolicyRuns) {
  const ClosedVolume volume;
  const std::string path = volume.path();
  for (int i = 0; i < 5; ++i)
    EXPECT_EQ(snapshot({"create", path, "--set", "nightly", "--keep-last", "3"}).exit_code, 0);
  EXPECT_EQ(names_of(path).size(), 3u);
  EXPECT_EQ(snapshot({"create", path, "once"}).exit_code, 0);
  EXPECT_EQ(snapshot({"create", path, "once"}).exit_code, 2) << "a name that was given is no other";
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
  make_hours(volume.path(), {"01", "02", "03"});
  const std::vector<std::string> thin_out{"delete", "--json", volume.path(), "--set", "hourly", "--keep-last", "1"};
  std::vector<std::string> on_trial = thin_out;
  on_trial.push_back("--dry-run");

  const auto would = nlohmann::json::parse(snapshot(on_trial).out);
  const auto done = nlohmann::json::parse(snapshot(thin_out).out);

  for (const auto& document : {would, done}) {
    EXPECT_EQ(document.at("created_name"), nullptr);
    EXPECT_EQ(document.at("deleted"), nlohmann::json({"2026-11-28_01-00-00_hourly", "2026-11-28_02-00-00_hourly"}));
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
  const std::string path = volume.path();
  make_hours(path, {"01", "02", "03"});

  EXPECT_EQ(snapshot({"delete", path, "--set", "hourly", "--keep-last", "2", "--dry-run"}).err,
            "would delete 2026-11-28_01-00-00_hourly\n");
  EXPECT_EQ(names_of(path).size(), 3u);
  EXPECT_THAT(snapshot({"create", path, "--set", "hourly", "--keep-last", "3"}).err,
              MatchesRegex("created 20.*_hourly\ndeleted 2026-11-28_01-00-00_hourly\n"));
  EXPECT_THAT(names_of(path),
              ElementsAre("2026-11-28_02-00-00_hourly", "2026-11-28_03-00-00_hourly", HasSubstr("_hourly")));
}

// Two jobs on one volume, each with its own policy: those of the one stay whatever the other one keeps, and so does what was named by hand.
TEST(RunSnapshot, APolicyDeletesSnapshotsOfItsSetOnly) {
  const ClosedVolume volume;
  const std::string path = volume.path();
  make_hours(path, {"01", "02"});
  for (const std::string name : {"before the upgrade", "2026-11-28_12-00-00", "2026-11-28_12-00-00_nightly_db"})
    EXPECT_EQ(snapshot({"create", path, name}).exit_code, 0);

  const Outcome night = snapshot({"create", path, "--set", "nightly", "--keep-last", "1"});

  EXPECT_THAT(night.err, MatchesRegex("created 20.{17}_nightly\n"));
  EXPECT_EQ(names_of(path).size(), 6u);
  EXPECT_THAT(snapshot({"delete", path, "--set", "nihgtly", "--keep-last", "1"}).err,
              HasSubstr("the set 'nihgtly' has no snapshots"));
}

TEST(RunSnapshot, APolicyWithoutASetIsRefused) {
  const ClosedVolume volume;
  make_hours(volume.path(), {"01", "02"});

  for (const std::string action : {"create", "delete"}) {
    const Outcome refused = snapshot({action, volume.path(), "--keep-last", "1"});
    EXPECT_EQ(refused.exit_code, 1);
    EXPECT_THAT(refused.err, HasSubstr("say with --set which snapshots --keep-... is for"));
  }
  EXPECT_EQ(names_of(volume.path()).size(), 2u);
}

TEST(RunSnapshot, SaysThatItDeletesWhatAnotherPolicyOfTheSetHasKept) {
  const ClosedVolume volume;
  const std::string path = volume.path();
  make_hours(path, {"01", "02", "03"});
  const auto create = [&](const std::string& keep) {
    return snapshot({"create", path, "--set", "hourly", "--keep-last", keep, "--dry-run"}).err;
  };

  EXPECT_THAT(create("3"), testing::Not(HasSubstr("another policy"))) << "what it does each time";
  EXPECT_THAT(create("2"), AllOf(HasSubstr("1 of 2 to delete was kept by another policy of the set 'hourly'"),
                                 HasSubstr("a set of its own")));
  EXPECT_THAT(create("1"), HasSubstr("2 of 3 to delete were kept by another policy"));
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
  const std::string a = "2026-11-28_01-00-00_hourly";
  const std::string b = "2026-11-28_02-00-00_hourly";
  const std::string c = "2026-11-28_03-00-00_hourly";
  make_hours(path, {"01", "02", "03"});

  EXPECT_THAT(snapshot({"hold", path, a, "--until", "30d"}).err, MatchesRegex(a + " is held until 20.* 30 days .*\n"));
  EXPECT_EQ(snapshot({"hold", path, b}).err, b + " is held until it is released\n");
  const Outcome named = snapshot({"delete", path, c, a});
  EXPECT_EQ(named.exit_code, 2);
  EXPECT_THAT(named.err, AllOf(HasSubstr("'" + a + "' is held until 20"), HasSubstr("none was deleted")));
  const Outcome by_policy = snapshot({"create", path, "--set", "hourly", "--keep-last", "1"});
  EXPECT_EQ(by_policy.exit_code, 0);
  EXPECT_THAT(by_policy.err, AllOf(HasSubstr("kept " + a + ": held until"), HasSubstr("kept " + b + ": held"),
                                   HasSubstr("deleted " + c)));
  EXPECT_THAT(by_policy.err, testing::Not(HasSubstr("another policy"))) << "those that are held are no sign of one";
  EXPECT_THAT(names_of(path), ElementsAre(a, b, HasSubstr("_hourly")));
  EXPECT_THAT(snapshot({"list", path}).out,
              AllOf(HasSubstr(a + "  (held until 20"), HasSubstr(b + "  (held until it is")));
  EXPECT_EQ(snapshot({"release", path, a}).exit_code, 2);
  EXPECT_EQ(snapshot({"release", path, b}).exit_code, 0);
  EXPECT_EQ(snapshot({"delete", path, b}).exit_code, 0);
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
                                                    {"create", "/volume", "a", "--set", "hourly"},
                                                    {"create", "/volume", "--set", ""},
                                                    {"delete", "/volume", "--set", "hourly"},
                                                    {"delete", "/volume", "a", "--set", "hourly"},
                                                    {"rollback", "/volume"},
                                                    {"create", "/volume", "a", "b"},
                                                    {"diff", "/volume"},
                                                    {"hold", "/volume"},
                                                    {"hold", "/volume", "a", "--until", "soon"},
                                                    {"release", "/volume", "a", "--until", "1d"},
                                                    {"diff", "/volume", "a", "b", "c"},
                                                    {"paint", "/volume"},
                                                    {"create", "/volume", "--set", "hourly", "--keep-last", "many"}})
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
