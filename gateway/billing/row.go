// Package billing keeps what requests have used and cost: an append-only ledger, with roll-ups by
// the hour, retention and export. It knows no request: the gateway's admission hands it rows.
package billing

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
	"unicode/utf8"
)

// StatusCut is the status of a row whose answer a budget has cut (on_exceed: cut).
const StatusCut = "budget_cut"

// Row is what one answer of an upstream has used. An answer that was thrown away (a retry of the
// model, a round of tools, a judge) has a row of its own, since its upstream bills it.
type Row struct {
	// ID is the row's own: a row that is written twice counts once. Request is the id of the
	// client's request, which may have several rows.
	ID, Request string
	Time        time.Time
	// Key, Team and Labels are whose request it was.
	Key, Team string
	Labels    map[string]string
	// Session is the conversation: what the client names by metadata.session, else the id of the one that the
	// gateway keeps, or "".
	Session string
	// Model is the name that the client asked for; Provider and Served are the target's.
	Model, Provider, Served string
	// Arm is the rollout's arm, as rollout/arm, or "".
	Arm string
	// Purpose is why the upstream was asked: "answer", "reask", "judge", "mirror".
	Purpose string
	// Input has Cached in it, and Output has Reasoning in it. CacheWrite is the part of Input that
	// was written to the upstream's cache.
	Input, Cached, CacheWrite, Output, Reasoning int64
	// Nano is the cost in 10⁻⁹ US dollars, by the prices of PriceVersion. Priced says that the
	// price is known.
	Nano         int64
	Priced       bool
	PriceVersion string
	// Estimated says that the upstream has not reported the usage, or not all of it.
	Estimated bool
	// Tools is how many calls of tools the answer made.
	Tools int
	// Status is how it ended: "ok", "canceled" (the client left), [StatusCut], or the code of its error.
	Status string
	// Took is from the request to the upstream to the end of its answer.
	Took time.Duration
}

// Bounds on a row. What is longer is cut, so that nothing a client writes keeps a row from the ledger.
const (
	maxName     = 256 // bytes
	maxSession  = 512
	maxLabels   = 16
	maxLabel    = 64 // bytes of a label's name; its value may have maxName
	maxTokens   = 1 << 40
	maxNano     = 1 << 57 // 144 million dollars
	maxTools    = 1 << 20
	maxDuration = 1000 * time.Hour
)

// clean brings a row into the form that all ledgers keep: texts that a database can have, times in
// milliseconds, numbers within bounds. reason says what is wrong with a row that cannot be kept.
func (r *Row) clean() (reason string) {
	if r.ID = text(r.ID, maxName); r.ID == "" {
		return "it has no id"
	}
	if r.Time.IsZero() || r.Time.Year() < 1970 || r.Time.Year() > 9999 {
		return "its time is none"
	}
	for _, n := range []int64{r.Input, r.Cached, r.CacheWrite, r.Output, r.Reasoning} {
		if n < 0 || n > maxTokens {
			return "it has an impossible number of tokens"
		}
	}
	if r.Nano < 0 || r.Nano > maxNano {
		return "it has an impossible cost"
	}
	if !r.Priced {
		r.Nano, r.PriceVersion = 0, ""
	}
	r.Time = r.Time.UTC().Truncate(time.Millisecond)
	r.Took = min(max(r.Took, 0), maxDuration).Truncate(time.Millisecond)
	r.Tools = min(max(r.Tools, 0), maxTools)
	for _, s := range []*string{&r.Request, &r.Key, &r.Team, &r.Model, &r.Provider, &r.Served, &r.Arm, &r.Purpose, &r.PriceVersion, &r.Status} {
		*s = text(*s, maxName)
	}
	r.Session = text(r.Session, maxSession)
	r.Labels = cleanLabels(r.Labels)
	return ""
}

// size is about how many bytes a row takes.
func (r *Row) size() int64 {
	n := rowSize
	for _, s := range []string{r.ID, r.Request, r.Key, r.Team, r.Session, r.Model, r.Provider, r.Served, r.Arm, r.Purpose, r.PriceVersion, r.Status} {
		n += len(s)
	}
	for name, value := range r.Labels {
		n += len(name) + len(value)
	}
	return int64(n)
}

// rowSize is what a row takes besides its texts: as a line of the journal, or in memory.
const rowSize = 450

