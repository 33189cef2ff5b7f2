// The rates of a mount as dedupfs-top shows them: lines for a terminal, without the codes that move its cursor.
//
// Threads: free functions, safe from any thread.
// Failure: an object that live_rates() did not make throws nlohmann::json exceptions.
#pragma once

#include <cstddef>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

namespace dedupfs {

struct LiveScreenStyle {
  std::size_t columns = 80;  // no line is longer
  std::size_t lines = 0;     // nor are there more lines; 0: as many as there are
  bool has_color = false;
};

std::string live_screen(const nlohmann::json& rates, std::string_view mountpoint, const LiveScreenStyle& style);

}  // namespace dedupfs
