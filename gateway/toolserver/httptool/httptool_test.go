package httptool_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/callgate/callgate/gateway/toolserver"
	"github.com/callgate/callgate/gateway/toolserver/httptool"
	"github.com/callgate/callgate/gateway/toolserver/toolservertest"
)

// api is an upstream that says what it was asked.
func api(t *testing.T, answer http.HandlerFunc) string {
	t.Helper()
	s := httptest.NewServer(answer)
	t.Cleanup(func() { s.CloseClientConnections(); s.Close() })
	return s.URL
}

func says(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	text, _ := json.Marshal(r.Method + " " + r.RequestURI + " " + r.Header.Get("Content-Type") + " " + string(body))
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write([]byte(`{"data":[{"said":` + string(text) + `,"n":12345678901234567890}],"a/b":{"~":true},"host":"` + r.Host + `"}`))
}

func call(t *testing.T, tool httptool.Tool, arguments string) (*toolserver.Result, *toolserver.Error) {
	t.Helper()
	tool.Name = "t"
	s, err := httptool.Open("api", []httptool.Tool{tool})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	r, err := s.Call(ctx, "t", json.RawMessage(arguments))
	var e *toolserver.Error
	if err != nil && !errors.As(err, &e) {
		t.Fatalf("got %v, want a *toolserver.Error", err)
	}
	return r, e
}

// TestRequests has a row for where arguments go, and for those that would lead elsewhere.
func TestRequests(t *testing.T) {
	t.Parallel()
	base := api(t, says)
	for name, row := range map[string]struct {
		url, method, body, arguments, want string
		wrong                              string // in the message of invalid_arguments
	}{
		"path":                    {"/v1/{city}/x", "GET", "none", `{"city":"São Paulo/../?#&"}`, "", "lead to another path"},
		"path, odd characters":    {"/v1/{city}/x", "GET", "none", `{"city":"São Paulo?#&%2e"}`, "GET /v1/S%C3%A3o%20Paulo%3F%23&%252e/x  ", ""},
		"a slash":                 {"/v1/{city}", "GET", "none", `{"city":"a/b"}`, "GET /v1/a%2Fb  ", ""},
		"two dots":                {"/v1/{city}/x", "GET", "none", `{"city":".."}`, "", "lead to another path"},
		"dots in a part":          {"/v1/.{city}/x", "GET", "none", `{"city":"."}`, "", "lead to another path"},
		"an empty argument":       {"/v1/{city}/x", "GET", "none", `{"city":""}`, "", "city is empty"},
		"a missing argument":      {"/v1/{city}/x", "GET", "none", `{}`, "", "city is missing"},
		"an object in the path":   {"/v1/{city}/x", "GET", "none", `{"city":{}}`, "", "must be text"},
		"query":                   {"/s?q={q}&n={n}&fixed=1", "GET", "none", `{"q":"a&b=c#d ü","n":1.50}`, "GET /s?q=a%26b%3Dc%23d+%C3%BC&n=1.50&fixed=1  ", ""},
		"query, one not given":    {"/s?q={q}&n={n}&fixed=1", "GET", "none", `{"q":"x","n":null}`, "GET /s?q=x&fixed=1  ", ""},
		"query, none given":       {"/s?q={q}", "GET", "none", ``, "GET /s  ", ""},
		"query, a list":           {"/s?q={q}", "GET", "none", `{"q":["a","b&",3]}`, "GET /s?q=a&q=b%26&q=3  ", ""},
		"no place":                {"/s?q={q}", "GET", "none", `{"q":"x","z":1,"y":2}`, "", "no place for y, z"},
		"json":                    {"/v1/{id}", "POST", "json", `{"id":7,"b":{"x":[1,2.0]},"a":"<ü>"}`, `POST /v1/7 application/json {"a":"\u003cü\u003e","b":{"x":[1,2.0]}}`, ""},
		"json, nothing":           {"/v1", "POST", "json", ``, `POST /v1 application/json {}`, ""},
		"form":                    {"/v1", "POST", "form", `{"a":"x&y","b":[1,2],"c":""}`, `POST /v1 application/x-www-form-urlencoded a=x%26y&b=1&b=2&c=`, ""},
		"form with an object":     {"/v1", "POST", "form", `{"a":{}}`, "", "must be text"},
		"arguments that are text": {"/v1", "POST", "json", `"x"`, "", "not a JSON object"},
		"arguments, a name twice": {"/v1", "POST", "json", `{"a":1,"a":2}`, "", "not a JSON object"},
		"arguments that are null": {"/v1", "POST", "json", `null`, "", "not a JSON object"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r, e := call(t, httptool.Tool{Method: row.method, URL: base + row.url, Body: row.body, Result: "/data/0/said"}, row.arguments)
			switch {
			case row.wrong != "":
				if e == nil || e.Kind != toolserver.InvalidArguments || e.Sent || !strings.Contains(e.Message, row.wrong) {
					t.Errorf("got %+v, %+v, want %q", r, e, row.wrong)
				}
			case e != nil || r.Text != row.want:
				t.Errorf("got %+v, %+v, want %q", r, e, row.want)
			}
		})
	}
}

