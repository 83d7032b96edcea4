// Sockets of the servers that tests run on loopback.
#pragma once

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#include <cstdint>
#include <stdexcept>
#include <string_view>
#include <utility>

namespace kvplan {

inline sockaddr_in loopback(int port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  return address;
}

// A listening socket and its port, which the system chooses. Throws std::runtime_error.
inline std::pair<int, int> listen_on_loopback() {
  const int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address = loopback(0);
  socklen_t size = sizeof address;
  auto* const plain = reinterpret_cast<sockaddr*>(&address);
  if (listener < 0 || bind(listener, plain, size) != 0 || listen(listener, 64) != 0 ||
      getsockname(listener, plain, &size) != 0)
    throw std::runtime_error("no server on loopback");
  return {listener, ntohs(address.sin_port)};
}

// Waits a moment for something to read.
inline bool is_readable(int fd) {
  pollfd waiting{fd, POLLIN, 0};
  return poll(&waiting, 1, 20) > 0;
}

inline bool send_all(int connection, std::string_view text) {
  while (!text.empty()) {
    const ssize_t sent = send(connection, text.data(), text.size(), MSG_NOSIGNAL);
    if (sent <= 0) return false;
    text.remove_prefix(static_cast<std::size_t>(sent));
  }
  return true;
}

}  // namespace kvplan
