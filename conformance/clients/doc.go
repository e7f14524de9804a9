// Package clients has tests alone: they play tool loops with the clients that apps
// use, OpenAI's SDKs for Python, Node and Go and the Go community's go-openai, whole
// and streamed, through the gateway as operators run it. Behind it stand the scripted
// servers of each vendor, which refuse what the vendor refuses, and the demo's models:
// those that write wrong calls, those that know nothing of tools but what the prompt
// says, and those that need a guard. The latter two are played without the gateway's
// help too, which shows that it is this that makes the difference.
//
// The SDKs for Python and Node are installed once, at the versions that testdata pins,
// into a directory of the user's cache. Where that is not possible their tests are
// skipped and say what is missing; the environment variable CALLGATE_REQUIRE_CLIENTS=1
// makes that a failure.
package clients
