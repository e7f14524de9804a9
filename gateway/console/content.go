package console

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"github.com/callgate/callgate/gateway/content"
)

// contentData is what the page of a request's content shows.
type contentData struct {
	requestRow
	Texts []contentText
	More  int // attempts that are not shown
	Short bool
}

// contentText is one text.
type contentText struct {
	ID, Title, Note string
	content.Text
	Left string // what is left out in the middle
}

// content shows what was said in one request. httpapi logs each look, by the path.
func (c *Console) content(w http.ResponseWriter, r *http.Request) error {
	e, err := c.entry(r, contentPath)
	if err != nil {
		return err
	}
	kept := e.Recording.Content()
	if kept == nil {
		return &refusal{http.StatusNotFound, "What was said in this request is not kept, or not any more (admin.content)."}
	}
	d := contentData{requestRow: requestRow{e, requestLink(e), badges(e)}, More: kept.More, Short: kept.Short}
	add := func(title, note string, t content.Text) {
		one := contentText{ID: "text-" + strconv.Itoa(len(d.Texts)), Title: title, Note: note, Text: t}
		if t.Cut > 0 {
			one.Left = grouped(t.Cut) + " bytes are left out here"
		}
		one.Head, one.Tail = whole(t.Head), whole(t.Tail)
		d.Texts = append(d.Texts, one)
	}
	add("What the client sent", e.Protocol, kept.Asked)
	for i, a := range kept.Attempts {
		target := visible(a.Provider + "/" + a.Model)
		add(fmt.Sprintf("%d. Sent to %s", i+1, target), "", a.Sent)
		add(fmt.Sprintf("%d. What %s answered", i+1, target), "in OpenAI’s form, as the adapter read it", a.Came)
	}
	add("What the client got", e.Protocol, kept.Answered)
	return c.show(w, http.StatusOK, "content", page{Title: "What was said in " + visible(e.ID), Current: requestsPath, Data: d})
}

// whole is a text whose characters are not cut in two.
func whole(s string) string { return strings.ToValidUTF8(s, "�") }
