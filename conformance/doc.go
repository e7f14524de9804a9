// Package conformance tests a gateway that speaks OpenAI's chat completions, responses and the
// routes beside them, or Anthropic's messages, from outside: it sends requests over HTTP, plays
// the upstream that the gateway asks, and checks what comes back, whole and streamed.
//
// What it demands has levels: Core is what clients cannot do without, and each of its rules
// names who outside of this repository says so; Exact and Own are beyond. See Level.
//
// A case is a text file under testdata: a request, what the model writes, and the
// answer that the client must get; some also have what a parser must say of it.
// README.md says how to read and add one, and how to use them without Go. The package
// knows nothing of the gateway but its address, so it runs against any:
//
//	up := conformance.NewUpstream()
//	url, err := up.Listen("127.0.0.1:0")
//	// … start the gateway with url as its upstream …
//	report, err := conformance.Run(ctx, conformance.Target{BaseURL: "http://127.0.0.1:8080/v1"}, up, conformance.Options{})
//
// "callgate conformance" is that as a command, package conformancetest as a Go test, and
// Check is for one case.
package conformance
