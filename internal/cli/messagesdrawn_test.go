package cli

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
)

// drawnStream is a stream of the Messages API that was drawn.
type drawnStream struct {
	blocks []string // as they stand on the wire, each with the blank line behind it
	datas  []string // of them, without those of comments
	sound  int      // how many of the datas come before what is to be changed
}

func (s *drawnStream) sse() string { return strings.Join(s.blocks, "") }

// drawing draws a stream.
type drawing struct {
	*rand.Rand
	s     drawnStream
	index int
	plain bool // pieces are spelled in one way
	call  bool
	blank string // a text that is hardly one
}

func (d *drawing) one(of ...string) string { return of[d.IntN(len(of))] }

func (d *drawing) rarely() bool { return d.IntN(6) == 0 }

// members joins members to an object, with white space between them, in any order, and now and then with one that nobody knows.
func (d *drawing) members(all ...string) string {
	if d.rarely() {
		all = append(all, `"new":`+d.one(`null`, `1.0`, `1e2`, `{"a": [1,null] }`, `"é\u00e9\ud83d\ude00\/"`))
	}
	if d.rarely() {
		all = append(all, `"nothing":null`)
	}
	if d.rarely() {
		d.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	}
	gap := ""
	if d.rarely() {
		gap = " "
	}
	return "{" + gap + strings.Join(all, ","+gap) + gap + "}"
}

// event adds an event.
func (d *drawing) event(kind string, members ...string) {
	data := d.members(append([]string{`"type":"` + kind + `"`}, members...)...)
	colon, end := ": ", "\n"
	if !d.plain && d.rarely() {
		colon = ":"
	}
	if !d.plain && d.rarely() {
		end = "\r\n"
	}
	d.s.blocks = append(d.s.blocks, "event"+colon+kind+end+"data"+colon+data+end+end)
	d.s.datas = append(d.s.datas, data)
}

// between adds what may stand anywhere.
func (d *drawing) between() {
	for d.rarely() {
		switch d.IntN(4) {
		case 0:
			d.event("ping")
		case 1:
			d.event("new_event", `"n":1.50`)
		case 2:
			d.event("content_block_new", fmt.Sprintf(`"index":%d`, d.index))
		default:
			d.s.blocks = append(d.s.blocks, ": upstream\n\n")
		}
	}
}

func (d *drawing) start(members ...string) {
	d.between()
	d.event("content_block_start", fmt.Sprintf(`"index":%d`, d.index), `"content_block":`+d.members(members...))
}

func (d *drawing) delta(kind string, members ...string) {
	d.between()
	if d.rarely() {
		d.event("content_block_delta", fmt.Sprintf(`"index":%d`, d.index), `"delta":{"type":"new_delta","new":null}`)
	}
	d.event("content_block_delta", fmt.Sprintf(`"index":%d`, d.index), `"delta":`+d.members(append([]string{`"type":"` + kind + `"`}, members...)...))
}

func (d *drawing) stop() {
	d.between()
	d.event("content_block_stop", fmt.Sprintf(`"index":%d`, d.index))
	d.index++
}

// pieces are a text in pieces, as JSON strings.
func (d *drawing) pieces(text string) (all []string) {
	for rest := []rune(text); len(rest) > 0; {
		n := min(1+d.IntN(12), len(rest))
		quoted, _ := json.Marshal(string(rest[:n]))
		all, rest = append(all, string(quoted)), rest[n:]
	}
	return all
}

func (d *drawing) say(text string) {
	d.start(`"type":"text"`, `"text":""`)
	for _, piece := range d.pieces(text) {
		d.delta("text_delta", `"text":`+piece)
	}
	d.stop()
}

func (d *drawing) use(args string) {
	d.start(`"type":"tool_use"`, fmt.Sprintf(`"id":"toolu_%d"`, d.index), `"name":"f"`, `"input":{}`)
	for _, piece := range d.pieces(args) {
		d.delta("input_json_delta", `"partial_json":`+piece)
	}
	d.stop()
	d.call = true
}

