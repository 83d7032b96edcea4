// Refuses text from a server that contains the token, so that it gets into no cache, report, error or log. A server
// knows the token; the readers of a public log must not.
#ifndef KVPLAN_SOURCES_TOKEN_ECHO_H_
#define KVPLAN_SOURCES_TOKEN_ECHO_H_

#include <string_view>

namespace kvplan {

// Whether the text contains the token, as it is or with percent-encoded characters.
bool contains_token(std::string_view text, std::string_view token);

}  // namespace kvplan

#endif  // KVPLAN_SOURCES_TOKEN_ECHO_H_
