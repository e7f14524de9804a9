package conformance

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// Readers are the readers of cases: what a target needs a model for, as Case.Reader has
// them, in order.
func Readers(cases []Case) []string {
	set := map[string]bool{}
	for i := range cases {
		set[cases[i].Reader()] = true
	}
	return slices.Sorted(maps.Keys(set))
}

// probed is what is known of the way to each of a target's models.
type probed struct {
	lanes map[string]string // of a model that leads to the upstream: its name there
	why   map[string]string // of one that does not: why
}

// The times of a probe: probeTime bounds the question to a model, probePause is how long a
// gateway that is not ready is left alone.
const (
	probeTime  = 15 * time.Second
	probePause = 500 * time.Millisecond
)

// probe asks each model of the target that the cases need for a word that only the
// suite's upstream knows.
func probe(ctx context.Context, t *Target, up *Upstream, cases []Case, o *Options) (*probed, error) {
	var models []string
	for _, reader := range Readers(cases) {
		if m := t.model(reader); m != "" && !slices.Contains(models, m) {
			models = append(models, m)
		}
	}
	p := &probed{map[string]string{}, map[string]string{}}
	if len(models) == 0 {
		return p, nil
	}
	word := fmt.Sprintf("conformance %x", time.Now().UnixNano())
	pl, end := up.begin("", &script{says: []*said{{Content: word, FinishReason: "stop"}}, path: "/chat/completions", speaks: chatAPI, any: true})
	defer end()
	// The first is asked alone: where it does not get through, most often none does, and
	// the gateway is to say so once and not in as many words as it has models.
	why, lane, later := t.probe(ctx, pl, models[0], word)
	for end := time.Now().Add(o.Wait); later && time.Now().Before(end) && ctx.Err() == nil; {
		sleep(probePause, ctx.Done())
		why, lane, later = t.probe(ctx, pl, models[0], word)
	}
	p.note(models[0], lane, why)
	var mu sync.Mutex
	each(o.Parallel, models[1:], func(model string) {
		if ctx.Err() != nil {
			return
		}
		why, lane, _ := t.probe(ctx, pl, model, word)
		mu.Lock()
		defer mu.Unlock()
		p.note(model, lane, why)
	})
	for _, lane := range p.lanes {
		up.learn(lane)
	}
	if len(p.lanes) > 0 {
		return p, ctx.Err()
	}
	return p, fmt.Errorf("the gateway at %s does not lead to the suite's upstream%s: model %q: %s; see \"callgate conformance config\"",
		t.BaseURL, up.at(), models[0], p.why[models[0]])
}

// missing is the error of models that do not lead to the upstream.
func (p *probed) missing() error {
	if len(p.why) == 0 {
		return nil
	}
	models := slices.Sorted(maps.Keys(p.why))
	return fmt.Errorf("%d of the gateway's models do not lead to the suite's upstream: %.300s; %q: %s",
		len(models), strings.Join(models, ", "), models[0], p.why[models[0]])
}

func (p *probed) note(model, lane, why string) {
	if why != "" {
		p.why[model] = why
		return
	}
	p.lanes[model] = lane
}

// at says where the upstream is, if it listens by itself.
func (u *Upstream) at() string {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.addr == "" {
		return ""
	}
	return " at " + u.addr
}

// probe asks one model. why says what is wrong, or is ""; lane is the model's name at the
// upstream; later is that it may be well after a while.
func (t *Target) probe(ctx context.Context, pl *play, model, word string) (why, lane string, later bool) {
	ctx, cancel := context.WithTimeout(ctx, patient(probeTime))
	defer cancel()
	// The model stands in the message too, so that the request is found among others.
	mark := word + " " + model
	a, err := t.ask(ctx, http.MethodPost, "/chat/completions", fmt.Appendf(nil, `{"model":%s,"max_tokens":64,"messages":[{"role":"user","content":%s}]}`, quote(model), quote(mark)), nil)
	if err != nil {
		return "there is no answer: " + err.Error(), "", true
	}
	for _, r := range pl.received() {
		if strings.Contains(string(r.body), quote(mark)) {
			lane = unquote([]byte(upstreamModel(r.body)))
		}
	}
	switch {
	case lane == "" && a.status == 200:
		return "it is answered, but by another upstream: point it to the suite's", "", false
	case a.status != 200:
		return fmt.Sprintf("status %d: %.200s", a.status, strings.Join(strings.Fields(string(a.body)), " ")), "", a.status >= 500 || a.status == 429
	case lane == "" || !strings.Contains(string(a.body), word):
		return "the upstream was asked, but its answer is not the gateway's", "", false
	}
	return "", lane, false
}

// each calls do for all items, n at a time.
func each[T any](n int, items []T, do func(T)) {
	var next atomic.Int64
	var wg sync.WaitGroup
	for range max(1, min(n, len(items))) {
		wg.Go(func() {
			for {
				i := int(next.Add(1)) - 1
				if i >= len(items) {
					return
				}
				do(items[i])
			}
		})
	}
	wg.Wait()
}
