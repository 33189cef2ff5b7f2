#include "mount/clients/job_status.h"

#include "mount/clients/ask_publicly.h"
#include "mount/control/control_answer.h"
#include "mount/control/control_jobs.h"
#include "mount/control/control_socket.h"

namespace dedupfs {

Result<nlohmann::json> job_status(const Path& path, const Path& volume, const std::string& job) {
  auto answer = ask_job(volume, job, {{"action", "status"}});
  if (answer || answer.error().code() != ErrorCode::kAccessDenied) return answer;
  const auto health = ask_publicly(path, "dedupfs.health");
  if (!health) return answer.error();
  return read_answer([&] { return health->json.at(job); });
}

}  // namespace dedupfs
