// The history of a volume as JSON, as CSV and as lines for people.
//
// Threads: free functions, safe from any thread.
// Failure: history_of() throws nlohmann::json exceptions for an array that history_json() did not make.
#pragma once

#include <cstddef>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "fs/format/history_records.h"

namespace dedupfs {

using History = std::vector<HistorySample>;  // in order of time

// The array "samples" of dedupfs-stat --history --json. What a sample does not have is null.
nlohmann::json history_json(const History& history);
// The array may come from the daemon of another user: the result is in order, and its times are those of the calendar.
History history_of(const nlohmann::json& samples);

// With a line of names; what a sample does not have is empty.
std::string history_csv(const History& history);
// A table, and below it how fast the volume grows.
std::string history_screen(const History& history);

// At most so many of the samples, evenly spread, with the first and the last. `most` is two at least.
History thinned(const History& history, std::size_t most);

}  // namespace dedupfs
