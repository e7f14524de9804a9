package web

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"

	"github.com/callgate/callgate/examples/adstudio/ads"
)

// generateRequest is the body of POST /api/ai/generate.
type generateRequest struct {
	Brief    string `json:"brief"`
	Language string `json:"language"`
	Market   string `json:"market"`
	Budget   string `json:"budget"`
}

// turnResponse is the answer of both requests to the assistant.
type turnResponse struct {
	AdID  string    `json:"ad_id"`
	Turn  ads.Turn  `json:"turn"`
	State ads.State `json:"state"`
}

func (a *App) apiGenerate(w http.ResponseWriter, r *http.Request) {
	var in generateRequest
	if !read(w, r, &in) {
		return
	}
	ad, err := ads.New(in.Brief, in.Language, in.Market, in.Budget)
	if err != nil {
		fail(w, err)
		return
	}
	e := newEvents(w, r)
	turn, err := a.generate(r.Context(), ad, func(ad *ads.Ad) { e.send("ad", map[string]string{"id": ad.ID, "title": ad.Title}) }, e.watcher())
	a.answer(w, e, ad.ID, turn, err)
}

func (a *App) apiChat(w http.ResponseWriter, r *http.Request) {
	var in struct {
		Message string `json:"message"`
	}
	if !read(w, r, &in) {
		return
	}
	e := newEvents(w, r)
	turn, err := a.turn(r.Context(), r.PathValue("id"), in.Message, e.watcher())
	a.answer(w, e, r.PathValue("id"), turn, err)
}

// answer says how a turn ended, as the last event or as JSON. A turn that failed is a 502,
// with what there is.
func (a *App) answer(w http.ResponseWriter, e *events, id string, turn ads.Turn, err error) {
	ad, missing := a.store.Get(id)
	if err == nil {
		err = missing
	}
	if e != nil {
		if err != nil {
			e.send("error", ads.AsError(err))
			return
		}
		e.send("done", turnResponse{id, turn, ad.State()})
		return
	}
	if err != nil {
		fail(w, err)
		return
	}
	status := http.StatusOK
	if turn.Failed != "" {
		status = http.StatusBadGateway
	}
	write(w, status, turnResponse{id, turn, ad.State()})
}

func (a *App) apiState(w http.ResponseWriter, r *http.Request) {
	ad, err := a.store.Get(r.PathValue("id"))
	if err != nil {
		fail(w, err)
		return
	}
	write(w, http.StatusOK, ad.State())
}

func (a *App) apiDraft(w http.ResponseWriter, r *http.Request) {
	var d ads.Draft
	if !read(w, r, &d) {
		return
	}
	made, err := a.put(r.PathValue("id"), d)
	if err != nil {
		fail(w, err)
		return
	}
	write(w, http.StatusOK, made)
}

func (a *App) apiActivate(w http.ResponseWriter, r *http.Request) {
	var in struct {
		Kind    ads.Kind `json:"kind"`
		Version int      `json:"version"`
	}
	if !read(w, r, &in) {
		return
	}
	if err := a.store.Update(r.PathValue("id"), func(ad *ads.Ad) error { return ad.Activate(in.Kind, in.Version) }); err != nil {
		fail(w, err)
		return
	}
	a.apiState(w, r)
}

func read(w http.ResponseWriter, r *http.Request, into any) bool {
	err := json.NewDecoder(r.Body).Decode(into)
	if err == nil {
		return true
	}
	message := "The body is not the JSON that is expected: " + err.Error() + "."
	var wrong *json.UnmarshalTypeError
	if errors.As(err, &wrong) { // which names our own types
		message = fmt.Sprintf("The field %q cannot be a JSON %s.", wrong.Field, wrong.Value)
	}
	fail(w, &ads.Error{Type: "invalid_arguments", Message: message})
	return false
}

func write(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	_ = e.Encode(v) // the client may have gone
}

// status is that of an error.
func status(err error) int {
	switch ads.AsError(err).Type {
	case "invalid_arguments":
		return http.StatusBadRequest
	case "not_found":
		return http.StatusNotFound
	case "too_large":
		return http.StatusRequestEntityTooLarge
	case "busy":
		return http.StatusConflict
	}
	return http.StatusInternalServerError
}

func fail(w http.ResponseWriter, err error) {
	write(w, status(err), map[string]any{"error": ads.AsError(err)})
}

// events is a stream of server-sent events. nil is none, and takes all.
type events struct {
	mu sync.Mutex
	w  http.ResponseWriter
	to *http.ResponseController
}

// newEvents begins a stream where the client asks for one.
func newEvents(w http.ResponseWriter, r *http.Request) *events {
	if !strings.Contains(r.Header.Get("Accept"), "text/event-stream") {
		return nil
	}
	w.Header().Set("Content-Type", "text/event-stream")
	return &events{w: w, to: http.NewResponseController(w)}
}

func (e *events) watcher() watcher {
	if e == nil {
		return watcher{}
	}
	return watcher{
		text:  func(piece string) { e.send("text", map[string]string{"delta": piece}) },
		draft: func(d ads.Draft) { e.send("draft", d) },
	}
}

// send sends an event. If the client has gone its request's context ends the turn.
func (e *events) send(name string, v any) {
	if e == nil {
		return
	}
	text, err := json.Marshal(v)
	if err != nil {
		return
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	_, _ = e.w.Write([]byte("event: " + name + "\ndata: " + string(text) + "\n\n"))
	_ = e.to.Flush()
}
