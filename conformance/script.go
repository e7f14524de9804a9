package conformance

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// script is what the upstream answers in one exchange. Whether it answers whole or
// with a stream is what the gateway asks for.
type script struct {
	model  *written // what the model writes, or nil
	http   []Step   // a whole answer, with its header
	sse    []Step   // a stream's body, in the pieces that are sent
	again  []Step   // the answer to every further request, if there is one
	says   []*said  // answers one after the other, in the protocol that is asked
	path   string   // that the case's own protocol has, of which model, http and sse are written
	any    bool     // it speaks all protocols: the probe
	speaks protocol // a protocol beside chat completions that the upstream speaks
}

// written is a model's text on its way out.
type written struct {
	deltas []string
	finish string
	// last says that the finish reason comes with the last delta, as some servers
	// do it, and not in a chunk of its own.
	last bool
	// flush sends each delta at once; otherwise several may arrive together.
	flush bool
}

// usage is what the upstream says it used for a model's text. The numbers are odd
// so that nobody else comes to them by counting.
const usage = `{"prompt_tokens":1009,"completion_tokens":2003,"total_tokens":3012}`

// answer writes the answer to a request, the n-th of the exchange. What it is not asked for in
// the way that a case has in mind it refuses as a real server does.
func (p *play) answer(w http.ResponseWriter, r *http.Request, request []byte, n int, known func(string) bool) {
	s := p.script
	var asked struct {
		Model         json.RawMessage `json:"model"`
		Stream        bool            `json:"stream"`
		StreamOptions struct {
			IncludeUsage bool `json:"include_usage"`
		} `json:"stream_options"`
	}
	bad := json.Unmarshal(request, &asked)
	api := protocolAt(r.URL.Path)
	switch {
	case !s.serves(api, r.URL.Path):
		notThere(r.Method, r.URL.Path).write(w, api)
	case s.says != nil:
		s.says[min(n, len(s.says)-1)].answer(w, api, unquote(asked.Model), asked.Stream, asked.StreamOptions.IncludeUsage)
	case s.silent() || bad != nil && api != otherAPI:
		if no := refusal(api, r.Method, r.URL.Path, request, known); no != nil {
			no.write(w, api)
			return
		}
		(&said{Content: "Nobody expected this request.", FinishReason: "stop"}).answer(w, api, unquote(asked.Model), asked.Stream, asked.StreamOptions.IncludeUsage)
	case s.model != nil && asked.Stream:
		s.model.stream(w, string(asked.Model), asked.StreamOptions.IncludeUsage)
	case s.model != nil:
		s.model.whole(w, string(asked.Model))
	default:
		p.wire(w, r, asked.Stream, n)
	}
}

// wire writes an answer of which the case has the bytes.
func (p *play) wire(w http.ResponseWriter, r *http.Request, stream bool, n int) {
	s := p.script
	switch {
	case n > 0 && s.again != nil:
		p.raw(w, s.again)
	case s.sse != nil && (stream || s.http == nil):
		beginStream(w)
		p.run(s.sse, func(piece string) { send(w, piece, true) }, r.Context().Done())
	default:
		p.raw(w, s.http)
	}
}

// serves reports whether the upstream has a path: chat completions, what else it speaks, and the
// case's own.
func (s *script) serves(api protocol, path string) bool {
	if s.any || api == chatAPI || api == s.speaks {
		return true
	}
	return api == otherAPI && strings.HasSuffix(path, s.path) && (!s.silent() || served(s.path))
}

// silent reports whether the case has nothing for the upstream to say.
func (s *script) silent() bool {
	return s.model == nil && s.http == nil && s.sse == nil && s.says == nil
}

// protocolAt is the protocol of a path at the upstream, wherever its API begins.
func protocolAt(path string) protocol {
	for _, end := range []string{"/chat/completions", "/responses", "/messages"} {
		if strings.HasSuffix(path, end) {
			return protocolOf(end)
		}
	}
	return otherAPI
}

// served reports whether the upstream has a path beside those of conversations, also where a
// case has nothing for it to say there.
func served(path string) bool {
	return slices.Contains([]string{"/embeddings", "/completions", "/moderations", "/rerank"}, path) ||
		strings.HasPrefix(path, "/audio/") || strings.HasPrefix(path, "/images/")
}

