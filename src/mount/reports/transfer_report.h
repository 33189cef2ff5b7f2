// What was sent and received, as JSON, and as lines for people that are made from that JSON.
//
// Threads: free functions, safe from any thread.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

#include "fs/transfer/receiver.h"
#include "fs/transfer/sender.h"
#include "fs/transfer/stream_header.h"

namespace dedupfs {

// The documented objects of dedupfs-send and dedupfs-receive, without their version.
nlohmann::json sent_json(const transfer::SendTotals& totals);
nlohmann::json received_json(const transfer::ReceiveTotals& totals);

// The document of dedupfs-receive --token. `state`: of the folder.
nlohmann::json token_json(const std::optional<transfer::ReceivedState>& state);

std::string sent_screen(const nlohmann::json& json);
std::string received_screen(const nlohmann::json& json);

}  // namespace dedupfs
