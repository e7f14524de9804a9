package console

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/callgate/callgate/gateway/playground"
)

// playData is what the playground shows.
type playData struct {
	Form       form
	Parsers    []string // that may be chosen
	Examples   []string // parsers with an example
	Error      string
	Reading    *playground.Reading
	Comparison *playground.Comparison
	Took       time.Duration
}

// Reasonings are the choices for where the text begins: value, what is chosen, words.
func (d *playData) Reasonings() [][3]string {
	return choices(d.Form.Reasoning, [2]string{"auto", "in the answer or in reasoning"}, [2]string{"open", "inside the reasoning"},
		[2]string{"closed", "in the answer"}, [2]string{"none", "no reasoning is looked for"})
}

// Finishes are the reasons for the text's end.
func (d *playData) Finishes() [][3]string {
	return choices(d.Form.Finish, [2]string{"stop", "stop"}, [2]string{"length", "length: cut off"})
}

// Cuts are the ways to cut the text for the time line.
func (d *playData) Cuts() [][3]string {
	return choices(d.Form.Cut, [2]string{"whole", "the whole text"}, [2]string{"bytes", "single bytes"}, [2]string{"sixes", "six characters"}, [2]string{"random", "random"})
}

// choices are pairs of a value and its words, with what is chosen.
func choices(chosen string, pairs ...[2]string) (out [][3]string) {
	for _, p := range pairs {
		out = append(out, [3]string{p[0], chosen, p[1]})
	}
	return out
}

// form is what was typed.
type form struct {
	playground.Input
	Cut     string // of the reading that is shown
	Random  string // how many random cuts
	Seed    string // "" takes a new one
	Example string
}

// exampleTools are the tools of all examples.
const exampleTools = `[
  {
    "type": "function",
    "function": {
      "name": "get_weather",
      "parameters": {
        "type": "object",
        "properties": {"city": {"type": "string"}},
        "required": ["city"]
      }
    }
  }
]`

// firstExample is what the playground shows who comes for the first time.
const firstExample = "hermes"

// Bounds on the playground's work.
const (
	playTime = 15 * time.Second // for all readings of one request
	playWait = 2 * time.Second  // for another request's
	cuts     = 20               // random ones, if nobody says how many
)

// player is the playground.
type player struct {
	bench   *playground.Bench
	plugins func() Plugins
	ready   func() error
	busy    chan struct{} // holds one while it reads
	pages   *pages
}

// blank shows the playground with an example, and nothing read yet.
func (p *player) blank(w http.ResponseWriter, r *http.Request) error {
	d := p.newPlay()
	d.Form = form{Input: playground.Input{Tools: exampleTools, Parser: "auto"}, Cut: "whole", Random: strconv.Itoa(cuts)}
	name := cmp.Or(r.URL.Query().Get("example"), firstExample)
	for _, parser := range p.plugins().Parsers {
		if parser.Name == name && parser.Example != "" {
			d.Form.Text, d.Form.Example = parser.Example, name
			if r.URL.Query().Has("example") {
				d.Form.Parser = name
			}
		}
	}
	return p.pages.show(w, http.StatusOK, "playground", page{Title: "Playground", Current: playgroundPath, Data: d})
}

// newPlay lists what may be chosen.
func (p *player) newPlay() *playData {
	d := &playData{Parsers: []string{"auto", "none"}}
	loaded := p.plugins()
	d.Parsers = append(d.Parsers, loaded.Custom...)
	for _, parser := range loaded.Parsers {
		if parser.Example == "" {
			continue // it reads no form of its own
		}
		d.Parsers = append(d.Parsers, parser.Name)
		d.Examples = append(d.Examples, parser.Name)
	}
	return d
}

// read reads what was typed.
func (p *player) read(w http.ResponseWriter, r *http.Request) error {
	d := p.newPlay()
	status := http.StatusOK
	if err := r.ParseForm(); err != nil {
		if _, ok := errors.AsType[*http.MaxBytesError](err); ok {
			return &refusal{http.StatusRequestEntityTooLarge,
				fmt.Sprintf("That is too long: a text may have %d bytes and the tools %d.", playground.MaxText, playground.MaxTools)}
		}
		return &refusal{http.StatusBadRequest, "The form could not be read."}
	}
	d.Form = formOf(r)
	began := time.Now()
	if err := p.play(r.Context(), d); err != nil {
		status = http.StatusBadRequest
		if known, ok := errors.AsType[*refusal](err); ok {
			status = known.status
		}
		d.Error = err.Error()
	}
	d.Took = time.Since(began)
	return p.pages.show(w, status, "playground", page{Title: "Playground", Current: playgroundPath, Data: d})
}

// formOf is what was typed. Browsers end lines of forms as mail does; models do not.
func formOf(r *http.Request) form {
	value := func(name string) string { return strings.ReplaceAll(r.PostForm.Get(name), "\r\n", "\n") }
	return form{Input: playground.Input{Text: value("text"), Tools: value("tools"), Parser: value("parser"), Model: strings.TrimSpace(value("model")),
		Reasoning: value("reasoning"), Finish: value("finish")}, Cut: value("cut"), Random: strings.TrimSpace(value("random")), Seed: strings.TrimSpace(value("seed")), Example: value("example")}
}

// play reads the text, once for all to see and then in many cuts. One request at a time
// does: parsers at work for it are not there for clients.
func (p *player) play(ctx context.Context, d *playData) error {
	seed, err := number(d.Form.Seed, rand.Uint64N(1_000_000), 1<<63, "the seed") //nolint:gosec // not a secret
	if err != nil {
		return err
	}
	d.Form.Seed = strconv.FormatUint(seed, 10)
	random, err := number(d.Form.Random, 0, playground.MaxRandom, "the number of random cuts")
	if err != nil {
		return err
	}
	cut, ok := map[string]playground.Cut{"": playground.Whole(), "whole": playground.Whole(), "bytes": playground.Bytes(),
		"sixes": playground.Sixes(), "random": playground.Random(seed, 1)}[d.Form.Cut]
	if !ok {
		return fmt.Errorf("the cut is %.40q; it must be whole, bytes, sixes or random", d.Form.Cut)
	}
	if err := p.ready(); err != nil {
		return &refusal{http.StatusServiceUnavailable, "The parsers cannot be used yet: " + err.Error()}
	}
	select {
	case p.busy <- struct{}{}:
		defer func() { <-p.busy }()
	case <-time.After(playWait):
		return &refusal{http.StatusServiceUnavailable, "Another text is being read; try again when it is done."}
	case <-ctx.Done():
		return ctx.Err()
	}
	ctx, cancel := context.WithTimeout(ctx, playTime)
	defer cancel()
	if d.Reading, err = p.bench.Read(ctx, d.Form.Input, cut); err != nil {
		return inWords(err)
	}
	if d.Reading.Failed() {
		return nil // again and again would put the parser into quarantine
	}
	if d.Comparison, err = p.bench.Compare(ctx, d.Form.Input, seed, int(random)); err != nil {
		return inWords(err)
	}
	return nil
}

// inWords says what a deadline means here.
func inWords(err error) error {
	if errors.Is(err, context.DeadlineExceeded) {
		return &refusal{http.StatusServiceUnavailable, fmt.Sprintf("The text could not be read in %v.", playTime)}
	}
	return err
}

// number reads a number of the form; without one it is preset.
func number(text string, preset, most uint64, what string) (uint64, error) {
	if text == "" {
		return preset, nil
	}
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil || n > most {
		return 0, fmt.Errorf("%s is %.40q; it must be a number from 0 to %d", what, text, most)
	}
	return n, nil
}
