// Package responsestest judges answers of the Responses API: whole ones, and streams of events
// as strictly as any client reads them.
package responsestest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
)

// Object is a JSON object.
type Object map[string]any

// nonNull are the members that a response has and that are not null; nullable may be.
var (
	nonNull = []string{"id", "object", "created_at", "status", "model", "output", "tools", "tool_choice", "truncation", "parallel_tool_calls",
		"text", "top_p", "temperature", "presence_penalty", "frequency_penalty", "top_logprobs", "store", "background", "service_tier", "metadata"}
	nullable = []string{"completed_at", "error", "incomplete_details", "instructions", "previous_response_id", "reasoning", "usage",
		"max_output_tokens", "max_tool_calls", "safety_identifier", "prompt_cache_key"}
)

// CheckResponse says what is wrong with a response that is over, nil if nothing is.
func CheckResponse(data []byte) (Object, error) {
	var r Object
	if err := json.Unmarshal(data, &r); err != nil {
		return nil, fmt.Errorf("a response that is no JSON: %w", err)
	}
	return r, errors.Join(checkMembers(r), checkOutput(r))
}

func checkMembers(r Object) error {
	var errs []error
	for _, name := range nonNull {
		if r[name] == nil {
			errs = append(errs, fmt.Errorf("the response lacks %q", name))
		}
	}
	for _, name := range nullable {
		if _, ok := r[name]; !ok {
			errs = append(errs, fmt.Errorf("the response has no member %q", name))
		}
	}
	if r["object"] != "response" || !strings.HasPrefix(fmt.Sprint(r["id"]), "resp_") {
		errs = append(errs, fmt.Errorf("the response is %v with the id %v", r["object"], r["id"]))
	}
	for _, t := range list(r["tools"]) {
		if t["type"] != "function" {
			continue
		}
		for _, name := range []string{"name", "description", "parameters", "strict"} {
			if _, ok := t[name]; !ok {
				errs = append(errs, fmt.Errorf("the tool %v has no member %q", t["name"], name))
			}
		}
	}
	if u, ok := r["usage"].(map[string]any); ok {
		in, _ := u["input_tokens_details"].(map[string]any)
		out, _ := u["output_tokens_details"].(map[string]any)
		if in["cached_tokens"] == nil || out["reasoning_tokens"] == nil || number(u["total_tokens"]) != number(u["input_tokens"])+number(u["output_tokens"]) {
			errs = append(errs, fmt.Errorf("the usage is %v", u))
		}
	}
	status, detail := r["status"], r["incomplete_details"]
	if (status == "incomplete") != (detail != nil) || (status == "failed") != (r["error"] != nil) || (status == "completed" || status == "incomplete") != (r["completed_at"] != nil) {
		errs = append(errs, fmt.Errorf("the status %v goes with incomplete_details %v, error %v and completed_at %v", status, detail, r["error"], r["completed_at"]))
	}
	if e, ok := r["error"].(map[string]any); ok && !errorCodes[fmt.Sprint(e["code"])] {
		errs = append(errs, fmt.Errorf("the error has the code %v, which the type ResponseError does not have", e["code"]))
	}
	return errors.Join(errs...)
}

// errorCodes are the codes of the type ResponseError in OpenAI's SDKs that a gateway may have to say, and one that OpenAI
// sends nevertheless.
var errorCodes = map[string]bool{"server_error": true, "rate_limit_exceeded": true, "invalid_prompt": true, "invalid_image": true, "invalid_image_url": true, "context_length_exceeded": true}

// checkOutput says what is wrong with the items of a response.
func checkOutput(r Object) error {
	var errs []error
	ids := map[any]bool{}
	for i, item := range list(r["output"]) {
		if ids[item["id"]] {
			errs = append(errs, fmt.Errorf("output[%d] has the id %v of another item", i, item["id"]))
		}
		ids[item["id"]] = true
		errs = append(errs, checkItem(fmt.Sprintf("output[%d]", i), item))
	}
	return errors.Join(errs...)
}

