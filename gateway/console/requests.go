package console

import (
	"html/template"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/callgate/callgate/gateway/glossary"
	"github.com/callgate/callgate/gateway/history"
)

// requestRow is a request that was not clean.
type requestRow struct {
	*history.Entry
	Link   string
	Badges []badge
}

func requestRows(entries []*history.Entry) (rows []requestRow) {
	for _, e := range entries {
		rows = append(rows, requestRow{e, requestLink(e), badges(e)})
	}
	return rows
}

func badges(e *history.Entry) (out []badge) {
	for _, m := range marks {
		if e.Marks.Has(m.Mark) {
			out = append(out, mark(State{m.Level, m.Word}))
		}
	}
	return out
}

// noID stands in a link for an id that cannot.
const noID = "_"

// entryLink is a page of a request, below a path. Clients choose ids, so that one may be there twice, and
// a dot or two would lead elsewhere.
func entryLink(below string, e *history.Entry) string {
	id := url.PathEscape(e.ID)
	if strings.Trim(id, ".") == "" {
		id = noID
	}
	return below + "/" + id + "?n=" + strconv.FormatUint(e.Seq, 10)
}

func requestLink(e *history.Entry) string { return entryLink(requestsPath, e) }

// entry is the request that a page below a path is of.
func (c *Console) entry(r *http.Request, below string) (*history.Entry, error) {
	seq, err := strconv.ParseUint(r.URL.Query().Get("n"), 10, 64)
	if err != nil {
		seq = 0 // somebody has put an id behind the path
	}
	id := strings.TrimPrefix(r.URL.Path, below+"/")
	if id == noID {
		id = ""
	}
	e := c.o.History.Find(id, seq)
	if e == nil {
		return nil, errNoRequest
	}
	return e, nil
}

// requestsData is what the page of requests shows.
type requestsData struct {
	Rows    []requestRow
	Choices []choice
	Target  string // "" for all
	All     int
	Since   time.Time
}

func (c *Console) requests(w http.ResponseWriter, r *http.Request) error {
	q := r.URL.Query()
	show, target := q.Get("show"), q.Get("target")
	all := c.o.History.Last()
	d := requestsData{All: len(all), Since: c.o.History.Since()}
	var at []*history.Entry
	for _, e := range all {
		if target == "" || asked(e, target) {
			at = append(at, e)
		}
	}
	if target != "" && len(at) > 0 {
		d.Target = target // and nothing else that a link may say
	}
	link := func(show string) string {
		v := url.Values{}
		if show != "" {
			v.Set("show", show)
		}
		if d.Target != "" {
			v.Set("target", d.Target)
		}
		if len(v) == 0 {
			return requestsPath
		}
		return requestsPath + "?" + v.Encode()
	}
	shown, filtered := at, false
	for _, m := range marks {
		var of []*history.Entry
		for _, e := range at {
			if e.Marks.Has(m.Mark) {
				of = append(of, e)
			}
		}
		current := show == m.Key
		if current {
			shown, filtered = of, true
		}
		if len(of) > 0 || current {
			d.Choices = append(d.Choices, choice{m.Word, link(m.Key), current, grouped(len(of))})
		}
	}
	d.Choices = append([]choice{{"All", link(""), !filtered, grouped(len(at))}}, d.Choices...)
	d.Rows = requestRows(shown)
	return c.show(w, http.StatusOK, "requests", page{Title: "Requests that were not clean", Current: requestsPath, Live: true, Data: d})
}

// asked reports whether a request went to a target, by the name that the first page gives it: models
// that the configuration does not name go by their entry there.
func asked(e *history.Entry, target string) bool {
	for _, a := range e.Attempts {
		if a.Provider+"/"+a.Model == target || a.Provider+"/"+e.Route == target {
			return true
		}
	}
	return false
}

// requestData is what the page of one request shows.
type requestData struct {
	requestRow
	Means string // of its code
	Steps []stepRow
	Money string
	// Content leads to what was said, "" where that is not kept.
	Content string
	// Odd are warnings that say more than the faults, and Unrepaired says that one of those stayed.
	Odd        []string
	Unrepaired bool
}

// stepRow is an attempt.
type stepRow struct {
	history.Attempt
	Number int
	Why    string
	State  State
	Means  string
	Lane   template.HTML
}

var errNoRequest = &refusal{http.StatusNotFound, "There is no such request among the last ones that were not clean. The log has every request by its id."}

// request shows the way of one request.
func (c *Console) request(w http.ResponseWriter, r *http.Request) error {
	e, err := c.entry(r, requestsPath)
	if err != nil {
		return err
	}
	d := requestData{requestRow: requestRow{e, requestLink(e), badges(e)}, Means: glossary.Code(e.Code)}
	var at, sum time.Duration
	for _, a := range e.Attempts {
		sum += a.Wait + a.Took
	}
	sum = max(sum, e.Took)
	for i, a := range e.Attempts {
		row := stepRow{Attempt: a, Number: i + 1, Why: say(reasons, a.Reason), State: State{Bad, a.Outcome}, Means: glossary.Code(a.Outcome),
			Lane: lane(at, a.Wait, a.Took, sum, a.Outcome == "ok")}
		if a.Outcome == "ok" {
			row.State = State{Good, "answered"}
		}
		at += a.Wait + a.Took
		d.Steps = append(d.Steps, row)
	}
	for _, w := range e.Warnings {
		if !slices.ContainsFunc(e.Faults, func(k history.Kind) bool { return k.Name == w }) {
			d.Odd = append(d.Odd, w)
		}
	}
	if e.Recording.Content() != nil {
		d.Content = entryLink(contentPath, e)
	}
	d.Unrepaired = e.Marks.Has(history.MarkBroken)
	if m := e.Paid; m.Currency != "" {
		d.Money = amount(m.Spent, m.Currency)
	}
	return c.show(w, http.StatusOK, "request", page{Title: "Request " + visible(e.ID), Current: requestsPath, Data: d})
}
