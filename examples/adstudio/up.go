package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"
)

// up runs the tools, the page and the gateway until one of them ends, and then all.
func up(ctx context.Context, s settings) error {
	gateway, err := s.start()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var all sync.WaitGroup
	part := func(name string, run func() error) {
		all.Go(func() {
			err := run()
			if err != nil {
				err = fmt.Errorf("%s: %w", name, err)
			} else {
				err = context.Canceled
			}
			cancel(err)
		})
	}
	part("tools", func() error { return serveTools(ctx, s) })
	part("app", func() error { return serveApp(ctx, s) })
	part("gateway", func() error { return gateway(ctx) })
	all.Go(func() { s.greet(ctx) })
	all.Wait()
	if err := context.Cause(ctx); !errors.Is(err, context.Canceled) {
		return err
	}
	return nil
}

// keys are the variables with the keys of providers.
var keys = map[string]string{ //nolint:gochecknoglobals // a table
	"openai": "OPENAI_API_KEY", "anthropic": "ANTHROPIC_API_KEY", "qwen": "DASHSCOPE_API_KEY", "moonshot": "MOONSHOT_API_KEY",
}

// start prepares the gateway's process; the function runs it until the context ends.
func (s settings) start() (run func(context.Context) error, err error) {
	data, err := filepath.Abs(s.data)
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(data, 0o700); err != nil {
		return nil, err
	}
	env := append(os.Environ(), "ADSTUDIO_DATA="+data, "ADSTUDIO_TOOLS=http://"+s.tools+"/mcp", "ADSTUDIO_PRICES="+s.prices, "ADSTUDIO_ADMIN="+s.admin)
	if s.upstream != "" {
		provider, model, ok := strings.Cut(s.upstream, "/")
		variable, known := keys[provider]
		switch {
		case !ok || !known && provider != "demo":
			return nil, fmt.Errorf("the model %q is not provider/model; providers are openai, anthropic, qwen, moonshot and demo", s.upstream)
		case known && os.Getenv(variable) == "":
			return nil, fmt.Errorf("the model %s needs a key: set %s", s.upstream, variable)
		}
		env = append(env, "ADSTUDIO_PROVIDER="+provider)
		for _, of := range []string{"STANDARD", "PREMIUM", "EUROPE", "ASIA", "NEXT"} {
			env = append(env, "ADSTUDIO_"+of+"="+model)
		}
	}
	if _, err := exec.LookPath(s.program); err != nil {
		return nil, fmt.Errorf("there is no gateway at %s: run make build, or set -callgate", s.program)
	}
	return func(ctx context.Context) error {
		const end = 10 * time.Second
		cmd := exec.CommandContext(ctx, s.program, "serve", "-c", s.config, "--listen", s.gateway) //nolint:gosec // the operator names it
		cmd.Env, cmd.Stdout, cmd.Stderr = env, os.Stderr, os.Stderr
		cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
		cmd.WaitDelay = end
		apart(cmd)
		err := cmd.Run()
		if ctx.Err() != nil {
			return nil //nolint:nilerr // it was told to end
		}
		if err == nil {
			err = errors.New("it has ended")
		}
		return err
	}, nil
}

// greet says where the page is, once the gateway is ready.
func (s settings) greet(ctx context.Context) {
	const pause = 100 * time.Millisecond
	for ctx.Err() == nil {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+s.gateway+"/readyz", http.NoBody)
		if err != nil {
			return
		}
		if resp, err := http.DefaultClient.Do(req); err == nil {
			resp.Body.Close()
			if resp.StatusCode == http.StatusOK {
				break
			}
		}
		select {
		case <-ctx.Done():
		case <-time.After(pause):
		}
	}
	if ctx.Err() == nil {
		model := s.upstream
		if model == "" {
			model = "the built-in demo, which needs no key"
		}
		fmt.Printf("\n  Ad studio   http://%s   (model: %s)\n  Gateway     http://%s/v1, console http://%s/ui\n  MCP server  http://%s/mcp\n  Ctrl-C ends all three.\n\n", s.app, model, s.gateway, s.admin, s.tools)
	}
}