// prefixes are how the ids of items begin, and members what an item has besides.
var (
	prefixes = map[string]string{"message": "msg_", "reasoning": "rs_", "function_call": "fc_", "custom_tool_call": "ctc_",
		"mcp_list_tools": "mcpl_", "mcp_call": "mcp_", "mcp_approval_request": "mcpr_", "web_search_call": "ws_"}
	members = map[string][]string{"message": {"role", "content", "status"}, "reasoning": {"summary"}, "function_call": {"call_id", "name", "arguments", "status"}, "custom_tool_call": {"call_id", "name", "input"},
		"mcp_list_tools": {"server_label", "tools"}, "mcp_call": {"server_label", "name", "arguments", "status"}, "mcp_approval_request": {"server_label", "name", "arguments"}}
	// stateless are items that may be without a status: OpenAI gives reasoning none.
	stateless = map[string]bool{"mcp_list_tools": true, "mcp_approval_request": true, "reasoning": true}
)

func checkItem(place string, item Object) error {
	kind := fmt.Sprint(item["type"])
	if !strings.HasPrefix(fmt.Sprint(item["id"]), prefixes[kind]) || prefixes[kind] == "" {
		return fmt.Errorf("%s is a %s with the id %v", place, kind, item["id"])
	}
	var errs []error
	for _, name := range members[kind] {
		if item[name] == nil {
			errs = append(errs, fmt.Errorf("%s, a %s, has no %q", place, kind, name))
		}
	}
	if kind == "function_call" || kind == "custom_tool_call" {
		if id, ok := item["call_id"].(string); !ok || id == "" || id == item["id"] || item["name"] == "" {
			errs = append(errs, fmt.Errorf("%s has the name %v, the id %v and the call_id %v", place, item["name"], item["id"], item["call_id"]))
		}
	}
	if kind == "mcp_call" {
		if failed := item["status"] == "failed"; item["status"] != "in_progress" && failed != (item["error"] != nil) || item["error"] != nil && item["output"] != nil {
			errs = append(errs, fmt.Errorf("%s, a call, has the status %v, the output %v and the error %v", place, item["status"], item["output"], item["error"]))
		}
	}
	for i, t := range list(item["tools"]) {
		if t["name"] == nil || t["input_schema"] == nil {
			errs = append(errs, fmt.Errorf("%s.tools[%d] is %v", place, i, t))
		}
	}
	for i, part := range list(item["content"]) {
		switch part["type"] {
		case "output_text":
			if _, ok := part["text"].(string); !ok || part["annotations"] == nil || part["logprobs"] == nil {
				errs = append(errs, fmt.Errorf("%s.content[%d] is %v", place, i, part))
			}
		case "refusal":
			if _, ok := part["refusal"].(string); !ok {
				errs = append(errs, fmt.Errorf("%s.content[%d] is %v", place, i, part))
			}
		default:
			errs = append(errs, fmt.Errorf("%s.content[%d] has the type %v", place, i, part["type"]))
		}
	}
	return errors.Join(errs...)
}

func list(v any) (objects []Object) {
	all, _ := v.([]any)
	for _, one := range all {
		o, _ := one.(map[string]any)
		objects = append(objects, o)
	}
	return objects
}

func number(v any) int {
	n, _ := v.(float64)
	return int(n)
}

// Stream is what a stream of events has said.
type Stream struct {
	// Events are the types of the events, in their order.
	Events []string
	// Final is the response in the last event; nil where the stream ended with an event "error",
	// whose Error is.
	Final, Error Object
}

// CheckStream reads a stream to its end and says what is wrong with it, nil if nothing is. One item is open at a time, as
// this gateway writes it.
func CheckStream(data []byte) (*Stream, error) {
	return check(data, &checker{stream: &Stream{}})
}

// CheckOverlapping does so with a stream whose items may begin before others have ended, as some upstreams write it.
func CheckOverlapping(data []byte) (*Stream, error) {
	return check(data, &checker{stream: &Stream{}, overlaps: true})
}

func check(data []byte, c *checker) (*Stream, error) {
	c.ended, c.all, c.current = map[int]Object{}, map[int]*current{}, &current{}
	blocks := strings.Split(string(data), "\n\n")
	if last := blocks[len(blocks)-1]; last != "" {
		return c.stream, fmt.Errorf("the stream ends within an event: %.80q", last)
	}
	for i, block := range blocks[:len(blocks)-1] {
		if strings.HasPrefix(block, ":") && !strings.Contains(block, "\n") {
			continue
		}
		if c.done {
			return c.stream, fmt.Errorf("block %d, %.80q, comes behind the end", i, block)
		}
		if err := c.block(block); err != nil {
			return c.stream, fmt.Errorf("block %d: %w", i, err)
		}
	}
	if !c.done && c.stream.Error == nil {
		return c.stream, errors.New("the stream has no end")
	}
	return c.stream, nil
}