// TestResults has a row for what an upstream may answer.
func TestResults(t *testing.T) {
	t.Parallel()
	send := func(status int, kind, body string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", kind)
			w.WriteHeader(status)
			_, _ = io.WriteString(w, body)
		}
	}
	for name, row := range map[string]struct {
		answer     http.HandlerFunc
		result     string // pointer
		text       string
		structured string
		failed     bool
		want       toolserver.Error
	}{
		"a part":                {answer: says, result: "/data/0/n", text: "12345678901234567890", structured: "12345678901234567890"},
		"a part, escaped":       {answer: says, result: "/a~1b/~0", text: "true", structured: "true"},
		"no such part":          {answer: says, result: "/data/1", want: toolserver.Error{Kind: toolserver.Failed, Sent: true}},
		"a leading zero":        {answer: says, result: "/data/00", want: toolserver.Error{Kind: toolserver.Failed, Sent: true}},
		"all of it":             {answer: send(200, "application/json", " { \"a\" : 1 } "), text: `{"a":1}`, structured: `{"a":1}`},
		"text":                  {answer: send(200, "text/plain", "hello"), text: "hello"},
		"text without the part": {answer: send(200, "text/plain", "hello"), result: "/a", want: toolserver.Error{Kind: toolserver.Failed, Sent: true}},
		"nothing":               {answer: send(204, "", "")},
		"an image":              {answer: send(200, "image/png", "\x89PNG")},
		"broken JSON":           {answer: send(200, "application/json", `{"a":`), want: toolserver.Error{Kind: toolserver.Failed, Sent: true}},
		"a member twice":        {answer: send(200, "application/json", `{"a":1,"a":2}`), want: toolserver.Error{Kind: toolserver.Failed, Sent: true}},
		"404":                   {answer: send(404, "application/json", `{"error":"no such city"}`), text: "HTTP 404 Not Found\n{\"error\":\"no such city\"}", failed: true},
		"401":                   {answer: send(401, "text/plain", "who"), want: toolserver.Error{Kind: toolserver.Unavailable}},
		"429":                   {answer: send(429, "text/plain", "slow"), want: toolserver.Error{Kind: toolserver.Unavailable, Again: true}},
		"502":                   {answer: send(502, "text/html", "<html>"), want: toolserver.Error{Kind: toolserver.Unavailable, Sent: true, Again: true}},
		"no end": {answer: func(w http.ResponseWriter, _ *http.Request) {
			for {
				if _, err := io.WriteString(w, strings.Repeat("x", 64<<10)); err != nil {
					return
				}
			}
		}, want: toolserver.Error{Kind: toolserver.TooLarge, Sent: true}},
		"dies": {answer: func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, want: toolserver.Error{Kind: toolserver.Unavailable, Sent: true, Again: true}},
		"a redirect elsewhere": {answer: func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "http://127.0.0.1:1/", http.StatusTemporaryRedirect)
		}, want: toolserver.Error{Kind: toolserver.Unavailable}},
		"a redirect elsewhere behind the work": {answer: func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "http://127.0.0.1:1/", http.StatusSeeOther)
		}, want: toolserver.Error{Kind: toolserver.Unavailable, Sent: true}},
		"a redirect to a page of what was done": {answer: func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "/done", http.StatusFound)
		}, want: toolserver.Error{Kind: toolserver.Unavailable, Sent: true}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r, e := call(t, httptool.Tool{Method: "POST", Body: "json", URL: api(t, row.answer) + "/x", Result: row.result}, `{}`)
			if row.want.Kind != "" {
				if e == nil || e.Kind != row.want.Kind || e.Sent != row.want.Sent || e.Again != row.want.Again || strings.Contains(e.Message, "127.0.0.1") {
					t.Errorf("got %+v, %+v, want %+v", r, e, row.want)
				}
				return
			}
			if e != nil || r.Text != row.text || string(r.Structured) != row.structured || r.Failed != row.failed {
				t.Errorf("got %+v, %+v", r, e)
			}
		})
	}
	r, e := call(t, httptool.Tool{Method: "GET", Body: "none", URL: api(t, send(200, "text/plain", strings.Repeat("ü", 50_000)))}, ``)
	if e != nil || len(r.Text) > 64<<10 || len(r.Text)+r.Cut != 100_000 {
		t.Errorf("got %d bytes, %d cut, %v", len(r.Text), r.Cut, e)
	}
}

