// Servers between kvplan and a hub on loopback: one that speaks TLS, and a proxy.
#pragma once

#include <atomic>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace kvplan {

// OpenSSL's library, opened at run time, and its program, which makes certificates. If either is missing, there is
// nothing to test.
bool has_tls();

// A key and a self-signed certificate in `folder`, for names such as "IP:127.0.0.1" or "DNS:hub.example".
struct Certificate {
  Certificate(const std::string& folder, const std::string& name, const std::string& for_names);
  std::string path, key;
};

class Relay {
 public:
  // A proxy that always connects to `target` on loopback, whatever is requested.
  explicit Relay(int target);
  // A server that speaks TLS and forwards to `target`.
  Relay(int target, const Certificate& certificate);
  ~Relay();
  Relay(const Relay&) = delete;
  Relay& operator=(const Relay&) = delete;

  int port() const { return port_; }
  std::string url() const { return (tls_ == nullptr ? "http" : "https") + ("://127.0.0.1:" + std::to_string(port_)); }
  // The proxy's answer to every request: "" to forward it, "silent" for none.
  void answer(const std::string& text);
  // The headers of the requests that a proxy received, CONNECT and others.
  std::vector<std::string> heads() const;

 private:
  void start();
  void accept_all();
  void serve(int client);
  void pump(int client, void* session, int server);

  int target_;
  void* tls_ = nullptr;  // OpenSSL's context
  int listener_ = -1;
  int port_ = 0;
  std::atomic<bool> stop_{false};
  mutable std::mutex mutex_;
  std::string answer_;
  std::vector<std::string> heads_;
  std::thread acceptor_;
  std::vector<std::thread> connections_;
};

}  // namespace kvplan
