package web

import (
	"bytes"
	"embed"
	"fmt"
	"html/template"
	"math"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/callgate/callgate/examples/adstudio/ads"
)

//go:embed *.html
var templates embed.FS

var pages = template.Must(template.New("").Funcs(template.FuncMap{
	"usd": usd, "seconds": seconds, "percent": percent, "initial": initial, "bars": bars, "route": route, "arm": arm, "run": run, "paragraphs": paragraphs,
}).ParseFS(templates, "*.html")) //nolint:gochecknoglobals // parsed once

// Choices of the form. The first is what the ad is by itself.
var (
	languages = []choice{{"", "as the brief"}, {"th", "Thai"}, {"id", "Indonesian"}, {"en", "English"}, {"de", "German"}, {"es", "Spanish"}}
	markets   = []choice{{"TH", "Thailand"}, {"ID", "Indonesia"}, {"US", "United States"}, {"GB", "United Kingdom"}, {"DE", "Germany"}, {"MX", "Mexico"}}
	budgets   = []choice{{"standard", "Standard"}, {"budget", "Budget"}, {"premium", "Premium"}}
)

type choice struct{ Value, Name string }

type listPage struct {
	Ads                         []*ads.Ad
	Brief, Error                string
	Languages, Markets, Budgets []choice
	Total                       total
}

type adPage struct {
	Ad     *ads.Ad
	Panels []panel
	Error  string
	Draft  string // a message that was not taken
	Total  total
}

// panel is one of the three: its versions, the newest first.
type panel struct {
	Kind     ads.Kind
	Name     string
	None     string
	Active   int
	Versions []ads.Draft
}

// total is what turns have cost together.
type total struct {
	Turns          int
	Input, Cached  int64
	USD, Saved     float64
	Priced, Failed int
}

func (t *total) add(turns []ads.Turn) {
	for _, turn := range turns {
		t.Turns++
		t.Input += turn.Cost.InputTokens
		t.Cached += turn.Cost.CachedTokens
		t.USD += turn.Cost.USD
		t.Saved += turn.Cost.SavedUSD
		if turn.Cost.Priced {
			t.Priced++
		}
		if turn.Failed != "" {
			t.Failed++
		}
	}
}

func (a *App) showList(w http.ResponseWriter, _ *http.Request) {
	a.list(w, http.StatusOK, "", nil)
}

func (a *App) list(w http.ResponseWriter, status int, brief string, err error) {
	p := listPage{Ads: a.store.All(), Brief: brief, Languages: languages, Markets: markets, Budgets: budgets}
	if err != nil {
		p.Error = ads.AsError(err).Error()
	}
	for _, ad := range p.Ads {
		p.Total.add(ad.Turns)
	}
	a.render(w, status, "list.html", p)
}

func (a *App) showAd(w http.ResponseWriter, r *http.Request) {
	a.ad(w, r.PathValue("id"), "", nil)
}

func (a *App) ad(w http.ResponseWriter, id, message string, problem error) {
	ad, err := a.store.Get(id)
	if err != nil {
		a.list(w, http.StatusNotFound, "", &ads.Error{Message: "There is no such ad.", Hint: "It may have been deleted."})
		return
	}
	p, code := adPage{Ad: ad}, http.StatusOK
	if problem != nil {
		p.Error, p.Draft, code = ads.AsError(problem).Error(), message, status(problem)
	}
	p.Total.add(ad.Turns)
	for _, of := range []panel{
		{Kind: ads.Voice, Name: "Voices", None: "No voice yet."}, {Kind: ads.Music, Name: "Music", None: "No music yet."}, {Kind: ads.SFX, Name: "Effects", None: "No effect yet."},
	} {
		of.Active = ad.Active[of.Kind]
		for _, d := range ad.Versions(of.Kind) {
			of.Versions = append([]ads.Draft{d}, of.Versions...)
		}
		p.Panels = append(p.Panels, of)
	}
	a.render(w, code, "ad.html", p)
}

