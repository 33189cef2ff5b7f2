#include "mount/clients/job_status.h"

#include "mount/clients/ask_publicly.h"
#include "mount/control/control_answer.h"
#include "mount/control/control_jobs.h"
#include "mount/control/control_socket.h"

namespace dedupfs {

Result<nlohmann::json> job_status(const Path& path, const Path& volume, const std::string& job) {
  auto answer = ask_job(volume, job, {{"action", "status"}});
  if (answer) return answer;
  const auto health = ask_publicly_instead(answer.error(), path, "dedupfs.health");
  if (!health) return answer.error();
  DEDUPFS_ASSIGN(nlohmann::json status, read_answer([&] { return health->json.at(job); }));
  if (status.is_null()) return answer.error();  // a mount that only reads has no such job
  return status;
}

}  // namespace dedupfs