// TestHeadersStay holds that headers go to the host that was written, and nowhere else.
func TestHeadersStay(t *testing.T) {
	t.Parallel()
	var stolen atomic.Int32
	thief := api(t, func(http.ResponseWriter, *http.Request) { stolen.Add(1) })
	var got http.Header
	base := api(t, func(w http.ResponseWriter, r *http.Request) {
		got = r.Header.Clone()
		http.Redirect(w, r, thief, http.StatusTemporaryRedirect)
	})
	_, e := call(t, httptool.Tool{Method: "GET", Body: "none", URL: base + "/x", Headers: map[string]string{"X-Key": "secret"}}, ``)
	if e == nil || !strings.Contains(e.Message, "another origin") || stolen.Load() != 0 || got.Get("X-Key") != "secret" {
		t.Errorf("got %+v, %d requests elsewhere, %v", e, stolen.Load(), got)
	}
}

// TestTimeout holds that a call ends with its time, and that it is said to have been sent.
func TestTimeout(t *testing.T) {
	t.Parallel()
	ctx, end := toolservertest.Overdue(t.Context())
	base := api(t, func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		end()
		<-r.Context().Done()
	})
	s, err := httptool.Open("api", []httptool.Tool{{Name: "t", Method: "POST", Body: "json", URL: base}})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	_, err = s.Call(ctx, "t", nil)
	var e *toolserver.Error
	if !errors.As(err, &e) || e.Kind != toolserver.Timeout || !e.Sent || !e.Again || e.Hint == "" {
		t.Errorf("got %+v", err)
	}
}

// TestCheck has a row for a tool that the configuration refuses.
func TestCheck(t *testing.T) {
	t.Parallel()
	const schema = `{"type":"object","properties":{"city":{"type":"string"}}}`
	for name, row := range map[string]struct {
		tool        httptool.Tool
		field, says string
	}{
		"good":                  {httptool.Tool{URL: "https://h/{city}", Parameters: []byte(schema), Body: "none"}, "", ""},
		"a host by the model":   {httptool.Tool{URL: "https://{city}.example/", Parameters: []byte(schema)}, "url", "host cannot"},
		"a scheme by the model": {httptool.Tool{URL: "{city}://h/", Parameters: []byte(schema)}, "url", "must begin with http"},
		"a port by the model":   {httptool.Tool{URL: "http://h:{city}/", Parameters: []byte(schema)}, "url", "host cannot"},
		"a file":                {httptool.Tool{URL: "file:///etc/passwd"}, "url", "must begin with http"},
		"a user":                {httptool.Tool{URL: "https://u:p@h/"}, "url", "use headers"},
		"a fragment":            {httptool.Tool{URL: "https://h/#x"}, "url", "fragment"},
		"an open brace":         {httptool.Tool{URL: "https://h/{city"}, "url", "written {name}"},
		"a stray brace":         {httptool.Tool{URL: "https://h/city}"}, "url", "without a {"},
		"a parameter's name":    {httptool.Tool{URL: "https://h/?{city}=1"}, "url", "name of a query parameter"},
		"no such argument":      {httptool.Tool{URL: "https://h/{town}", Parameters: []byte(schema)}, "url", "no such property"},
		"an argument too many":  {httptool.Tool{URL: "https://h/", Parameters: []byte(schema), Body: "none"}, "parameters", "goes nowhere"},
		"a pointer":             {httptool.Tool{URL: "https://h/", Result: "data"}, "result", "begins with /"},
		"an escape":             {httptool.Tool{URL: "https://h/", Result: "/a~2"}, "result", "~0"},
		"no host":               {httptool.Tool{URL: "https:///x"}, "url", "host"},
	} {
		field, err := httptool.Check(row.tool)
		if field != row.field || (err == nil) != (row.says == "") || err != nil && !strings.Contains(err.Error(), row.says) {
			t.Errorf("%s: got %s: %v, want %s: %s", name, field, err, row.field, row.says)
		}
	}
}

// FuzzTemplate holds that whatever the argument is, the request goes to the host that was written,
// and below the path that was written.
func FuzzTemplate(f *testing.F) {
	for _, seed := range []string{"..", "a/../..", "@evil.example", "//evil.example", "\\..\\", "%2e%2e", "\x00", "?x", "#", " ", ":80", "ü"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, argument string) {
		text, err := json.Marshal(map[string]string{"a": argument})
		if err != nil {
			t.Skip()
		}
		address, err := httptool.Address("https://api.example/v1/{a}/end?q={a}", text)
		if err != nil {
			return
		}
		req, err := http.NewRequest(http.MethodGet, address, nil)
		if err != nil {
			t.Fatalf("%q: %v", argument, err)
		}
		if req.URL.Host != "api.example" || !strings.HasPrefix(req.URL.EscapedPath(), "/v1/") || !strings.HasSuffix(req.URL.EscapedPath(), "/end") || strings.Count(req.URL.EscapedPath(), "/") != 3 || req.URL.Fragment != "" {
			t.Errorf("%q leads to %s", argument, address)
		}
		if got := req.URL.Query().Get("q"); utf8.ValidString(argument) && got != argument || len(req.URL.Query()) != 1 {
			t.Errorf("%q became %q", argument, got)
		}
	})
}
