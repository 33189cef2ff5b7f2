#include "volume_key.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/keyctl.h>
#include <spawn.h>
#include <spdlog/spdlog.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <utility>

#include "base/printable.h"
#include "base/size.h"
#include "base/unique_fd.h"
#include "base/write_all.h"
#include "command/command.h"
#include "console.h"
#include "mount/options/memory_limits.h"
#include "spawn_attributes.h"
#include "store/volume/ownership.h"
#include "store/volume/volume.h"
#include "volume_disk.h"

namespace dedupfs::tools {
namespace {

constexpr std::size_t kMaxPassphraseBytes = 64 << 10;
constexpr const char* kCredential = "dedupfs-key";

// What was read, without a line feed at its end. A byte more than the most shows that it is too long.
Result<Secret> without_end_of_line(Secret secret, std::size_t filled, const std::string& what) {
  if (filled > kMaxPassphraseBytes) return invalid_argument(what + " is longer than 64 KiB");
  if (filled != 0 && secret.bytes()[filled - 1] == '\n') --filled;
  if (filled > 1 && secret.bytes()[filled - 1] == '\r')
    spdlog::warn("{} ends with CR LF, as on Windows: the CR is a part of the passphrase", what);
  if (filled == 0) return invalid_argument(what + " is empty");
  secret.shrink(filled);
  return secret;
}

// Everything up to the end.
Result<Secret> read_secret(int fd, const std::string& what) {
  Secret secret(kMaxPassphraseBytes + 1);
  std::size_t filled = 0;
  while (filled < secret.size()) {
    const ssize_t got = ::read(fd, secret.bytes().data() + filled, secret.size() - filled);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return Error::from_errno(errno, what);
    if (got == 0) break;
    filled += static_cast<std::size_t>(got);
  }
  return without_end_of_line(std::move(secret), filled, what);
}

Result<Secret> read_key_file(const std::string& path) {
  const UniqueFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file) return Error::from_errno(errno, "key file " + path);
  struct stat status {};
  if (::fstat(file.get(), &status) == 0 && S_ISREG(status.st_mode) && (status.st_mode & (S_IRWXG | S_IRWXO)) != 0)
    spdlog::warn("key file {} is open to others: chmod 600 {}", path, path);
  return read_secret(file.get(), "key file " + path);
}

// It inherits the terminal, so it can ask.
Result<Secret> run_passphrase_command(const std::string& command) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return Error::from_errno(errno, "pipe");
  UniqueFd reading(ends[0]);
  UniqueFd writing(ends[1]);
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_adddup2(&actions, writing.get(), STDOUT_FILENO);
  std::string shell = "/bin/sh";
  std::string option = "-c";
  std::string text = command;
  const std::array<char*, 4> arguments = {shell.data(), option.data(), text.data(), nullptr};
  pid_t child = -1;
  SpawnAttributes attributes;
  const int failed = ::posix_spawn(&child, shell.c_str(), &actions, attributes.get(), arguments.data(), environ);
  ::posix_spawn_file_actions_destroy(&actions);
  if (failed != 0) return Error::from_errno(failed, "running the passphrase command");
  writing.reset();
  auto secret = read_secret(reading.get(), "the passphrase that the command printed");
  reading.reset();  // a command that prints more than anybody reads ends, too
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (!secret && WIFSIGNALED(status) && WTERMSIG(status) == SIGPIPE) return secret;
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
    return Error{ErrorCode::kNotPermitted, "the passphrase command failed"};
  return secret;
}

// The number of a key of the type "user", or -1. What is found is linked to the keyring of this process: only what a process possesses
// may be read by it, and a key in the keyring of the user need not be.
long find_in_keyring(const char* name) {
  const long found = ::syscall(SYS_request_key, "user", name, nullptr, KEY_SPEC_PROCESS_KEYRING);
  if (found >= 0 || errno != ENOKEY) return found;
  return ::syscall(SYS_keyctl, KEYCTL_SEARCH, KEY_SPEC_USER_KEYRING, "user", name, KEY_SPEC_PROCESS_KEYRING);
}

Result<Secret> read_keyring(const std::string& name) {
  const std::string what = "key " + name + " in the keyring of the kernel";
  const long key = find_in_keyring(name.c_str());
  if (key < 0 && errno == ENOKEY)
    return Error{
        ErrorCode::kNotFound,
        fmt::format("there is no {} for this session or user: put it there with keyctl padd user {} @u", what, name)};
  if (key < 0) return Error::from_errno(errno, what);
  Secret secret(kMaxPassphraseBytes + 1);
  const long length = ::syscall(SYS_keyctl, KEYCTL_READ, key, secret.bytes().data(), secret.size());
  if (length < 0) return Error::from_errno(errno, what);
  return without_end_of_line(std::move(secret), static_cast<std::size_t>(length), what);
}

