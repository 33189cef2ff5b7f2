// The cut points in tests/golden/chunkers/cuts.json, on every instruction set, whole and in pieces.
#include <gtest/gtest.h>

#include <cstdio>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>

#include "chunkers/registry.h"
#include "plain_crypto.h"
#include "test_data.h"

namespace dedupfs {
namespace {

const nlohmann::json& golden() {
  static const nlohmann::json kGolden =
      nlohmann::json::parse(std::ifstream(std::string(DEDUPFS_GOLDEN_DIR) + "/chunkers/cuts.json"));
  return kGolden;
}

ByteBuffer xorshift64star(std::size_t n) {
  ByteBuffer bytes;
  std::uint64_t x = 0x9E3779B97F4A7C15;
  while (bytes.size() < n) {
    x ^= x >> 12;
    x ^= x << 25;
    x ^= x >> 27;
    const std::uint64_t word = x * 0x2545F4914F6CDD1D;
    for (int shift = 0; shift < 64; shift += 8) bytes.push_back(static_cast<std::uint8_t>(word >> shift));
  }
  return bytes;
}

ByteBuffer aes_ctr(std::size_t n) {
  const Aes128 aes;
  ByteBuffer bytes;
  for (std::uint64_t counter = 0; bytes.size() < n; ++counter)
    for (const std::uint32_t word : aes.block(counter))
      for (int shift = 24; shift >= 0; shift -= 8) bytes.push_back(static_cast<std::uint8_t>(word >> shift));
  return bytes;
}

ByteBuffer text(std::size_t n) {
  ByteBuffer bytes;
  for (int i = 0; bytes.size() < n; ++i) {
    char line[128];
    const int length =
        std::snprintf(line, sizeof line,
                      "line %08d of the golden low-entropy input: the quick brown fox jumps over the lazy dog\n", i);
    bytes.insert(bytes.end(), line, line + length);
  }
  bytes.resize(n);
  return bytes;
}

ByteBuffer generate(const std::string& name, std::size_t n) {
  if (name == "xs64") return xorshift64star(n);
  if (name == "aesctr") return aes_ctr(n);
  if (name == "text") return text(n);
  ByteBuffer bytes(n);
  if (name == "ramp")
    for (std::size_t i = 0; i < n; ++i) bytes[i] = static_cast<std::uint8_t>(i);
  return bytes;
}

const ByteBuffer& input(const std::string& name) {
  static std::map<std::string, ByteBuffer> made;
  auto& bytes = made[name];
  if (bytes.empty()) bytes = generate(name, golden()["inputs"][name]["bytes"]);
  return bytes;
}

std::vector<std::string> keys_of(const nlohmann::json& object) {
  std::vector<std::string> keys;
  for (const auto& item : object.items()) keys.push_back(item.key());
  return keys;
}

class GoldenInput : public testing::TestWithParam<std::string> {};

TEST_P(GoldenInput, IsGeneratedAsDescribed) {
  const ByteBuffer& bytes = input(GetParam());

  EXPECT_EQ(Sha256::hex(bytes), golden()["inputs"][GetParam()]["sha256"].get<std::string>());
}

INSTANTIATE_TEST_SUITE_P(Inputs, GoldenInput, testing::ValuesIn(keys_of(golden()["inputs"])),
                         [](const auto& test) { return test.param; });

class GoldenCuts : public testing::TestWithParam<std::tuple<std::string, std::string, Isa>> {
 protected:
  GoldenCuts()
      : data_(input(std::get<1>(GetParam()))),
        expected_(golden()["lists"][std::get<0>(GetParam())][std::get<1>(GetParam())]),
        chunker_(
            *make_chunker(golden()["specs"][std::get<0>(GetParam())].get<std::string>(), std::get<2>(GetParam()))) {}

  void expect_golden(const Ends& ends) const {
    const Ends first20 = expected_["first20"];
    EXPECT_EQ(Ends(ends.begin(), ends.begin() + static_cast<std::ptrdiff_t>(std::min<std::size_t>(ends.size(), 20))),
              first20);
    EXPECT_EQ(ends.size(), expected_["chunks"]);
    ByteBuffer encoded;
    for (const std::uint64_t end : ends)
      for (int shift = 0; shift < 64; shift += 8) encoded.push_back(static_cast<std::uint8_t>(end >> shift));
    EXPECT_EQ(Sha256::hex(encoded), expected_["sha256"].get<std::string>());
  }

  const ByteBuffer& data_;
  const nlohmann::json& expected_;
  std::unique_ptr<Chunker> chunker_;
};

TEST_P(GoldenCuts, WholeInput) {
  expect_golden(cuts(*chunker_, data_));
}

TEST_P(GoldenCuts, InputInPieces) {
  expect_golden(
      cuts_in_pieces(*chunker_, data_, [](std::size_t rest) { return std::min<std::size_t>(rest, 1'000'003); }));
}

std::string test_name(const testing::TestParamInfo<std::tuple<std::string, std::string, Isa>>& test) {
  const auto& [list, name, isa] = test.param;
  return identifier(list + "_" + name + "_" + std::string(name_of(isa)));
}

INSTANTIATE_TEST_SUITE_P(Lists, GoldenCuts,
                         testing::Combine(testing::ValuesIn(keys_of(golden()["specs"])),
                                          testing::ValuesIn(keys_of(golden()["inputs"])),
                                          testing::ValuesIn(available_isas())),
                         test_name);

}  // namespace
}  // namespace dedupfs
