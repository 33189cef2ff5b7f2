#include "bench/input.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <memory>
#include <optional>
#include <set>
#include <utility>

#include "base/size.h"
#include "base/unique_fd.h"

namespace dedupfs::bench {
namespace {

namespace stdfs = std::filesystem;

constexpr std::size_t kHugePageBytes = 2 << 20;

// The kernel's estimate of the memory that new programs can have without swapping.
std::optional<std::uint64_t> available_memory() {
  std::ifstream meminfo("/proc/meminfo");
  std::string key, unit;
  std::uint64_t kib = 0;
  while (meminfo >> key >> kib) {
    if (key == "MemAvailable:") return kib * 1024;
    std::getline(meminfo, unit);
  }
  return std::nullopt;
}

std::string short_name_of(std::string_view name, InputPlan::Kind kind) {
  std::string text(name);
  if (kind == InputPlan::Kind::kFiles) {
    const stdfs::path path = stdfs::path(name).lexically_normal();
    text = (path.has_filename() ? path.filename() : path.parent_path().filename()).string();
  }
  const auto is_plain = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' || c == '_';
  };
  std::replace_if(
      text.begin(), text.end(), [&](char c) { return !is_plain(c); }, '-');
  return text.empty() || text == "." || text == ".." ? "data" : text;
}

Result<InputPlan> generated(std::string_view text, InputPlan::Kind kind, std::string_view size) {
  const auto bytes = parse_size(size);
  if (!bytes) return bytes.error().with(fmt::format("input '{}'", text));
  return InputPlan{.name = std::string(text), .kind = kind, .bytes = *bytes, .files = {}, .short_name = {}};
}

Result<InputPlan> from_files(std::string_view text) {
  InputPlan plan{.name = std::string(text), .kind = InputPlan::Kind::kFiles, .files = {}, .short_name = {}};
  const stdfs::path path(text);
  const auto add = [&](const stdfs::path& file, std::uint64_t bytes) {
    if (bytes == 0) return;
    plan.files.push_back({file, bytes});
    plan.bytes += bytes;
  };

  std::error_code error;
  const stdfs::file_status status = stdfs::status(path, error);
  if (error) return Error::from_errno(error.value(), fmt::format("input '{}'", text));
  if (stdfs::is_regular_file(status)) {
    const std::uint64_t bytes = stdfs::file_size(path, error);
    if (error) return Error::from_errno(error.value(), path.string());
    add(path, bytes);
  } else if (stdfs::is_directory(status)) {
    for (stdfs::recursive_directory_iterator entry(path, error), end; !error && entry != end; entry.increment(error)) {
      const bool is_file = !entry->is_symlink(error) && !error && entry->is_regular_file(error);
      if (error) break;  // the next step would clear it
      if (!is_file) continue;
      const std::uint64_t bytes = entry->file_size(error);
      if (error) break;
      add(entry->path(), bytes);
    }
    if (error) return Error::from_errno(error.value(), fmt::format("reading folder '{}'", text));
    std::sort(plan.files.begin(), plan.files.end(), [](const auto& a, const auto& b) { return a.path < b.path; });
  } else {
    return invalid_argument(fmt::format("input '{}' is neither a regular file nor a folder", text));
  }
  return plan;
}

Result<void> read_file(const InputPlan::File& file, MutableByteSpan into) {
  const UniqueFd fd(::open(file.path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd) return Error::from_errno(errno, file.path.string());
  while (!into.empty()) {
    const ssize_t got = ::read(fd.get(), into.data(), into.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return Error::from_errno(errno, file.path.string());
    if (got == 0) return Error{ErrorCode::kIo, file.path.string() + " was truncated while it was read"};
    into = into.subspan(static_cast<std::size_t>(got));
  }
  return {};
}

void fill_random(MutableByteSpan bytes) {
  std::uint64_t x = 0x9E3779B97F4A7C15;
  for (std::size_t i = 0; i < bytes.size(); i += 8) {
    x ^= x >> 12;
    x ^= x << 25;
    x ^= x >> 27;
    const std::uint64_t word = x * 0x2545F4914F6CDD1D;
    for (std::size_t k = 0; k < std::min<std::size_t>(8, bytes.size() - i); ++k)
      bytes[i + k] = static_cast<std::uint8_t>(word >> (8 * k));
  }
}

}  // namespace

Result<HugeBuffer> HugeBuffer::create(std::size_t bytes) {
  // One page more than needed: the mapping may begin anywhere.
  const std::size_t mapped = (bytes + kHugePageBytes - 1) / kHugePageBytes * kHugePageBytes + kHugePageBytes;
  void* const mapping = ::mmap(nullptr, mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapping == MAP_FAILED) return Error::from_errno(errno, fmt::format("{} of memory", human_size(bytes)));
  void* aligned = mapping;
  std::size_t space = mapped;
  std::align(kHugePageBytes, mapped - kHugePageBytes, aligned, space);
  ::madvise(aligned, mapped - kHugePageBytes, MADV_HUGEPAGE);  // an advice: a failure only makes the run slower
  return HugeBuffer({static_cast<std::uint8_t*>(mapping), mapped}, {static_cast<std::uint8_t*>(aligned), bytes});
}

HugeBuffer::HugeBuffer(HugeBuffer&& other) noexcept
    : mapping_(std::exchange(other.mapping_, {})), bytes_(std::exchange(other.bytes_, {})) {}

HugeBuffer::~HugeBuffer() {
  if (!mapping_.empty()) ::munmap(mapping_.data(), mapping_.size());
}

void give_distinct_short_names(std::vector<InputPlan>& plans) {
  std::set<std::string> taken;
  for (InputPlan& plan : plans) {
    std::string name = plan.short_name;
    for (int n = 2; !taken.insert(name).second; ++n) name = fmt::format("{}-{}", plan.short_name, n);
    plan.short_name = name;
  }
}

Result<InputPlan> plan_input(std::string_view text) {
  constexpr std::string_view kRandom = "random:";
  constexpr std::string_view kZeros = "zeros:";
  for (const std::string_view prefix : {kRandom, kZeros})
    if (text == prefix || text == prefix.substr(0, prefix.size() - 1))
      if (std::error_code error; !stdfs::exists(text, error))
        return invalid_argument(fmt::format("input '{}' needs a size, such as {}64m", text, prefix));

  auto plan = text.starts_with(kRandom)  ? generated(text, InputPlan::Kind::kRandom, text.substr(kRandom.size()))
              : text.starts_with(kZeros) ? generated(text, InputPlan::Kind::kZeros, text.substr(kZeros.size()))
                                         : from_files(text);
  if (!plan) return plan;
  plan->short_name = short_name_of(text, plan->kind);
  if (plan->bytes == 0) return invalid_argument(fmt::format("input '{}' is empty", text));
  if (const auto memory = available_memory(); memory && plan->bytes > *memory)
    return Error{ErrorCode::kNoMemory,
                 fmt::format("input '{}' has {}, which must fit into memory, but only {} are available", text,
                             human_size(plan->bytes), human_size(*memory))};
  return plan;
}

Result<std::vector<InputPlan>> plan_inputs(const std::vector<std::string>& names) {
  std::vector<InputPlan> plans;
  for (const std::string& name : names) {
    DEDUPFS_ASSIGN(auto plan, plan_input(name));
    plans.push_back(std::move(plan));
  }
  give_distinct_short_names(plans);
  return plans;
}

Result<Input> load_input(const InputPlan& plan) {
  DEDUPFS_ASSIGN(HugeBuffer memory, HugeBuffer::create(plan.bytes));
  const MutableByteSpan bytes = memory.bytes();
  Input input{plan.name, plan.short_name, std::move(memory), bytes, {}};
  std::size_t at = 0;
  for (const InputPlan::File& file : plan.files) {
    DEDUPFS_TRY(read_file(file, bytes.subspan(at, file.bytes)));
    input.files.push_back(input.bytes.subspan(at, file.bytes));
    at += file.bytes;
  }
  if (plan.kind == InputPlan::Kind::kRandom) fill_random(bytes);
  if (plan.kind == InputPlan::Kind::kZeros)
    std::memset(bytes.data(), 0, bytes.size());  // makes the kernel provide the memory
  if (plan.files.empty()) input.files.push_back(input.bytes);
  return input;
}

}  // namespace dedupfs::bench
