package console

import (
	"bytes"
	"cmp"
	"errors"
	"html/template"
	"log/slog"
	"net/http"
	"sync"
	"time"
)

// pages writes pages.
type pages struct {
	templates func() (templates, error)
	version   string
	menu      []link
	log       *slog.Logger
}

// templatesByTime are the templates of all consoles whose clock is the machine's. They are read once: with every
// configuration a console is made anew.
var templatesByTime = sync.OnceValues(func() (templates, error) { return readTemplates(time.Now) }) //nolint:gochecknoglobals // read once

// newPages returns the pages of a console, whose clock is the machine's if the options have none. The
// menu is empty. The templates are read for the first page: most gateways start without anybody who looks at one.
func newPages(o *Options) *pages {
	read := templatesByTime
	if o.Now != nil {
		read = sync.OnceValues(func() (templates, error) { return readTemplates(o.Now) })
	}
	return &pages{templates: read, version: cmp.Or(o.Version, "unknown version"), log: o.Log}
}

// templates are those of pages, by name.
type templates map[string]*template.Template

// readTemplates reads the templates of all pages. now is the clock.
func readTemplates(now func() time.Time) (templates, error) {
	all := templates{}
	for _, name := range []string{"story", "requests", "request", "content", "upstreams", "plugins", "tools", "keys", "rollouts", "quality", "caches", "playground", "refused"} {
		read, err := template.New("layout.html").Funcs(functions(now)).ParseFS(files, "pages/layout.html", "pages/"+name+".html")
		if err != nil {
			return nil, err
		}
		all[name] = read
	}
	return all, nil
}

// refusal is an error with a status of its own.
type refusal struct {
	status  int
	message string
}

func (r *refusal) Error() string { return r.message }

// fail answers with what went wrong.
func (p *pages) fail(w http.ResponseWriter, r *http.Request, err error) {
	if known, ok := errors.AsType[*refusal](err); ok {
		p.Refuse(w, r, known.status, known.message)
		return
	}
	p.log.ErrorContext(r.Context(), "operator's page", "path", r.URL.Path, "error", err)
	p.Refuse(w, r, http.StatusInternalServerError, "The page could not be rendered; the log says why.")
}

// Refuse answers with a page that says why there is nothing else. The admin listener
// calls it too, for who is not let in: nothing but the message is on the page then.
func (p *pages) Refuse(w http.ResponseWriter, _ *http.Request, status int, message string) {
	protect(w.Header())
	why := page{Title: http.StatusText(status), Data: message, Bare: status == http.StatusUnauthorized || status == http.StatusForbidden}
	if err := p.show(w, status, "refused", why); err != nil {
		p.log.Error("operator's page", "error", err)
		http.Error(w, message, status)
	}
}

// page is what the layout shows.
type page struct {
	Title   string
	Current string // path of the page, for the navigation
	Version string
	Live    bool // it may be fetched anew
	Bare    bool // no navigation
	Menu    []link
	Data    any
}

// show writes a page, whole or not at all.
func (p *pages) show(w http.ResponseWriter, status int, name string, of page) error {
	of.Version, of.Menu = p.version, p.menu
	all, err := p.templates()
	if err != nil {
		return err
	}
	var b bytes.Buffer
	if err := all[name].Execute(&b, of); err != nil {
		return err
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(status)
	_, _ = w.Write(b.Bytes()) // who has left does not read it
	return nil
}
