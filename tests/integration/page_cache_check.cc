// Changes a file in every way there is while others read it, and looks after each change for bytes that are older than it.
// Prints PASS or FAIL and the name of each way.
//
// Usage: page-cache-check FOLDER [ROUNDS]
//
// A file is read all the time by a thread, through a mapping, and by another process that opens it anew each time. After
// each change it is read by a descriptor and a mapping that were there before, by a new descriptor, with O_DIRECT and by
// another process; and once more in the end, when everything was closed. Kernel interfaces only, no library for them.
#include <fcntl.h>
#include <linux/aio_abi.h>
#include <linux/falloc.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

namespace {

constexpr std::size_t kBytes = 640 * 1024;
constexpr std::size_t kEdge = 1000;  // what is not aligned starts and ends this far within the file
constexpr std::size_t kInner = kBytes - 2 * kEdge;

[[noreturn]] void die(const std::string& what) {
  std::fprintf(stderr, "page-cache-check: %s: %s\n", what.c_str(), std::strerror(errno));
  std::_Exit(2);
}

template <class T>
T need(T result, const char* what) {
  if (result < 0) die(what);
  return result;
}

class Descriptor {
 public:
  Descriptor(const std::string& path, int flags) : number_(need(::open(path.c_str(), flags, 0644), path.c_str())) {}
  ~Descriptor() { ::close(number_); }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int get() const { return number_; }

 private:
  int number_;
};

// Memory that processes share, and a file mapped.
class Mapping {
 public:
  Mapping(int fd, int protection, int flags) : bytes_(::mmap(nullptr, kBytes, protection, flags, fd, 0)) {
    if (bytes_ == MAP_FAILED) die("mmap");
  }
  ~Mapping() { ::munmap(bytes_, kBytes); }
  Mapping(const Mapping&) = delete;
  Mapping& operator=(const Mapping&) = delete;
  char* bytes() const { return static_cast<char*>(bytes_); }

 private:
  void* bytes_;
};

Mapping shared_memory() {
  return {-1, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS};
}

void write_at(int fd, const char* bytes, std::size_t size, std::size_t offset) {
  if (::pwrite(fd, bytes, size, static_cast<off_t>(offset)) != static_cast<ssize_t>(size)) die("pwrite");
}

// What the file has now, and 0xff where it is shorter.
const char* read_all(int fd) {
  static thread_local const Mapping buffer(-1, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS);  // aligned
  std::memset(buffer.bytes(), 0xff, kBytes);
  need(::pread(fd, buffer.bytes(), kBytes, 0), "pread");
  return buffer.bytes();
}

bool reads_as(int fd, const char* expected) {
  return std::memcmp(read_all(fd), expected, kBytes) == 0;
}

// Asynchronous writes of the kernel (libaio's, without the library), in `pieces` at once.
class AsyncWriter {
 public:
  AsyncWriter() { need(::syscall(SYS_io_setup, kMax, &context_), "io_setup"); }
  ~AsyncWriter() { ::syscall(SYS_io_destroy, context_); }
  AsyncWriter(const AsyncWriter&) = delete;
  AsyncWriter& operator=(const AsyncWriter&) = delete;

  void write(int fd, const char* bytes, std::size_t pieces) const {
    const std::size_t size = kBytes / pieces;
    std::vector<iocb> blocks(pieces);
    std::vector<iocb*> list;
    for (std::size_t i = 0; i < pieces; ++i) {
      blocks[i].aio_lio_opcode = IOCB_CMD_PWRITE;
      blocks[i].aio_fildes = static_cast<std::uint32_t>(fd);
      blocks[i].aio_buf = reinterpret_cast<std::uint64_t>(bytes + i * size);
      blocks[i].aio_nbytes = size;
      blocks[i].aio_offset = static_cast<std::int64_t>(i * size);
      list.push_back(&blocks[i]);
    }
    if (::syscall(SYS_io_submit, context_, pieces, list.data()) != static_cast<long>(pieces)) die("io_submit");
    std::vector<io_event> events(pieces);
    if (::syscall(SYS_io_getevents, context_, pieces, pieces, events.data(), nullptr) != static_cast<long>(pieces))
      die("io_getevents");
    for (const io_event& event : events) {
      if (event.res != static_cast<std::int64_t>(size)) die("an asynchronous write");
    }
  }

 private:
  static constexpr unsigned kMax = 16;
  aio_context_t context_ = 0;
};

// The file under test and what it must read as.
struct Subject {
  const std::string path;
  const Mapping expected = shared_memory();
  Descriptor fd;  // of the way under test

  Subject(std::string where, int flags) : path(std::move(where)), fd(path, flags) {}