// cleanLabels keeps the first labels by name.
func cleanLabels(labels map[string]string) map[string]string {
	if len(labels) == 0 {
		return nil
	}
	clean := len(labels) <= maxLabels
	for name, value := range labels {
		clean = clean && name != "" && name == text(name, maxLabel) && value == text(value, maxName)
	}
	if clean {
		return labels
	}
	names := slices.Sorted(maps.Keys(labels))
	out := make(map[string]string, len(names))
	for _, name := range names[:min(len(names), maxLabels)] {
		if short := text(name, maxLabel); short != "" {
			out[short] = text(labels[name], maxName)
		}
	}
	return out
}

// text is valid UTF-8 without NUL, of so many bytes at most.
func text(s string, most int) string {
	if len(s) <= most && isPlain(s) { // mostly
		return s
	}
	if len(s) > most {
		s = s[:most]
	}
	if !utf8.ValidString(s) {
		s = strings.ToValidUTF8(s, "")
	}
	if strings.IndexByte(s, 0) >= 0 {
		s = strings.ReplaceAll(s, "\x00", "")
	}
	return s
}

// isPlain reports whether a text is ASCII without NUL. It looks at eight bytes at a time: each row has many texts.
func isPlain(s string) bool {
	const ones, tops = 0x0101010101010101, 0x8080808080808080
	for ; len(s) >= 8; s = s[8:] {
		word := uint64(s[0]) | uint64(s[1])<<8 | uint64(s[2])<<16 | uint64(s[3])<<24 | uint64(s[4])<<32 | uint64(s[5])<<40 | uint64(s[6])<<48 | uint64(s[7])<<56
		if (word|(word-ones))&tops != 0 { // a byte above 127, or one that is 0
			return false
		}
	}
	for i := range len(s) {
		if s[i]-1 >= utf8.RuneSelf-1 {
			return false
		}
	}
	return true
}

// Record is a row as it is exported and as the journal has it: JSON with plain names. The cost is null
// where nobody knows the price.
type Record struct {
	ID           string            `json:"id"`
	Request      string            `json:"request"`
	Time         time.Time         `json:"time"`
	Key          string            `json:"key"`
	Team         string            `json:"team"`
	Labels       map[string]string `json:"labels,omitempty"`
	Session      string            `json:"session"`
	Model        string            `json:"model"`
	Provider     string            `json:"provider"`
	Served       string            `json:"served"`
	Arm          string            `json:"arm"`
	Purpose      string            `json:"purpose"`
	Input        int64             `json:"input_tokens"`
	Cached       int64             `json:"cached_tokens"`
	CacheWrite   int64             `json:"cache_write_tokens"`
	Output       int64             `json:"output_tokens"`
	Reasoning    int64             `json:"reasoning_tokens"`
	Nano         *int64            `json:"cost_nano_usd"`
	USD          *string           `json:"cost_usd"`
	PriceVersion string            `json:"price_version"`
	Estimated    bool              `json:"estimated"`
	Tools        int               `json:"tools"`
	Status       string            `json:"status"`
	Took         int64             `json:"took_ms"`
}

// Record is the row's exported form.
func (r *Row) Record() Record {
	out := Record{r.ID, r.Request, r.Time, r.Key, r.Team, r.Labels, r.Session, r.Model, r.Provider, r.Served, r.Arm, r.Purpose,
		r.Input, r.Cached, r.CacheWrite, r.Output, r.Reasoning, nil, nil, r.PriceVersion, r.Estimated, r.Tools, r.Status, r.Took.Milliseconds()}
	if r.Priced {
		usd := USD(r.Nano)
		out.Nano, out.USD = &r.Nano, &usd
	}
	return out
}

// row is what the record was made of.
func (r *Record) row() Row {
	out := Row{ID: r.ID, Request: r.Request, Time: r.Time, Key: r.Key, Team: r.Team, Labels: r.Labels, Session: r.Session, Model: r.Model,
		Provider: r.Provider, Served: r.Served, Arm: r.Arm, Purpose: r.Purpose, Input: r.Input, Cached: r.Cached, CacheWrite: r.CacheWrite,
		Output: r.Output, Reasoning: r.Reasoning, PriceVersion: r.PriceVersion, Estimated: r.Estimated, Tools: r.Tools, Status: r.Status,
		Took: time.Duration(r.Took) * time.Millisecond}
	if r.Nano != nil {
		out.Nano, out.Priced = *r.Nano, true
	}
	return out
}

// USD writes 10⁻⁹ US dollars as dollars, with all nine digits: 47500 is 0.000047500.
func USD(nano int64) string {
	sign := ""
	n := uint64(nano)
	if nano < 0 {
		sign, n = "-", -n
	}
	return fmt.Sprintf("%s%d.%09d", sign, n/1_000_000_000, n%1_000_000_000)
}