// checker is how far a stream is.
type checker struct {
	stream   *Stream
	number   int
	id       any
	created  any
	begun    int            // how many items have begun
	ended    map[int]Object // those that are over, by place
	overlaps bool
	all      map[int]*current // those that are open
	*current                  // the one that an event is of
	done     bool
}

// current is an item that is open.
type current struct {
	open  Object   // as it was added; nil: none is
	part  Object   // of the open item, as it was added
	parts []Object // of the open item that are over
	text  strings.Builder
	notes int      // annotations of the part
	full  *string  // what the text's own end said
	steps []string // of an item that the gateway works on
}

// items are those that are over, in their order.
func (c *checker) items() (list []Object) {
	for i := range c.begun {
		if item := c.ended[i]; item != nil {
			list = append(list, item)
		}
	}
	return list
}

func (c *checker) block(block string) error {
	if block == "data: [DONE]" {
		if c.stream.Final == nil {
			return errors.New("[DONE] comes before the response is over")
		}
		c.done = true
		return nil
	}
	head, body, ok := strings.Cut(block, "\n")
	kind, isEvent := strings.CutPrefix(head, "event: ")
	raw, isData := strings.CutPrefix(body, "data: ")
	if !ok || !isEvent || !isData || strings.Contains(raw, "\n") {
		return fmt.Errorf("%.120q is no event of two lines", block)
	}
	var e Object
	d := json.NewDecoder(strings.NewReader(raw))
	if err := d.Decode(&e); err != nil || d.More() {
		return fmt.Errorf("%.120q is no JSON: %w", raw, err)
	}
	if e["type"] != kind {
		return fmt.Errorf("the event %q has the type %v", kind, e["type"])
	}
	if n, ok := e["sequence_number"].(float64); !ok || int(n) != c.number {
		return fmt.Errorf("%s has the sequence_number %v, not %d", kind, e["sequence_number"], c.number)
	}
	if c.stream.Final != nil {
		return fmt.Errorf("%s comes when the response is over", kind)
	}
	c.number++
	c.stream.Events = append(c.stream.Events, kind)
	if err := c.event(kind, e); err != nil {
		return fmt.Errorf("%s: %w", kind, err)
	}
	return nil
}

func (c *checker) event(kind string, e Object) error {
	if kind == "error" {
		nested, _ := e["error"].(map[string]any)
		if nested["message"] == nil || nested["message"] != e["message"] || e["code"] == nil {
			return fmt.Errorf("it says %v", e)
		}
		c.stream.Error = e
		return nil
	}
	if r, ok := e["response"].(map[string]any); ok {
		return c.lifecycle(strings.TrimPrefix(kind, "response."), r)
	}
	if c.number <= 2 {
		return errors.New("it comes before response.created and response.in_progress")
	}
	if kind == "response.output_item.added" {
		return c.added(e)
	}
	if c.current = c.all[number(e["output_index"])]; c.current == nil {
		return fmt.Errorf("it is of an item at %v, where none is open", e["output_index"])
	}
	if kind == "response.output_item.done" {
		return c.itemDone(e)
	}
	if e["item_id"] != c.open["id"] {
		return fmt.Errorf("it is of the item %v at %v, and %v is open there", e["item_id"], e["output_index"], c.open["id"])
	}
	return c.within(kind, e)
}

// lifecycle takes an event with a response.
func (c *checker) lifecycle(kind string, r Object) error {
	if err := checkMembers(r); err != nil {
		return err
	}
	switch {
	case c.number == 1 && kind == "created", c.number == 2 && kind == "in_progress":
		if r["status"] != "in_progress" || len(list(r["output"])) > 0 || r["usage"] != nil {
			return fmt.Errorf("it has the status %v, %d items and the usage %v", r["status"], len(list(r["output"])), r["usage"])
		}
		if c.number == 1 {
			c.id, c.created = r["id"], r["created_at"]
		}
	case c.number > 2 && (kind == "completed" || kind == "incomplete" || kind == "failed"):
		if r["status"] != kind {
			return fmt.Errorf("it has the status %v", r["status"])
		}
		if len(c.all) > 0 && kind != "failed" {
			return fmt.Errorf("%d items are open", len(c.all))
		}
		var output []Object
		output = append(output, list(r["output"])...)
		if items := c.items(); len(output) != len(items) || len(output) > 0 && !reflect.DeepEqual(output, items) {
			return fmt.Errorf("it has the items %v, and those that were sent are %v", output, items)
		}
		if err := checkOutput(r); err != nil {
			return err
		}
		c.stream.Final = r
	default:
		return errors.New("it comes at a wrong time")
	}
	if r["id"] != c.id || r["created_at"] != c.created {
		return fmt.Errorf("it has the id %v, which was %v", r["id"], c.id)
	}
	return nil
}

