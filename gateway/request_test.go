package gateway_test

import (
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/callgate/callgate/gateway"
)

func TestParseRequestRefuses(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ body, param, message string }{
		"empty":             {``, "", "is empty"},
		"blank":             {" \n", "", "is empty"},
		"trailing comma":    {`{"model":"m","messages":[], }`, "", `at byte 26: nothing follows the comma in front of "}"`},
		"comma in a list":   {`{"model":"m","stop":["a",]}`, "stop", `nothing follows the comma in front of "]"`},
		"not an object":     {`[]`, "", "must be a JSON object"},
		"cut":               {`{"model":"m","messages":[{"role":`, "messages[0].role", "not valid JSON at byte 33"},
		"trailing text":     {`{"model":"m"} x`, "", "not valid JSON at byte 14"},
		"two values":        {`{"model":"m"}{}`, "", "more than one JSON value"},
		"duplicate model":   {`{"model":"a","model":"b"}`, "model", "duplicate"},
		"duplicate nested":  {`{"model":"a","messages":[{"role":"user","role":"tool"}]}`, "messages[0].role", "duplicate"},
		"escaped duplicate": {`{"model":"a","mode\u006c":"b"}`, "model", "duplicate"},
		"invalid UTF-8":     {"{\"model\":\"a\xff\"}", "model", "UTF-8"},
		"lone surrogate":    {`{"model":"a\ud800"}`, "model", "surrogate"},
		"NaN":               {`{"model":"m","temperature":NaN}`, "temperature", "not valid JSON"},
		"control character": {"{\"model\":\"a\nb\"}", "model", "not valid JSON"},
		"too deep":          {`{"model":"m","x":` + strings.Repeat("[", 10000) + strings.Repeat("]", 10000) + `}`, "", "deeper than 128 levels at byte 144"},
		"no model":          {`{"messages":[]}`, "model", "missing"},
		"Model":             {`{"Model":"m"}`, "Model", `must be written "model"`},
		"Model behind it":   {`{"model":"m","Model":"n"}`, "Model", `must be written "model"`},
		"ſtream":            {`{"model":"m","\u017ftream":true}`, "ſtream", `must be written "stream"`},
		"empty model":       {`{"model":""}`, "model", "non-empty string"},
		"number as model":   {`{"model":7}`, "model", "not 7"},
		"stream as string":  {`{"model":"m","stream":"yes"}`, "stream", `not "yes"`},
		"tools as object":   {`{"model":"m","tools":{}}`, "tools", "must be an array"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := gateway.ParseRequest([]byte(c.body))
			var e *gateway.Error
			if !errors.As(err, &e) {
				t.Fatalf("got %v, want an *Error", err)
			}
			if e.Kind != gateway.Invalid || e.Param != c.param || !strings.Contains(e.Message, c.message) {
				t.Errorf("got kind %v, param %q, %q; want Invalid, %q, …%s…", e.Kind, e.Param, e.Message, c.param, c.message)
			}
		})
	}
}

func TestOffersTools(t *testing.T) {
	t.Parallel()
	for body, want := range map[string]bool{
		`{"model":"m"}`:                                                    false,
		`{"model":"m","tools":[]}`:                                         false,
		`{"model":"m","tools":null}`:                                       false,
		`{"model":"m","tools":[{}]}`:                                       true,
		`{"model":"m","tools":[{}],"tool_choice":"none"}`:                  false,
		`{"model":"m","tools":[{}],"tool_choice":"auto"}`:                  true,
		`{"model":"m","tools":[{}],"tool_choice":{"type":"function"}}`:     true,
		`{"model":"m", "tool_choice" : "none" , "tools" : [ {"type":1} ]}`: false,
	} {
		req, err := gateway.ParseRequest([]byte(body))
		if err != nil {
			t.Fatal(err)
		}
		if got := req.Reading.OffersTools(); got != want {
			t.Errorf("OffersTools of %s = %v, want %v", body, got, want)
		}
	}
}

// TestBodyChangesOnlyModel holds the first rule of the product: with the model's
// name put back, what goes upstream is what the client sent, byte for byte.
func TestBodyChangesOnlyModel(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		before := rapid.MapOfN(key(), value(3), 0, 4).Draw(t, "before")
		after := rapid.MapOfN(key(), value(3), 0, 4).Draw(t, "after")
		for k := range before {
			delete(after, k)
		}
		gap := rapid.SampledFrom([]string{"", " ", "\n\t"})
		var parts []string
		for k, v := range before {
			parts = append(parts, k+gap.Draw(t, "gap")+":"+v)
		}
		parts = append(parts, `"model"`+gap.Draw(t, "gap")+`:`+gap.Draw(t, "gap")+`"client's name"`)
		for k, v := range after {
			parts = append(parts, k+":"+gap.Draw(t, "gap")+v)
		}
		body := "{" + strings.Join(parts, gap.Draw(t, "gap")+",") + "}"
		req, err := gateway.ParseRequest([]byte(body))
		if err != nil {
			t.Fatalf("%s: %v", body, err)
		}
		got := string(req.With(`up"stream`, nil).Join())
		if want := strings.Replace(body, `"client's name"`, `"up\"stream"`, 1); got != want {
			t.Fatalf("got  %s\nwant %s", got, want)
		}
		if same := string(req.With("client's name", nil).Join()); same != body {
			t.Fatalf("the same name changed the body: %s", same)
		}
	})
}

// key is a member's name that the gateway does not know.
func key() *rapid.Generator[string] {
	return rapid.Custom(func(t *rapid.T) string {
		b, _ := json.Marshal("x_" + rapid.String().Draw(t, "key"))
		return string(b)
	})
}

