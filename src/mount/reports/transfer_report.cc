#include "mount/reports/transfer_report.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/printable.h"
#include "base/size.h"
#include "json/document.h"

namespace dedupfs {

nlohmann::json sent_json(const transfer::SendTotals& totals) {
  return {{"stream_bytes", totals.stream_bytes},
          {"content_bytes", totals.content_bytes},
          {"new_bytes", totals.new_bytes},
          {"delta_bytes", totals.delta_bytes},
          {"copied_bytes", totals.copied_bytes},
          {"names", totals.names},
          {"inodes", totals.inodes}};
}

nlohmann::json received_json(const transfer::ReceiveTotals& totals) {
  return {{"snapshot_name", totals.snapshot_name},
          {"stream_bytes", totals.stream_bytes},
          {"content_bytes", totals.content_bytes},
          {"names", totals.names},
          {"inodes", totals.inodes}};
}

nlohmann::json token_json(const std::optional<transfer::ReceivedState>& state) {
  nlohmann::json json{{"token", nullptr}};
  if (state && !state->has_snapshot) json["token"] = state->token().text();
  return json;
}

std::string sent_screen(const nlohmann::json& json) {
  const auto count = [&](const char* key) { return json.at(key).get<std::uint64_t>(); };
  return fmt::format("{} for {} names and {} inodes: {} of new content, {} by deltas, {} that the receiver has\n",
                     human_size(count("stream_bytes")), count("names"), count("inodes"), human_size(count("new_bytes")),
                     human_size(count("delta_bytes")), human_size(count("copied_bytes")));
}

std::string received_screen(const nlohmann::json& json) {
  const auto count = [&](const char* key) { return json.at(key).get<std::uint64_t>(); };
  return fmt::format("received snapshot {}: {} names and {} inodes from {}\n",
                     printable(json.at("snapshot_name").get<std::string>()), count("names"), count("inodes"),
                     human_size(count("stream_bytes")));
}

}  // namespace dedupfs
