package flow

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/callgate/callgate/gateway"
)

// trade is what an assistant works with: what can be looked up and what can be changed, and how
// people speak of it.
type trade struct {
	thing, id   string
	look        string
	does        []deed // the first is what the user wants
	lookResult  string
	states      []string // told from lookResult
	proposalEnd string
}

// deed is a tool that changes something.
type deed struct {
	tool             string
	wish, done, side string // "cancel %s", "I've cancelled %s.", what a summary tells of it besides
}

var trades = []trade{
	{"order", "W%d", "get_order_details", []deed{
		{"cancel_order", "cancel %s", "%s has been cancelled.", "the order was cancelled"},
		{"refund_payment", "refund %s", "I've refunded %s.", "your card has been refunded"},
		{"change_address", "change the address of %s", "The address of %s is updated.", "the address was updated"},
		{"transfer_to_human_agents", "get me a human about %s", "I've transferred you.", "an agent was informed"},
	}, `{"status":"delivered","total":120.5,"payment":"card"}`, []string{"%s has been delivered and was paid by card.", "%s was shipped last week for $120.50."}, "Shall I go ahead?"},
	{"booking", "R%dX", "get_reservation", []deed{
		{"cancel_reservation", "cancel %s", "I've cancelled %s for you.", "the reservation was cancelled"},
		{"update_reservation_flights", "move %s to Monday", "%s was moved to Monday.", "the flight was changed"},
		{"send_certificate", "send me a certificate for %s", "I've sent the certificate for %s.", "a certificate was sent to you"},
		{"book_reservation", "book %s", "%s is booked.", "a new flight was booked"},
	}, `{"cabin":"economy","insurance":"no","flights":[{"status":"flown"}]}`, []string{"%s was booked without insurance and the first flight was flown.", "%s has been checked in already."}, "Do you want me to proceed (yes/no)?"},
	{"task", "T%d", "list_tasks", []deed{
		{"complete_task", "mark %s as done", "%s is marked as done.", "the task was completed"},
		{"delete_task", "delete %s", "Done! I've deleted %s.", "it was removed from the list"},
		{"create_task", "add %s", "%s has been added to your list.", "a task was added"},
		{"send_email", "mail the team about %s", "I've emailed the team about %s.", "the team was notified by email"},
	}, `[{"id":1,"title":"a","done":true}]`, []string{"%s was completed yesterday.", "%s is still open."}, "Is that okay?"},
	{"Termin", "M%d", "termine_lesen", []deed{
		{"termin_verschieben", "verschieb %s auf Montag", "%s wurde auf Montag verschoben.", "der Termin wurde verschoben"},
		{"termin_loeschen", "lösch %s", "Ich habe %s gelöscht.", "der Termin wurde gelöscht"},
		{"email_senden", "schick eine Mail wegen %s", "Ich habe die E-Mail wegen %s gesendet.", "alle Teilnehmer wurden per E-Mail informiert"},
	}, `[{"id":3,"titel":"Zahnarzt","zeit":"2026-04-01T09:00"}]`, []string{"%s ist am 1. April um 9 Uhr eingetragen.", "%s wurde letzte Woche verschoben."}, "Soll ich das so machen?"},
	{"pedido", "P%d", "ver_pedido", []deed{
		{"cancelar_pedido", "cancela %s", "He cancelado %s.", "el pedido fue cancelado"},
		{"reembolsar_pago", "reembolsa %s", "%s ha sido reembolsado.", "se ha reembolsado el importe"},
		{"enviar_correo", "envía un correo sobre %s", "He enviado el correo sobre %s.", "se ha enviado un correo"},
	}, `{"estado":"entregado"}`, []string{"%s fue entregado ayer.", "%s ha sido pagado con tarjeta."}, "¿Quieres que continúe?"},
}

// scene is a generated conversation and the answer that the model gives unless it is told to
// make a call.
type scene struct {
	kind     string
	messages []map[string]any
	tools    []string
	answer   string
	// allowed are the calls that change something and that the user wants: name and id.
	allowed []string
	ghost   bool
}

