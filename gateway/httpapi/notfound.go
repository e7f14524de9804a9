package httpapi

import "strings"

// served is what there is, for whoever asked for something else.
const served = "This gateway serves POST /v1/chat/completions, /v1/responses, /v1/messages, /v1/conversations, embeddings, completions, moderations, rerank, audio/* and images/* below /v1, and GET /v1/models. The base URL of most clients is http://HOST:PORT/v1, of Anthropic's SDKs and Claude Code http://HOST:PORT."

// elsewhere is said of what the admin listener has.
const elsewhere = "That is on the admin listener: admin.listen, http://127.0.0.1:8081 by default."

// misses are paths that clients ask for when a setting of theirs is wrong, or that need one of
// ours.
var misses = []struct {
	prefix, said string
}{
	{prefix: "/chat/completions", said: "The client's base URL lacks /v1: in OpenAI's SDKs set base_url (baseURL) or OPENAI_BASE_URL to http://HOST:PORT/v1."},
	{prefix: "/embeddings", said: "The client's base URL lacks /v1: set base_url or OPENAI_BASE_URL to http://HOST:PORT/v1."},
	{prefix: "/models", said: "The client's base URL lacks /v1: set base_url or OPENAI_BASE_URL to http://HOST:PORT/v1."},
	{prefix: "/responses", said: "The client's base URL lacks /v1: set base_url or OPENAI_BASE_URL to http://HOST:PORT/v1."},
	{prefix: "/messages", said: "The client's base URL lacks /v1, which only Anthropic's own SDKs add: set it to http://HOST:PORT/v1."},
	{prefix: "/admin", said: elsewhere}, {prefix: "/ui", said: elsewhere}, {prefix: "/metrics", said: elsewhere},
	{prefix: "/v1/v1/", said: "The client's base URL has /v1 twice. Anthropic's SDKs add /v1 themselves: set ANTHROPIC_BASE_URL to http://HOST:PORT; OpenAI's do not."},
	{prefix: "/v1/chat/completions/", said: "The client's base URL holds the whole path: set it to http://HOST:PORT/v1."},
	{prefix: "/openai/", said: "Azure's clients use paths of their own: use OpenAI's client (OpenAI, not AzureOpenAI) with base_url http://HOST:PORT/v1."},
	{prefix: "/api/", said: "That is Ollama's own API: use the client's OpenAI-compatible mode with the base URL http://HOST:PORT/v1."},
	{prefix: "/v1beta/", said: "That is Google's API: use OpenAI's client, or the OpenAI-compatible mode of yours, with base_url http://HOST:PORT/v1."},
	{prefix: "/v1/realtime", said: "Realtime sessions (WebSocket) are not served."},
	{prefix: "/v1/files", said: own("files")}, {prefix: "/v1/batches", said: own("batches")}, {prefix: "/v1/uploads", said: own("uploads")},
	{prefix: "/v1/assistants", said: own("assistants")}, {prefix: "/v1/threads", said: own("threads")}, {prefix: "/v1/vector_stores", said: own("vector_stores")},
	{prefix: "/v1/fine_tuning", said: own("fine_tuning")}, {prefix: "/v1/videos", said: own("videos")}, {prefix: "/v1/containers", said: own("containers")},
	{prefix: "/v1/evals", said: own("evals")},
}

// own is said of what lives at one provider.
func own(path string) string {
	return "What is kept at a provider goes to one: the operator names it in the configuration, passthrough: {/v1/" + path + ": PROVIDER}."
}

// notFound says what there is in the place of a path that there is not.
func notFound(path string) string {
	for _, m := range misses {
		if rest, ok := strings.CutPrefix(path, m.prefix); ok && (rest == "" || rest[0] == '/' || strings.HasSuffix(m.prefix, "/")) {
			return "Not found. " + m.said
		}
	}
	return "Not found. " + served
}
