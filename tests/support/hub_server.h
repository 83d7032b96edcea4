// A small hub on loopback that can simulate faults.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace kvplan {

enum class Fault {
  kNone,
  kSilent,    // accepts the request and never answers
  kHangUp,    // closes without an answer
  kTruncate,  // announces the whole length, sends half, closes
  kEndless,   // a body without end
  kTrickle,   // sends a byte from time to time
  kHeaders,   // headers without end
};

struct HubAnswer {
  int status = 200;
  std::string body;
  std::vector<std::string> headers;  // "Name: value"
  Fault fault = Fault::kNone;
  bool ranges = true;         // answers range requests
  std::string content_range;  // a false value in place of the true one
};
using Answer = HubAnswer;  // a different name, because the planner also has an Answer

struct Seen {
  std::string path, range, authorization;
};

class HubServer {
 public:
  HubServer();
  ~HubServer();
  HubServer(const HubServer&) = delete;
  HubServer& operator=(const HubServer&) = delete;

  std::string url() const { return "http://127.0.0.1:" + std::to_string(port_); }
  int port() const { return port_; }
  // Answers of a path, one after another; the last one is repeated. Other paths return 404.
  void on(const std::string& path, std::vector<Answer> answers);
  void fallback(Answer answer);
  std::vector<Seen> seen() const;
  void forget();

 private:
  void accept_all();
  void serve(int connection);
  bool answer(int connection, const Seen& request);

  int listener_ = -1;
  int port_ = 0;
  std::atomic<bool> stop_{false};
  mutable std::mutex mutex_;
  std::map<std::string, std::deque<Answer>> answers_;
  Answer fallback_;
  std::vector<Seen> seen_;
  std::thread acceptor_;
  std::vector<std::thread> connections_;
};

}  // namespace kvplan
