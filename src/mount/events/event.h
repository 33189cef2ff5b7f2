// Something that happened to a mounted volume, for people and for programs.
//
// Threads: values.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace dedupfs {

struct Event {
  std::string name;  // "damage_found", of event_watch.h
  std::string volume;
  std::string mountpoint;
  std::string message;   // one line for people
  nlohmann::json facts;  // what the daemon said of it: an object, or null
};

}  // namespace dedupfs
