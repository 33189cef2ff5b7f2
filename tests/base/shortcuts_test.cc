#include "base/shortcuts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

namespace dedupfs {
namespace {

using testing::HasSubstr;

TEST(Shortcuts, AllAreTakenWhereNoneIsNamed) {
  const Shortcuts all;
  EXPECT_TRUE(all.has(Shortcut::kSample));
  EXPECT_TRUE(all.has(Shortcut::kSmallFiles));
  EXPECT_TRUE(Shortcuts::without("")->has(Shortcut::kSample));
}

TEST(Shortcuts, ThoseThatAreNamedAreLeftOut) {
  const auto some = Shortcuts::without("sample,needed-sources");

  ASSERT_TRUE(some);
  EXPECT_FALSE(some->has(Shortcut::kSample));
  EXPECT_FALSE(some->has(Shortcut::kNeededSources));
  EXPECT_TRUE(some->has(Shortcut::kWindows));
  EXPECT_TRUE(some->has(Shortcut::kInPlace));
  EXPECT_TRUE(some->has(Shortcut::kSmallFiles));
}

TEST(Shortcuts, EachHasAName) {
  const auto none = Shortcuts::without("sample,windows,in-place,needed-sources,small-files");

  ASSERT_TRUE(none);
  for (const Shortcut shortcut :
       {Shortcut::kSample, Shortcut::kWindows, Shortcut::kInPlace, Shortcut::kNeededSources, Shortcut::kSmallFiles})
    EXPECT_FALSE(none->has(shortcut)) << static_cast<int>(shortcut);
}

TEST(Shortcuts, AnUnknownNameIsAnErrorThatListsTheNames) {
  const auto unknown = Shortcuts::without("windows,sampel");

  ASSERT_FALSE(unknown);
  EXPECT_EQ(unknown.error().code(), ErrorCode::kInvalidArgument);
  EXPECT_THAT(unknown.error().message(), HasSubstr("'sampel'"));
  EXPECT_THAT(unknown.error().message(), HasSubstr("needed-sources"));
}

TEST(Shortcuts, TheEnvironmentNamesThem) {
  ::setenv(Shortcuts::kVariable, "windows", 1);
  const auto some = Shortcuts::of_environment();
  ::setenv(Shortcuts::kVariable, "window", 1);
  const auto unknown = Shortcuts::of_environment();
  ::unsetenv(Shortcuts::kVariable);

  ASSERT_TRUE(some);
  EXPECT_FALSE(some->has(Shortcut::kWindows));
  ASSERT_FALSE(unknown);
  EXPECT_THAT(unknown.error().message(), HasSubstr("DEDUPFS_WITHOUT"));
}

}  // namespace
}  // namespace dedupfs
