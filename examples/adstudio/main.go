// Command adstudio is an app on Callgate: radio ads from a brief, by a model that uses tools.
// The gateway runs the tools and keeps the conversations; here are the tools and the page.
//
//	adstudio up       the gateway, the tools and the page, until Ctrl-C
//	adstudio app      the page and its API
//	adstudio tools    the MCP server, over HTTP; with -stdio over stdin and stdout
//	adstudio tokens   what a prompt has with the search tool, and with 50 voices in it
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/callgate/callgate/examples/adstudio/ads"
	"github.com/callgate/callgate/examples/adstudio/studio"
	"github.com/callgate/callgate/examples/adstudio/tools"
	"github.com/callgate/callgate/examples/adstudio/web"
)

// settings are what the commands are told.
type settings struct {
	app, tools, gateway, admin string // addresses, host:port
	key, model                 string
	data, prices               string
	stdio                      bool

	program, config, upstream string // of up
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:])
	stop()
	if err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "adstudio:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	commands := map[string]func(context.Context, settings) error{"up": up, "app": serveApp, "tools": serveTools, "tokens": tokens}
	name := "up"
	if len(args) > 0 && args[0] != "" && args[0][0] != '-' {
		name, args = args[0], args[1:]
	}
	command := commands[name]
	if command == nil {
		return fmt.Errorf("there is no command %q; there are up, app, tools and tokens", name)
	}
	s := settings{}
	f := flag.NewFlagSet("adstudio "+name, flag.ContinueOnError)
	f.StringVar(&s.app, "app", "127.0.0.1:8090", "`address` of the page")
	f.StringVar(&s.tools, "tools", "127.0.0.1:8091", "`address` of the MCP server")
	f.StringVar(&s.gateway, "gateway", "127.0.0.1:8080", "`address` of the gateway")
	f.StringVar(&s.admin, "admin", "127.0.0.1:8081", "up: `address` of the gateway's console")
	f.StringVar(&s.key, "key", os.Getenv("CALLGATE_KEY"), "the app's `key` at the gateway; CALLGATE_KEY")
	f.StringVar(&s.model, "name", "adstudio", "the gateway's `model` that has the tools")
	f.StringVar(&s.data, "data", "adstudio-data", "`directory` of the ads, and of what the gateway keeps")
	f.StringVar(&s.prices, "prices", "prices.json", "`file` with prices of models; the gateway's own")
	f.BoolVar(&s.stdio, "stdio", false, "tools: speak MCP over stdin and stdout")
	f.StringVar(&s.program, "callgate", filepath.Join("..", "..", "bin", "callgate"), "up: the gateway's `program`")
	f.StringVar(&s.config, "config", "callgate.yaml", "up: its configuration `file`")
	f.StringVar(&s.upstream, "model", os.Getenv("MODEL"), "up: a real `provider/model` in place of the demo, such as openai/gpt-5-mini; MODEL")
	if err := f.Parse(args); err != nil {
		return err
	}
	return command(ctx, s)
}

// serveTools serves the MCP server.
func serveTools(ctx context.Context, s settings) error {
	const patience = 8 * time.Second // shorter than the gateway's
	app := tools.Remote{URL: "http://" + s.app, Client: &http.Client{Timeout: patience}}
	if s.stdio {
		return tools.NewServer(app).Run(ctx, &mcp.StdioTransport{})
	}
	mux := http.NewServeMux()
	mux.Handle("/mcp", tools.Handler(app))
	return serve(ctx, s.tools, "-tools", mux)
}

// serveApp serves the page.
func serveApp(ctx context.Context, s settings) error {
	store, err := ads.Open(filepath.Join(s.data, "ads"))
	if err != nil {
		return err
	}
	prices, err := studio.ReadPrices(s.prices)
	if err != nil {
		return err
	}
	log := slog.New(slog.NewTextHandler(os.Stderr, nil))
	return serve(ctx, s.app, "-app", web.New(store, s.client(prices), log).Handler())
}

func (s settings) client(prices studio.Prices) *studio.Studio {
	return studio.New("http://"+s.gateway+"/v1", s.key, s.model, prices)
}

// serve serves until the context ends. A turn may take minutes, so only headers have a time.
func serve(ctx context.Context, address, option string, h http.Handler) error {
	const headers, end = 10 * time.Second, 3 * time.Second
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", address)
	if err != nil {
		return fmt.Errorf("%w; another address is set with %s", err, option)
	}
	server := &http.Server{Handler: h, ReadHeaderTimeout: headers, BaseContext: func(net.Listener) context.Context { return ctx }}
	context.AfterFunc(ctx, func() {
		limited, cancel := context.WithTimeout(context.WithoutCancel(ctx), end)
		defer cancel()
		if server.Shutdown(limited) != nil {
			server.Close()
		}
	})
	if err := server.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}
