package console

import (
	"cmp"
	"html/template"
	"net/http"
	"slices"
	"time"

	"github.com/callgate/callgate/gateway/breaker"
	"github.com/callgate/callgate/gateway/glossary"
	"github.com/callgate/callgate/gateway/history"
)

// storyData is what the first page shows.
type storyData struct {
	Concerns []Concern
	Wrong    int // of them
	More     int // that are not shown
	Hour     history.Report
	Report   history.Report
	Windows  []choice
	Tiles    []tile
	Repairs  []kindRow
	Texts    uint64 // calls that were read from text
	Money    []history.Money
	Spared   uint64 // answers out of the response cache
	Tokens   tokens
	Budgets  []Budget
	Targets  []targetRow
	Failures []kindRow
	Last     []requestRow
	Unclean  int
}

// choice is a link to another view of a page.
type choice struct {
	Name, Link string
	Current    bool
	Count      string
}

// tile is a figure with its chart.
type tile struct {
	Name, Value, Note string
	Level             Level
	Link              string
	Chart             template.HTML
}

type tokens struct{ Input, Cached, Output uint64 }

// targetRow is a model of a provider in the first page's table.
type targetRow struct {
	history.Target
	Name, Link              string
	Failed, Faulty          Level
	FailedShare, FaultShare string
	FailedChart, FaultChart template.HTML
	Breaker                 breaker.State
	trouble                 float64
}

// kindRow is a kind, and how often it was seen.
type kindRow struct {
	Name, Words string
	Count       uint64
	Bar         template.HTML
}

// windowsByName are the views of the first page.
var windowsByName = []history.Window{history.Hour, history.Day, history.Week} //nolint:gochecknoglobals // a table

// windowOf is the view that a link asks for, a day without.
func windowOf(r *http.Request) history.Window {
	want := r.URL.Query().Get("window")
	for _, w := range windowsByName {
		if w.Name == want {
			return w
		}
	}
	return history.Day
}

// story is the first page: whether anything is wrong, what was repaired, who misbehaves, what was saved.
func (c *Console) story(w http.ResponseWriter, r *http.Request) error {
	window := windowOf(r)
	d := storyData{Concerns: c.concerns(), Report: c.o.History.Read(window), Hour: c.o.History.Read(history.Hour), Budgets: c.budgets()}
	for _, concern := range d.Concerns {
		if concern.Level == Bad {
			d.Wrong++
		}
	}
	if n := len(d.Concerns); n > maxConcerns {
		d.Concerns, d.More = d.Concerns[:maxConcerns], n-maxConcerns
	}
	for _, x := range windowsByName {
		d.Windows = append(d.Windows, choice{Name: capital(x.Name), Link: Path + "?window=" + x.Name, Current: x.Name == window.Name})
	}
	report := &d.Report
	d.Tiles = tiles(report)
	d.Repairs = repairs(report)
	d.Texts = report.Total.Counts[history.TextCalls]
	d.Money, d.Spared = report.Money, report.Total.Counts[history.Replayed]
	d.Tokens = tokens{report.Total.Counts[history.Input], report.Total.Counts[history.Cached], report.Total.Counts[history.Output]}
	d.Targets = targetRows(report, c.o.Breakers())
	for _, k := range report.Of(history.Failure) {
		d.Failures = append(d.Failures, kindRow{Name: k.Name, Words: glossary.Code(k.Name), Count: k.Count})
	}
	last := c.o.History.Last()
	d.Unclean = len(last)
	d.Last = requestRows(last[:min(len(last), 8)])
	return c.show(w, http.StatusOK, "story", page{Title: "Overview", Current: Path, Live: true, Data: d})
}

