package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"mime/multipart"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"syscall"
	"time"
)

// evil are the clients that attack.
type evil struct {
	gateway  *gateway
	up       *evilUpstream
	settings settings
	client   *http.Client
	schemas  string // a large body
	count    atomic.Int64
}

func newEvil(g *gateway, up *evilUpstream, s settings) *evil {
	var b strings.Builder
	b.WriteString(`{"model":"evil/m","messages":[{"role":"user","content":"hi"}],"tools":[{"type":"function","function":{"name":"f","parameters":{"type":"object","properties":{`)
	for i := 0; b.Len() < s.body; i++ {
		fmt.Fprintf(&b, `"p%d":{},`, i)
	}
	b.WriteString(`"last":{}}}}}]}`)
	return &evil{gateway: g, up: up, settings: s, schemas: b.String(), client: &http.Client{Transport: &http.Transport{DisableCompression: true, MaxIdleConnsPerHost: 16}}}
}

// attacks are what is done at once, by name: each is one round of it.
func (e *evil) attacks() map[string]func(ctx context.Context) {
	return map[string]func(ctx context.Context){
		"schemas": e.sendSchemas, "texts": e.sendTexts, "surplus": e.leaveSurplus, "slow clients": e.slowly, "names": e.names,
		"broken bodies": e.broken, "large bodies": e.large, "in the background": e.background, "forms": e.form, "slow readers": e.readSlowly, "stored": e.fillStore,
		"plugins": func(ctx context.Context) {
			_ = dropPlugins(e.gateway.plugins, int(e.count.Add(1))) // what cannot be written is not there
			sleep(ctx, time.Second)
		},
		"signals": func(ctx context.Context) {
			_ = e.gateway.cmd.Process.Signal(syscall.SIGHUP)
			sleep(ctx, time.Second)
		},
	}
}

// sleep waits.
func sleep(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

// post sends a body and reads of the answer what comes within some seconds.
func (e *evil) post(ctx context.Context, path, contentType string, body io.Reader, header ...[2]string) {
	ctx, cancel := context.WithTimeout(ctx, e.settings.patience)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+e.gateway.address+path, body)
	if err != nil {
		return
	}
	r.Header.Set("content-type", contentType)
	r.Header.Set("authorization", "Bearer "+evilKey)
	for _, h := range header {
		r.Header.Set(h[0], h[1])
	}
	resp, err := e.client.Do(r)
	if err != nil {
		return
	}
	defer resp.Body.Close()
	_, _ = io.Copy(io.Discard, resp.Body)
}

// together does something in so many goroutines at once.
func together(n int, do func(i int)) {
	done := make(chan struct{})
	for i := range n {
		go func() {
			defer func() { done <- struct{}{} }()
			do(i)
		}()
	}
	for range n {
		<-done
	}
}

// sendSchemas sends eight bodies with a schema of very many properties at once.
func (e *evil) sendSchemas(ctx context.Context) {
	together(8, func(int) { e.post(ctx, "/v1/chat/completions", "application/json", strings.NewReader(e.schemas)) })
	sleep(ctx, 2*time.Second)
}

// large sends bodies that are large and good, so that they go upstream.
func (e *evil) large(ctx context.Context) {
	text := strings.Repeat("The quick brown fox. ", e.settings.body/21)
	together(4, func(i int) {
		body := fmt.Sprintf(`{"model":"evil/%s","messages":[{"role":"user","content":"%s"}],"stream":%v}`, e.way(), text, i%2 == 0)
		path := "/v1/chat/completions"
		if i == 3 {
			path, body = "/v1/responses", fmt.Sprintf(`{"model":"evil/%s","input":"%s","store":true}`, e.way(), text)
		}
		e.post(ctx, path, "application/json", strings.NewReader(body))
	})
	sleep(ctx, time.Second)
}

// background has large bodies wait in the background, whose clients are gone at once.
func (e *evil) background(ctx context.Context) {
	text := strings.Repeat("The quick brown fox. ", e.settings.body/2/21)
	together(16, func(i int) {
		body := fmt.Sprintf(`{"model":"evil/way-%s","input":"%s","background":true,"stream":%v}`, []string{"hang", "trickle", "frames", "fences"}[i%4], text, i%2 == 0)
		e.post(ctx, "/v1/responses", "application/json", strings.NewReader(body))
	})
	sleep(ctx, time.Second)
}