func (c *checker) added(e Object) error {
	item, _ := e["item"].(map[string]any)
	switch {
	case len(c.all) > 0 && !c.overlaps:
		return fmt.Errorf("the item %v is still open", c.open["id"])
	case e["output_index"] == nil || number(e["output_index"]) != c.begun:
		return fmt.Errorf("it has the output_index %v, not %d", e["output_index"], c.begun)
	case item["status"] != "in_progress" && (item["status"] != nil || !stateless[fmt.Sprint(item["type"])]):
		return fmt.Errorf("it has the status %v", item["status"])
	}
	for _, name := range []string{"content", "summary"} {
		if v, ok := item[name]; ok && len(list(v)) > 0 {
			return fmt.Errorf("it has %s already", name)
		}
	}
	for _, name := range []string{"arguments", "input"} {
		if v, ok := item[name]; ok && v != "" && item["type"] != "mcp_approval_request" {
			return fmt.Errorf("it has %s already", name)
		}
	}
	c.current = &current{open: item}
	c.all[c.begun] = c.current
	c.begun++
	return checkItem("the item", item)
}

func (c *checker) itemDone(e Object) error {
	item, _ := e["item"].(map[string]any)
	if e["output_index"] == nil || c.part != nil {
		return fmt.Errorf("it comes at %v with %v open", e["output_index"], c.open["id"])
	}
	for _, name := range []string{"id", "type", "call_id", "name", "namespace", "role", "server_label"} {
		if item[name] != c.open[name] {
			return fmt.Errorf("%s is %v, and was %v", name, item[name], c.open[name])
		}
	}
	switch status := item["status"]; {
	case status == "completed" || status == "incomplete":
	case status == "failed" && item["type"] == "mcp_call", status == nil && stateless[fmt.Sprint(item["type"])]:
	default:
		return fmt.Errorf("it has the status %v", status)
	}
	if want := stepsOf(item); !slices.Equal(c.steps, want) {
		return fmt.Errorf("its steps were %q, not %q", c.steps, want)
	}
	var parts []Object
	switch item["type"] {
	case "message":
		parts = list(item["content"])
	case "reasoning":
		parts = list(item["summary"])
	case "mcp_call":
		if c.full == nil || item["arguments"] != *c.full {
			return fmt.Errorf("arguments is %v, and its own end said something else", item["arguments"])
		}
	case "function_call", "custom_tool_call":
		name := map[any]string{"function_call": "arguments", "custom_tool_call": "input"}[item["type"]]
		if c.full == nil || item[name] != *c.full {
			return fmt.Errorf("%s is %v, and its own end said something else", name, item[name])
		}
	}
	if len(parts) != len(c.parts) || len(parts) > 0 && !reflect.DeepEqual(parts, c.parts) {
		return fmt.Errorf("it has the parts %v, and those that were sent are %v", parts, c.parts)
	}
	at := number(e["output_index"])
	c.ended[at] = item
	delete(c.all, at)
	return checkItem("the item", item)
}

// stepsOf are the events that say how far an item is which the gateway works on.
func stepsOf(item Object) []string {
	kind := fmt.Sprint(item["type"])
	end := "completed"
	if item["error"] != nil || item["status"] == "incomplete" {
		end = "failed"
	}
	switch kind {
	case "web_search_call": // OpenAI's own
		return []string{"in_progress", "searching", end}
	case "mcp_list_tools":
		return []string{"in_progress", end}
	case "mcp_call":
		return []string{"in_progress", "arguments", end}
	}
	return nil
}

