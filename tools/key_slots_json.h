// The key slots and master keys of an encrypted volume, as JSON and as lines for people. They need no key.
//
// Threads: free functions, safe from any thread.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "store/seal/key_header.h"

namespace dedupfs::tools {

nlohmann::json key_slots_json(const KeyHeader& header);
// Of that array.
std::string key_slots_screen(const nlohmann::json& slots);

// The numbers of the former master keys.
nlohmann::json former_keys_json(const KeyHeader& header);
// Of an object with `key_number` and `former_keys`: a line without its end.
std::string master_key_text(const nlohmann::json& shown);

}  // namespace dedupfs::tools
