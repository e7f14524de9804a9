package run

import (
	"context"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode"

	"github.com/callgate/callgate/gateway/internal/disarm"
	"github.com/callgate/callgate/sdk/abi"
)

// Markup knows what parsers take for a call.
type Markup interface {
	// Markers are texts that begin a call, or reasoning, in some format. Version changes with
	// them.
	Markers() (markers []string, version uint64)
	// Calls reports whether some parser finds a call in a text that a model would write.
	Calls(ctx context.Context, text string, tools []abi.Tool) bool
}

// cleaner takes out of results what a model or a parser could take for more than text.
type cleaner struct {
	markup Markup // nil: the usual marks only

	mu      sync.Mutex
	rules   *disarm.Rules
	version uint64
}

func newCleaner(m Markup) *cleaner { return &cleaner{markup: m} }

// current are the rules for the parsers that are loaded now.
func (c *cleaner) current() *disarm.Rules {
	var markers []string
	var version uint64
	if c.markup != nil {
		markers, version = c.markup.Markers()
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.rules == nil || c.version != version {
		c.rules, c.version = disarm.New(markers), version
	}
	return c.rules
}

// maxCheck is how long parsers may look at a result. One that they have not looked through is
// taken for one with a call.
const maxCheck = 2 * time.Second

// text is a text as a model may get it. What still reads as a call, in a format without marks of
// its own, has all its brackets replaced.
func (c *cleaner) text(ctx context.Context, s string, tools []abi.Tool) string {
	s = c.current().Text(s)
	if c.markup == nil || !mentions(s, tools) {
		return s
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), maxCheck)
	defer cancel()
	if !c.markup.Calls(ctx, s, tools) {
		return s
	}
	return disarm.Hard(s)
}

// mentions reports whether a text may name one of the tools, as freely as names of calls are
// understood. Without marks, and without a name, nothing is a call.
func mentions(s string, tools []abi.Tool) bool {
	if strings.Contains(s, `\u`) { // a letter in JSON
		return true
	}
	bare := func(s string) string {
		return strings.Map(func(r rune) rune {
			if unicode.IsLetter(r) || unicode.IsDigit(r) {
				return unicode.ToLower(r)
			}
			return -1
		}, s)
	}
	s = bare(s)
	return slices.ContainsFunc(tools, func(t abi.Tool) bool { return strings.Contains(s, bare(t.Name)) })
}

// clean cleans what a call has given.
func (h *caller) clean(ctx context.Context, d *done, o *offer) {
	if d.err != nil {
		e := *d.err
		rules := h.cleaner.current()
		e.Message, e.Hint = rules.Text(e.Message), rules.Text(e.Hint)
		d.err = &e
		return
	}
	d.text = h.cleaner.text(ctx, d.text, o.all)
}
