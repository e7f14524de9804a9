package cli

import (
	"context"
	"sync"

	"github.com/callgate/callgate/gateway"
	"github.com/callgate/callgate/gateway/chain"
	"github.com/callgate/callgate/sdk/abi"
)

// markup implements run.Markup with the parsers that are loaded.
type markup struct {
	parsers *parsers

	mu      sync.Mutex
	known   bool
	version uint64
	markers []string
	any     *chain.Plan   // all of them, to see that there is nothing
	alone   []*chain.Plan // each by itself: another one may take for text what it reads
}

// load makes plans of the parsers as they are now.
func (m *markup) load(s session) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.known && m.version == s.Version() {
		return
	}
	var spec gateway.ParserSpec
	m.markers = nil
	for _, info := range s.Parsers() {
		spec.Names = append(spec.Names, info.Name)
	}
	for name, c := range m.parsers.custom {
		spec.Names = append(spec.Names, name)
		m.markers = append(m.markers, c.Start, c.End)
	}
	candidates := m.parsers.candidates(s.Parsers(), spec)
	m.any, m.alone = chain.NewPlan(candidates, chain.PlanOptions{}), nil
	for _, c := range candidates {
		m.markers = append(append(m.markers, c.Triggers...), c.Starts...)
		if c.Name != chain.Fallback {
			m.alone = append(m.alone, chain.NewPlan([]chain.Candidate{c}, chain.PlanOptions{}))
		}
	}
	m.known, m.version = true, s.Version()
}

// session is a session of the parsers; ok is false as long as they are not loaded.
func (m *markup) session() (s session, ok bool) {
	if m.parsers.ready() != nil {
		return s, false
	}
	s = session{m.parsers.host.Session(), m.parsers.templatesHash}
	m.load(s)
	return s, true
}

// Markers implements run.Markup.
func (m *markup) Markers() (markers []string, version uint64) {
	s, ok := m.session()
	if !ok {
		return nil, 0
	}
	defer s.Close()
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.markers, m.version + 1
}

// Calls implements run.Markup.
func (m *markup) Calls(ctx context.Context, text string, tools []abi.Tool) bool {
	s, ok := m.session()
	if !ok {
		return true // nobody can tell
	}
	defer s.Close()
	m.mu.Lock()
	all, alone := m.any, m.alone
	m.mu.Unlock()
	options := chain.Options{Tools: func() []abi.Tool { return tools }}
	for _, said := range []string{text, "It says:\n" + text + "\n"} { // as all that a model writes, and as a part
		if skims(all, s, options, said) {
			continue
		}
		for _, plan := range alone {
			if !skims(plan, s, options, said) && (reads(ctx, plan, s, options, said, abi.Stop) || reads(ctx, plan, s, options, said, abi.Length)) {
				return true
			}
		}
	}
	return false
}

// skims reports whether there is nothing in a text that the parsers of a plan would be asked
// about.
func skims(plan *chain.Plan, runner chain.Runner, o chain.Options, text string) bool {
	c := plan.New(runner, o)
	defer c.Close()
	skim := c.Skim()
	skim.Read([]byte(text))
	return skim.Nothing()
}

// reads reports whether a plan's parsers find a call in a text that ends so, or could not read it.
func reads(ctx context.Context, plan *chain.Plan, runner chain.Runner, o chain.Options, text string, end abi.Reason) bool {
	c := plan.New(runner, o)
	defer c.Close()
	c.Feed(ctx, []byte(text))
	c.Finish(ctx, end)
	r := c.Report()
	return r.Calls > 0 || len(r.Warnings) > 0
}
