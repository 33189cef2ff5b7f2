#include "fs/content/dirty_layer.h"

#include <gtest/gtest.h>

#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace dedupfs {
namespace {

class DirtyLayerTest : public testing::Test {
 protected:
  static WriteStream::Part part(std::uint64_t offset, std::string_view text) {
    return {.offset = offset, .length = text.size(), .bytes = {.bytes = bytes_of(text), .owner = nullptr}};
  }
  // Up to the end of the map: bytes as they are, '_' where there is a hole, '.' where the recipe shows through.
  std::string picture() const {
    const DirtyMap& map = layer_->map();
    std::string text(map.end(), '.');
    for (const DirtyMap::Extent& extent : map.list(0, map.end()))
      text.replace(extent.offset, extent.length,
                   extent.is_hole() ? std::string(extent.length, '_') : std::string(text_of(extent.bytes)));
    return text;
  }

  DirtyBudget budget_{1 << 20, [] {}};
  std::optional<DirtyLayer> layer_{std::in_place, budget_};
};

TEST_F(DirtyLayerTest, TheBudgetHoldsWhatTheMapHolds) {
  const auto expect_charged = [&](const std::string& after) {
    EXPECT_EQ(budget_.used_bytes(), layer_->map().memory_bytes()) << after;
  };
  const std::string text(50'000, 'x');

  layer_->write(0, bytes_of(text));
  expect_charged("write");
  EXPECT_GE(budget_.used_bytes(), text.size());
  layer_->write(60'000, bytes_of(text));
  expect_charged("a write behind a gap");
  layer_->punch(10'000, 20'000);
  expect_charged("punch");
  layer_->erase(5'000, 10'000);
  expect_charged("erase");
  layer_->truncate(70'000);
  expect_charged("truncate");
  layer_->keep(part(50'000, text), 80'000);
  expect_charged("keep");
  layer_->clear();
  EXPECT_EQ(budget_.used_bytes(), 0U);

  layer_->write(0, bytes_of(text));
  layer_.reset();
  EXPECT_EQ(budget_.used_bytes(), 0U);
}

TEST_F(DirtyLayerTest, WhatIsKeptGoesBelowWhatWasWrittenSince) {
  layer_->write(3, bytes_of("NEW"));
  layer_->punch(8, 2);

  layer_->keep(part(1, "abcdefghijklmnop"), 13);

  EXPECT_EQ(picture(), ".abNEWfg__jkl") << "and not behind the end of the file";
}

TEST_F(DirtyLayerTest, AHoleThatIsKeptStaysAHole) {
  layer_->write(2, bytes_of("NEW"));

  layer_->keep({.offset = 0, .length = 8, .bytes = {}}, 100);

  EXPECT_EQ(picture(), "__NEW___");
}

TEST_F(DirtyLayerTest, NothingIsKeptBehindTheEnd) {
  layer_->keep(part(10, "text"), 10);
  layer_->keep(part(10, "text"), 3);

  EXPECT_TRUE(layer_->map().empty());
}

TEST_F(DirtyLayerTest, WhatIsUnderHolesAddsUpUntilNothingWaits) {
  for (const auto& empty :
       {std::function<void()>([this] { layer_->truncate(0); }), std::function<void()>([this] { layer_->clear(); }),
        std::function<void()>([this] { layer_->erase(0, 300); })}) {
    layer_->punch(0, 100);
    layer_->note_punched(100);
    layer_->punch(200, 20);
    layer_->note_punched(20);
    EXPECT_EQ(layer_->punched_bytes(), 120U);
    empty();
    EXPECT_EQ(layer_->punched_bytes(), 0U);
  }
}

}  // namespace
}  // namespace dedupfs
