package console

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/callgate/callgate/gateway/keys"
	"github.com/callgate/callgate/gateway/limit"
)

// keysPerPage is how many keys a page lists.
const keysPerPage = 100

// keysData is what the page of keys shows.
type keysData struct {
	Rows  []keyRow
	Next  string // the name behind which the next page begins, "" for none
	Teams []teamRow
	Form  keyForm
	// Made is a new text, and Of whose it is. It is on this one page and nowhere else.
	Made, Of string
	Done     string
	Error    string
}

// keyRow is a key in the table.
type keyRow struct {
	*keys.Entry
	State   State
	Allowed string // a word on what it may do
	Texts   []keys.Secret
}

// Changes reports whether it can be changed here.
func (k keyRow) Changes() bool { return k.Origin == keys.Stored }

// teamRow is a team in the table.
type teamRow struct {
	*keys.TeamEntry
	Allowed string // a word on what its keys may do
}

// keyForm is what was typed.
type keyForm struct{ Name, Team, Models, CIDR, MaxTokens, Expires string }

// keysPage is the page of keys.
type keysPage struct {
	book    *keys.Book
	manager *keys.Manager // of the same
	now     func() time.Time
	log     *slog.Logger
	pages   *pages
}

// routes are its paths and methods.
func (p *keysPage) routes() map[string]map[string]handler {
	change := func(what string, do func(r *http.Request, name string) error) map[string]handler {
		return map[string]handler{http.MethodPost: func(w http.ResponseWriter, r *http.Request) error { return p.change(w, r, what, do) }}
	}
	block := func(blocked bool) func(r *http.Request, name string) error {
		return func(r *http.Request, name string) error {
			_, err := p.manager.Block(r.Context(), name, blocked)
			return err
		}
	}
	return map[string]map[string]handler{
		keysPath:              {http.MethodGet: p.list, http.MethodHead: p.list, http.MethodPost: p.make},
		keysPath + "/block":   change("blocked", block(true)),
		keysPath + "/unblock": change("unblocked", block(false)),
		keysPath + "/rotate":  {http.MethodPost: p.rotate},
	}
}

// list is GET /ui/keys.
func (p *keysPage) list(w http.ResponseWriter, r *http.Request) error {
	q := r.URL.Query()
	d := keysData{}
	for what, said := range map[string]string{"blocked": "is blocked from now on", "unblocked": "is taken again"} {
		if k := p.book.Key(q.Get(what)); q.Has(what) && k != nil { // and nothing else that a link may say
			d.Done = "The key " + strconv.Quote(k.Name) + " " + said + "."
		}
	}
	return p.show(w, http.StatusOK, q.Get("after"), &d)
}

func (p *keysPage) show(w http.ResponseWriter, status int, after string, d *keysData) error {
	list, more := p.book.List(after, keysPerPage)
	for _, e := range list {
		d.Rows = append(d.Rows, p.rowOf(e))
	}
	if more {
		d.Next = list[len(list)-1].Name
	}
	for _, t := range p.book.Teams() {
		d.Teams = append(d.Teams, teamRow{t, strings.Join(allowed(&t.Scope), "; ")})
	}
	return p.pages.show(w, status, "keys", page{Title: "Keys", Current: keysPath, Data: d})
}

func (p *keysPage) rowOf(e *keys.Entry) keyRow {
	word := p.book.Status(e)
	row := keyRow{Entry: e, State: State{Word: strings.ReplaceAll(word, "_", " ")}}
	switch word {
	case "active":
	case "blocked", "expired":
		row.State.Level = Fair
	default:
		row.State.Level = Bad
	}
	for _, s := range e.Secrets {
		if s.Public != "" && (s.Until.IsZero() || s.Until.After(p.now())) {
			row.Texts = append(row.Texts, s)
		}
	}
	said := allowed(&e.Scope)
	if e.CIDR != nil {
		said = append(said, "from "+listed(e.CIDR))
	}
	row.Allowed = strings.Join(said, "; ")
	return row
}

// allowed is what a scope allows, in a few words; nothing if that is all.
func allowed(s *keys.Scope) (out []string) {
	if s.Models != nil {
		out = append(out, "models "+listed(s.Models))
	}
	if s.Tools != nil {
		out = append(out, "tools "+listed(s.Tools))
	}
	if s.MaxTokens > 0 {
		out = append(out, grouped(s.MaxTokens)+" output tokens")
	}
	for i := range s.Limits {
		l := s.Limits[i].Limit(limit.Scope{})
		out = append(out, l.Of())
	}
	return out
}

