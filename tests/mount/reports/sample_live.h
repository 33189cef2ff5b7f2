// Answers of a daemon to "live", for the tests of what is made from them.
#pragma once

#include <chrono>
#include <nlohmann/json.hpp>

#include "mount/reports/live_report.h"
#include "mount/reports/performance_report.h"
#include "mount/reports/reclaim_report.h"
#include "mount/reports/scrub_report.h"

namespace dedupfs {

// What a daemon has counted.
struct SampleLive {
  RequestMeter reads, writes, syncs;
  WorkMeter cut, delta, compress, move, room;
  CacheMeter inodes;
  std::uint64_t unstored_bytes = 0;

  nlohmann::json after(std::chrono::milliseconds since_mount) const {
    const MeterReadings readings{
        .requests = {{"read", reads.read()}, {"write", writes.read()}, {"fsync", syncs.read()}},
        .stages = {{"cut", cut.read()}, {"delta", delta.read()}, {"compress", compress.read()}, {"move", move.read()}},
        .waits = {{"unstored_data", room.read()}},
        .caches = {{"inodes", inodes.read()}},
        .queues = {{"unstored_bytes", unstored_bytes}}};
    return {{"performance", performance_json(readings, since_mount)},
            {"scrub", scrub_json({})},
            {"reclaim", reclaim_json(ReclaimStatus())},
            {"jobs", nlohmann::json::array()}};
  }
};

}  // namespace dedupfs
