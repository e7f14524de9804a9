package main

import (
	"context"
	"fmt"

	"github.com/callgate/callgate/gateway/chain"
	"github.com/callgate/callgate/plugins"
	"github.com/callgate/callgate/plugins/builtin"
	"github.com/callgate/callgate/sdk"
	"github.com/callgate/callgate/sdk/abi"
	"github.com/callgate/callgate/wasm-parsers/all"
)

// engine runs parsers. Both kinds give the same events.
type engine interface {
	// begin begins a response. The function ends it.
	begin() (chain.Runner, func())
}

// native runs parsers in this process, as plain Go: what they would cost if they
// were trusted. The events are encoded and decoded as the sdk does.
type native map[string]sdk.Spec

func newNative() native {
	n := native{}
	for _, spec := range all.Specs() {
		n[spec.Name] = spec
	}
	return n
}

func (n native) begin() (chain.Runner, func()) { return n, func() {} }

// CanParse implements chain.Runner.
func (n native) CanParse(_ context.Context, parser string, head []byte) (abi.Verdict, error) {
	if check := n[parser].CanParse; check != nil {
		return check(head), nil
	}
	return abi.Yes, nil
}

// Open implements chain.Runner.
func (n native) Open(_ context.Context, parser string, opts abi.Options) (chain.Run, error) {
	p, err := n[parser].New(opts)
	if err != nil {
		return nil, err
	}
	return &nativeRun{parser: p}, nil
}

// nativeRun is a region that a native parser reads.
type nativeRun struct {
	parser sdk.Parser
	out    sdk.Out
	events []abi.Event
}

// Feed implements chain.Run.
func (r *nativeRun) Feed(_ context.Context, text []byte) ([]abi.Event, error) {
	if r.out.Ended() {
		return nil, nil
	}
	r.parser.Feed(text, &r.out)
	return r.take()
}

// Finish implements chain.Run.
func (r *nativeRun) Finish(_ context.Context, reason abi.Reason) ([]abi.Event, error) {
	if r.out.Ended() {
		return nil, nil
	}
	r.parser.Finish(reason, &r.out)
	return r.take()
}

func (r *nativeRun) take() (events []abi.Event, err error) {
	r.events, err = abi.DecodeEvents(r.events[:0], r.out.Take())
	return r.events, err
}

// Close implements chain.Run.
func (r *nativeRun) Close() {}

// sandboxed runs parsers as the gateway does: in WebAssembly, with fuel counted, each
// response in an instance that is reset after it.
type sandboxed struct{ host *plugins.Host }

// newSandboxed compiles the built-in parsers, if the run has not done so yet.
func newSandboxed(ctx context.Context, b *bench) (*sandboxed, error) {
	wasm, err := builtin.Wasm(builtin.Name)
	if err != nil {
		return nil, err
	}
	host, err := plugins.New(ctx, plugins.Config{CacheDir: b.programs[0].cacheDir, Isolation: plugins.IsolationReset})
	if err != nil {
		return nil, err
	}
	s := &sandboxed{host}
	if err := host.Load(ctx, plugins.Source{Name: builtin.Name, Wasm: wasm}); err != nil {
		s.close()
		return nil, fmt.Errorf("the built-in parsers: %w", err)
	}
	return s, nil
}

func (s *sandboxed) begin() (chain.Runner, func()) {
	session := s.host.Session()
	return chain.Runs(session), session.Close
}

func (s *sandboxed) close() { _ = s.host.Close(context.Background()) } // of a process that ends soon