// way is a model's name that says how the hostile upstream answers: the next one.
func (e *evil) way() string { return "way-" + ways[int(e.count.Add(1))%len(ways)] }

// sendTexts asks in every protocol for what the hostile upstream has, sixteen at a time.
func (e *evil) sendTexts(ctx context.Context) {
	const tools = `"tools":[{"type":"function","function":{"name":"get_weather","parameters":{"type":"object","properties":{"city":{"type":"string"}},"required":["city"]}}}]`
	together(16, func(i int) {
		n := e.count.Add(1)
		stream := i/4%2 == 0
		path, body := "/v1/chat/completions", fmt.Sprintf(`"messages":[{"role":"user","content":"hi"}],%s,"temperature":0`, tools)
		switch i % 4 {
		case 1:
			path, body = "/v1/responses", `"input":"hi","store":false,"tools":[{"type":"function","name":"f","parameters":{"type":"object"}}]`
		case 2:
			path, body = "/v1/messages", `"max_tokens":100,"messages":[{"role":"user","content":"hi"}],"tools":[{"name":"f","input_schema":{"type":"object"}}]`
		case 3:
			path, stream, body = []string{"/v1/embeddings", "/v1/moderations", "/v1/completions", "/v1/images/generations", "/v1/files"}[n%5], false, `"input":"hi","prompt":"hi"`
		}
		e.post(ctx, path, "application/json", strings.NewReader(fmt.Sprintf(`{"model":"evil/%s","stream":%v,%s}`, e.way(), stream, body)))
	})
}

// names asks for models that nobody has heard of, each of which an entry with a star takes.
func (e *evil) names(ctx context.Context) {
	for range 50 {
		name := fmt.Sprintf("%d-%s-way-garbage", e.count.Add(1), strings.Repeat("n", int(e.count.Load()%200)))
		e.post(ctx, "/v1/chat/completions", "application/json", strings.NewReader(`{"model":"`+name+`","temperature":0,"messages":[{"role":"user","content":"hi"}]}`),
			[2]string{"x-request-id", name}, [2]string{"x-app-" + name[:5], name})
	}
}

// leaveSurplus sends something behind a body whose answer never comes, and leaves.
func (e *evil) leaveSurplus(ctx context.Context) {
	together(8, func(i int) {
		c, err := e.dial(ctx)
		if err != nil {
			return
		}
		defer c.Close()
		body := fmt.Sprintf(`{"model":"evil/way-%s","messages":[{"role":"user","content":"hi"}],"stream":%v}`, []string{"hang", "trickle", "comments"}[i%3], i%2 == 0)
		_, _ = io.WriteString(c, head(len(body))+body)
		sleep(ctx, 100*time.Millisecond)
		_ = c.SetWriteDeadline(time.Now().Add(time.Second))
		_, _ = io.WriteString(c, []string{"x", "\r\n", "GET /livez HT", "GET /livez HTTP/1.1\r\nHost: x\r\n\r\n", head(len(body)) + body, strings.Repeat("x", 1<<20)}[i%6])
		if i%2 == 0 {
			_ = c.(*net.TCPConn).SetLinger(0)
		}
	})
	sleep(ctx, 500*time.Millisecond)
}

func (e *evil) dial(ctx context.Context) (net.Conn, error) {
	return new(net.Dialer).DialContext(ctx, "tcp", e.gateway.address)
}

// head is the head of a chat request.
func head(length int) string {
	return fmt.Sprintf("POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n", evilKey, length)
}

// slowly has many clients that send a byte now and then: of their header, or of a large body.
func (e *evil) slowly(ctx context.Context) {
	together(100, func(i int) {
		c, err := e.dial(ctx)
		if err != nil {
			return
		}
		defer c.Close()
		if i%2 == 0 {
			_, _ = io.WriteString(c, head(e.settings.body)+"{")
		}
		for range 10 {
			if _, err := io.WriteString(c, "X"); err != nil || ctx.Err() != nil {
				return
			}
			sleep(ctx, 500*time.Millisecond)
		}
	})
}

