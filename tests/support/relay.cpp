#include "support/relay.h"

#include <dlfcn.h>
#include <pthread.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <stdexcept>
#include <tuple>

#include "support/loopback.h"

namespace kvplan {

namespace {

// The few functions of OpenSSL's stable interface that the server needs.
struct Tls {
  const void* (*method)() = nullptr;
  void* (*new_context)(const void*) = nullptr;
  int (*use_certificate)(void*, const char*, int) = nullptr;
  int (*use_key)(void*, const char*, int) = nullptr;
  void* (*new_session)(void*) = nullptr;
  int (*set_socket)(void*, int) = nullptr;
  int (*accept)(void*) = nullptr;
  int (*read)(void*, void*, int) = nullptr;
  int (*write)(void*, const void*, int) = nullptr;
  int (*pending)(const void*) = nullptr;
  int (*shutdown)(void*) = nullptr;
  void (*free_session)(void*) = nullptr;
  void (*free_context)(void*) = nullptr;
  bool found = false;
};
constexpr int kPem = 1;

const Tls& tls() {
  static const Tls instance = [] {
    Tls out;
    void* library = nullptr;
    for (const char* name : {"libssl.so.3", "libssl.so.1.1", "libssl.so"})
      if (library == nullptr) library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) return out;
    out.found = true;
    const auto load = [&](auto& to, const char* name) {
      to = reinterpret_cast<std::remove_reference_t<decltype(to)>>(dlsym(library, name));
      out.found = out.found && to != nullptr;
    };
    load(out.method, "TLS_server_method");
    load(out.new_context, "SSL_CTX_new");
    load(out.use_certificate, "SSL_CTX_use_certificate_file");
    load(out.use_key, "SSL_CTX_use_PrivateKey_file");
    load(out.new_session, "SSL_new");
    load(out.set_socket, "SSL_set_fd");
    load(out.accept, "SSL_accept");
    load(out.read, "SSL_read");
    load(out.write, "SSL_write");
    load(out.pending, "SSL_pending");
    load(out.shutdown, "SSL_shutdown");
    load(out.free_session, "SSL_free");
    load(out.free_context, "SSL_CTX_free");
    return out;
  }();
  return instance;
}

}  // namespace

bool has_tls() {
  static const bool found = tls().found && std::system("openssl version >/dev/null 2>&1") == 0;
  return found;
}

Certificate::Certificate(const std::string& folder, const std::string& name, const std::string& for_names)
    : path(folder + "/" + name + ".pem"), key(folder + "/" + name + ".key") {
  const std::string command =
      "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=" + name +
      " -addext subjectAltName=" + for_names + " -keyout '" + key + "' -out '" + path + "' >/dev/null 2>&1";
  if (std::system(command.c_str()) != 0) throw std::runtime_error("no certificate");
}

Relay::Relay(int target) : target_(target) {
  start();
}

Relay::Relay(int target, const Certificate& certificate) : target_(target) {
  tls_ = tls().new_context(tls().method());
  if (tls_ == nullptr || tls().use_certificate(tls_, certificate.path.c_str(), kPem) != 1 ||
      tls().use_key(tls_, certificate.key.c_str(), kPem) != 1)
    throw std::runtime_error("no TLS");
  start();
}

void Relay::start() {
  std::tie(listener_, port_) = listen_on_loopback();
  acceptor_ = std::thread([this] { accept_all(); });
}

Relay::~Relay() {
  stop_ = true;
  acceptor_.join();
  for (std::thread& connection : connections_) connection.join();
  close(listener_);
  if (tls_ != nullptr) tls().free_context(tls_);
}

void Relay::answer(const std::string& text) {
  const std::lock_guard lock(mutex_);
  answer_ = text;
}

std::vector<std::string> Relay::heads() const {
  const std::lock_guard lock(mutex_);
  return heads_;
}

void Relay::accept_all() {
  // OpenSSL writes to clients that have gone away. This thread, and the threads that it starts, ignore the signal.
  sigset_t pipe;
  sigemptyset(&pipe);
  sigaddset(&pipe, SIGPIPE);
  pthread_sigmask(SIG_BLOCK, &pipe, nullptr);
  while (!stop_) {
    if (!is_readable(listener_)) continue;
    const int client = accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
    if (client >= 0) connections_.emplace_back([this, client] { serve(client); });
  }
}

void Relay::serve(int client) {
  // No read waits for ever, because a client that has gone away must not block the test.
  const timeval patience{5, 0};
  setsockopt(client, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
  void* session = nullptr;
  std::string head;
  bool open = true;
  if (tls_ != nullptr) {
    session = tls().new_session(tls_);
    tls().set_socket(session, client);
    open = tls().accept(session) == 1;
  } else {
    char byte = 0;
    while (!stop_ && head.find("\r\n\r\n") == std::string::npos && recv(client, &byte, 1, 0) == 1) head += byte;
    std::string answer;
    {
      const std::lock_guard lock(mutex_);
      heads_.push_back(head);
      answer = answer_;
    }
    while (answer == "silent" && !stop_ && !is_readable(client)) {
    }
    if (!answer.empty()) {
      if (answer != "silent") send_all(client, answer);
      open = false;
    }
  }
  const int server = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const sockaddr_in address = loopback(target_);
  open = open && connect(server, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
  if (open && head.starts_with("CONNECT "))
    open = send_all(client, "HTTP/1.1 200 Connected\r\n\r\n");
  else if (open)
    open = send_all(server, head);
  if (open) pump(client, session, server);
  close(server);
  if (session != nullptr) {
    if (open) tls().shutdown(session);
    tls().free_session(session);
  }
  close(client);
}

void Relay::pump(int client, void* session, int server) {
  char buffer[16384];
  while (!stop_) {
    pollfd both[2]{{client, POLLIN, 0}, {server, POLLIN, 0}};
    const bool waiting = session != nullptr && tls().pending(session) > 0;
    if (poll(both, 2, waiting ? 0 : 20) < 0) return;
    if (waiting || both[0].revents != 0) {
      const auto got =
          session == nullptr ? recv(client, buffer, sizeof buffer, 0) : tls().read(session, buffer, sizeof buffer);
      if (got <= 0) return;
      const std::string_view text(buffer, static_cast<std::size_t>(got));
      if (session == nullptr && text.find(" HTTP/1.1\r\n") != std::string_view::npos) {
        const std::lock_guard lock(mutex_);
        heads_.emplace_back(text);
      }
      if (!send_all(server, text)) return;
    }
    if (both[1].revents != 0) {
      const ssize_t got = recv(server, buffer, sizeof buffer, 0);
      if (got <= 0) return;
      const std::string_view text(buffer, static_cast<std::size_t>(got));
      if (session != nullptr ? tls().write(session, buffer, static_cast<int>(got)) <= 0 : !send_all(client, text))
        return;
    }
  }
}

}  // namespace kvplan