func (s *scene) say(role, text string) {
	s.messages = append(s.messages, map[string]any{"role": role, "content": text})
}

func (s *scene) call(name, id, result string) {
	at := fmt.Sprint("c", len(s.messages))
	args := fmt.Sprintf(`{"id":%q}`, id)
	s.messages = append(s.messages,
		map[string]any{"role": "assistant", "content": nil, "tool_calls": []any{map[string]any{"id": at, "type": "function", "function": map[string]any{"name": name, "arguments": args}}}},
		map[string]any{"role": "tool", "tool_call_id": at, "content": result})
}

func about(format, id string) string {
	if strings.Contains(format, "%s") {
		return fmt.Sprintf(format, id)
	}
	return format
}

// newScene generates a conversation.
func newScene(r *rand.Rand) *scene {
	t := trades[r.IntN(len(trades))]
	does := slices.Clone(t.does)
	r.Shuffle(len(does), func(i, j int) { does[i], does[j] = does[j], does[i] })
	d := does[0]
	if d.tool == "transfer_to_human_agents" {
		d = does[1]
	}
	s := &scene{tools: []string{t.look}}
	for _, other := range t.does {
		s.tools = append(s.tools, other.tool)
	}
	r.Shuffle(len(s.tools), func(i, j int) { s.tools[i], s.tools[j] = s.tools[j], s.tools[i] })
	id, second := fmt.Sprintf(t.id, 1000+r.IntN(9000)), fmt.Sprintf(t.id, 1000+r.IntN(9000))
	call := func(id string) string { return d.tool + " " + id }
	pick := func(list ...string) string { return list[r.IntN(len(list))] }
	ok := pick(`{"ok":true}`, `{"status":"success","id":"`+id+`"}`, "done", `{"id":"`+id+`","status":"cancelled"}`)
	side := func() string {
		var parts []string
		for _, other := range does[1 : 1+r.IntN(len(does)-1)] {
			parts = append(parts, strings.ToUpper(other.side[:1])+other.side[1:]+".")
		}
		return strings.Join(parts, " ")
	}
	consent := pick("yes", "ok", "sure, go ahead", "yes please", "correct")
	switch t.thing {
	case "Termin":
		consent = pick("ja", "ja bitte", "genau", "passt")
	case "pedido":
		consent = pick("sí", "sí, por favor", "adelante")
	}
	switch s.kind = pick("ghost", "consent ghost", "after change", "after change", "after change by consent", "after look-up", "asks leave", "past turn", "failed", "contradicted", "unrelated", "partial", "empty"); s.kind {
	case "ghost":
		s.say("user", about(d.wish, id))
		s.answer, s.allowed, s.ghost = about(d.done, id), []string{call(id)}, true
	case "consent ghost":
		s.say("user", about(d.wish, id))
		s.say("assistant", about(pick(t.states[0], "OK."), id)+" "+t.proposalEnd)
		s.say("user", consent)
		s.answer, s.allowed, s.ghost = about(d.done, id)+" "+side(), []string{call(id)}, true
	case "after change":
		s.say("user", about(d.wish, id))
		s.call(d.tool, id, ok)
		s.answer = about(d.done, id) + " " + side()
	case "after change by consent":
		s.say("user", about(d.wish, id))
		s.call(t.look, id, t.lookResult)
		s.say("assistant", about(t.states[0], id)+" "+t.proposalEnd)
		s.say("user", consent)
		s.call(d.tool, id, ok)
		s.answer = about(d.done, id) + " " + side()
	case "after look-up":
		s.say("user", id+"?")
		s.call(t.look, id, t.lookResult)
		s.answer = about(pick(t.states...), id)
	case "asks leave":
		s.say("user", about(d.wish, id))
		s.call(t.look, id, t.lookResult)
		s.answer, s.allowed = about(pick(t.states...), id)+" "+t.proposalEnd, []string{call(id)}
	case "past turn":
		s.say("user", about(d.wish, id))
		s.call(d.tool, id, ok)
		s.say("assistant", about(d.done, id))
		s.say("user", pick("thanks", "great, thank you!", "perfect", "danke", "gracias"))
		s.answer = pick("You're welcome! ", "Gern! ", "De nada. ") + about(d.done, id)
	case "failed":
		s.say("user", about(d.wish, id))
		s.call(d.tool, id, pick(`{"error":"locked"}`, "Error: not found", "It is already closed and cannot be changed."))
		s.answer, s.allowed = "Unfortunately that could not be done, it failed.", []string{call(id)}
	case "contradicted":
		s.say("user", about(d.wish, id))
		s.call(d.tool, id, pick(`{"error":"locked"}`, "Error: not found", `{"success":false}`))
		s.answer, s.allowed, s.ghost = about(d.done, id), []string{call(id)}, true
	case "unrelated":
		s.tools = []string{pick("reset_database", "pay_invoice", "play_song", "launch_rocket")}
		s.say("user", about(d.wish, id))
		s.answer, s.ghost = about(d.done, id), true
	case "partial":
		s.say("user", about(d.wish, id+" and "+second))
		s.call(d.tool, id, ok)
		s.answer, s.allowed, s.ghost = about(d.done, id+" and "+second), []string{call(second)}, true
	case "empty":
		s.say("user", about(d.wish, id))
		s.answer, s.allowed = "", []string{call(id)}
	}
	return s
}

