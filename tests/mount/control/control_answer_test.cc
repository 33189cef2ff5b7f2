#include "mount/control/control_answer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <new>

#include "stream_ends.h"

namespace dedupfs {
namespace {

using ::testing::HasSubstr;
using Json = nlohmann::json;

TEST(ControlAnswer, WhatOneEndWritesTheOtherOneReads) {
  Wire wire;
  wire.give(answer_line(Json{{"name", "x"}}) + answer_line(Error{ErrorCode::kNoSpace, "the disk is full"}));

  const auto answer = receive_answer(wire.connection, no_more);
  const auto error = receive_answer(wire.connection, no_more);

  ASSERT_TRUE(answer);
  EXPECT_EQ(*answer, (Json{{"name", "x"}}));
  ASSERT_FALSE(error);
  EXPECT_EQ(error.error().message(), "the disk is full");
}

TEST(ControlAnswer, WhatFollowsTheLineStaysThere) {
  Wire wire;
  wire.give(answer_line(Json::object()) + "data");

  EXPECT_TRUE(receive_answer(wire.connection, no_more));
  EXPECT_EQ(wire.connection.received, "data");
}

TEST(ControlAnswer, WhoHasClosedIsGoneAndWhoSendsNothingMoreIsNot) {
  Wire wire;
  EXPECT_FALSE(is_peer_gone(wire.connection.socket.get()));
  ::shutdown(wire.peer.get(), SHUT_WR);
  EXPECT_FALSE(is_peer_gone(wire.connection.socket.get()));

  wire.peer.reset();

  EXPECT_TRUE(is_peer_gone(wire.connection.socket.get()));
}

TEST(ControlAnswer, ExceptionsOfACommandAreItsErrors) {
  const auto wrong = guarded_answer([]() -> Result<Json> { return Json::object().at("missing"); });
  const auto memory = guarded_answer([]() -> Result<Json> { throw std::bad_alloc(); });

  EXPECT_EQ(wrong.error().code(), ErrorCode::kInvalidArgument);
  EXPECT_THAT(wrong.error().message(), HasSubstr("missing"));
  EXPECT_EQ(memory.error().code(), ErrorCode::kNoMemory);
}

}  // namespace
}  // namespace dedupfs