// block adds a block in which nothing is wrong.
func (d *drawing) block() {
	switch d.IntN(9) {
	case 0, 1:
		d.say(d.one("Let me see.", "é 😀\n\nand \"so\" on", d.blank, "x < y and <b>", "{\"a\":1}"))
	case 2:
		d.start(`"type":"thinking"`, `"thinking":""`, `"signature":""`)
		for _, piece := range d.pieces("I think, so I am.") {
			d.delta("thinking_delta", `"thinking":`+piece)
		}
		d.delta("signature_delta", `"signature":"EqQBabc=="`)
		d.stop()
	case 3:
		d.start(`"type":"redacted_thinking"`, `"data":"zz"`)
		d.stop()
	case 4:
		d.use(d.one(`{"a":1}`, `{"a": 10 }`, `{}`))
	case 5: // all of a call comes with its beginning
		d.start(`"type":"tool_use"`, fmt.Sprintf(`"id":"toolu_%d"`, d.index), `"name":"f"`, `"input":`+d.one(`{}`, `{"a":1}`, `{"a": 1.0}`))
		d.stop()
		d.call = true
	case 6:
		d.start(`"type":"server_tool_use"`, `"id":"srvtoolu_1"`, `"name":"web_search"`, `"input":{}`)
		d.delta("input_json_delta", `"partial_json":"{\"query\":"`)
		d.delta("input_json_delta", `"partial_json":"\"x\"}"`)
		d.stop()
		d.start(`"type":"web_search_tool_result"`, `"tool_use_id":"srvtoolu_1"`, `"content":[{"type":"web_search_result","url":"https://x.example","page_age":null}]`)
		d.stop()
	case 7:
		d.start(`"type":"text"`, `"text":""`, `"citations":[]`)
		d.delta("citations_delta", `"citation":{"type":"page_location","file_id":null}`)
		d.delta("text_delta", `"text":"cited"`)
		d.stop()
	default:
		d.start(`"type":"new_block"`, `"new":{}`)
		d.delta("new_delta", `"x":null`)
		d.stop()
	}
}

// drawStream draws a stream; fault is what is to be changed of it: "", "arguments" or "text".
func drawStream(seed uint64, fault string) *drawnStream {
	d := &drawing{Rand: rand.New(rand.NewPCG(seed, 7)), plain: seed%2 == 0}
	if d.blank = " "; fault == "text" { // white space in front of what may be a call has to wait, and may go to another block
		d.blank = "."
	}
	usage := d.members(`"input_tokens":11`, `"output_tokens":1`)
	d.event("message_start", `"message":`+d.members(`"id":"msg_01"`, `"type":"message"`, `"role":"assistant"`, `"model":"claude-x"`, `"content":[]`, `"stop_reason":null`, `"stop_sequence":null`, `"usage":`+usage))
	for range d.IntN(4) {
		d.block()
	}
	switch fault {
	case "arguments":
		d.s.sound = len(d.s.datas)
		d.use(d.one(`{"a":1,}`, `{'a':1}`, `{"a":1`))
	case "text":
		d.s.sound = len(d.s.datas)
		d.say("Well.\n<tool_call>\n{\"name\": \"f\", \"arguments\": {\"a\": 7}}\n</tool_call>")
	}
	for range d.IntN(3) {
		d.block()
	}
	if d.index == 0 {
		d.say("Hello.")
	}
	d.between()
	reason := "end_turn"
	if d.call || fault == "text" && d.IntN(2) == 0 {
		reason = "tool_use"
	}
	d.event("message_delta", `"delta":`+d.members(`"stop_reason":"`+reason+`"`, `"stop_sequence":null`), `"usage":`+d.members(`"output_tokens":3e1`))
	d.between()
	d.event("message_stop")
	return &d.s
}