  const char* at(std::size_t offset) const { return expected.bytes() + offset; }
  void expect(char pattern, std::size_t offset, std::size_t size) const {
    std::memset(expected.bytes() + offset, pattern, size);
  }
  // Something that the change under test must put away.
  void fill(char pattern) const {
    expect(pattern, 0, kBytes);
    write_at(fd.get(), at(0), kBytes, 0);
  }
};

struct Way {
  const char* name;
  int flags;
  std::function<void(Subject&, char)> change;
  bool shrinks = false;  // a mapping of it would end in SIGBUS
};

void allocate(const Subject& file, int mode) {
  file.fill('x');
  file.expect(0, kEdge, kInner);
  need(::fallocate(file.fd.get(), mode, kEdge, kInner), "fallocate");
}

std::vector<Way> ways() {
  const auto write_inner = [](Subject& file, char pattern) {
    file.expect(pattern, kEdge, kInner);
    write_at(file.fd.get(), file.at(kEdge), kInner, kEdge);
  };
  const auto write_all = [](Subject& file, char pattern) { file.fill(pattern); };
  const auto submit = [](std::size_t pieces) {
    return [pieces, writer = std::make_shared<AsyncWriter>()](Subject& file, char pattern) {
      file.expect(pattern, 0, kBytes);
      writer->write(file.fd.get(), file.at(0), pieces);
    };
  };
  return {
      {"write, O_RDWR", O_RDWR, write_inner},
      {"write, O_WRONLY", O_WRONLY, write_inner},
      {"write, O_RDWR|O_DIRECT", O_RDWR | O_DIRECT, write_all},
      {"write, O_WRONLY|O_DIRECT", O_WRONLY | O_DIRECT, write_all},
      {"io_submit, O_RDWR|O_DIRECT", O_RDWR | O_DIRECT, submit(1)},
      {"io_submit of ten, O_RDWR|O_DIRECT", O_RDWR | O_DIRECT, submit(10)},
      {"io_submit, O_WRONLY|O_DIRECT", O_WRONLY | O_DIRECT, submit(1)},
      {"io_submit, O_DIRECT by fcntl", O_RDWR,
       [now = submit(1)](Subject& file, char pattern) {
         file.fill('x');
         need(::fcntl(file.fd.get(), F_SETFL, O_DIRECT), "F_SETFL");
         now(file, pattern);
         need(::fcntl(file.fd.get(), F_SETFL, 0), "F_SETFL");
       }},
      {"shared mapping, msync", O_RDWR,
       [](Subject& file, char pattern) {
         const Mapping mapping(file.fd.get(), PROT_READ | PROT_WRITE, MAP_SHARED);
         file.expect(pattern, kEdge, kInner);
         std::memset(mapping.bytes() + kEdge, pattern, kInner);
         need(::msync(mapping.bytes(), kBytes, MS_SYNC), "msync");
       }},
      {"copy_file_range", O_RDWR,
       [](Subject& file, char pattern) {
         file.expect(pattern, kEdge, kInner);
         const Descriptor source(file.path + ".source", O_RDWR | O_CREAT);
         write_at(source.get(), file.at(0), kBytes, 0);
         off_t from = kEdge;
         off_t to = kEdge;
         while (to < static_cast<off_t>(kEdge + kInner))
           need(::copy_file_range(source.get(), &from, file.fd.get(), &to,
                                  kEdge + kInner - static_cast<std::size_t>(to), 0),
                "copy_file_range");
       }},
      {"truncate down and up", O_RDWR,
       [](Subject& file, char pattern) {
         file.fill(pattern);
         file.expect(0, kEdge, kBytes - kEdge);
         need(::ftruncate(file.fd.get(), kEdge), "ftruncate");
         need(::ftruncate(file.fd.get(), kBytes), "ftruncate");
       },
       true},
      {"punch a hole", O_RDWR, [](Subject& file, char) { allocate(file, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE); }},
      {"zero a range", O_RDWR, [](Subject& file, char) { allocate(file, FALLOC_FL_ZERO_RANGE); }},
  };
}

// Another process. It reads the file all the time, and says on demand whether it reads as it must.
class OtherProcess {
 public:
  explicit OtherProcess(const Subject& file) {
    int ends[2];
    need(::socketpair(AF_UNIX, SOCK_STREAM, 0, ends), "socketpair");
    process_ = need(::fork(), "fork");
    if (process_ == 0) {
      ::close(ends[0]);
      serve(file, ends[1]);
    }
    ::close(ends[1]);
    socket_ = ends[0];
  }
  ~OtherProcess() {
    ::close(socket_);
    ::waitpid(process_, nullptr, 0);
  }
  OtherProcess(const OtherProcess&) = delete;
  OtherProcess& operator=(const OtherProcess&) = delete;

  bool reads_right() const {
    char answer = 0;
    if (::write(socket_, &answer, 1) != 1 || ::read(socket_, &answer, 1) != 1) die("the other process");
    return answer == 1;
  }

 private:
  [[noreturn]] static void serve(const Subject& file, int socket) {
    for (;;) {
      char question = 0;
      const ssize_t asked = ::recv(socket, &question, 1, MSG_DONTWAIT);
      if (asked == 0) std::_Exit(0);
      const Descriptor now(file.path, O_RDONLY);
      const char right = reads_as(now.get(), file.at(0)) ? 1 : 0;
      if (asked == 1 && ::write(socket, &right, 1) != 1) std::_Exit(1);
    }
  }

