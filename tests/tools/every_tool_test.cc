// The behaviour of every tool: help, version, manual, completions, errors for wrong arguments and for output that cannot be written.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cctype>
#include <functional>
#include <nlohmann/json.hpp>
#include <regex>
#include <set>
#include <sstream>

#include "bench/run.h"
#include "dedupfs.h"
#include "dedupfs_clone.h"
#include "dedupfs_estimate.h"
#include "dedupfs_events.h"
#include "dedupfs_extract.h"
#include "dedupfs_gc.h"
#include "dedupfs_import.h"
#include "dedupfs_key.h"
#include "dedupfs_quota.h"
#include "dedupfs_receive.h"
#include "dedupfs_remote.h"
#include "dedupfs_report.h"
#include "dedupfs_scrub.h"
#include "dedupfs_send.h"
#include "dedupfs_snapshot.h"
#include "dedupfs_stat.h"
#include "dedupfs_sync.h"
#include "dedupfs_top.h"
#include "fsck_dedupfs.h"
#include "manual.h"
#include "mkfs_dedupfs.h"
#include "outcome.h"
#include "umount_dedupfs.h"

namespace dedupfs::tools {
namespace {

using testing::AllOf;
using testing::ContainsRegex;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

struct Tool {
  std::string name;
  std::function<int(Arguments, std::ostream&, std::ostream&)> run;
  int usage_error;  // as the manual has it
  int failed;
  std::string manual = name + ".8";
  std::vector<std::string> commands = {};
};

// "-o" and "--json", from the lines that begin with them.
std::set<std::string> option_names_in(const std::string& help) {
  static const std::regex kNames(R"(\n  (-[^ \n]+))");
  std::set<std::string> names;
  for (std::sregex_iterator line(help.begin(), help.end(), kNames), end; line != end; ++line) {
    std::istringstream list((*line)[1]);
    for (std::string name; std::getline(list, name, ',');) names.insert(name);
  }
  return names;
}

// As fish writes them: " -s o", " -l json".
std::string in_fish(const std::string& option) {
  return option.starts_with("--") ? " -l " + option.substr(2) : " -s " + option.substr(1);
}

int never_mount(const MountRequest&) {
  ADD_FAILURE() << "a mount that nobody asked for";
  return 0;
}

template <class Tool>
auto by_itself(const Tool& tool) {
  return [&tool](Arguments arguments, std::ostream& out, std::ostream& err) {
    return call_tool(tool, arguments, out, err);
  };
}

std::vector<Tool> all_tools() {
  return {
      {"dedupfs",
       [](Arguments arguments, std::ostream& out, std::ostream& err) {
         return run_dedupfs("/usr/bin/dedupfs", arguments, out, err, never_mount);
       },
       1, 2},
      {"dedupfs-bench", bench::run_bench, 2, 1, "dedupfs-bench.1", {"chunk", "resemble", "delta", "isa"}},
      {"dedupfs-clone", by_itself(run_clone), 1, 2, "dedupfs-clone.1"},
      {"dedupfs-estimate", by_itself(run_estimate), 1, 2, "dedupfs-estimate.1"},
      {"dedupfs-extract",
       [](Arguments arguments, std::ostream& out, std::ostream& err) { return run_extract(arguments, out, err); }, 1, 2,
       "dedupfs-extract.1"},
      {"dedupfs-events", run_events, 1, 2},
      {"dedupfs-gc", by_itself(run_gc), 1, 2},
      {"dedupfs-import", by_itself(run_import), 1, 2},
      {"dedupfs-key",
       run_key,
       1,
       2,
       "dedupfs-key.8",
       {"list", "add", "change", "remove", "export", "recover", "rotate"}},
      {"dedupfs-quota", by_itself(run_quota), 1, 2, "dedupfs-quota.8", {"set", "show", "list", "remove"}},
      {"dedupfs-receive",
       [](Arguments arguments, std::ostream& out, std::ostream& err) { return run_receive(arguments, out, err); }, 1, 2,
       "dedupfs-receive.1"},
      {"dedupfs-remote",
       [](Arguments arguments, std::ostream& out, std::ostream& err) { return run_remote(arguments, out, err); },
       1,
       2,
       "dedupfs-remote.8",
       {"attach", "set", "push", "status", "verify", "usage", "clone", "takeover"}},
      {"dedupfs-report", by_itself(run_report), 1, 2, "dedupfs-report.1"},
      {"dedupfs-scrub", by_itself(run_scrub), 1, 2},
      {"dedupfs-send",
       [](Arguments arguments, std::ostream& out, std::ostream& err) { return run_send(arguments, out, err); }, 1, 2,
       "dedupfs-send.1"},
      {"dedupfs-snapshot",
       by_itself(run_snapshot),
       1,
       2,
       "dedupfs-snapshot.8",
       {"create", "list", "delete", "rollback", "hold", "release", "diff"}},
      {"dedupfs-stat", by_itself(run_stat), 1, 1, "dedupfs-stat.1"},
      {"dedupfs-sync", run_sync, 1, 2},
      {"dedupfs-top",
       [](Arguments arguments, std::ostream& out, std::ostream& err) { return run_top(arguments, out, err); }, 1, 2,
       "dedupfs-top.1"},
      {"fsck.dedupfs", by_itself(run_fsck), 16, 8},
      {"mkfs.dedupfs", run_mkfs, 16, 8},
      {"umount.dedupfs", run_umount, 1, 32},
  };
}

// Of the program and of its commands.
std::string whole_help(const Tool& tool) {
  std::string help = outcome_of(tool.run, {"--help"}).out;
  for (const std::string& command : tool.commands) help += outcome_of(tool.run, {command, "--help"}).out;
  return help;
}

class EveryTool : public testing::TestWithParam<Tool> {};

INSTANTIATE_TEST_SUITE_P(Tools, EveryTool, testing::ValuesIn(all_tools()), [](const auto& tool) {
  std::string name = tool.param.name;
  for (char& c : name) c = std::isalnum(static_cast<unsigned char>(c)) != 0 ? c : '_';
  return name;
});

TEST_P(EveryTool, PrintsHelp) {
  for (const std::string option : {"-h", "--help"}) {
    const Outcome outcome = outcome_of(GetParam().run, {option});

    EXPECT_EQ(outcome.exit_code, 0);
    EXPECT_THAT(outcome.out, AllOf(HasSubstr("Usage: " + GetParam().name), HasSubstr("--version")));
    EXPECT_EQ(outcome.err, "");
  }
}

TEST_P(EveryTool, PrintsItsVersion) {
  for (const std::string option : {"-V", "--version"}) {
    const Outcome outcome = outcome_of(GetParam().run, {option});

    EXPECT_EQ(outcome.exit_code, 0);
    EXPECT_THAT(outcome.out, StartsWith(GetParam().name + " " DEDUPFS_VERSION "\n"));
    EXPECT_EQ(outcome.err, "");
  }
}

TEST_P(EveryTool, BeginsItsHelpWithTheCommonCase) {
  const std::string help = outcome_of(GetParam().run, {"--help"}).out;

  EXPECT_THAT(help, ContainsRegex("^[^\n]*\\.\nExample: " + GetParam().name + " [^\n]+\nUsage: "));
}

TEST_P(EveryTool, NamesAnUnknownOptionAndTheHelp) {
  const Outcome outcome = outcome_of(GetParam().run, {"--nonsense"});

  EXPECT_EQ(outcome.exit_code, GetParam().usage_error);
  EXPECT_EQ(outcome.out, "");
  EXPECT_THAT(outcome.err, HasSubstr("--help"));
}

// Of dedupfs itself docs/json.md says why not.
TEST_P(EveryTool, HasJsonAlsoForItsErrors) {
  if (GetParam().name == "dedupfs") {
    EXPECT_EQ(outcome_of(GetParam().run, {"--json"}).out, "");
    GTEST_SKIP() << "a mount prints nothing";
  }
  EXPECT_TRUE(option_names_in(whole_help(GetParam())).contains("--json"));
  for (const std::string& command : GetParam().commands)
    EXPECT_TRUE(option_names_in(outcome_of(GetParam().run, {command, "--help"}).out).contains("--json")) << command;

  const Outcome outcome = outcome_of(GetParam().run, {"--json", "--nonsense"});

  const auto document = nlohmann::json::parse(outcome.out);
  EXPECT_EQ(document.at("schema"), "error");
  EXPECT_EQ(document.at("error").at("exit_code"), GetParam().usage_error);
  EXPECT_THAT(document.at("error").at("message").get<std::string>(), Not(testing::IsEmpty()));
  EXPECT_THAT(outcome.err, HasSubstr("--help"));
}

TEST_P(EveryTool, HasItsExitCodesInTheTable) {
  const std::string& name = GetParam().name;
  std::ifstream file(DEDUPFS_DOCS_DIR "/exit-codes.md");
  const std::string page(std::istreambuf_iterator<char>(file), {});
  const std::string in_list = "`-" + name.substr(name.find('-') + 1) + '`';
  EXPECT_TRUE(page.find('`' + name + '`') != std::string::npos || page.find(in_list) != std::string::npos) << name;
}

TEST(JsonContract, ADocumentOfAnotherFormIsFound) {
  EXPECT_EQ(contract_findings(
                R"({"schema":"dedupfs-clone","schema_version":1,"files":1,"directories":0,"others":0,"bytes":9})"),
            "");
  EXPECT_THAT(contract_findings(
                  R"({"schema":"dedupfs-clone","schema_version":1,"file":1,"directories":0,"others":0,"bytes":9})"),
              AllOf(HasSubstr("'files' is a required property"), HasSubstr("'file' was unexpected")));
  EXPECT_THAT(contract_findings(
                  R"({"schema":"dedupfs-clone","schema_version":1,"files":"1","directories":0,"others":0,"bytes":9})"),
              HasSubstr("'1' is not of type 'integer'"));
  EXPECT_THAT(contract_findings(R"({"files":1})"), HasSubstr("schema_version"));
  EXPECT_THAT(contract_findings("{"), HasSubstr("not JSON"));
}

TEST_P(EveryTool, SaysWhatIsRequired) {
  if (GetParam().name == "dedupfs-events") GTEST_SKIP() << "it looks at all mounts";
  const Outcome outcome = outcome_of(GetParam().run, {});

  EXPECT_EQ(outcome.exit_code, GetParam().usage_error);
  EXPECT_EQ(outcome.out, "");
  EXPECT_THAT(outcome.err, HasSubstr("required"));
}

TEST_P(EveryTool, HasAManualWithEachOption) {
  const std::string manual = manual_text(GetParam().manual);
  for (const std::string& command : GetParam().commands) EXPECT_THAT(manual, HasSubstr(command));

  const auto options = option_names_in(whole_help(GetParam()));

  EXPECT_TRUE(options.contains("--help"));
  for (const std::string& option : options) {
    const std::string after_fl = option.substr(1);  // as mdoc(7) writes it: "Fl o", "Fl -json"
    EXPECT_TRUE(has_word(manual, after_fl.size() == 1 ? "Fl " + after_fl : after_fl))
        << GetParam().manual << ": " << option;
  }
}

TEST_P(EveryTool, CompletesEachOptionAndCommandInEachShell) {
  const auto script_for = [](const std::string& shell) {
    const Outcome outcome = outcome_of(GetParam().run, {"--completion", shell});
    EXPECT_EQ(outcome.exit_code, 0);
    EXPECT_EQ(outcome.err, "");
    return outcome.out;
  };
  const std::string bash = script_for("bash"), zsh = script_for("zsh"), fish = script_for("fish");

  const auto options = option_names_in(whole_help(GetParam()));

  EXPECT_TRUE(options.contains("-h") && options.contains("--help"));
  for (const std::string& option : options) {
    EXPECT_THAT(bash, ContainsRegex("[ ']" + option + "[ ']"));
    EXPECT_THAT(zsh, ContainsRegex("[')]" + option + "=?\\["));
    EXPECT_THAT(fish, HasSubstr(in_fish(option) + " "));
  }
  for (const std::string& command : GetParam().commands) {
    EXPECT_THAT(bash, HasSubstr("    " + command + ")\n"));
    EXPECT_THAT(zsh, HasSubstr("    " + command + ")\n"));
    EXPECT_THAT(fish, HasSubstr(" -a " + command + " "));
  }
}

TEST_P(EveryTool, HasNoCompletionsForAnUnknownShell) {
  const Outcome outcome = outcome_of(GetParam().run, {"--completion", "tcsh"});

  EXPECT_EQ(outcome.exit_code, GetParam().usage_error);
  EXPECT_THAT(outcome.err, HasSubstr("tcsh"));
}

TEST(Manuals, NameEachMountOption) {
  const std::string manual = manual_text("dedupfs.8");
  std::istringstream help(mount_options_help());
  int options = 0;
  for (std::string option; std::getline(help, option); ++options) {
    const std::string name = option.substr(2, option.find_first_of("= ", 2) - 2);
    EXPECT_TRUE(has_word(manual, name)) << name;
  }
  EXPECT_GT(options, 10);
}

TEST_P(EveryTool, FailsIfTheHelpCannotBeWritten) {
  const Outcome outcome = outcome_on_full_disk(GetParam().run, {"--help"});

  EXPECT_EQ(outcome.exit_code, GetParam().failed);
  EXPECT_THAT(outcome.err, HasSubstr(GetParam().name + ": cannot write the output"));
}

}  // namespace
}  // namespace dedupfs::tools