volatile std::sig_atomic_t caught_signal = 0;

// No echo as long as it lives. A signal that ends the process does so at its end, when there is an echo again.
class SilentTerminal {
 public:
  explicit SilentTerminal(int fd) : fd_(fd) {
    caught_signal = 0;
    struct sigaction catching {};
    catching.sa_handler = [](int signal) { caught_signal = signal; };  // without SA_RESTART: it interrupts read()
    for (std::size_t i = 0; i < kSignals.size(); ++i) ::sigaction(kSignals[i], &catching, &actions_[i]);
    termios settings{};
    if (::tcgetattr(fd_, &settings) != 0) return;
    before_ = settings;
    settings.c_lflag &= ~static_cast<tcflag_t>(ECHO);
    ::tcsetattr(fd_, TCSAFLUSH, &settings);
  }
  SilentTerminal(const SilentTerminal&) = delete;
  SilentTerminal& operator=(const SilentTerminal&) = delete;
  ~SilentTerminal() {
    if (before_) ::tcsetattr(fd_, TCSAFLUSH, &*before_);
    for (std::size_t i = 0; i < kSignals.size(); ++i) ::sigaction(kSignals[i], &actions_[i], nullptr);
    if (caught_signal != 0) (void)::raise(caught_signal);
  }

 private:
  static constexpr std::array kSignals = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};

  const int fd_;
  std::optional<termios> before_;
  std::array<struct sigaction, kSignals.size()> actions_{};
};

UniqueFd open_terminal() {
  return UniqueFd(::open("/dev/tty", O_RDWR | O_CLOEXEC | O_NOCTTY));
}

Result<Secret> ask_terminal(const std::string& prompt) {
  const UniqueFd terminal = open_terminal();
  if (!terminal)
    return Error{
        ErrorCode::kNotPermitted,
        "a passphrase is needed, and there is no terminal to ask for it: give a key file or a passphrase command"};
  (void)write_all(terminal.get(), prompt + ": ");
  const SilentTerminal silent(terminal.get());
  Secret secret(kMaxPassphraseBytes);
  std::size_t filled = 0;
  bool is_at_end = false;
  while (!is_at_end && filled < secret.size()) {
    const ssize_t got = ::read(terminal.get(), secret.bytes().data() + filled, 1);
    if (got < 0 && errno == EINTR && caught_signal != 0) return Error{ErrorCode::kInterrupted, "interrupted"};
    if (got < 0 && errno == EINTR) continue;
    is_at_end = got <= 0 || secret.bytes()[filled] == '\n';
    if (!is_at_end) ++filled;
  }
  (void)write_all(terminal.get(), "\n");
  if (filled == 0) return Error{ErrorCode::kNotPermitted, "no passphrase was entered"};
  secret.shrink(filled);
  return secret;
}

// Where systemd put the key; empty if it did not.
std::string credential_for(const KeyArguments& arguments) {
  const char* const credentials = arguments.takes_credential ? std::getenv("CREDENTIALS_DIRECTORY") : nullptr;
  if (credentials == nullptr) return {};
  std::string path = std::string(credentials) + '/' + kCredential;
  return ::access(path.c_str(), F_OK) == 0 ? path : std::string();
}

bool is_key_given(const KeyArguments& arguments) {
  return !arguments.key_file.empty() || !arguments.command.empty() || !arguments.keyring.empty() ||
         !credential_for(arguments).empty();
}

// One that does not ask at the terminal; none if there is none.
Result<std::optional<Secret>> given_passphrase(const KeyArguments& arguments) {
  if (!forbid_core_files()) spdlog::warn("a crash could write the passphrase to a core file: {}", std::strerror(errno));
  if (!arguments.key_file.empty()) {
    DEDUPFS_ASSIGN(Secret secret, read_key_file(arguments.key_file));
    return std::optional(std::move(secret));
  }
  if (!arguments.command.empty()) {
    DEDUPFS_ASSIGN(Secret secret, run_passphrase_command(arguments.command));
    return std::optional(std::move(secret));
  }
  if (!arguments.keyring.empty()) {
    DEDUPFS_ASSIGN(Secret secret, read_keyring(arguments.keyring));
    return std::optional(std::move(secret));
  }
  if (const std::string credential = credential_for(arguments); !credential.empty()) {
    DEDUPFS_ASSIGN(Secret secret, read_key_file(credential));
    return std::optional(std::move(secret));
  }
  return std::optional<Secret>();
}

// Nobody is asked for the passphrase of a volume that another process has: that one is asked for what is wanted.
Result<void> require_free(const Path& volume, const std::shared_ptr<Backing>& disk) {
  DEDUPFS_ASSIGN(const auto folder, Volume::open_folder(volume, disk));
  const auto lock = Volume::lock(*folder, /*read_only=*/true);
  return !lock && lock.error().code() == ErrorCode::kBusy ? Result<void>(lock.error()) : Result<void>();
}

}  // namespace

