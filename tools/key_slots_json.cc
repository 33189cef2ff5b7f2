#include "key_slots_json.h"

#include <fmt/format.h>

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string_view>

#include "base/printable.h"
#include "base/size.h"

namespace dedupfs::tools {

nlohmann::json key_slots_json(const KeyHeader& header) {
  nlohmann::json slots = nlohmann::json::array();
  for (const KeySlot& slot : header.slots)
    slots.push_back({{"number", slot.number},
                     {"name", slot.name},
                     {"kdf", "argon2id"},
                     {"kdf_memory_bytes", std::uint64_t{slot.kdf.memory_kib} << 10},
                     {"kdf_passes", slot.kdf.passes},
                     {"kdf_lanes", slot.kdf.lanes}});
  return slots;
}

std::string key_slots_screen(const nlohmann::json& slots) {
  std::string text = fmt::format("{:>4}  {:>10}  {}\n", "slot", "memory", "name");
  for (const nlohmann::json& slot : slots)
    text += fmt::format("{:>4}  {:>10}  {}\n", slot.at("number").get<std::uint32_t>(),
                        human_size(slot.at("kdf_memory_bytes").get<std::uint64_t>()),
                        printable(slot.at("name").get<std::string>()));
  return text;
}

nlohmann::json former_keys_json(const KeyHeader& header) {
  nlohmann::json numbers = nlohmann::json::array();
  for (const FormerKey& former : header.former_keys) numbers.push_back(former.number);
  return numbers;
}

std::string master_key_text(const nlohmann::json& shown) {
  std::string text = fmt::format("Master key {}", shown.at("key_number").get<std::uint32_t>());
  std::string_view separator = "; files are still under former ones: ";
  for (const nlohmann::json& number : shown.at("former_keys")) {
    text += fmt::format("{}{}", separator, number.get<std::uint32_t>());
    separator = ", ";
  }
  return text;
}

}  // namespace dedupfs::tools
