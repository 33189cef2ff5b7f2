// Hostile volumes, one for each seed, and what becomes of those who use them. docs/testing.md, "Hostile volumes".
//
// Each volume has a process of its own, so that one that aborts, hangs or takes too much memory is a finding and the run goes on. Exit
// status: 0 without findings.
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <csignal>
#include <fstream>
#include <iostream>
#include <iterator>
#include <map>
#include <thread>

#include "hostile/exercise.h"
#include "hostile/mutations.h"
#include "hostile/sample_volume.h"
#include "support/sanitized.h"

namespace dedupfs {
namespace {

using Path = std::filesystem::path;
using Clock = std::chrono::steady_clock;

constexpr int kFoundStatus = 3;
constexpr std::uint64_t kMaxMemoryBytes = 512 << 20;
constexpr std::uint64_t kMaxAddressSpaceBytes = std::uint64_t{8} << 30;  // so that the machine lives on
constexpr std::uint64_t kMaxLogBytes = 64 << 20;
constexpr std::chrono::seconds kMax{60};
constexpr int kSanitizersAreSlower = 5;

struct Options {
  std::uint64_t first = 1;
  std::uint64_t count = 200;
  std::string kinds = "records,containers,checkpoints,superblock,folder";
  std::string work;
  std::string only_make;  // a folder: make the volume of the first seed there and stop
  bool keep = false;
};

std::vector<HostileKind> kinds_of(const std::string& names) {
  const std::map<std::string, HostileKind> known = {
      {"records", HostileKind::kRecords},         {"containers", HostileKind::kContainers},
      {"checkpoints", HostileKind::kCheckpoints}, {"superblock", HostileKind::kSuperblock},
      {"folder", HostileKind::kFolder},           {"tables", HostileKind::kTables}};
  std::vector<HostileKind> kinds;
  for (const std::string& name : CLI::detail::split(names, ',')) kinds.push_back(known.at(name));
  return kinds;
}

// Names, kinds and content of what nobody may touch.
using Picture = std::map<std::string, std::string>;
Picture picture_of(const Path& folder) {
  Picture files;
  for (const auto& file : std::filesystem::recursive_directory_iterator(folder)) {
    std::ifstream in;
    if (file.is_regular_file()) in.open(file.path(), std::ios::binary);
    struct stat status {};
    ::lstat(file.path().c_str(), &status);
    files[file.path().string()] =
        fmt::format("{:o} {}.{} ", status.st_mode, status.st_mtim.tv_sec, status.st_mtim.tv_nsec) +
        std::string(std::istreambuf_iterator<char>(in), {});
  }
  return files;
}

// The names of which two pictures say different things.
std::string difference_of(const Picture& before, const Picture& after) {
  std::string names;
  for (const auto& [name, file] : before)
    if (const auto now = after.find(name); now == after.end() || now->second != file)
      names += " " + name + (now == after.end() ? " (gone)" : "");
  for (const auto& [name, file] : after)
    if (!before.contains(name)) names += fmt::format(" {} (new)", name);
  return names;
}

void make_outside(const Path& outside) {
  std::filesystem::create_directories(outside / "folder" / "containers");
  std::ofstream(outside / "precious") << "precious";
  for (const char* name :
       {"folder/0000000001.container", "folder/0000000001.checkpoint", "folder/unfinished", "folder/CURRENT",
        "folder/LOCK", "folder/containers/0000000002.container", "folder/000099.sst"})
    std::ofstream(outside / name) << "of somebody else";
}

// Runs `work` in a process of its own, whose output goes to `log`. What became of it, empty if all is well.
template <class Work>
std::string in_child(const Path& log, Work work) {
  std::cout.flush();
  const pid_t child = ::fork();
  if (child == 0) {
    const int file = ::open(log.c_str(), O_CREAT | O_TRUNC | O_WRONLY | O_CLOEXEC, 0600);
    ::dup2(file, STDOUT_FILENO);
    ::dup2(file, STDERR_FILENO);
    const rlimit log_limit{kMaxLogBytes * 16, kMaxLogBytes * 16};  // of any file, so of the volume's, too
    ::setrlimit(RLIMIT_FSIZE, &log_limit);
    ::signal(SIGXFSZ, SIG_IGN);
    const rlimit no_core{0, 0};
    ::setrlimit(RLIMIT_CORE, &no_core);
    const rlimit memory{kMaxAddressSpaceBytes, kMaxAddressSpaceBytes};
    if (!kSanitized) ::setrlimit(RLIMIT_AS, &memory);
    int status = 0;
    try {
      work();
    } catch (const Finding& finding) {
      std::cout << "FINDING " << finding.what() << std::endl;
      status = kFoundStatus;
    } catch (const std::exception& error) {
      std::cout << "FINDING an exception: " << error.what() << std::endl;
      status = kFoundStatus;
    }
    std::cout.flush();
    ::_exit(status);
  }
  const auto deadline = Clock::now() + kMax * (kSanitized ? kSanitizersAreSlower : 1);
  int status = 0;
  rusage used{};
  while (::wait4(child, &status, WNOHANG, &used) == 0) {
    if (Clock::now() > deadline) {
      ::kill(child, SIGABRT);
      std::this_thread::sleep_for(std::chrono::milliseconds(200));
      ::kill(child, SIGKILL);
      ::wait4(child, &status, 0, &used);
      return "it hangs";
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  if (WIFSIGNALED(status)) return fmt::format("killed by signal {}", WTERMSIG(status));
  if (WEXITSTATUS(status) == kFoundStatus) return "a promise is broken";
  if (WEXITSTATUS(status) != 0) return fmt::format("exit status {}", WEXITSTATUS(status));
  const auto bytes = static_cast<std::uint64_t>(used.ru_maxrss) << 10;
  if (!kSanitized && bytes > kMaxMemoryBytes) return fmt::format("it took {} MiB of memory", bytes >> 20);
  if (std::filesystem::file_size(log) > kMaxLogBytes) return "it prints without end";
  return {};
}

// The lines of a log that say most.
std::string essence_of(const Path& log) {
  std::ifstream in(log);
  std::string essence;
  std::string step;
  for (std::string line; std::getline(in, line);) {
    if (line.starts_with("-- ")) step = line;
    for (const char* telling :
         {"FINDING", "check failed", "ERROR: ", "runtime error", "SUMMARY", "    #", "terminate", "what():"})
      if (line.find(telling) != std::string::npos && essence.size() < 3000) {
        essence += "    " + line + "\n";
        break;
      }
  }
  return essence + "    in " + step + "\n";
}

class Run {
 public:
  Run(Options options, Path work)
      : options_(std::move(options)), work_(std::move(work)), kinds_(kinds_of(options_.kinds)) {}

  int run() {
    std::filesystem::create_directories(work_);
    make_outside(work_ / "outside");
    const std::string failed = in_child(work_ / "sample.log", [&] {
      if (!std::filesystem::exists(work_ / "sample")) make_sample_volume(work_ / "sample");  // --keep has kept it
    });
    if (!failed.empty()) {
      std::cerr << "the sample cannot be made: " << failed << ", see " << work_ / "sample.log" << '\n';
      return 2;
    }
    if (!options_.only_make.empty()) return only_make();
    Picture untouched = picture_of(work_ / "outside");
    for (std::uint64_t seed = options_.first; seed < options_.first + options_.count; ++seed) {
      std::string found = try_seed(seed);
      if (const std::string touched = difference_of(untouched, picture_of(work_ / "outside")); !touched.empty()) {
        found += (found.empty() ? "" : "; ") + ("something outside the volume was touched:" + touched);
        std::filesystem::remove_all(work_ / "outside");
        make_outside(work_ / "outside");
        untouched = picture_of(work_ / "outside");
      }
      if (!found.empty()) tell(seed, found);
      if ((seed - options_.first + 1) % 100 == 0) std::cout << "at seed " << seed << std::endl;
    }
    for (const auto& [outcome, times] : outcomes_) std::cout << fmt::format("{:6} {}\n", times, outcome);
    std::cout << fmt::format("seeds {} to {}: {} volumes, {} findings\n", options_.first,
                             options_.first + options_.count - 1, options_.count, findings_);
    return findings_ == 0 ? 0 : 1;
  }

 private:
  Path volume() const { return work_ / "volume"; }

  std::string try_seed(std::uint64_t seed) {
    // The clean-up is the parent's: a child may die.
    std::error_code error;
    std::filesystem::remove_all(volume(), error);
    std::filesystem::copy(work_ / "sample", volume(), std::filesystem::copy_options::recursive);
    std::string found = in_child(work_ / "mutate.log", [&] { mutate(seed); });
    if (!found.empty()) return "the mutation failed: " + found;
    found = in_child(work_ / "log", [&] {
      Random random(seed ^ 0x5eed);
      const std::string outcome =
          exercise(volume(), random, std::ranges::find(kinds_, HostileKind::kTables) != kinds_.end());
      std::cout << "OUTCOME " << outcome << std::endl;
    });
    if (found.empty()) count_outcome();
    return found;
  }

  void mutate(std::uint64_t seed) const {
    Random random(seed);
    for (const std::string& done : mutate_volume(volume(), work_ / "outside", kinds_, random))
      std::cout << done << std::endl;
  }

  void count_outcome() {
    std::ifstream in(work_ / "log");
    for (std::string line; std::getline(in, line);)
      if (line.starts_with("OUTCOME ")) ++outcomes_[line.substr(8)];
  }

  void tell(std::uint64_t seed, const std::string& found) {
    ++findings_;
    std::cout << fmt::format("seed {}: {}\n", seed, found);
    std::ifstream done(work_ / "mutate.log");
    for (std::string line; std::getline(done, line);) std::cout << "    " << line.substr(0, 400) << '\n';
    std::cout << essence_of(work_ / "log") << std::flush;
    if (options_.keep)
      std::filesystem::copy_file(work_ / "log", work_ / fmt::format("log.{}", seed),
                                 std::filesystem::copy_options::overwrite_existing);
  }

  int only_make() {
    std::filesystem::copy(work_ / "sample", volume(), std::filesystem::copy_options::recursive);
    const std::string failed = in_child(work_ / "mutate.log", [&] { mutate(options_.first); });
    std::cout << std::ifstream(work_ / "mutate.log").rdbuf();
    if (!failed.empty()) return 2;
    std::filesystem::rename(volume(), options_.only_make);
    return 0;
  }

  const Options options_;
  const Path work_;
  const std::vector<HostileKind> kinds_;
  std::map<std::string, std::uint64_t> outcomes_;
  std::uint64_t findings_ = 0;
};

}  // namespace
}  // namespace dedupfs

int main(int argc, char** argv) {
  dedupfs::Options options;
  CLI::App app("Makes hostile volumes, one for each seed, and uses, checks and repairs them.");
  app.add_option("--first", options.first, "The first seed.");
  app.add_option("--count", options.count, "How many seeds.");
  app.add_option("--kinds", options.kinds,
                 "What is changed: records, containers, checkpoints, superblock, folder, tables.");
  app.add_option("--work", options.work, "A folder to work in, which is removed; on a disk in memory it is fastest.");
  app.add_option("--only-make", options.only_make,
                 "Make the volume of the first seed at this path, below the same disk, and stop.");
  app.add_flag("--keep", options.keep, "Keep the folder, with the log of each finding.");
  CLI11_PARSE(app, argc, argv);
  if (options.work.empty()) {
    std::string name =
        std::filesystem::is_directory("/dev/shm") ? "/dev/shm/dedupfs-hostile-XXXXXX" : "/tmp/dedupfs-hostile-XXXXXX";
    if (::mkdtemp(name.data()) == nullptr) return 2;
    options.work = name;
  }
  const std::filesystem::path work = options.work;
  const bool keep = options.keep;
  const int status = dedupfs::Run(std::move(options), work).run();
  if (!keep) std::filesystem::remove_all(work);
  return status;
}