std::vector<Option> define_key_options(Command& app, KeyArguments& arguments) {
  const Option file = app.add_option("--key-file", arguments.key_file,
                                     "read the passphrase of an encrypted volume from this file, not from the terminal")
                          .type_name("FILE");
  const Option command =
      app.add_option("--passphrase-command", arguments.command, "take what this command prints as the passphrase")
          .type_name("COMMAND")
          .excludes(file);
  const Option keyring =
      app.add_option("--keyring", arguments.keyring, "take the passphrase from this key in the keyring of the kernel")
          .type_name("NAME")
          .excludes(file)
          .excludes(command);
  return {file, command, keyring};
}

Result<Secret> read_passphrase(const KeyArguments& arguments, const std::string& prompt) {
  DEDUPFS_ASSIGN(auto given, given_passphrase(arguments));
  return given ? Result<Secret>(std::move(*given)) : ask_terminal(prompt);
}

Result<Secret> read_new_passphrase(const KeyArguments& arguments, const std::string& what) {
  DEDUPFS_ASSIGN(auto given, given_passphrase(arguments));
  if (given) return std::move(*given);
  DEDUPFS_ASSIGN(Secret secret, ask_terminal("New passphrase for " + what));
  DEDUPFS_ASSIGN(const Secret again, ask_terminal("The same again"));
  if (!equal_in_constant_time(secret.bytes(), again.bytes()))
    return invalid_argument("the two passphrases are not the same");
  return secret;
}

std::string slot_name_for(const KeyArguments& arguments) {
  if (!arguments.key_file.empty()) return "key file";
  return arguments.keyring.empty() ? "passphrase" : "keyring";
}

bool can_get_passphrase(const KeyArguments& arguments) {
  return is_key_given(arguments) || open_terminal();
}

// Of Argon2id: what a hostile key header can ask for must not bring the machine down.
std::uint64_t most_kdf_memory() {
  return memory_of_machine() / 2;
}

Result<UnlockedKey> unlock_here(const KeyHeader& header, ByteSpan passphrase) {
  auto unlocked = unlock(header, passphrase, most_kdf_memory() >> 10);
  warn_of_unlocked_secrets();
  return unlocked;
}

void warn_of_unlocked_secrets() {
  if (!are_secrets_locked() && has_swap()) spdlog::warn("{}", kUnlockedSecrets);
}

Result<KdfSettings> parse_kdf_memory(const std::string& memory, std::uint64_t most) {
  KdfSettings kdf;
  if (memory.empty()) return kdf;
  const auto bytes = parse_size(memory);
  if (!bytes || *bytes < (8 << 20) || *bytes > (std::uint64_t{4} << 30))
    return invalid_argument("--kdf-memory " + memory + ": must be a size from 8m to 4g");
  if (*bytes > most)
    return invalid_argument(fmt::format("--kdf-memory {}: a guess may take half of the memory of this machine, {}",
                                        memory, human_size(most)));
  kdf.memory_kib = static_cast<std::uint32_t>(*bytes >> 10);
  return kdf;
}

std::optional<KeyHeader> find_key_header(const Path& volume, const std::shared_ptr<Backing>& disk) {
  const auto folder = Volume::open_folder(volume, disk);
  if (!folder) return std::nullopt;
  auto header = read_key_header(**folder);
  return header ? std::move(*header) : std::nullopt;
}

std::shared_ptr<SealedBacking> keyed_backing(KeyArguments arguments, bool foreign, SealedTree::Judge judge,
                                             const std::shared_ptr<Backing>& given_disk) {
  const std::shared_ptr<Backing> disk = given_disk ? given_disk : volume_disk(foreign);
  using enum SealedBacking::Volumes;
  const auto volumes = is_key_given(arguments) ? kEncrypted : kAll;
  auto get = [given = std::move(arguments), disk](const Path& volume,
                                                  const KeyHeader& header) -> Result<std::shared_ptr<const VolumeKey>> {
    DEDUPFS_TRY(require_free(volume, disk));
    DEDUPFS_ASSIGN(const Secret passphrase, read_passphrase(given, "Passphrase of " + volume.string()));
    DEDUPFS_ASSIGN(UnlockedKey unlocked, unlock_here(header, passphrase.bytes()));
    return std::move(unlocked.key);
  };
  return std::make_shared<SealedBacking>(disk, std::move(get), std::move(judge), volumes,
                                         foreign ? SealedBacking::admit_all : require_own_or_busy);
}

std::shared_ptr<SealedBacking> reading_backing(KeyArguments arguments, bool foreign, const Console& console) {
  const auto judge = [&console](const Error& difference) -> Result<void> {
    console.say(printable(difference.message()));
    return {};
  };
  return keyed_backing(std::move(arguments), foreign, judge);
}

}  // namespace dedupfs::tools