// value is any JSON, with numbers that no float holds and white space of its own.
func value(depth int) *rapid.Generator[string] {
	return rapid.Custom(func(t *rapid.T) string {
		kind := rapid.IntRange(0, 5).Draw(t, "kind")
		switch {
		case kind == 0 && depth > 0:
			return "[ " + strings.Join(rapid.SliceOfN(value(depth-1), 0, 3).Draw(t, "list"), " ,") + "]"
		case kind == 1 && depth > 0:
			var parts []string
			for k, v := range rapid.MapOfN(key(), value(depth-1), 0, 3).Draw(t, "object") {
				parts = append(parts, k+": "+v)
			}
			return "{" + strings.Join(parts, ",\n") + "}"
		case kind == 2:
			return rapid.SampledFrom([]string{"null", "true", "1.0", "-0", "12345678901234567890", "1e400", "2.50"}).Draw(t, "word")
		}
		b, _ := json.Marshal(rapid.String().Draw(t, "text"))
		return string(b)
	})
}

// TestReadToolsTangled holds that schemas which lead to each other many times over
// are not followed without end: these would be visited some 10^12 times.
func TestReadToolsTangled(t *testing.T) {
	t.Parallel()
	refs := strings.Repeat(`{"$ref":"#/$defs/a"},`, 1000)
	tools, err := gateway.ReadTools([]byte(`[{"function":{"name":"f","parameters":{"properties":{"x":{"$ref":"#/$defs/a"}},
		"$defs":{"a":{"anyOf":[` + refs + `{"type":"string"}]}}}}}]`))
	if err != nil || len(tools) != 1 || len(tools[0].Params) != 1 {
		t.Errorf("got %v, %v", tools, err)
	}
}

func TestReadTools(t *testing.T) {
	t.Parallel()
	tools, err := gateway.ReadTools([]byte(`[
		{"type":"function","function":{"name":"search","parameters":{"type":"object","required":["q"],
			"properties":{"q":{"type":"string"},"n":{"type":["integer","null"]},"k":{"anyOf":[{"type":"number"},{"type":"boolean"}]},
				"r":{"$ref":"#/$defs/R"},"e":{"enum":["a",1,null]},"any":{},"loop":{"$ref":"#/$defs/L"},"o":{"properties":{"x":{}}}},
			"$defs":{"R":{"type":"array"},"L":{"$ref":"#/$defs/L"}}}}},
		{"name":"bare"}, {"name":"odd","parameters":"text"}, {"function":{}}]`))
	if err != nil {
		t.Fatal(err)
	}
	types := map[string]string{}
	for _, p := range tools[0].Params {
		types[p.Name] = strings.TrimSpace(strings.Join(names(uint16(p.Types)), " "))
	}
	want := map[string]string{"q": "string", "n": "integer null", "k": "number boolean", "r": "array",
		"e": "string integer null", "any": "", "loop": "", "o": "object"}
	if !reflect.DeepEqual(types, want) {
		t.Errorf("types are %v, want %v", types, want)
	}
	if len(tools) != 3 || tools[1].Name != "bare" || tools[2].Name != "odd" || len(tools[2].Params) != 0 {
		t.Errorf("got %+v", tools)
	}
	if _, err := gateway.ReadTools([]byte(`{"name":1}`)); err == nil {
		t.Error("an object instead of a list gave no error")
	}
}

func names(types uint16) []string {
	var out []string
	for i, name := range []string{"string", "integer", "number", "boolean", "object", "array", "null"} {
		if types&(1<<i) != 0 {
			out = append(out, name)
		}
	}
	return out
}

// FuzzParseRequest never panics, and passes on what it accepts.
func FuzzParseRequest(f *testing.F) {
	f.Add([]byte(`{"model":"m","messages":[{"role":"user","content":"hi"}],"tools":[{"type":"function"}],"stream":true}`))
	f.Add([]byte(`{"model":"a","model":"b"}`))
	f.Add([]byte(`{"model":"\ud83d\ude00","x":{"y":[1,2,{"z":null}]}} `))
	f.Fuzz(func(t *testing.T, body []byte) {
		req, err := gateway.ParseRequest(body)
		if err != nil {
			return
		}
		var before, after map[string]json.RawMessage
		if err := json.Unmarshal(body, &before); err != nil {
			t.Fatalf("accepted %q: %v", body, err)
		}
		if err := json.Unmarshal(req.With("other", nil).Join(), &after); err != nil {
			t.Fatalf("%q became %q: %v", body, req.With("other", nil).Join(), err)
		}
		delete(before, "model")
		delete(after, "model")
		if !reflect.DeepEqual(before, after) {
			t.Fatalf("%q became %q", body, req.With("other", nil).Join())
		}
		req.Reading.OffersTools()
		_, _ = gateway.ReadTools(req.Reading.ToolsJSON())
	})
}

func TestRequestWith(t *testing.T) {
	t.Parallel()
	req, err := gateway.ParseRequest([]byte(` { "b": 1, "model": "m", "a" : {"x": 1}, "e\u0065": 0 } `))
	if err != nil {
		t.Fatal(err)
	}
	got := string(req.With("other", []gateway.Field{{"a", "false"}, {"c", `"none"`}, {"d", "2"}, {"ee", "1"}}).Join())
	if want := ` {"c":"none","d":2, "b": 1, "model": "other", "a" : false, "e\u0065": 1 } `; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if got := string(req.With("m", nil).Join()); got != string(req.With("m", nil).Join()) {
		t.Errorf("got %s, want the client's bytes", got)
	}
}