// kinds are the events within an item: what item they are of, and what they are about.
var kinds = map[string]struct{ item, part, member string }{
	"response.content_part.added":            {"message", "added", ""},
	"response.content_part.done":             {"message", "done", ""},
	"response.output_text.delta":             {"message", "output_text", "delta"},
	"response.output_text.done":              {"message", "output_text", "text"},
	"response.output_text.annotation.added":  {"message", "output_text", "annotation"},
	"response.refusal.delta":                 {"message", "refusal", "delta"},
	"response.refusal.done":                  {"message", "refusal", "refusal"},
	"response.reasoning_summary_part.added":  {"reasoning", "added", ""},
	"response.reasoning_summary_part.done":   {"reasoning", "done", ""},
	"response.reasoning_summary_text.delta":  {"reasoning", "summary_text", "delta"},
	"response.reasoning_summary_text.done":   {"reasoning", "summary_text", "text"},
	"response.function_call_arguments.delta": {"function_call", "", "delta"},
	"response.function_call_arguments.done":  {"function_call", "", "arguments"},
	"response.custom_tool_call_input.delta":  {"custom_tool_call", "", "delta"},
	"response.custom_tool_call_input.done":   {"custom_tool_call", "", "input"},
	"response.mcp_call_arguments.delta":      {"mcp_call", "", "delta"},
	"response.mcp_call_arguments.done":       {"mcp_call", "", "arguments"},
}

// within takes an event of the open item.
func (c *checker) within(kind string, e Object) error {
	for _, step := range []string{"in_progress", "searching", "completed", "failed"} {
		if kind == fmt.Sprintf("response.%v.%s", c.open["type"], step) {
			c.steps = append(c.steps, step)
			return nil // the item's end looks at them
		}
	}
	k, ok := kinds[kind]
	if kind == "response.mcp_call_arguments.done" {
		c.steps = append(c.steps, "arguments")
	}
	if !ok || k.item != c.open["type"] {
		return fmt.Errorf("no event of a %v", c.open["type"])
	}
	if index := map[string]string{"message": "content_index", "reasoning": "summary_index"}[k.item]; index != "" {
		if _, ok := e[index]; !ok || number(e[index]) != len(c.parts) {
			return fmt.Errorf("it has the %s %v, not %d", index, e[index], len(c.parts))
		}
	}
	part, _ := e["part"].(map[string]any)
	switch {
	case k.part == "added":
		if part["type"] == "output_text" && (part["annotations"] == nil || part["logprobs"] == nil) {
			return fmt.Errorf("the part %v lacks annotations or logprobs", part)
		}
		if c.part != nil || part["text"] != "" && part["refusal"] != "" {
			return fmt.Errorf("the part is %v behind %v", part, c.part)
		}
		c.part, c.full = part, nil
		c.text.Reset()
		return nil
	case k.part == "done":
		text := part["text"]
		if part["type"] == "refusal" {
			text = part["refusal"]
		}
		if notes, _ := part["annotations"].([]any); len(notes) != c.notes {
			return fmt.Errorf("the part has %d annotations, and %d were sent", len(notes), c.notes)
		}
		c.notes = 0
		if c.part == nil || part["type"] != c.part["type"] || c.full == nil || text != *c.full {
			return fmt.Errorf("the part is %v behind %v", part, c.part)
		}
		c.parts, c.part = append(c.parts, part), nil
		return nil
	case k.part != "" && (c.part == nil || c.part["type"] != k.part):
		return fmt.Errorf("the open part is %v", c.part)
	case c.full != nil:
		return errors.New("the text is over")
	}
	if k.member == "annotation" {
		if number(e["annotation_index"]) != c.notes || e["annotation"] == nil {
			return fmt.Errorf("it has the annotation_index %v, not %d", e["annotation_index"], c.notes)
		}
		c.notes++
		return nil
	}
	text, ok := e[k.member].(string)
	if !ok {
		return fmt.Errorf("%s is %v", k.member, e[k.member])
	}
	if k.part == "output_text" && e["logprobs"] == nil {
		return errors.New("it has no logprobs")
	}
	if k.member == "delta" {
		c.text.WriteString(text)
		return nil
	}
	if text != c.text.String() {
		return fmt.Errorf("the whole is %q, and the pieces are %q", text, c.text.String())
	}
	c.full = &text
	return nil
}

// Has reports whether the stream had an event of a type.
func (s *Stream) Has(kind string) bool { return slices.Contains(s.Events, kind) }

// IsStream reports whether an answer is one of events.
func IsStream(data []byte) bool {
	return bytes.HasPrefix(data, []byte("event:")) || bytes.HasPrefix(data, []byte(":"))
}
