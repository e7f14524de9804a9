// Package socket serves clients that ask over a WebSocket, as OpenAI's Responses API has it since 2026:
// each message asks for a response, and the events of its stream come back as messages, while the
// connection stays for the next one.
//
// A message becomes a POST to the handler of the HTTP API, so that keys, limits, repairs and the log are
// the same either way. What an answer over HTTP says in headers stands in the member headers of the first
// event, and what it says in a comment in the member callgate of the last one: clients ignore members that
// they do not know.
package socket