func (a *App) render(w http.ResponseWriter, status int, name string, page any) {
	var b bytes.Buffer
	if err := pages.ExecuteTemplate(&b, name, page); err != nil {
		a.log.Error("a page could not be made", "page", name, "error", err)
		http.Error(w, "The page could not be made.", http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(status)
	_, _ = b.WriteTo(w) // the client may have gone
}

func (a *App) formGenerate(w http.ResponseWriter, r *http.Request) {
	ad, err := ads.New(r.FormValue("brief"), r.FormValue("language"), r.FormValue("market"), r.FormValue("budget"))
	if err == nil {
		_, err = a.generate(r.Context(), ad, nil, watcher{})
	}
	if err != nil {
		a.list(w, status(err), r.FormValue("brief"), err)
		return
	}
	seeOther(w, r, ad.ID, "")
}

func (a *App) formChat(w http.ResponseWriter, r *http.Request) {
	id := r.PathValue("id")
	if _, err := a.turn(r.Context(), id, r.FormValue("message"), watcher{}); err != nil {
		a.ad(w, id, r.FormValue("message"), err)
		return
	}
	seeOther(w, r, id, "last")
}

func (a *App) formActivate(w http.ResponseWriter, r *http.Request) {
	id, kind, version := r.PathValue("id"), r.FormValue("kind"), 0
	_, _ = fmt.Sscan(r.FormValue("version"), &version) // 0 is no version, and refused
	if err := a.store.Update(id, func(ad *ads.Ad) error { return ad.Activate(ads.Kind(kind), version) }); err != nil {
		a.ad(w, id, "", err)
		return
	}
	seeOther(w, r, id, kind)
}

// seeOther leads to an ad's page.
func seeOther(w http.ResponseWriter, r *http.Request, id, place string) {
	to := url.URL{Path: "/ads/" + id, Fragment: place}
	http.Redirect(w, r, to.String(), http.StatusSeeOther)
}

func (a *App) formDelete(w http.ResponseWriter, r *http.Request) {
	if err := a.store.Delete(r.PathValue("id")); err != nil {
		a.list(w, status(err), "", err)
		return
	}
	http.Redirect(w, r, "/", http.StatusSeeOther)
}

// usd is an amount of money, with what is needed of a small one.
func usd(v float64) string {
	if v == 0 || v >= 1 {
		return fmt.Sprintf("$%.2f", v)
	}
	return fmt.Sprintf("$%.4f", v)
}

func seconds(d time.Duration) string { return fmt.Sprintf("%.1f s", d.Seconds()) }

func percent(part, whole int64) string {
	if whole == 0 {
		return "0 %"
	}
	return fmt.Sprintf("%.0f %%", 100*float64(part)/float64(whole))
}

func initial(name string) string {
	for _, r := range name {
		return strings.ToUpper(string(r))
	}
	return "?"
}

// route is the rule that was taken, as a person says it: assistant;rule=2;language=th.
func route(r string) string {
	_, rest, _ := strings.Cut(r, ";")
	if rest == "" {
		return "default route"
	}
	return strings.ReplaceAll(strings.ReplaceAll(rest, "=", " "), ";", ", ")
}

// arm is the arm of a rollout that an ad is in, as a person says it: standard/next.
func arm(a string) string {
	rollout, name, _ := strings.Cut(a, "/")
	return "rollout " + rollout + ": " + name
}

// run is what the gateway did, as a person says it: rounds=4;calls=5;stop=answer.
func run(r string) string {
	var parts []string
	for part := range strings.SplitSeq(r, ";") {
		switch name, value, _ := strings.Cut(part, "="); {
		case name == "stop" && value == "answer": // as it should be
		case name == "stop":
			parts = append(parts, "stopped: "+value)
		default:
			parts = append(parts, value+" "+name)
		}
	}
	return strings.Join(parts, ", ")
}

// line is a line of an answer, or an entry of a list in it.
type line struct {
	Text string
	Item bool
}

func paragraphs(text string) []line {
	var all []line
	for l := range strings.SplitSeq(text, "\n") {
		item, is := strings.CutPrefix(strings.TrimSpace(l), "- ")
		if item != "" {
			all = append(all, line{item, is})
		}
	}
	return all
}

// bar is a bar of the picture of some music, in a box of 300 by 40.
type bar struct{ X, Y, Height float64 }

// bars are a picture of music: its beats, and by its mood how high they are. It is the same
// for the same draft.
func bars(d ads.Draft) []bar {
	const width, height, step = 300, 40, 6
	beat := float64(max(d.TempoBPM, 40)) / 60
	seed := 0.0
	for _, r := range d.Mood + d.Genre {
		seed += float64(r)
	}
	var all []bar
	for x := 0.0; x < width; x += step {
		phase := x / width * 2 * math.Pi
		swing := 0.35 + 0.3*math.Abs(math.Sin(phase*beat*2)) + 0.35*math.Abs(math.Sin(phase*3+seed))
		h := math.Round(height * min(swing, 1) * (0.5 + 0.5*math.Sin(phase/2)))
		h = max(h, 3)
		all = append(all, bar{x, (height - h) / 2, h})
	}
	return all
}