// run does steps. gone is closed when the gateway leaves, which only Hold waits for.
func (p *play) run(steps []Step, write func(piece string), gone <-chan struct{}) {
	for _, s := range steps {
		switch s.Do {
		case Send:
			write(s.Text)
		case Pause:
			sleep(s.Wait, p.over)
		case Hold:
			select {
			case <-gone:
				select {
				case p.left <- struct{}{}:
				default: // one is enough
				}
			case <-p.over:
			}
		}
	}
}

// sleep waits, or until over is closed.
func sleep(d time.Duration, over <-chan struct{}) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-over:
	}
}

func (m *written) whole(w http.ResponseWriter, model string) {
	w.Header().Set("Content-Type", "application/json")
	_, _ = fmt.Fprintf(w, `{"id":"chatcmpl-upstream","object":"chat.completion","created":1700000000,"model":%s,`+
		`"choices":[{"index":0,"message":{"role":"assistant","content":%s},"logprobs":null,"finish_reason":%s}],"usage":%s}`,
		model, quote(strings.Join(m.deltas, "")), quote(m.finish), usage)
}

func (m *written) stream(w http.ResponseWriter, model string, usageToo bool) {
	chunk := func(choices, usage string, flush bool) {
		send(w, fmt.Sprintf(`data: {"id":"chatcmpl-upstream","object":"chat.completion.chunk","created":1700000000,"model":%s,`+
			`"choices":[%s]%s}`+"\n\n", model, choices, usage), flush)
	}
	noUsage := ""
	if usageToo {
		noUsage = `,"usage":null`
	}
	beginStream(w)
	chunk(`{"index":0,"delta":{"role":"assistant","content":""},"finish_reason":null}`, noUsage, m.flush)
	finish := "null"
	for i, d := range m.deltas {
		if m.last && i == len(m.deltas)-1 {
			finish = quote(m.finish)
		}
		chunk(fmt.Sprintf(`{"index":0,"delta":{"content":%s},"finish_reason":%s}`, quote(d), finish), noUsage, m.flush)
	}
	if finish == "null" {
		chunk(fmt.Sprintf(`{"index":0,"delta":{},"finish_reason":%s}`, quote(m.finish)), noUsage, m.flush)
	}
	if usageToo {
		chunk("", `,"usage":`+usage, m.flush)
	}
	send(w, "data: [DONE]\n\n", true)
}

func beginStream(w http.ResponseWriter) {
	w.Header().Set("Content-Type", "text/event-stream")
	w.WriteHeader(http.StatusOK)
}

// send writes a piece of a stream. That the gateway left is its own business.
func send(w http.ResponseWriter, piece string, flush bool) {
	_, _ = io.WriteString(w, piece)
	if flush {
		_ = http.NewResponseController(w).Flush()
	}
}

// raw takes the connection over and writes an answer's bytes as they are.
func (p *play) raw(w http.ResponseWriter, answer []Step) {
	conn, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		http.Error(w, "the upstream must be served by HTTP/1.1: "+err.Error(), http.StatusInternalServerError)
		return
	}
	gone := make(chan struct{})
	go func() { // ends with the connection
		_, _ = io.Copy(io.Discard, conn)
		close(gone)
	}()
	p.run(answer, func(piece string) { _, _ = io.WriteString(conn, withDates(piece)) }, gone)
	closeWrite(conn)
	sleep(time.Second, gone) // what is not read yet would be lost with a reset
	_ = conn.Close()
	<-gone
}

// closeWrite says that no more comes.
func closeWrite(conn net.Conn) {
	if half, ok := conn.(interface{ CloseWrite() error }); ok {
		_ = half.CloseWrite()
	}
}

var dateMark = regexp.MustCompile(`\$DATE\((-?\d+)\)`)

// withDates writes, for $DATE(30) in an upstream's header, the date in 30 seconds.
func withDates(text string) string {
	return dateMark.ReplaceAllStringFunc(text, func(mark string) string {
		n, _ := strconv.Atoi(dateMark.FindStringSubmatch(mark)[1]) // it is digits
		return time.Now().Add(time.Duration(n) * time.Second).UTC().Format(http.TimeFormat)
	})
}
