package console

import (
	"fmt"
	"html"
	"html/template"
	"strings"
	"time"

	"github.com/callgate/callgate/gateway/history"
)

// spark is a small chart of a window, drawn here: it needs no script, and its words say what it shows.
type spark struct {
	values []float64 // below 0: nothing is known
	floor  float64   // the least that the top of the chart stands for
	bad    bool
	says   string
}

// Size of a chart, in units of its own: the page stretches it.
const (
	sparkWidth  = 200
	sparkHeight = 32
)

// SVG is the chart.
func (s spark) SVG() template.HTML {
	class := "spark"
	if s.bad {
		class += " trouble"
	}
	var b strings.Builder
	fmt.Fprintf(&b, `<svg class="%s" viewBox="0 0 %d %d" preserveAspectRatio="none" role="img" aria-label="%s"><title>%[4]s</title>`,
		class, sparkWidth, sparkHeight, html.EscapeString(s.says))
	fmt.Fprintf(&b, `<path class="base" d="M0 %.1fH%d"/>`, sparkHeight-0.5, sparkWidth)
	top := s.floor
	for _, v := range s.values {
		top = max(top, v)
	}
	step := float64(sparkWidth) / float64(max(len(s.values)-1, 1))
	var line, area strings.Builder
	begin, open := 0.0, false
	end := func(x float64) {
		if open {
			fmt.Fprintf(&area, "L%.1f %dL%.1f %[2]dZ", x, sparkHeight, begin)
		}
		open = false
	}
	for i, v := range s.values {
		x := float64(i) * step
		if v < 0 || top == 0 {
			end(x - step)
			continue
		}
		y := float64(sparkHeight) - 1 - v/top*(sparkHeight-3)
		verb := "L"
		if !open {
			verb, begin, open = "M", x, true
		}
		fmt.Fprintf(&line, "%s%.1f %.1f", verb, x, y)
		fmt.Fprintf(&area, "%s%.1f %.1f", verb, x, y)
	}
	end(sparkWidth)
	fmt.Fprintf(&b, `<path class="area" d="%s"/><path class="line" d="%s"/></svg>`, area.String(), line.String())
	return template.HTML(b.String()) //nolint:gosec // numbers, and one text that is escaped
}

// alike gives charts one scale, so that they can be compared.
func alike(charts []spark) {
	top := 0.0
	for _, s := range charts {
		for _, v := range s.values {
			top = max(top, v)
		}
	}
	for i := range charts {
		charts[i].floor = max(charts[i].floor, top)
	}
}

// rates draw a share of requests. Steps without a request say nothing, and are bridged.
func rates(r *history.Report, points []history.Point, what string, of ...history.Count) spark {
	s := spark{floor: 0.05}
	var highest, last float64
	var at time.Time
	for i, p := range points {
		part, all := uint64(0), p.Counts[history.Requests]
		for _, c := range of {
			part += p.Counts[c]
		}
		switch {
		case all > 0:
			last = min(float64(part)/float64(all), 1)
		case stepTime(r, i).Add(r.Window.Step).Before(r.Since):
			s.values = append(s.values, -1)
			continue
		default:
			last = 0
		}
		s.values = append(s.values, last)
		if last > highest {
			highest, at = last, stepTime(r, i)
		}
	}
	s.says = fmt.Sprintf("%s over the last %s: none.", what, r.Window.Name)
	if highest > 0 {
		s.bad = true
		s.says = fmt.Sprintf("%s over the last %s: %s at the most, at %s; %s now.", what, r.Window.Name, percent(highest), moment(r, at), percent(last))
	}
	return s
}

// amounts draw a number.
func amounts(r *history.Report, points []history.Point, what string, say func(float64) string, of func(p *history.Point) float64) spark {
	s := spark{}
	var highest, last float64
	var at time.Time
	for i := range points {
		if stepTime(r, i).Add(r.Window.Step).Before(r.Since) {
			s.values = append(s.values, -1)
			continue
		}
		last = of(&points[i])
		s.values = append(s.values, last)
		if last > highest {
			highest, at = last, stepTime(r, i)
		}
	}
	s.says = fmt.Sprintf("%s over the last %s: none.", what, r.Window.Name)
	if highest > 0 {
		s.says = fmt.Sprintf("%s over the last %s: %s at the most, at %s.", what, r.Window.Name, say(highest), moment(r, at))
	}
	return s
}

// stepTime is when a step of a window began.
func stepTime(r *history.Report, i int) time.Time {
	return r.Now.Truncate(r.Window.Step).Add(-time.Duration(r.Window.Steps-1-i) * r.Window.Step)
}

func moment(r *history.Report, at time.Time) string {
	if r.Window.Span() > 24*time.Hour {
		return at.UTC().Format("Monday 15:04") + " UTC"
	}
	return at.UTC().Format("15:04") + " UTC"
}

// bar is a part of a whole, as a bar.
func bar(part, whole uint64) template.HTML {
	width := 0.0
	if whole > 0 {
		width = max(100*float64(part)/float64(whole), 1)
	}
	return template.HTML(fmt.Sprintf(`<svg class="bar" viewBox="0 0 100 8" preserveAspectRatio="none" aria-hidden="true"><rect class="rest" width="100" height="8"/><rect class="part" width="%.1f" height="8"/></svg>`, width)) //nolint:gosec // a number
}

// lane is when an attempt ran, between the beginning and the end of its request.
func lane(from, wait, took, all time.Duration, ok bool) template.HTML {
	if all <= 0 {
		return ""
	}
	unit := func(d time.Duration) float64 { return min(100*float64(d)/float64(all), 100) }
	class := "part"
	if !ok {
		class = "failed"
	}
	return template.HTML(fmt.Sprintf(`<svg class="bar" viewBox="0 0 100 8" preserveAspectRatio="none" aria-hidden="true"><rect class="rest" width="100" height="8"/><rect class="wait" x="%.2f" width="%.2f" height="8"/><rect class="%s" x="%.2f" width="%.2f" height="8"/></svg>`, //nolint:gosec // numbers
		unit(from), unit(wait), class, unit(from+wait), max(unit(took), 0.5)))
}
