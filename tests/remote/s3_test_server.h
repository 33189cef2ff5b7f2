// The S3 server of s3_server.py as a child of the test. It ends with it, however the test ends.
#pragma once

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/check.h"
#include "base/unique_fd.h"
#include "remote/s3_bucket.h"
#include "support/files.h"
#include "support/temp_dir.h"

namespace dedupfs {

class S3TestServer {
 public:
  explicit S3TestServer(const std::vector<std::string>& arguments = {}) {
    ::setenv("no_proxy", "127.0.0.1,localhost", 1);
    overwrite(credentials_file(), "[default]\naws_access_key_id = access\naws_secret_access_key = secret\n");
    int to_child[2];
    int from_child[2];
    DEDUPFS_CHECK(::pipe2(to_child, O_CLOEXEC) == 0 && ::pipe2(from_child, O_CLOEXEC) == 0);
    input_ = UniqueFd(to_child[1]);
    const UniqueFd child_input(to_child[0]);
    const UniqueFd output(from_child[0]);
    UniqueFd child_output(from_child[1]);
    std::vector<std::string> words = {"/usr/bin/python3", "-B", "-S", "-E", DEDUPFS_S3_SERVER, "--with-parent"};
    words.insert(words.end(), arguments.begin(), arguments.end());
    std::vector<char*> pointers;
    for (std::string& word : words) pointers.push_back(word.data());
    pointers.push_back(nullptr);
    posix_spawn_file_actions_t actions;
    ::posix_spawn_file_actions_init(&actions);
    ::posix_spawn_file_actions_adddup2(&actions, child_input.get(), STDIN_FILENO);
    ::posix_spawn_file_actions_adddup2(&actions, child_output.get(), STDOUT_FILENO);
    DEDUPFS_CHECK(::posix_spawn(&child_, words[0].c_str(), &actions, nullptr, pointers.data(), environ) == 0);
    ::posix_spawn_file_actions_destroy(&actions);
    child_output.reset();
    char byte = 0;
    while (TEMP_FAILURE_RETRY(::read(output.get(), &byte, 1)) == 1 && byte != '\n') port_ += byte;
  }
  S3TestServer(const S3TestServer&) = delete;
  S3TestServer& operator=(const S3TestServer&) = delete;
  ~S3TestServer() {
    input_.reset();
    while (::waitpid(child_, nullptr, 0) < 0 && errno == EINTR) {
    }
  }
  // One for all tests of the program, begun anew with these settings.
  static S3TestServer& begun(const nlohmann::json& settings = nlohmann::json::object()) {
    static S3TestServer server;
    server.begin(settings);
    return server;
  }

  bool is_there() const { return !port_.empty(); }
  std::string endpoint() const { return "http://127.0.0.1:" + port_; }
  std::string port() const { return port_; }
  std::string credentials_file() const { return folder_.path() / "credentials"; }

  void begin(const nlohmann::json& settings) {
    const std::string text = settings.dump();
    const auto answer = session_.request({.method = "PUT",
                                          .url = endpoint() + "/-/settings",
                                          .headers = {},
                                          .body_bytes = text.size(),
                                          .body = object_of(bytes_of(text)).read,
                                          .into = {}});
    DEDUPFS_CHECK(answer && answer->status == 200);
  }
  // Requests by their method, and more.
  nlohmann::json counts() {
    const auto answer = session_.request({.url = endpoint() + "/-/counts", .headers = {}, .body = {}, .into = {}});
    DEDUPFS_CHECK(answer && answer->status == 200);
    return nlohmann::json::parse(answer->text);
  }
  int count(const char* method) { return counts().value(method, 0); }

  // Of its bucket. Impatient: a test would wait.
  S3Settings bucket_settings(const std::string& address = "s3://bucket/volume") const {
    S3Settings settings;
    settings.location = parse_s3_location(address, endpoint(), "").value();
    settings.credentials_file = credentials_file();
    settings.patience = std::chrono::seconds(20);
    settings.first_pause = std::chrono::milliseconds(2);
    return settings;
  }

 private:
  const TempDir folder_;
  HttpSession session_{{}, {}};
  UniqueFd input_;
  pid_t child_ = -1;
  std::string port_;
};

}  // namespace dedupfs
