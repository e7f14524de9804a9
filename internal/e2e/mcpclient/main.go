// Command mcpclient is the gateway's own way of speaking to tool servers, as the official
// conformance suite wants to start it: the address is its last argument, and the scenario stands
// in the environment. It lists the tools and calls them, and says on standard error what came of
// it; what is right is for the suite to say.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/callgate/callgate/gateway/toolserver"
	"github.com/callgate/callgate/gateway/toolserver/mcp"
	"github.com/callgate/callgate/gateway/toolserver/signin"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run() error {
	address, err := url.Parse(os.Args[len(os.Args)-1])
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), 25*time.Second)
	defer cancel()
	gate, err := signIn(address)
	if err != nil {
		return err
	}
	s := mcp.Open(mcp.Options{Name: "suite", URL: address, SignIn: gate, Defaults: true, Changed: func() {}, Version: "conformance"})
	defer func() { _ = s.Close() }()
	listing, err := s.List(ctx)
	if err != nil {
		return fmt.Errorf("list: %w", err)
	}
	for _, c := range calls(listing) {
		result, err := s.Call(ctx, c.Name, c.Arguments)
		fmt.Fprintf(os.Stderr, "%s %s: %+v, %v\n", c.Name, c.Arguments, result, err)
	}
	return nil
}

// signIn signs in as callgate tools login does, but that nobody has to agree: the suite's server sends
// whoever comes back at once. What is registered there stands in the scenario's context.
func signIn(address *url.URL) (*signin.Gate, error) {
	var known struct {
		ID     string `json:"client_id"`
		Secret string `json:"client_secret"`
	}
	_ = json.Unmarshal([]byte(os.Getenv("MCP_CONFORMANCE_CONTEXT")), &known)
	return signin.Open(signin.Options{
		Name: "suite", URL: address, ClientID: known.ID, ClientSecret: known.Secret, Ask: agree, Redirect: "http://localhost:3000/callback",
		Machine:  strings.HasPrefix(os.Getenv("MCP_CONFORMANCE_SCENARIO"), "auth/client-credentials"),
		Document: "https://conformance-test.local/client-metadata.json",
	})
}

// agree opens an address as a browser would, and reads where it is sent.
func agree(ctx context.Context, address string) (url.Values, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, http.NoBody)
	if err != nil {
		return nil, err
	}
	client := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	resp, err := client.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	to, err := resp.Location()
	if err != nil {
		return nil, fmt.Errorf("agree: %s: %w", resp.Status, err)
	}
	return to.Query(), nil
}

// call is a call that a scenario wants.
type call struct {
	Name      string          `json:"name"`
	Arguments json.RawMessage `json:"arguments"`
}

// calls are those that the scenario names, else one of each tool.
func calls(listing *toolserver.Listing) []call {
	var wanted struct {
		Calls []call `json:"toolCalls"`
	}
	if json.Unmarshal([]byte(os.Getenv("MCP_CONFORMANCE_CONTEXT")), &wanted) == nil && len(wanted.Calls) > 0 {
		return wanted.Calls
	}
	scenario := os.Getenv("MCP_CONFORMANCE_SCENARIO")
	var out []call
	for _, d := range listing.Tools {
		c := call{d.Name, json.RawMessage("{}")}
		switch {
		case d.Name == "add_numbers":
			c.Arguments = json.RawMessage(`{"a":5,"b":3}`)
		case d.Name == "json_schema_echo":
			c.Arguments = schemaOf(listing, "json_schema_2020_12_tool")
		case scenario == "http-invalid-tool-headers":
			c.Arguments = json.RawMessage(`{"region":"us-west1"}`)
		}
		out = append(out, c)
	}
	return out
}

// schemaOf is a tool's schema as arguments that say it back.
func schemaOf(listing *toolserver.Listing, name string) json.RawMessage {
	for _, d := range listing.Tools {
		if d.Name == name {
			return json.RawMessage(`{"schema":` + string(d.Parameters) + `}`)
		}
	}
	return json.RawMessage("{}")
}