// tiles are the figures of a window.
func tiles(r *history.Report) []tile {
	t, points := r.Total, r.Total.Points
	n := func(c history.Count) uint64 { return t.Counts[c] }
	all := n(history.Requests)
	count := func(of ...history.Count) func(p *history.Point) float64 {
		return func(p *history.Point) (sum float64) {
			for _, c := range of {
				sum += float64(p.Counts[c])
			}
			return sum
		}
	}
	whole := func(x float64) string { return grouped(int64(x)) }
	chart := func(s spark, level Level) template.HTML {
		s.bad = level != Good
		return s.SVG()
	}
	// One is worth a look, as it is in the verdict.
	level := func(some uint64) Level {
		switch {
		case some == 0:
			return Good
		case all >= fewRequests && share(some, all) >= badShare:
			return Bad
		}
		return Fair
	}
	passed, failing := n(history.GhostsPassed), howBad(n(history.Failed), all, fewRequests)
	return []tile{
		{Name: "Requests", Value: grouped(all), Note: grouped(n(history.Refused)) + " refused, " + grouped(n(history.Left)) + " left by the client",
			Chart: chart(amounts(r, points, "Requests a step", whole, count(history.Requests)), Good)},
		{Name: "Failed", Value: percent(share(n(history.Failed), all)), Note: plural(n(history.Failed), "request"), Level: failing,
			Link: requestsPath + "?show=failed", Chart: chart(rates(r, points, "Failed", history.Failed), failing)},
		{Name: "Repaired", Value: grouped(n(history.Repaired)), Note: "answers; " + plural(n(history.TextCalls), "call") + " read from text",
			Link: requestsPath + "?show=repaired", Chart: chart(amounts(r, points, "Repaired answers", whole, count(history.Repaired)), Good)},
		{Name: "Not repairable", Value: grouped(n(history.Broken)), Note: percent(share(n(history.Broken), all)) + " of answers", Level: level(n(history.Broken)),
			Link: requestsPath + "?show=broken", Chart: chart(rates(r, points, "Not repairable", history.Broken), level(n(history.Broken)))},
		{Name: "Ghost calls", Value: grouped(n(history.Ghosts)), Note: grouped(n(history.Ghosts)-min(passed, n(history.Ghosts))) + " caught, " + grouped(passed) + " reached clients", Level: level(passed),
			Link: requestsPath + "?show=ghost", Chart: chart(rates(r, points, "Ghosts: answers that claim what no call has done", history.Ghosts), level(passed))},
		{Name: "Retries and fallbacks", Value: grouped(n(history.Retried) + n(history.FellBack)),
			Note: grouped(n(history.Retried)) + " at the same target, " + grouped(n(history.FellBack)) + " at another",
			Link: requestsPath + "?show=fallback", Chart: chart(amounts(r, points, "Retries and fallbacks", whole, count(history.Retried, history.FellBack)), Good)},
		{Name: "First token", Value: brief(t.First.P50), Note: "95 of 100 within " + brief(t.First.P95),
			Chart: chart(amounts(r, points, "First token, 95 of 100 within", seconds, func(p *history.Point) float64 { return p.First.P95.Seconds() }), Good)},
		{Name: "Whole answer", Value: brief(t.Took.P50), Note: "95 of 100 within " + brief(t.Took.P95),
			Chart: chart(amounts(r, points, "Whole answer, 95 of 100 within", seconds, func(p *history.Point) float64 { return p.Took.P95.Seconds() }), Good)},
	}
}

// repairs are what was repaired, with bars.
func repairs(r *history.Report) (rows []kindRow) {
	most := uint64(0)
	list := r.Of(history.Repair)
	for _, k := range list {
		most = max(most, k.Count)
	}
	for _, k := range list {
		rows = append(rows, kindRow{k.Name, cmp.Or(glossary.Repair(k.Name), k.Name), k.Count, bar(k.Count, most)})
	}
	return rows
}

// targetRows are what was asked, those with the most trouble first.
func targetRows(r *history.Report, breakers []breaker.Snapshot) []targetRow {
	var rows []targetRow
	failing, faulty := make([]spark, len(r.Targets)), make([]spark, len(r.Targets))
	for i, t := range r.Targets {
		failing[i], faulty[i] = rates(r, t.Points, "Failed", history.Failed), rates(r, t.Points, "Faulty answers", history.Faulted)
	}
	alike(failing)
	alike(faulty)
	for i, t := range r.Targets {
		all := t.Counts[history.Requests]
		row := targetRow{Target: t, Name: t.Model, Link: requestsPath + "?target=" + targetQuery(t),
			FailedShare: percent(share(t.Counts[history.Failed], all)), FaultShare: percent(share(t.Counts[history.Faulted], all)),
			Failed: howBad(t.Counts[history.Failed], all, fewAttempts), Faulty: howBad(t.Counts[history.Faulted], all, fewAttempts),
			trouble: share(t.Counts[history.Failed]+t.Counts[history.Broken]+t.Counts[history.GhostsPassed], all) + share(t.Counts[history.Faulted], all)/10,
		}
		failing[i].bad, faulty[i].bad = row.Failed != Good, row.Faulty != Good
		row.FailedChart, row.FaultChart = failing[i].SVG(), faulty[i].SVG()
		for _, b := range breakers {
			if b.Name == t.Provider {
				row.Breaker = b.State
			}
		}
		rows = append(rows, row)
	}
	slices.SortStableFunc(rows, func(a, b targetRow) int { return cmp.Compare(b.trouble, a.trouble) })
	return rows
}

// since says how long a history goes back in a window.
func since(r history.Report) string {
	switch d := r.Now.Sub(r.Since); {
	case d < time.Second:
		return "since this gateway started, just now"
	case d < r.Window.Span():
		return "since this gateway started, " + ago(d.Truncate(time.Second)) + " ago"
	}
	return "at this gateway in the last " + r.Window.Name
}