  pid_t process_ = -1;
  int socket_ = -1;
};

class Readers {
 public:
  explicit Readers(const Subject& file, bool with_mapping) {
    threads_.emplace_back([&file, this] {
      const Descriptor fd(file.path, O_RDONLY);
      while (!stop_) read_all(fd.get());
    });
    if (!with_mapping) return;
    threads_.emplace_back([&file, this] {
      const Descriptor fd(file.path, O_RDONLY);
      const Mapping mapping(fd.get(), PROT_READ, MAP_SHARED);
      unsigned sum = 0;
      while (!stop_)
        for (std::size_t i = 0; i < kBytes; i += 4096) sum += static_cast<unsigned char>(mapping.bytes()[i]);
      seen_ = sum;
    });
  }
  ~Readers() {
    stop_ = true;
    for (std::thread& thread : threads_) thread.join();
  }
  Readers(const Readers&) = delete;
  Readers& operator=(const Readers&) = delete;

 private:
  std::atomic<bool> stop_{false};
  std::atomic<unsigned> seen_{0};  // what is read through the mapping counts for something
  std::vector<std::thread> threads_;
};

// How often each way of reading gave something old.
std::map<std::string, int> stale_reads(const Way& way, const std::string& path, int rounds) {
  std::map<std::string, int> stale;
  const auto expect = [&stale](const char* reader, bool right) {
    if (!right) ++stale[reader];
  };
  {
    const std::string start(kBytes, 'x');
    const Descriptor writer(path, O_RDWR | O_CREAT | O_TRUNC);
    write_at(writer.get(), start.data(), kBytes, 0);
  }
  Subject file(path, way.flags);
  file.expect('x', 0, kBytes);
  {
    const OtherProcess other(file);
    const Readers readers(file, !way.shrinks);
    const Descriptor kept(path, O_RDONLY);
    const Mapping mapping(kept.get(), PROT_READ, MAP_SHARED);
    for (int round = 0; round < rounds; ++round) {
      way.change(file, static_cast<char>('a' + round % 20));
      expect("an open descriptor", reads_as(kept.get(), file.at(0)));
      expect("a mapping", std::memcmp(mapping.bytes(), file.at(0), kBytes) == 0);
      expect("a new descriptor", reads_as(Descriptor(path, O_RDONLY).get(), file.at(0)));
      expect("O_DIRECT", reads_as(Descriptor(path, O_RDONLY | O_DIRECT).get(), file.at(0)));
      expect("another process", other.reads_right());
    }
  }
  need(::fsync(file.fd.get()), "fsync");
  expect("a new descriptor in the end", reads_as(Descriptor(path, O_RDONLY).get(), file.at(0)));
  return stale;
}

// Where asynchronous writes go on, a write through the cache may leave a page that a reader filled with older bytes meanwhile.
// That happens once in many thousand writes, so what is looked at is whether the page is dropped.
bool buffered_write_beside_asynchronous_ones_drops_its_page(const std::string& path) {
  const Descriptor buffered(path, O_RDWR);
  const Descriptor direct(path, O_RDWR | O_DIRECT);
  const Mapping mapping(buffered.get(), PROT_READ, MAP_SHARED);
  const Mapping bytes = shared_memory();
  AsyncWriter().write(direct.get(), bytes.bytes(), 1);
  write_at(buffered.get(), bytes.bytes(), 4096, 0);
  for (int tries = 0; tries < 5000; ++tries) {
    unsigned char resident = 1;
    need(::mincore(mapping.bytes(), 4096, &resident), "mincore");
    if ((resident & 1) == 0) return true;
    ::usleep(1000);
  }
  return false;
}

void report(const char* name, const std::string& problem) {
  if (problem.empty())
    std::printf("PASS %s\n", name);
  else
    std::printf("FAIL %s: %s\n", name, problem.c_str());
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fprintf(stderr, "usage: page-cache-check FOLDER [ROUNDS]\n");
    return 2;
  }
  const std::string path = std::string(argv[1]) + "/subject";
  const int rounds = argc > 2 ? std::stoi(argv[2]) : 25;
  std::setvbuf(stdout, nullptr, _IOLBF, 0);
  int failures = 0;
  for (const Way& way : ways()) {
    const auto stale = stale_reads(way, path, rounds);
    std::string found;
    for (const auto& [reader, times] : stale)
      found.append(", ").append(std::to_string(times)).append(" by ").append(reader);
    if (!found.empty()) found.insert(0, "stale in " + std::to_string(rounds) + " rounds");
    report(way.name, found);
    failures += !found.empty();
  }
  const bool drops = buffered_write_beside_asynchronous_ones_drops_its_page(path);
  report("write beside asynchronous writes", drops ? "" : "its page stays in the cache");
  return failures == 0 && drops ? 0 : 1;
}