func (s *scene) request(streamed bool) string {
	var tools []any
	for _, name := range s.tools {
		tools = append(tools, map[string]any{"type": "function", "function": map[string]any{"name": name, "parameters": map[string]any{"type": "object", "properties": map[string]any{"id": map[string]any{"type": "string"}}}}})
	}
	body, err := json.Marshal(map[string]any{"model": "m", "stream": streamed, "messages": s.messages, "tools": tools})
	if err != nil {
		panic(err)
	}
	return string(body)
}

// obedient is a model that does as it is told: where a call is demanded it makes it, of the tool
// that is named or else of the first one, for the id that the user named last. Told that it may
// not call, it says no more than that.
type obedient struct {
	scene *scene
	made  []string // calls, name and id
	asked int
}

func (o *obedient) Chat(_ context.Context, _ string, req *gateway.Request) (gateway.Reply, error) {
	o.asked++
	var body struct {
		Choice   json.RawMessage `json:"tool_choice"`
		Messages []struct{ Role, Content string }
	}
	if err := json.Unmarshal(req.With("m", nil).Join(), &body); err != nil {
		return nil, err
	}
	message := fmt.Sprintf(`{"role":"assistant","content":%s}`, quoted(o.scene.answer))
	choice, finish := string(body.Choice), "stop"
	var named struct{ Function struct{ Name string } }
	switch {
	case choice == `"none"`, o.asked > 1 && choice == "":
		message = `{"role":"assistant","content":"Not everything could be done."}`
	case choice == `"required"`:
		named.Function.Name = o.scene.tools[0]
	case choice != "":
		if err := json.Unmarshal(body.Choice, &named); err != nil {
			return nil, err
		}
	}
	if name := named.Function.Name; name != "" {
		id := o.scene.lastID()
		o.made = append(o.made, name+" "+id)
		finish = "tool_calls"
		message = fmt.Sprintf(`{"role":"assistant","content":null,"tool_calls":[{"index":0,"id":"x1","type":"function","function":{"name":%q,"arguments":%s}}]}`, name, quoted(fmt.Sprintf(`{"id":%q}`, id)))
	}
	return &saying{streamed: req.Stream, message: message, finish: finish}, nil
}

func quoted(s string) string {
	b, err := json.Marshal(s)
	if err != nil {
		panic(err)
	}
	return string(b)
}

// lastID is the one of a call in the conversation, or else what the user named: a model that is
// told to call a tool again calls it with what stands there.
func (s *scene) lastID() string {
	if len(s.allowed) > 0 {
		_, id, _ := strings.Cut(s.allowed[0], " ")
		return id
	}
	return "any"
}

// saying is an answer in one piece.
type saying struct {
	streamed        bool
	message, finish string
	at              int
}

