package conformance_test

import (
	"context"
	"fmt"

	"github.com/callgate/callgate/conformance"
)

// A test of a gateway that listens on port 8080 and asks an upstream on port 9090.
// It names its models as it likes, has two parsers of the suite, and does not split
// reasoning.
func ExampleRun() { //nolint:testableexamples // it needs a gateway
	up := conformance.NewUpstream()
	if _, err := up.Listen("127.0.0.1:9090"); err != nil {
		fmt.Println(err)
		return
	}
	defer up.Close()
	models := map[string]string{"hermes": "qwen3-32b", "none": "plain"}
	report, err := conformance.Run(context.Background(), conformance.Target{
		BaseURL:  "http://127.0.0.1:8080/v1",
		Key:      "sk-test",
		Model:    func(parser string) string { return models[parser] },
		Features: []string{conformance.Chat, conformance.Stream, conformance.Tools, conformance.Errors},
	}, up, conformance.Options{Known: []string{"tools/hermes_raw_newline"}, Parallel: 4})
	if err != nil {
		fmt.Println(err) // the gateway does not lead to the upstream
		return
	}
	for _, o := range report.Unexpected() {
		fmt.Printf("%s: %s\n%s", o.Case.Name, o.Case.Rule, o.Details())
	}
	fmt.Println(report.Summary())
}

// One case outside of a test. The upstream stands in for a gateway that changes
// nothing, which is all that plain text needs.
func ExampleCheck() {
	up := conformance.NewUpstream()
	url, err := up.Listen("127.0.0.1:0")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer up.Close()
	cases, err := conformance.Cases()
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, c := range cases {
		if c.Name == "chat/plain_text" || c.Name == "tools/hermes_one_call" {
			r := conformance.Check(context.Background(), conformance.Target{BaseURL: url}, up, c)
			fmt.Printf("%s: %d of %d exchanges failed\n", c.Name, len(r.Failures), r.Exchanges)
		}
	}
	// Output:
	// chat/plain_text: 0 of 5 exchanges failed
	// tools/hermes_one_call: 5 of 5 exchanges failed
}
