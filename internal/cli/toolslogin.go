package cli

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"net"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/callgate/callgate/gateway/config"
	"github.com/callgate/callgate/gateway/toolserver/mcp"
	"github.com/callgate/callgate/gateway/toolserver/signin"
)

const (
	loginTime = 10 * time.Minute // how long somebody may take to agree
	loginPath = "/callback"
)

type toolsLoginCmd struct {
	toolsFlags
	Server string `arg:"" help:"Name of the tool server." placeholder:"SERVER"`
	Listen string `default:"127.0.0.1:0" help:"Address of this machine that the browser is sent back to; a client that is registered has a port." placeholder:"ADDR"`
}

// Run prints an address to agree at, waits for the browser to come back, and keeps the token.
func (t *toolsLoginCmd) Run(e *env) error {
	cfg, err := loadConfig(t.Config, os.LookupEnv)
	if err != nil {
		return usageError{err}
	}
	s, ok := cfg.ToolServers[t.Server]
	switch {
	case !ok:
		return usageError{fmt.Errorf("%s has no tool server %q; tool_servers has %s", t.Config, t.Server, cmp.Or(strings.Join(slices.Sorted(maps.Keys(cfg.ToolServers)), ", "), "none"))}
	case s.OAuth.Grant != "authorization_code":
		return usageError{fmt.Errorf("tool server %q has no oauth with grant: authorization_code", t.Server)}
	}
	file := cfg.ToolToken(t.Server)
	tools, err := t.signIn(e, s, file)
	switch {
	case err != nil:
		return err
	case t.JSON:
		return t.print(e, map[string]any{"server": t.Server, "file": file, "tools": tools})
	}
	fmt.Fprintf(e.stdout, "Signed in: the server lists %s. The token is in %s.\n", howMany(tools, "tool"), file)
	return nil
}

// signIn signs in, and gives how many tools the server then lists.
func (t *toolsLoginCmd) signIn(e *env, s config.ToolServer, file string) (int, error) {
	log := logger(e.stderr, config.Log{Level: "warn", Format: "text"})
	o, err := mcpOptions(t.Server, s, log)
	if err != nil {
		return 0, usageError{err}
	}
	var lc net.ListenConfig
	l, err := lc.Listen(e.ctx, "tcp", t.Listen)
	if err != nil {
		return 0, usageError{err}
	}
	asked := false
	in := signInOptions(o, s, file)
	in.Anew, in.Redirect = true, "http://"+l.Addr().String()+loginPath
	back := awaitBrowser(l)
	defer back.close()
	in.Ask = func(ctx context.Context, address string) (url.Values, error) {
		asked = true
		fmt.Fprintf(e.stdout, "Open this address in a browser, and agree:\n%s\n", address)
		return back.wait(ctx)
	}
	gate, err := signin.Open(in)
	if err != nil {
		return 0, usageError{err}
	}
	o.SignIn, o.Start = gate, loginTime
	ctx, cancel := context.WithTimeout(e.ctx, loginTime)
	defer cancel()
	server := mcp.Open(o)
	defer server.Close()
	listing, err := server.List(ctx)
	if err != nil {
		return 0, err
	}
	if !asked { // it lists its tools to everybody, and may want a token for calls
		err = gate.SignIn(ctx)
	}
	return len(listing.Tools), err
}

// loginPage is where a browser comes back to.
type loginPage struct {
	server *http.Server
	came   chan url.Values
}

// awaitBrowser waits for a browser at l.
func awaitBrowser(l net.Listener) *loginPage {
	b := &loginPage{came: make(chan url.Values, 1)}
	b.server = &http.Server{ReadHeaderTimeout: 10 * time.Second, MaxHeaderBytes: 32 << 10, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		q := r.URL.Query()
		if r.URL.Path != loginPath || !q.Has("state") && !q.Has("error") {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		fmt.Fprintln(w, "Callgate has your answer. You can close this page.")
		select {
		case b.came <- q:
		default: // somebody was here already
		}
	})}
	go func() { _ = b.server.Serve(l) }() // close ends it
	return b
}

func (b *loginPage) wait(ctx context.Context) (url.Values, error) {
	select {
	case q := <-b.came:
		return q, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// close lets the page that was shown go out, for a moment.
func (b *loginPage) close() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	_ = b.server.Shutdown(ctx)
}
