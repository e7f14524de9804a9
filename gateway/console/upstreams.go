package console

import (
	"net/http"
	"net/url"
	"slices"

	"github.com/callgate/callgate/gateway"
	"github.com/callgate/callgate/gateway/breaker"
)

// upstreamsData is what the page of upstreams shows.
type upstreamsData struct {
	Breakers []breaker.Snapshot
	Changes  []breaker.Change
	Targets  []gateway.TargetState
	Done     string // the breaker that was reset
}

// maxChanges is how many changes of state are shown, of all breakers together.
const maxChanges = 50

func (c *Console) upstreams(w http.ResponseWriter, r *http.Request) error {
	d := upstreamsData{Breakers: c.o.Breakers(), Targets: c.o.Targets()}
	done := r.URL.Query().Get("reset")
	for _, b := range d.Breakers {
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
	return c.show(w, http.StatusOK, "upstreams", page{Title: "Upstreams", Current: upstreamsPath, Live: true, Data: d})
}

// reset closes a breaker and leads back to the page of upstreams.
func (c *Console) reset(w http.ResponseWriter, r *http.Request) error {
	name, err := formName(r)
	if err != nil {
		return err
	}
	if !c.o.Reset(name) {
		return &refusal{http.StatusNotFound, "There is no such breaker. The page of upstreams lists them."}
	}
	c.o.Log.InfoContext(r.Context(), "breaker reset by the operator", "breaker", name)
	http.Redirect(w, r, upstreamsPath+"?reset="+url.QueryEscape(name), http.StatusSeeOther)
	return nil
}

// pluginsData is what the page of plugins shows.
type pluginsData struct {
	Plugins
	Done string // the parser that was reset
}

func (c *Console) plugins(w http.ResponseWriter, r *http.Request) error {
	d := pluginsData{Plugins: c.o.Plugins()}
	done := r.URL.Query().Get("reset")
	if slices.ContainsFunc(d.Parsers, func(p Parser) bool { return p.Name == done }) {
		d.Done = done // and nothing else that a link may say
	}
	return c.show(w, http.StatusOK, "plugins", page{Title: "Plugins", Current: pluginsPath, Live: true, Data: d})
}

// resetParser ends a parser's quarantine and leads back to the plugins.
func (c *Console) resetParser(w http.ResponseWriter, r *http.Request) error {
	name, err := formName(r)
	if err != nil {
		return err
	}
	if !c.o.ResetParser(name) {
		return &refusal{http.StatusNotFound, "There is no such parser. The page of plugins lists them."}
	}
	c.o.Log.InfoContext(r.Context(), "parser reset by the operator", "parser", name)
	http.Redirect(w, r, pluginsPath+"?reset="+url.QueryEscape(name), http.StatusSeeOther)
	return nil
}

func (c *Console) caches(w http.ResponseWriter, _ *http.Request) error {
	sections, err := tabulate(c.o.Caches())
	if err != nil {
		return err
	}
	return c.show(w, http.StatusOK, "caches", page{Title: "Caches", Current: cachesPath, Live: true, Data: sections})
}
