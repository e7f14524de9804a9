package console

import (
	"net/http"

	"github.com/callgate/callgate/gateway/toolserver/catalogue"
)

// toolServer is a row of the page of tools.
type toolServer struct {
	catalogue.Status
	State         State
	Offered, Held int // tools that models see, and those in quarantine
	Failed        int64
}

// tools shows the servers of tools, what they offer, and what has changed since it was pinned.
func (c *Console) tools(w http.ResponseWriter, _ *http.Request) error {
	var rows []toolServer
	for _, s := range c.o.Tools() {
		rows = append(rows, serverRow(s))
	}
	return c.show(w, http.StatusOK, "tools", page{Title: "Tools", Current: toolsPath, Live: true, Data: rows})
}

func serverRow(s catalogue.Status) toolServer {
	row := toolServer{Status: s, State: State{Good, "up"}}
	for _, t := range s.Tools {
		if t.Quarantine == "" {
			row.Offered++
		} else {
			row.Held++
		}
	}
	for _, n := range s.Errors {
		row.Failed += n
	}
	switch {
	case !s.Up:
		row.State = State{Bad, "away"}
	case row.Held > 0 || s.Problem != "" || len(s.Missing) > 0:
		row.State = State{Fair, "in part"}
	}
	return row
}
