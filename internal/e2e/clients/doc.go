// Package clients has tests alone: they play tool loops with the clients that apps
// use, whole and streamed, through the gateway as operators run it: OpenAI's SDKs for
// Python, Node and Go, the Go community's go-openai, Vercel's AI SDK with two of its
// providers, and LangChain for Python and Node. What an SDK's own parser complains of
// fails the test, and so does a request that it repeats and should not.
//
// Behind the gateway stand the scripted servers of each vendor, which refuse what the
// vendor refuses, servers whose models write their calls as text, and the demo's models:
// those that write wrong calls, those that know nothing of tools but what the prompt
// says, and those that need a guard. The text, the prompts and the guards are played
// without the gateway's help too, which shows that it is this that makes the difference.
//
// TestDefaults plays the programs of conformance/clients, which set a base URL and nothing
// else: OpenAI's SDKs with the Responses API, their Agents SDKs, Pydantic AI, the AI SDK's
// default models and Anthropic's SDKs; those in Go are a module of their own, whose go.mod pins
// the SDKs. TestAgents has Claude Code and Codex run commands;
// some hundred megabytes are installed for that, so only CALLGATE_CLIENT_AGENTS=1, which
// "make clients" sets, has it done.
//
// TestWebSockets asks for responses over WebSockets with OpenAI's SDKs for Python, Node and Go and
// with their Agents SDKs, and holds all events to the SDK's own types; TestAgents has Codex do so too.
//
// TestQuickstart and TestPages do what docs/quickstart.md and docs/clients.md say, word by word, in
// empty directories; TestApps does so with aider, Continue's command line, Open WebUI's server and
// LibreChat's schema, which CALLGATE_CLIENT_AGENTS=1 installs too.
//
// TestToolServers is about the other side: it calls the tools of real servers, and
// TestToolServersConformance has the official suite of the Model Context Protocol check how
// the gateway speaks to servers; what of the suite is left out is listed there, with reasons.
//
// The SDKs for Python and Node are installed once, at the versions and hashes that
// testdata pins, into a directory of the user's cache, and with them Node where the
// machine has none that is new enough. Where that is not possible their tests are
// skipped and say what is missing; the environment variable CALLGATE_REQUIRE_CLIENTS=1
// makes that a failure.
package clients
