package messages

import (
	"net/url"
	"slices"
	"strconv"
)

// Model is an entry of GET /v1/models in Anthropic's form.
type Model struct {
	Type        string `json:"type"`
	ID          string `json:"id"`
	DisplayName string `json:"display_name"`
	CreatedAt   string `json:"created_at"`
}

// NewModel is the entry of a model, of which the gateway knows the name alone.
func NewModel(name string) Model {
	return Model{Type: "model", ID: name, DisplayName: name, CreatedAt: "1970-01-01T00:00:00Z"}
}

// ModelList is a page of them.
type ModelList struct {
	Data    []Model `json:"data"`
	HasMore bool    `json:"has_more"`
	FirstID *string `json:"first_id"`
	LastID  *string `json:"last_id"`
}

// The sizes of a page: of one that is not given, and the largest.
const (
	pageSize    = 20
	largestPage = 1000
)

// Models is the page of a list that a query asks for, with limit and after_id or before_id. The
// error is a *gateway.Error.
func Models(names []string, q url.Values) (*ModelList, error) {
	size := pageSize
	if s := q.Get("limit"); s != "" {
		n, err := strconv.Atoi(s)
		if err != nil || n < 1 || n > largestPage {
			return nil, invalid("limit", "The parameter \"limit\" must be a number from 1 to %d, not %.40q.", largestPage, s)
		}
		size = n
	}
	from, to := 0, len(names)
	for _, cursor := range []string{"after_id", "before_id"} {
		id := q.Get(cursor)
		if id == "" {
			continue
		}
		at := slices.Index(names, id)
		if at < 0 {
			return nil, invalid(cursor, "The parameter %q names %.80q, which is no model of the list.", cursor, id)
		}
		if cursor == "after_id" {
			from = at + 1
		} else {
			to = at
		}
	}
	page := &ModelList{Data: []Model{}}
	from = min(from, to)
	switch {
	case to-from <= size:
	case q.Get("before_id") != "" && q.Get("after_id") == "":
		from, page.HasMore = to-size, true
	default:
		to, page.HasMore = from+size, true
	}
	for _, name := range names[from:to] {
		page.Data = append(page.Data, NewModel(name))
	}
	if n := len(page.Data); n > 0 {
		page.FirstID, page.LastID = &page.Data[0].ID, &page.Data[n-1].ID
	}
	return page, nil
}
