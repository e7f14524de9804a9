package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/callgate/callgate/gateway/billing"
)

type usageCmd struct {
	operator
	From   string   `help:"Start: a time, day or month in UTC, such as 2026-11-23T07:00:00Z, 2026-11-23 or 2026-11. Default: 30 days ago." placeholder:"TIME"`
	To     string   `help:"End, exclusive. Default: now." placeholder:"TIME"`
	By     string   `help:"What to group by: any of key, team, model, provider, served, arm, purpose, hour, day, month, session, request, status, price_version, label:NAME; row for the rows themselves, total for one sum." default:"team,key,model" placeholder:"NAMES"`
	Filter []string `help:"Only rows with this, such as team=search or label=cost_center:a. May be given more than once." sep:"none" placeholder:"NAME=VALUE"`
	CSV    bool     `name:"csv" help:"Print CSV." xor:"format"`
	JSONL  bool     `name:"jsonl" help:"Print a line of JSON for each entry." xor:"format"`
}

// Run prints all pages.
func (u *usageCmd) Run(e *env) error {
	format := billing.JSON
	switch {
	case u.CSV:
		format = billing.CSV
	case u.JSONL, u.By == "row": // a table of rows would have 24 columns
		format = billing.JSONL
	}
	values, err := u.values(format)
	if err != nil {
		return usageError{err}
	}
	var entries []usageEntry
	for first := true; ; first = false {
		body, header, err := u.page(e, values)
		if err != nil {
			return usageRefused(err)
		}
		switch {
		case format == billing.JSON:
			more, err := readEntries(body)
			if err != nil {
				return err
			}
			entries = append(entries, more...)
		case format == billing.CSV && !first:
			_, rest, _ := strings.Cut(string(body), "\n") // the names of the columns
			fmt.Fprint(e.stdout, rest)
		default:
			fmt.Fprint(e.stdout, string(body))
		}
		cursor := header.Get("X-Callgate-Cursor")
		if cursor == "" {
			break
		}
		values.Set("cursor", cursor)
	}
	if format != billing.JSON {
		return nil
	}
	return u.table(e.stdout, entries)
}

// page asks for a page, and for smaller ones from then on if it is too large.
func (u *usageCmd) page(e *env, values url.Values) (body []byte, header http.Header, err error) {
	for {
		body, header, err = u.send(e, http.MethodGet, "/admin/usage?"+values.Encode(), nil)
		limit, _ := strconv.Atoi(values.Get("limit"))
		if !errors.Is(err, errLargeAnswer) || limit < 2 {
			return body, header, err
		}
		values.Set("limit", strconv.Itoa(limit/2))
	}
}

// values are the parameters.
func (u *usageCmd) values(format billing.Format) (url.Values, error) {
	v := url.Values{"group": {u.By}, "format": {string(format)}, "limit": {fmt.Sprint(billing.MaxLimit)}}
	for name, value := range map[string]string{"from": u.From, "to": u.To} {
		if value != "" {
			v.Set(name, value)
		}
	}
	for _, f := range u.Filter {
		name, value, ok := strings.Cut(f, "=")
		if !ok || v.Has(name) && slices.Contains([]string{"group", "format", "limit", "from", "to", "cursor"}, name) {
			return nil, fmt.Errorf("--filter %q is not NAME=VALUE, such as team=search", f)
		}
		v.Add(name, value)
	}
	return v, nil
}

// usageRefused says what the gateway's refusal means here.
func usageRefused(err error) error {
	refused, ok := errors.AsType[*refusedError](err)
	switch {
	case ok && refused.status == http.StatusNotFound:
		return errors.New("this gateway keeps no ledger (usage.store: off), or the address of --admin is that of clients")
	case ok && refused.status == http.StatusBadRequest:
		return usageError{err}
	}
	return err
}

// usageEntry is a sum as JSON has it.
type usageEntry struct {
	Group     map[string]string `json:"group"`
	Answers   int64             `json:"answers"`
	Failed    int64             `json:"failed"`
	Estimated int64             `json:"estimated"`
	Unpriced  int64             `json:"unpriced"`
	Input     int64             `json:"input_tokens"`
	Cached    int64             `json:"cached_tokens"`
	Output    int64             `json:"output_tokens"`
	Nano      *int64            `json:"cost_nano_usd"`
}

func readEntries(body []byte) ([]usageEntry, error) {
	var page struct{ Entries []usageEntry }
	if err := json.Unmarshal(body, &page); err != nil {
		return nil, fmt.Errorf("the gateway's answer cannot be read: %w", err)
	}
	return page.Entries, nil
}

// table prints sums, the dearest first unless they are of times, and what they add up to.
func (u *usageCmd) table(out io.Writer, entries []usageEntry) error {
	var by []string
	if u.By != "total" {
		by = strings.Split(u.By, ",")
	}
	isTime := func(name string) bool { return billing.Dimension(name).IsTime() }
	if !slices.ContainsFunc(by, isTime) {
		slices.SortStableFunc(entries, func(a, b usageEntry) int { return compareCosts(b.Nano, a.Nano) })
	}
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	head := make([]string, 0, len(by)+8)
	for _, name := range by {
		head = append(head, strings.ToUpper(name))
	}
	fmt.Fprintln(w, strings.Join(append(head, "ANSWERS", "FAILED", "INPUT", "CACHED", "OUTPUT", "USD", "UNPRICED", "ESTIMATED"), "\t"))
	sum, nano := usageEntry{}, int64(0)
	for _, e := range entries {
		line := make([]string, 0, len(by))
		for _, name := range by {
			line = append(line, shown(e.Group[name]))
		}
		fmt.Fprintln(w, strings.Join(append(line, numbers(&e)...), "\t"))
		sum.Answers, sum.Failed, sum.Input, sum.Cached, sum.Output = sum.Answers+e.Answers, sum.Failed+e.Failed, sum.Input+e.Input, sum.Cached+e.Cached, sum.Output+e.Output
		sum.Unpriced, sum.Estimated = sum.Unpriced+e.Unpriced, sum.Estimated+e.Estimated
		if e.Nano != nil {
			nano += *e.Nano
			sum.Nano = &nano
		}
	}
	if len(by) > 0 && len(entries) > 1 {
		line := make([]string, len(by))
		line[0] = "all"
		fmt.Fprintln(w, strings.Join(append(line, numbers(&sum)...), "\t"))
	}
	return w.Flush()
}

func compareCosts(a, b *int64) int {
	switch {
	case a == nil && b == nil:
		return 0
	case a == nil:
		return -1
	case b == nil:
		return 1
	}
	return int(min(max(*a-*b, -1), 1))
}

// shown is a name in a table: no client's text moves a terminal's cursor.
func shown(s string) string {
	if s == "" {
		return "-"
	}
	return strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f || r >= 0x80 && r < 0xa0 {
			return '?'
		}
		return r
	}, s)
}

func numbers(e *usageEntry) []string {
	usd := "?"
	if e.Nano != nil {
		usd = billing.USD(*e.Nano)
	}
	return []string{fmt.Sprint(e.Answers), fmt.Sprint(e.Failed), fmt.Sprint(e.Input), fmt.Sprint(e.Cached), fmt.Sprint(e.Output), usd, fmt.Sprint(e.Unpriced), fmt.Sprint(e.Estimated)}
}
