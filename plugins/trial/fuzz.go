package trial

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/callgate/callgate/sdk/abi"
)

// maxFuzzed is the longest text that is made up: every way of cutting a longer one would
// take too long to try many.
const maxFuzzed = 400

// fuzz reads texts made up from the cases, the example and the triggers, until the time
// is over or one breaks the contract. Which texts depends on the seed alone; how many, on
// the machine.
func (t *trial) fuzz(ctx context.Context, s *subject) {
	if t.cfg.Fuzz <= 0 {
		return
	}
	check := Check{Name: "fuzz", Parser: s.Name}
	random := rand.New(rand.NewPCG(t.cfg.Seed, uint64(len(s.Name)))) //nolint:gosec // it has to be repeatable
	m := newMaker(s, random)
	end := time.Now().Add(t.cfg.Fuzz / time.Duration(len(t.report.Parsers)))
	for ctx.Err() == nil && (t.cfg.texts == 0 && time.Now().Before(end) || check.Tried < t.cfg.texts) {
		in := m.make()
		ways := someCuts(in.text, random)
		check.Tried, check.Read = check.Tried+1, check.Read+1+len(ways)
		if _, failure := t.examine(ctx, s, in, ways); failure != nil && ctx.Err() == nil {
			in, failure = t.shorten(ctx, s, in, failure)
			failure.Check, failure.Parser, failure.Input = check.Name, s.Name, in.text
			failure.Case = fmt.Sprintf("text %d of seed %d", check.Tried, t.cfg.Seed)
			if in.reason == abi.Length {
				failure.Case += ", cut off by a token limit"
			}
			t.fail(*failure)
			break
		}
	}
	t.report.Checks = append(t.report.Checks, check)
}

// someCuts are a few ways of cutting: byte by byte, in sixes, in two and at random.
func someCuts(text string, random *rand.Rand) [][]string {
	if len(text) < 2 {
		return nil
	}
	ways := [][]string{pieces(text, func() int { return 1 }), pieces(text, func() int { return 6 })}
	for range 4 {
		at := 1 + random.IntN(len(text)-1)
		ways = append(ways, []string{text[:at], text[at:]}, pieces(text, func() int { return 1 + random.IntN(24) }))
	}
	return ways
}

func pieces(text string, size func() int) []string {
	var out []string
	for text != "" {
		n := min(size(), len(text))
		out, text = append(out, text[:n]), text[n:]
	}
	return out
}

// maker makes texts up.
type maker struct {
	random    *rand.Rand
	seeds     []input
	fragments []string
}

func newMaker(s *subject, random *rand.Rand) *maker {
	m := &maker{random: random, seeds: s.seeds()}
	m.fragments = slices.Concat(s.begins(), []string{
		"{", "}", "[", "]", "(", ")", "<", ">", "</", `"`, "'", `\`, `\"`, `\u00`, `\ud83d`, ":", ",", "=", " ", "\n", "\t", "\x00", "\xff", "é", "😀", "null", "True", "-1e5",
		`{"a": 1}`, `"name"`, `"arguments"`, "get_weather", "```", "<think>",
	})
	for _, c := range s.cases {
		m.seeds = append(m.seeds, input{c.Input, c.Options, c.Reason, false})
		m.fragments = append(m.fragments, tokens(c.Input)...)
	}
	m.fragments = append(m.fragments, tokens(s.Example)...)
	return m
}

// tokens are the parts of a text between white space and quotes, which hold the markers of
// a format.
func tokens(text string) []string {
	return strings.FieldsFunc(text[:min(len(text), maxFuzzed)], func(r rune) bool { return r == ' ' || r == '\n' || r == '"' })
}

// make makes the next text: a seed with some changes.
func (m *maker) make() input {
	in := m.seeds[m.random.IntN(len(m.seeds))]
	text := []byte(in.text)
	for range 1 + m.random.IntN(6) {
		text = m.change(text)
	}
	in.wanted = false
	in.text = string(text[:min(len(text), maxFuzzed)])
	if m.random.IntN(4) == 0 {
		in.reason = abi.Length - in.reason // the other one
	}
	return in
}

// change makes one change to a text.
func (m *maker) change(text []byte) []byte {
	from := m.random.IntN(len(text) + 1)
	to := min(len(text), from+m.random.IntN(16))
	switch m.random.IntN(6) {
	case 0: // leave out
		return slices.Delete(text, from, to)
	case 1: // repeat
		return slices.Insert(text, to, slices.Clone(text[from:to])...)
	case 2: // break off
		return text[:from]
	case 3: // go on as another
		other := m.seeds[m.random.IntN(len(m.seeds))].text
		return append(text[:from:from], other[min(len(other), m.random.IntN(len(other)+1)):]...)
	case 4: // another byte
		if from < len(text) {
			text[from] ^= 1 << m.random.IntN(8)
		}
		return text
	}
	return slices.Insert(text, from, []byte(m.fragments[m.random.IntN(len(m.fragments))])...)
}

// maxShortened is how many shorter texts are tried to find the shortest that still fails.
const maxShortened = 400

// shorten leaves parts out of a text for as long as it still breaks the contract.
func (t *trial) shorten(ctx context.Context, s *subject, in input, failure *Failure) (input, *Failure) {
	tries := 0
	for size := len(in.text) / 2; size > 0 && tries < maxShortened; {
		shorter := false
		for at := 0; at+size <= len(in.text) && tries < maxShortened && ctx.Err() == nil; tries++ {
			try := in
			try.text = in.text[:at] + in.text[at+size:]
			random := rand.New(rand.NewPCG(t.cfg.Seed, uint64(len(try.text)))) //nolint:gosec // it has to be repeatable
			if _, f := t.examine(ctx, s, try, someCuts(try.text, random)); f != nil {
				in, failure, shorter = try, f, true
			} else {
				at += size
			}
		}
		if !shorter {
			size /= 2
		}
	}
	return in, failure
}
