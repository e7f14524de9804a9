package cli

import (
	"fmt"
	"log/slog"
	"maps"
	"net/url"
	"os"
	"reflect"
	"runtime"
	"slices"
	"time"

	"github.com/callgate/callgate/gateway/config"
	"github.com/callgate/callgate/gateway/toolserver/catalogue"
	"github.com/callgate/callgate/gateway/toolserver/httptool"
	"github.com/callgate/callgate/gateway/toolserver/mcp"
	"github.com/callgate/callgate/gateway/toolserver/signin"
)

// guardCommand has this program guard a tool server that it runs. It is no command for people.
const guardCommand = "guard-tool-server"

// toolGuard is the command before that of a tool server, see mcp.GuardMain. It is nil where
// another program uses this package, which would not know the command.
var toolGuard func() []string //nolint:gochecknoglobals // Main sets it once, before anything runs

// ownGuard is the program that runs, also if another file has taken its place since.
func ownGuard() []string {
	if _, err := os.Stat("/proc/self/exe"); runtime.GOOS != "linux" || err != nil {
		return nil
	}
	return []string{"/proc/self/exe", guardCommand}
}

// newCatalogue makes the catalogue of tools that the gateway runs; nil if the configuration has
// no tool servers. It takes the place of that of previous, which may be nil. It asks nobody before Start. What runs tools takes it from edition.tools.
func newCatalogue(cfg *config.Config, previous *edition, log *slog.Logger) (*catalogue.Catalogue, error) {
	if len(cfg.ToolServers) == 0 {
		return nil, nil
	}
	err := cfg.CheckToolRequests(func(t config.ToolRequest) (string, error) { return httptool.Check(toolRequest(t, config.ToolServer{})) })
	if err != nil {
		return nil, err
	}
	o := catalogue.Options{Servers: map[string]catalogue.Server{}, Lock: cfg.ToolLock(), Log: log}
	before := map[string]config.ToolServer{}
	if previous != nil {
		o.Previous, before = previous.tools, previous.config.ToolServers
	}
	for name, s := range cfg.ToolServers {
		server, err := toolServer(name, s, cfg.ToolToken(name), log)
		if err != nil {
			return nil, err
		}
		server.Stays = reflect.DeepEqual(s, before[name])
		o.Servers[name] = server
	}
	return catalogue.New(o)
}

// toolServer is a server of the configuration, whose token a file keeps.
func toolServer(name string, s config.ToolServer, token string, log *slog.Logger) (catalogue.Server, error) {
	out := catalogue.Server{
		Tools: s.Tools, Trusted: s.Trusted, Reads: s.Reads, Writes: s.Writes, Idempotent: s.Idempotent, Approval: s.Approval,
		Descriptions: s.Descriptions, Fallback: s.Fallback, Timeout: time.Duration(s.Timeout), Concurrency: s.Concurrency,
		Refresh: time.Duration(s.Refresh), Secrets: secretsOf(s),
	}
	if slices.Equal(s.Approval, []string{"all"}) {
		out.Approval = []string{"*"}
	}
	if s.Untrusted != "" {
		is := s.Untrusted == "true"
		out.Untrusted = &is
	}
	if s.Type == "http" {
		var tools []httptool.Tool
		for _, t := range s.Requests {
			tools = append(tools, toolRequest(t, s))
		}
		source, err := httptool.Open(name, tools)
		if err != nil {
			return out, fmt.Errorf("tool server %q: %w", name, err)
		}
		out.Own, out.Trusted = true, true // what a method says of itself
		out.Open = func(func()) catalogue.Source { return source }
		return out, nil
	}
	o, err := mcpOptions(name, s, log)
	if err != nil {
		return out, err
	}
	if !s.OAuth.IsNone() {
		if _, err := signin.Open(signInOptions(o, s, token)); err != nil { // it would be found out too late in Open
			return out, err
		}
	}
	out.Open = func(changed func()) catalogue.Source {
		own := o
		own.Changed = changed
		if !s.OAuth.IsNone() {
			own.SignIn, _ = signin.Open(signInOptions(o, s, token))
		}
		return mcp.Open(own)
	}
	return out, nil
}

// mcpOptions are how to reach a server of type mcp.
func mcpOptions(name string, s config.ToolServer, log *slog.Logger) (mcp.Options, error) {
	o := mcp.Options{Name: name, Headers: reveal(s.Headers), Private: s.PrivateNetwork, Command: s.Command, Env: reveal(s.Env), Directory: s.Directory, Version: programVersion(), Log: log}
	o.Limits = mcp.Limits{Memory: uint64(s.MaxMemory), CPU: time.Duration(s.MaxCPU), Files: uint64(s.MaxFiles)}
	o.Defaults = s.Elicitation == "defaults"
	if toolGuard != nil {
		o.Guard = toolGuard()
	}
	if s.URL != "" {
		address, err := url.Parse(s.URL)
		if err != nil {
			return o, fmt.Errorf("tool server %q: its url cannot be read", name)
		}
		o.URL = address
	}
	return o, nil
}

// signInOptions are how the gateway signs in at a server that it reaches by o.
func signInOptions(o mcp.Options, s config.ToolServer, token string) signin.Options {
	out := signin.Options{Name: o.Name, URL: o.URL, Private: o.Private, Machine: s.OAuth.Grant == "client_credentials", ClientID: s.OAuth.ClientID,
		ClientSecret: s.OAuth.ClientSecret.Reveal(), Document: s.OAuth.ClientDocument, Scopes: s.OAuth.Scopes, File: token, Log: o.Log}
	for _, origin := range s.OAuth.Servers {
		if u, err := url.Parse(origin); err == nil {
			out.Origins = append(out.Origins, u)
		}
	}
	return out
}

func toolRequest(t config.ToolRequest, s config.ToolServer) httptool.Tool {
	headers := reveal(s.Headers)
	maps.Copy(headers, reveal(t.Headers))
	return httptool.Tool{Name: t.Name, Description: t.Description, Parameters: []byte(t.Parameters), Output: []byte(t.Output), Method: t.Method,
		URL: t.URL, Headers: headers, Body: t.BodyOf(), Result: t.Result, Private: s.PrivateNetwork}
}

// secretsOf are what a server is trusted with, and must not send back to models.
func secretsOf(s config.ToolServer) []string {
	var out []string
	add := func(of map[string]config.Secret) {
		for _, value := range of {
			out = append(out, value.Reveal())
		}
	}
	add(s.Headers)
	add(s.Env)
	add(map[string]config.Secret{"": s.OAuth.ClientSecret})
	for _, t := range s.Requests {
		add(t.Headers)
	}
	return out
}