// readSlowly asks for large answers and does not read them.
func (e *evil) readSlowly(ctx context.Context) {
	together(4, func(i int) {
		c, err := e.dial(ctx)
		if err != nil {
			return
		}
		defer c.Close()
		_ = c.(*net.TCPConn).SetReadBuffer(4 << 10)
		body := fmt.Sprintf(`{"model":"evil/way-%s","messages":[{"role":"user","content":"hi"}],"stream":%v}`, []string{"fences", "frames", "backticks", "gzip"}[i], i%2 == 0)
		_, _ = io.WriteString(c, head(len(body))+body)
		sleep(ctx, 5*time.Second)
	})
}

// broken sends bodies that are wrong in every way, to every endpoint.
func (e *evil) broken(ctx context.Context) {
	bodies := []string{"", "{", "null", "[]", `"x"`, "\xff\xfe", `{"model":null}`, `{"model":"good"}`, `{"model":"good","model":"kept","messages":[]}`,
		`{"model":"good","messages":[{"role":"user","content":"\ud800"}],"input":"\ud800"}`, `{"model":"good","messages":{},"input":{}}`,
		`{"model":"good","input":[{"type":"item_reference","id":"x"}],"messages":[{"role":"tool"}],"previous_response_id":"resp_none","conversation":"conv_none"}`,
		`{"model":"good","messages":[` + strings.Repeat("[", 10_000), `{"model":"good","input":` + strings.Repeat(`{"a":`, 10_000),
		`{"model":"` + strings.Repeat("m", 1<<20) + `","messages":[],"input":""}`,
		`{"model":"good","stream":true,"max_tokens":1,"messages":[` + strings.Repeat(`{"role":"user","content":"hi"},`, 20_000) + `{}],"input":[` + strings.Repeat(`{},`, 20_000) + `{}]}`,
		`{"model":"good","tools":[` + strings.Repeat(`{"type":"function","function":{"name":"f","parameters":{"x-reference":"a.b"}}},`, 2000) + `{}]}`,
		`{"model":"good","metadata":{"a":1e999999,"b":-0,"c":"` + strings.Repeat("\\u0000", 1000) + `"},"messages":[{"role":"user","content":[{"type":"image_url"},null,1]}]}`}
	paths := []string{"/v1/chat/completions", "/v1/responses", "/v1/messages", "/v1/messages/count_tokens", "/v1/conversations", "/v1/embeddings", "/v1/completions",
		"/v1/moderations", "/v1/rerank", "/v1/audio/speech", "/v1/files/../chat/completions", "/v1/files/x", "/v1/responses/x/cancel", "/v1/nothing"}
	for _, body := range bodies {
		for _, path := range paths {
			if ctx.Err() != nil {
				return
			}
			e.post(ctx, path, "application/json", strings.NewReader(body), [2]string{"x-callgate-max-retries", "10"}, [2]string{"content-encoding", []string{"", "gzip"}[len(path)%2]})
		}
	}
}

// form sends a form with a large file.
func (e *evil) form(ctx context.Context) {
	var b bytes.Buffer
	m := multipart.NewWriter(&b)
	_ = m.WriteField("model", "evil/"+e.way())
	file, _ := m.CreateFormFile("file", "../../x.wav")
	_, _ = file.Write(make([]byte, e.settings.body))
	_ = m.Close()
	body := b.Bytes()
	e.post(ctx, "/v1/audio/transcriptions", m.FormDataContentType(), bytes.NewReader(body))
	e.post(ctx, "/v1/audio/transcriptions", m.FormDataContentType(), bytes.NewReader(body[:len(body)/2]))
	sleep(ctx, time.Second)
}

// fillStore has the gateway keep responses and conversations.
func (e *evil) fillStore(ctx context.Context) {
	text := strings.Repeat("weather in City1 ", 20_000)
	for range 10 {
		e.post(ctx, "/v1/responses", "application/json", strings.NewReader(`{"model":"good","input":"`+text+`greet City1","store":true}`))
		e.post(ctx, "/v1/responses", "application/json", strings.NewReader(`{"model":"evil/way-hang","input":"hi","background":true,"store":true}`))
		e.post(ctx, "/v1/conversations", "application/json", strings.NewReader(`{"items":[{"type":"message","role":"user","content":"`+text+`"}]}`))
	}
	sleep(ctx, time.Second)
}