func (r *saying) Header() http.Header { return http.Header{} }
func (r *saying) Streamed() bool      { return r.streamed }
func (r *saying) Close() error        { return nil }

func (r *saying) Next() (*gateway.Frame, error) {
	r.at++
	switch {
	case !r.streamed && r.at == 1:
		data := []byte(`{"choices":[{"index":0,"message":` + strings.Replace(r.message, `"index":0,`, "", 1) + `,"finish_reason":"` + r.finish + `"}]}`)
		return &gateway.Frame{Raw: data, Data: data}, nil
	case r.streamed && r.at == 1:
		data := []byte(`{"choices":[{"index":0,"delta":` + r.message + `}]}`)
		return &gateway.Frame{Raw: []byte("data: " + string(data) + "\n\n"), Data: data}, nil
	case r.streamed && r.at == 2:
		data := []byte(`{"choices":[{"index":0,"delta":{},"finish_reason":"` + r.finish + `"}]}`)
		return &gateway.Frame{Raw: []byte("data: " + string(data) + "\n\n"), Data: data}, nil
	case r.streamed && r.at == 3:
		return &gateway.Frame{Raw: []byte("data: [DONE]\n\n"), Done: true}, nil
	}
	return nil, io.EOF
}

// TestObedientModel plays 5,000 generated conversations under enforce with a model that obeys: no
// change is made that the user did not ask for, nor one a second time. It prints what was made of
// each kind.
func TestObedientModel(t *testing.T) {
	t.Parallel()
	const n = 5000
	type figures struct{ all, ghosts, corrected, failed, made int }
	kinds := map[string]*figures{}
	r := rand.New(rand.NewPCG(18, 4))
	model := &obedient{}
	g, err := New(Options{
		Log: slog.New(slog.DiscardHandler), Providers: map[string]gateway.Provider{"p": model},
		Routes:      map[string][]gateway.Target{"m": {{Provider: "p", Mode: gateway.Repair, AllowEmpty: true}}},
		RoutePolicy: RoutePolicy{Guard: gateway.Repair},
	})
	if err != nil {
		t.Fatal(err)
	}
	for i := range n {
		s := newScene(r)
		model.scene, model.made, model.asked = s, nil, 0
		f := kinds[s.kind]
		if f == nil {
			f = &figures{}
			kinds[s.kind] = f
		}
		f.all++
		f.ghosts += count(s.ghost)
		body := s.request(i%2 == 0)
		req, err := gateway.ParseRequest([]byte(body))
		if err != nil {
			t.Fatal(err)
		}
		failed := drain(t, g, req)
		f.failed += count(failed)
		f.corrected += count(model.asked > 1)
		if !s.ghost && model.asked > 1 && s.kind != "empty" {
			t.Logf("alarm: %s %q behind %v", s.kind, s.answer, s.messages[0]["content"])
		}
		for _, made := range model.made {
			f.made++
			name, _, _ := strings.Cut(made, " ")
			if !slices.Contains(s.allowed, made) && !slices.Contains(looksOnly, name) {
				t.Errorf("%s: %v offered, %q: the model was made to call %s, want one of %q", s.kind, s.tools, s.answer, made, s.allowed)
			}
		}
	}
	for kind, f := range kinds {
		t.Logf("%-24s %4d, ghosts %4d: corrected %4d, refused %4d, calls %4d", kind, f.all, f.ghosts, f.corrected, f.failed, f.made)
	}
}

var looksOnly = []string{"get_order_details", "get_reservation", "list_tasks", "termine_lesen", "ver_pedido"}

func count(b bool) int {
	if b {
		return 1
	}
	return 0
}

// drain has a client ask, and reports whether it got an error.
func drain(t *testing.T, g *Gateway, req *gateway.Request) (failed bool) {
	t.Helper()
	resp, err := g.Chat(t.Context(), req)
	if err != nil {
		return true
	}
	defer resp.Close()
	for {
		if _, err := resp.Next(); err != nil {
			return err != io.EOF
		}
	}
}
