#include "mount/control/control_jobs.h"

#include <thread>

#include "mount/control/control_socket.h"

namespace dedupfs {

Result<nlohmann::json> ask_job(const Path& volume, const std::string& job, nlohmann::json request) {
  request["command"] = job;
  DEDUPFS_ASSIGN(const nlohmann::json response, control_request(volume, request));
  return read_answer([&] { return response.at(job); });
}

// The daemon answers one request at a time, so waiting is done here.
Result<nlohmann::json> await_job(const Path& volume, const std::string& job,
                                 const std::function<bool(const nlohmann::json&)>& goes_on) {
  for (;;) {
    DEDUPFS_ASSIGN(const nlohmann::json status, ask_job(volume, job, {{"action", "status"}}));
    DEDUPFS_ASSIGN(const bool running, read_answer([&] { return status.at("running").get<bool>(); }));
    if (!running || (goes_on && !goes_on(status))) return status;
    std::this_thread::sleep_for(kJobLookInterval);
  }
}

}  // namespace dedupfs
