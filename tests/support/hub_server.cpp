#include "support/hub_server.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <string_view>
#include <tuple>

#include "support/loopback.h"

namespace kvplan {

namespace {

std::string value_of(const std::string& head, const std::string& name) {
  const auto at = head.find("\r\n" + name + ": ");
  if (at == std::string::npos) return "";
  const auto begin = at + name.size() + 4;
  return head.substr(begin, head.find("\r\n", begin) - begin);
}

}  // namespace

HubServer::HubServer() {
  fallback_.status = 404;
  fallback_.body = "not here";
  std::tie(listener_, port_) = listen_on_loopback();
  acceptor_ = std::thread([this] { accept_all(); });
}

HubServer::~HubServer() {
  stop_ = true;
  acceptor_.join();
  for (std::thread& connection : connections_) connection.join();
  close(listener_);
}

void HubServer::on(const std::string& path, std::vector<Answer> answers) {
  const std::lock_guard lock(mutex_);
  answers_[path] = std::deque<Answer>(answers.begin(), answers.end());
}

void HubServer::fallback(Answer answer) {
  const std::lock_guard lock(mutex_);
  fallback_ = std::move(answer);
}

std::vector<Seen> HubServer::seen() const {
  const std::lock_guard lock(mutex_);
  return seen_;
}

void HubServer::forget() {
  const std::lock_guard lock(mutex_);
  seen_.clear();
}

void HubServer::accept_all() {
  while (!stop_) {
    if (!is_readable(listener_)) continue;
    const int connection = accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
    if (connection >= 0) connections_.emplace_back([this, connection] { serve(connection); });
  }
}

void HubServer::serve(int connection) {
  std::string text;
  char buffer[4096];
  bool open = true;
  while (open && !stop_) {
    const auto end = text.find("\r\n\r\n");
    if (end == std::string::npos) {
      if (!is_readable(connection)) continue;
      const ssize_t got = recv(connection, buffer, sizeof buffer, 0);
      if (got <= 0) break;
      text.append(buffer, static_cast<std::size_t>(got));
      continue;
    }
    const std::string head = text.substr(0, end + 2);
    text.erase(0, end + 4);
    const auto space = head.find(' ');
    Seen request{head.substr(space + 1, head.find(' ', space + 1) - space - 1), value_of(head, "Range"),
                 value_of(head, "Authorization")};
    {
      const std::lock_guard lock(mutex_);
      seen_.push_back(request);
    }
    open = answer(connection, request);
  }
  close(connection);
}

// Returns false if the connection is to be closed.
bool HubServer::answer(int connection, const Seen& request) {
  Answer answer;
  {
    const std::lock_guard lock(mutex_);
    auto found = answers_.find(request.path);
    answer = found == answers_.end() ? fallback_ : found->second.front();
    if (found != answers_.end() && found->second.size() > 1) found->second.pop_front();
  }
  const auto pause = [this](int milliseconds) {
    for (int spent = 0; spent < milliseconds && !stop_; spent += 10)
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
  };
  if (answer.fault == Fault::kHangUp) return false;
  if (answer.fault == Fault::kSilent) {
    while (!stop_ && !is_readable(connection)) {
    }
    return false;
  }
  std::string body = answer.body;
  std::string head;
  if (request.range.starts_with("bytes=") && answer.ranges && answer.status == 200) {
    const std::size_t first = std::strtoull(request.range.c_str() + 6, nullptr, 10);
    const std::size_t last = std::min<std::size_t>(
        std::strtoull(request.range.c_str() + request.range.find('-') + 1, nullptr, 10), body.size() - 1);
    const std::string total = std::to_string(body.size());
    body = body.substr(first, last - first + 1);
    head = "HTTP/1.1 206 Partial\r\nContent-Range: " +
           (answer.content_range.empty() ? "bytes " + std::to_string(first) + "-" + std::to_string(last) + "/" + total
                                         : answer.content_range) +
           "\r\n";
  } else {
    head = "HTTP/1.1 " + std::to_string(answer.status) + " Answer\r\n";
  }
  for (const std::string& line : answer.headers) head += line + "\r\n";
  if (answer.fault == Fault::kHeaders) {
    for (int i = 0; !stop_; ++i) {
      if (!send_all(connection, head)) return false;
      head = "X-" + std::to_string(i) + ": " + std::string(1000, 'x') + "\r\n";
    }
    return false;
  }
  if (answer.fault == Fault::kEndless || answer.fault == Fault::kTrickle) {
    const bool slow = answer.fault == Fault::kTrickle;
    if (!send_all(connection, head + "\r\n" + body)) return false;
    const std::string more(slow ? 1 : 65536, ' ');
    while (!stop_ && send_all(connection, more))
      if (slow) pause(50);
    return false;
  }
  const bool half = answer.fault == Fault::kTruncate;
  const std::string length = std::to_string(body.size());
  if (half) body.resize(body.size() / 2);
  return send_all(connection, head + "Content-Length: " + length + "\r\n\r\n" + body) && !half;
}

}  // namespace kvplan
