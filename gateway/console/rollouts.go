package console

import (
	"fmt"
	"net/http"
	"net/url"
	"strconv"

	"github.com/callgate/callgate/gateway/rollout"
)

// rolloutsData is what the page of rollouts shows.
type rolloutsData struct {
	Rollouts []rolloutRow
	Done     string // what the operator has just done
}

// rolloutRow is a rollout with its arms.
type rolloutRow struct {
	rollout.Snapshot
	Arms []armRow
}

// armRow is an arm with what the page says of it.
type armRow struct {
	rollout.ArmSnapshot
	State   State
	Rollout string
}

func newArmRow(name string, a rollout.ArmSnapshot) armRow {
	row := armRow{ArmSnapshot: a, Rollout: name}
	switch {
	case a.Stopped != nil:
		row.State = State{Bad, "stopped by " + map[bool]string{true: "its figures", false: "the operator"}[a.Stopped.By == "figures"]}
	case a.Verdict == rollout.Worse:
		row.State = State{Bad, "worse"}
	case a.Verdict == rollout.NotEnough:
		row.State = State{Fair, fmt.Sprintf("not enough data: %d requests more", a.Missing)}
	case a.Verdict == rollout.Control:
		row.State = State{Good, "control"}
	default:
		row.State = State{Good, a.Verdict}
	}
	return row
}

// IsControl reports whether there is nothing to stop.
func (a armRow) IsControl() bool { return a.Verdict == rollout.Control }

// Share is the arm's part of the units now, and what the configuration says where that differs.
func (a armRow) Share() string {
	text := strconv.FormatFloat(a.Live, 'f', -1, 64) + " %"
	if a.Live != a.Weight {
		text += fmt.Sprintf(" (set: %s %%)", strconv.FormatFloat(a.Weight, 'f', -1, 64))
	}
	return text
}

// rolloutsPage is the page of rollouts. The functions are those of Options.
type rolloutsPage struct {
	states func() []rollout.Snapshot
	setArm func(name, arm string, stop bool) (state *rollout.Snapshot, what string, names []string)
	pages  *pages
}

// list shows how arms do beside their control.
func (p *rolloutsPage) list(w http.ResponseWriter, r *http.Request) error {
	d := rolloutsData{}
	for _, s := range p.states() {
		row := rolloutRow{Snapshot: s}
		for _, a := range s.Arms {
			row.Arms = append(row.Arms, newArmRow(s.Name, a))
			if name := s.Name + "/" + a.Name; r.URL.Query().Get("arm") == name { // and nothing else that a link may say
				d.Done = name
			}
		}
		d.Rollouts = append(d.Rollouts, row)
	}
	return p.pages.show(w, http.StatusOK, "rollouts", page{Title: "Rollouts", Current: rolloutsPath, Live: true, Data: d})
}

// set stops an arm, or lets it go on, and leads back to the rollouts.
func (p *rolloutsPage) set(w http.ResponseWriter, r *http.Request) error {
	if err := parseForm(r); err != nil {
		return err
	}
	name, arm, action := r.PostForm.Get("rollout"), r.PostForm.Get("arm"), r.PostForm.Get("action")
	if action != "stop" && action != "resume" || arm == "" {
		return &refusal{http.StatusBadRequest, "An arm can be stopped, or go on. The page of rollouts has a button for either."}
	}
	if state, _, _ := p.setArm(name, arm, action == "stop"); state == nil {
		return &refusal{http.StatusNotFound, "There is no such arm. The page of rollouts lists them."}
	}
	http.Redirect(w, r, rolloutsPath+"?arm="+url.QueryEscape(name+"/"+arm), http.StatusSeeOther)
	return nil
}
