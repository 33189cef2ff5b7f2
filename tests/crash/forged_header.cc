#include "crash/forged_header.h"

#include <array>
#include <nlohmann/json.hpp>

#include "store/format/checked_json.h"

namespace dedupfs {
namespace {

using Json = nlohmann::ordered_json;

struct Forgery {
  std::string_view what;
  void (*make)(Json& header);
};

Json& first_slot(Json& header) {
  return header["key_slots"][0];
}

constexpr std::array<Forgery, kForgedHeaders> kForgeries = {{
    {"another cipher",
     [](Json& header) { header["cipher"] = header["cipher"] == "aes-256-gcm" ? "chacha20-poly1305" : "aes-256-gcm"; }},
    {"the next master key", [](Json& header) { header["key_number"] = header["key_number"].get<int>() + 1; }},
    {"a former key",
     [](Json& header) {
       header["key_number"] = 7;
       header["former_keys"].push_back(
           {{"number", 1}, {"salt", first_slot(header)["salt"]}, {"key", first_slot(header)["key"]}});
     }},
    {"a slot twice", [](Json& header) { header["key_slots"].push_back(Json(first_slot(header))); }},
    {"another number of a slot", [](Json& header) { first_slot(header)["number"] = 5; }},
    {"another name of a slot", [](Json& header) { first_slot(header)["name"] = "mine"; }},
    {"a slot with more passes", [](Json& header) { first_slot(header)["passes"] = 2; }},
    {"a slot with more memory", [](Json& header) { first_slot(header)["memory_kib"] = 16 << 10; }},
    {"another salt", [](Json& header) { first_slot(header)["salt"] = header["mac"]; }},
    {"another check", [](Json& header) { first_slot(header)["check"] = header["mac"]; }},
    {"another sealed key", [](Json& header) { first_slot(header)["key"] = std::string(96, '0'); }},
    {"another MAC", [](Json& header) { header["mac"] = std::string(64, 'a'); }},
    {"another uuid", [](Json& header) { header["uuid"] = "01234567-89ab-4cde-8f01-23456789abcd"; }},
    {"no encryption", [](Json& header) { header["incompatible_features"] = Json::array(); }},
    {"a feature", [](Json& header) { header["read_only_features"].push_back("newer"); }},
    {"no slots", [](Json& header) { header["key_slots"] = Json::array(); }},
}};

}  // namespace

ForgedHeader forged_header(const std::string& good, std::size_t which) {
  Json header = Json::parse(good);
  header.erase("checksum");
  kForgeries[which].make(header);
  return {.what = kForgeries[which].what, .text = encode_checked_json(header)};
}

}  // namespace dedupfs
