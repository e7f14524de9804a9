package console

import (
	"net/http"
	"net/url"
	"slices"

	"github.com/callgate/callgate/gateway"
	"github.com/callgate/callgate/gateway/breaker"
)

// overviewData is what the first page shows.
type overviewData struct {
	Ready    string // why parsers cannot be used, or ""
	Breakers []breaker.Snapshot
	NotOK    int // breakers that are not closed
	Parsers  int
	Left     int // parsers that are left out
	Changes  []breaker.Change
	Targets  []gateway.TargetState
	Done     string // the breaker that was reset
}

// maxChanges is how many changes of state are shown, of all breakers together.
const maxChanges = 50

func (c *Console) overview(w http.ResponseWriter, r *http.Request) error {
	d := overviewData{Breakers: c.o.Breakers(), Targets: c.o.Targets()}
	if err := c.o.Ready(); err != nil {
		d.Ready = err.Error()
	}
	done := r.URL.Query().Get("reset")
	for _, b := range d.Breakers {
		if b.State != breaker.Closed {
			d.NotOK++
		}
		if b.Name == done {
			d.Done = done // and nothing else that a link may say
		}
		for _, change := range b.History {
			change.Name = b.Name
			d.Changes = append(d.Changes, change)
		}
	}
	slices.SortStableFunc(d.Changes, func(a, b breaker.Change) int { return b.At.Compare(a.At) })
	d.Changes = d.Changes[:min(len(d.Changes), maxChanges)]
	for _, p := range c.o.Plugins().Parsers {
		d.Parsers++
		if p.State.Level != Good {
			d.Left++
		}
	}
	return c.show(w, http.StatusOK, "overview", page{Title: "Overview", Current: Path, Live: true, Data: d})
}

// reset closes a breaker and leads back to the overview.
func (c *Console) reset(w http.ResponseWriter, r *http.Request) error {
	if err := r.ParseForm(); err != nil {
		return &refusal{http.StatusBadRequest, "The form could not be read."}
	}
	name := r.PostForm.Get("name")
	if !c.o.Reset(name) {
		return &refusal{http.StatusNotFound, "There is no such breaker. The overview lists them."}
	}
	c.o.Log.InfoContext(r.Context(), "breaker reset by the operator", "breaker", name)
	http.Redirect(w, r, Path+"?reset="+url.QueryEscape(name), http.StatusSeeOther)
	return nil
}

func (c *Console) plugins(w http.ResponseWriter, _ *http.Request) error {
	return c.show(w, http.StatusOK, "plugins", page{Title: "Plugins", Current: pluginsPath, Live: true, Data: c.o.Plugins()})
}

func (c *Console) caches(w http.ResponseWriter, _ *http.Request) error {
	sections, err := tabulate(c.o.Caches())
	if err != nil {
		return err
	}
	return c.show(w, http.StatusOK, "caches", page{Title: "Caches", Current: cachesPath, Live: true, Data: sections})
}