// listed is a list in a few words.
func listed(list []string) string {
	const few = 3
	switch {
	case len(list) == 0:
		return "none"
	case len(list) > few:
		return strings.Join(list[:few], ", ") + " and " + strconv.Itoa(len(list)-few) + " more"
	}
	return strings.Join(list, ", ")
}

// make is POST /ui/keys.
func (p *keysPage) make(w http.ResponseWriter, r *http.Request) error {
	if err := parseForm(r); err != nil {
		return err
	}
	value := func(name string) string { return strings.TrimSpace(r.PostForm.Get(name)) }
	d := keysData{Form: keyForm{value("name"), value("team"), value("models"), value("cidr"), value("max_tokens"), value("expires")}}
	k, err := d.Form.key()
	var text string
	if err == nil {
		var made *keys.Entry
		if text, made, err = p.manager.Create(r.Context(), k); err == nil {
			p.log.InfoContext(r.Context(), "key made on the operator's page", "name", made.Name)
			d.Made, d.Of, d.Form = text, made.Name, keyForm{}
			return p.show(w, http.StatusOK, "", &d)
		}
	}
	return p.failed(w, r, &d, err)
}

// key is the key that was typed.
func (f keyForm) key() (k keys.Key, err error) {
	k = keys.Key{Name: f.Name, Team: f.Team, CIDR: words(f.CIDR)}
	k.Models = words(f.Models)
	if f.MaxTokens != "" {
		if k.MaxTokens, err = strconv.Atoi(f.MaxTokens); err != nil || k.MaxTokens < 1 {
			return k, &keys.Error{Kind: keys.Invalid, Field: "max_tokens", Message: "The number of output tokens must be a whole number from 1 on."}
		}
	}
	if f.Expires != "" {
		t, problem := keys.ParseTime(f.Expires)
		if problem != "" {
			return k, &keys.Error{Kind: keys.Invalid, Field: "expires", Message: "The field expires is wrong: " + problem + "."}
		}
		k.Expires = t
	}
	return k, nil
}

// words are what stands between commas and spaces; nil for nothing.
func words(text string) []string {
	list := strings.FieldsFunc(text, func(r rune) bool { return r == ',' || r == ' ' || r == '\n' || r == '\r' || r == '\t' })
	if len(list) == 0 {
		return nil
	}
	return slices.Clip(list)
}

// rotate is POST /ui/keys/rotate.
func (p *keysPage) rotate(w http.ResponseWriter, r *http.Request) error {
	name, err := formName(r)
	if err != nil {
		return err
	}
	overlap := keys.Overlap
	if text := r.PostForm.Get("overlap"); text != "" {
		if overlap, err = time.ParseDuration(text); err != nil {
			return &refusal{http.StatusBadRequest, "The time for which the key before stays valid could not be read."}
		}
	}
	text, _, err := p.manager.Rotate(r.Context(), name, overlap)
	if err != nil {
		return p.failed(w, r, &keysData{}, err)
	}
	p.log.InfoContext(r.Context(), "key rotated on the operator's page", "name", name)
	return p.show(w, http.StatusOK, "", &keysData{Made: text, Of: name})
}

// change changes a key, and leads back to the list.
func (p *keysPage) change(w http.ResponseWriter, r *http.Request, what string, do func(r *http.Request, name string) error) error {
	name, err := formName(r)
	if err != nil {
		return err
	}
	if err := do(r, name); err != nil {
		return p.failed(w, r, &keysData{}, err)
	}
	p.log.InfoContext(r.Context(), "key "+what+" on the operator's page", "name", name)
	http.Redirect(w, r, keysPath+"?"+what+"="+url.QueryEscape(name), http.StatusSeeOther)
	return nil
}

// failed shows the page with what is wrong.
func (p *keysPage) failed(w http.ResponseWriter, r *http.Request, d *keysData, err error) error {
	var known *keys.Error
	if !errors.As(err, &known) {
		if ctx := r.Context(); !errors.Is(err, context.Canceled) {
			p.log.ErrorContext(ctx, "keys cannot be changed", "error", err)
		}
		return &refusal{http.StatusServiceUnavailable, "The store of the keys does not answer; the log says why. Look whether the change was made before you try again."}
	}
	status := http.StatusConflict
	switch known.Kind {
	case keys.Invalid:
		status = http.StatusBadRequest
	case keys.NotFound:
		status = http.StatusNotFound
	case keys.Taken, keys.Fixed, keys.Unkept, keys.Full:
	}
	d.Error = known.Message
	return p.show(w, status, "", d)
}
