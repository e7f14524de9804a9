// Package responses is OpenAI's Responses API before chat completions: a client's request
// becomes a chat completion, and the frames of its answer become a response, whole or as a
// stream of events.
//
// [Parse] reads a request and keeps it until [Request.Translate] makes the chat completion of
// it: in between, whoever has a store puts earlier items in front of the new ones. What has a
// word in both protocols keeps the bytes that it came as: texts, arguments, numbers, schemas.
package responses
