#include "remote/s3_credentials.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <spdlog/spdlog.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <ctime>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/unique_fd.h"
#include "remote/s3_location.h"
#include "remote/text.h"

namespace dedupfs {
namespace {

constexpr std::chrono::minutes kBeforeExpiry{5};
constexpr std::chrono::seconds kBetweenRenewals{20};
constexpr std::size_t kMostMetadataBytes = 64 << 10;
constexpr std::size_t kMostFileBytes = 64 << 10;
constexpr std::string_view kMetadataService = "http://169.254.169.254";

// In a header, a line break would begin another one.
bool is_plain(std::string_view text) {
  return text.find_first_of(std::string_view("\r\n\0", 3)) == std::string_view::npos;
}

Result<S3Credentials> checked(S3Credentials credentials, std::string_view where) {
  if (credentials.access_key.empty() || credentials.secret_key.empty())
    return Error{ErrorCode::kAccessDenied,
                 fmt::format("{}: a key of access and a secret key belong together, and one is missing", where)};
  if (!is_plain(credentials.access_key) || !is_plain(credentials.secret_key.text()) ||
      !is_plain(credentials.session_token.text()))
    return Error{ErrorCode::kAccessDenied, fmt::format("{}: a key has a line break", where)};
  return credentials;
}

// Follows links: where secrets are mounted, their files are links. Anything but a file could keep us waiting.
Result<SecretText> read_secret_file(const std::string& path) {
  const UniqueFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  if (!file) return Error::from_errno(errno, path);
  struct stat status {};
  if (::fstat(file.get(), &status) != 0) return Error::from_errno(errno, path);
  if (!S_ISREG(status.st_mode)) return Error{ErrorCode::kAccessDenied, path + ": is no file"};
  if ((status.st_mode & (S_IRWXG | S_IRWXO)) != 0) spdlog::warn("{} is open to others: chmod 600 {}", path, path);
  std::string text(kMostFileBytes + 1, '\0');
  std::size_t filled = 0;
  while (filled < text.size()) {
    const ssize_t got = TEMP_FAILURE_RETRY(::read(file.get(), text.data() + filled, text.size() - filled));
    if (got < 0) return Error::from_errno(errno, path);
    if (got == 0) break;
    filled += static_cast<std::size_t>(got);
  }
  if (filled > kMostFileBytes)
    return Error{ErrorCode::kAccessDenied, fmt::format("{}: has more than {} bytes", path, kMostFileBytes)};
  text.resize(filled);
  return SecretText(std::move(text));
}

}  // namespace

Result<std::optional<S3Credentials>> parse_s3_credentials(std::string_view file, std::string_view profile) {
  S3Credentials found;
  bool is_inside = false;
  bool is_there = false;
  while (!file.empty()) {
    const std::size_t end = file.find('\n');
    const std::string_view line = trimmed(file.substr(0, end));
    file.remove_prefix(end == std::string_view::npos ? file.size() : end + 1);
    if (line.empty() || line.starts_with('#') || line.starts_with(';')) continue;
    if (line.starts_with('[')) {
      is_inside = trimmed(line.substr(1, line.find(']') - 1)) == profile;
      is_there = is_there || is_inside;
      continue;
    }
    const std::size_t equals = line.find('=');
    if (!is_inside || equals == std::string_view::npos) continue;
    const std::string_view name = trimmed(line.substr(0, equals));
    const std::string_view value = trimmed(line.substr(equals + 1));
    if (name == "aws_access_key_id") found.access_key = value;
    if (name == "aws_secret_access_key") found.secret_key = SecretText(std::string(value));
    if (name == "aws_session_token") found.session_token = SecretText(std::string(value));
  }
  if (!is_there) return std::nullopt;
  DEDUPFS_ASSIGN(auto credentials, checked(std::move(found), fmt::format("profile {}", profile)));
  return credentials;
}

std::optional<std::string> S3CredentialSource::process_environment(const char* name) {
  const char* const value = std::getenv(name);  // NOLINT(concurrency-mt-unsafe): nobody sets one
  return value == nullptr || *value == '\0' ? std::nullopt : std::optional<std::string>(value);
}

S3CredentialSource::S3CredentialSource(HttpSession& session, std::string file, Environment environment)
    : session_(session), file_(std::move(file)), environment_(std::move(environment)) {}

Result<S3Credentials> S3CredentialSource::get() {
  const MutexLock lock(mutex_);
  const auto left = known_ && known_->expiry ? *known_->expiry - std::chrono::system_clock::now()
                                             : std::chrono::system_clock::duration::max();
  if (known_ && left > kBeforeExpiry) return *known_;
  const auto now = std::chrono::steady_clock::now();
  if (known_ && now < no_renewal_before_) return *known_;
  no_renewal_before_ = now + kBetweenRenewals;
  auto found = find();
  if (!found && known_ && left > left.zero()) return *known_;
  if (!found) no_renewal_before_ = now;
  DEDUPFS_ASSIGN(known_, std::move(found));
  return *known_;
}

bool S3CredentialSource::has_others_than(const S3Credentials& refused) {
  const MutexLock lock(mutex_);
  if (known_ && !known_->has_same_keys(refused)) return true;  // another thread was here
  auto found = find();
  if (!found || found->has_same_keys(refused)) return false;
  known_ = std::move(*found);
  return true;
}

Result<S3Credentials> S3CredentialSource::find() const {
  if (file_.empty()) {
    DEDUPFS_ASSIGN(auto found, from_environment());
    if (found) return std::move(*found);
  }
  DEDUPFS_ASSIGN(auto found, from_file());
  if (found) return std::move(*found);
  DEDUPFS_ASSIGN(auto of_machine, from_machine());
  if (of_machine) return std::move(*of_machine);
  return Error{ErrorCode::kAccessDenied,
               "no credentials for the store: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or write them to "
               "~/.aws/credentials. The metadata service of this machine has none, or does not answer"};
}

Result<std::optional<S3Credentials>> S3CredentialSource::from_environment() const {
  S3Credentials found{.access_key = value("AWS_ACCESS_KEY_ID"),
                      .secret_key = SecretText(value("AWS_SECRET_ACCESS_KEY")),
                      .session_token = SecretText(value("AWS_SESSION_TOKEN")),
                      .expiry = std::nullopt};
  if (found.access_key.empty() && found.secret_key.empty()) return std::nullopt;
  DEDUPFS_ASSIGN(auto credentials, checked(std::move(found), "AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY"));
  return credentials;
}

Result<std::optional<S3Credentials>> S3CredentialSource::from_file() const {
  std::string path = file_.empty() ? value("AWS_SHARED_CREDENTIALS_FILE") : file_;
  const std::string profile = value("AWS_PROFILE");
  const bool is_asked_for = !path.empty() || !profile.empty();
  if (path.empty()) {
    if (value("HOME").empty()) return std::nullopt;
    path = value("HOME") + "/.aws/credentials";
  }
  auto text = read_secret_file(path);
  if (!text && text.error().code() == ErrorCode::kNotFound && !is_asked_for) return std::nullopt;
  if (!text) return Error{ErrorCode::kAccessDenied, text.error().message()};
  auto found = parse_s3_credentials(text->text(), profile.empty() ? "default" : profile);
  if (!found) return found.error().with(path);
  if (!*found && is_asked_for)
    return Error{ErrorCode::kAccessDenied,
                 fmt::format("{}: has no profile {} (AWS_PROFILE)", path, profile.empty() ? "default" : profile)};
  return found;
}

Result<std::optional<S3Credentials>> S3CredentialSource::from_machine() const {
  if (value("AWS_EC2_METADATA_DISABLED") == "true") return std::nullopt;
  std::string service = value("AWS_EC2_METADATA_SERVICE_ENDPOINT");
  if (service.empty()) service = kMetadataService;
  while (service.ends_with('/')) service.pop_back();
  HttpRequest request{.method = "PUT",
                      .url = service + "/latest/api/token",
                      .headers = {"X-aws-ec2-metadata-token-ttl-seconds: 300"},
                      .body = {},
                      .into = {},
                      .most_text_bytes = kMostMetadataBytes,
                      .is_to_this_machine = true};
  auto token = session_.request(request);
  if (!token || !token->is_success() || !is_plain(token->text)) return std::nullopt;  // this machine has none
  const std::string folder = service + "/latest/meta-data/iam/security-credentials/";
  request.method = "GET";
  request.url = folder;
  const SecretText token_header("X-aws-ec2-metadata-token: " + token->text);
  zero_text(token->text);
  request.headers = {token_header.text()};
  DEDUPFS_ASSIGN(const HttpAnswer roles, session_.request(request));
  if (!roles.is_success()) return std::nullopt;
  const std::string role =
      percent_encoded(trimmed(std::string_view(roles.text).substr(0, roles.text.find('\n'))), "+=,@");
  request.url = folder + role;
  DEDUPFS_ASSIGN(HttpAnswer answer, session_.request(request));
  if (!answer.is_success()) return Error{ErrorCode::kIo, fmt::format("{}: HTTP status {}", request.url, answer.status)};
  zero_text(request.headers.front());
  auto json = nlohmann::json::parse(answer.text, nullptr, false);
  zero_text(answer.text);
  const auto text_of = [&](const char* name) {
    const auto field = json.is_object() ? json.find(name) : json.end();
    return json.is_object() && field != json.end() && field->is_string() ? field->get<std::string>() : std::string();
  };
  std::tm utc{};
  if (strptime(text_of("Expiration").c_str(), "%Y-%m-%dT%H:%M:%S", &utc) == nullptr)
    return Error{ErrorCode::kAccessDenied, folder + role + ": credentials without a time at which they expire"};
  DEDUPFS_ASSIGN(auto credentials, checked({.access_key = text_of("AccessKeyId"),
                                            .secret_key = SecretText(text_of("SecretAccessKey")),
                                            .session_token = SecretText(text_of("Token")),
                                            .expiry = std::chrono::system_clock::from_time_t(timegm(&utc))},
                                           folder + role));
  for (nlohmann::json& field : json)
    if (field.is_string()) zero_text(field.get_ref<std::string&>());
  return credentials;
}

}  // namespace dedupfs
