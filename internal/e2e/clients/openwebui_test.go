package clients_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/callgate/callgate/internal/e2e/gate"
	"github.com/callgate/callgate/internal/install"
)

const (
	// webPort is where docs/clients.md has Open WebUI listen. The test's is elsewhere.
	webPort = "--port 3000"
	// webModel is the demo's model that is asked, by the name that GET /v1/models has.
	webModel = "demo/hermes"
)

// openWebUI does what docs/clients.md says of Open WebUI: it starts the server as the page does,
// makes the tool that the page shows, and asks as Open WebUI's own page does. The server is real;
// only its search in documents and its speech, which need models of their own, are not installed.
func openWebUI(t *testing.T, section string) {
	t.Helper()
	interpreter, err := installVenv(t.Context(), "python-openwebui", "testdata/openwebui.txt", "--no-deps")
	if err != nil {
		need(t, install.MissingError{What: "Open WebUI is not installed (" + err.Error() + ")",
			Remedy: agentsToo + "=1 where PyPI is in reach, with Python 3.11 or 3.12"})
	}
	p := place{dir: t.TempDir(), url: serveDemo(t).URL, pins: readPins(t, "openwebui.txt"),
		// The installed command names a folder that it was moved from.
		tools: link(t, map[string]string{"open-webui": interpreter + "' '-c' 'from open_webui import app; app()"})}
	w := &webApp{url: p.serveWebApp(t, section)}
	var admin struct{ Token string }
	w.ask(t, "/api/v1/auths/signup", map[string]any{"name": "Admin", "email": "admin@example.com", "password": "a-long-Passw0rd"}, &admin)
	w.token = admin.Token
	w.ask(t, "/api/v1/tools/create", map[string]any{"id": "weather", "name": "Weather", "meta": map[string]any{"description": "The weather."},
		"content": shownFile(t, "Open WebUI", "weather.py"), "access_grants": []any{}}, nil)
	got, want := w.chat(t, "What is the weather in Oslo?", "weather"), ""
	for _, b := range blocksOf(section) {
		if b.language == "text" {
			want = strings.TrimSpace(b.text)
		}
	}
	if !strings.HasSuffix(got.Content, want) || want == "" {
		t.Errorf("got %q, want what the page shows at its end: %q", got.Content, want)
	}
	if calls := got.of("function_call"); len(calls) != 1 || calls[0].Name != "get_weather" || calls[0].Arguments != `{"city":"Oslo"}` {
		t.Errorf("got the calls %s, want one of get_weather for Oslo", show(calls))
	}
	if results := got.of("function_call_output"); len(results) != 1 || !strings.Contains(show(results[0].Output), "It rains in Oslo.") {
		t.Errorf("got the results %s, want one", show(results))
	}
}

// serveWebApp starts Open WebUI as a part of a page says, and returns its URL once it answers. It ends
// with the test.
func (p place) serveWebApp(t *testing.T, section string) (url string) {
	t.Helper()
	commands := ""
	for _, b := range blocksOf(section) {
		if b.language == "sh" {
			commands += p.installed(t, b.text)
		}
	}
	address := freeAddress(t)
	_, port, _ := net.SplitHostPort(address)
	for shown, ours := range map[string]string{shownURL: p.url, "open-webui serve": "exec open-webui serve", webPort: "--port " + port + " --host 127.0.0.1"} {
		if !strings.Contains(commands, shown) {
			t.Fatalf("the page does not show %q:\n%s", shown, commands)
		}
		commands = strings.Replace(commands, shown, ours, 1)
	}
	log, err := os.Create(filepath.Join(p.dir, "log"))
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("sh", "-e", "-c", commands)
	cmd.Dir, cmd.Stdout, cmd.Stderr = p.dir, log, log
	cmd.Env = append(bareEnv(), "HOME="+p.dir, "PATH="+p.tools+string(os.PathListSeparator)+os.Getenv("PATH"), "NO_PROXY=127.0.0.1", "no_proxy=127.0.0.1",
		"DATA_DIR="+filepath.Join(p.dir, "data"), // beside its package otherwise
		"USE_SLIM_DOCKER=true", "OFFLINE_MODE=true", "ENABLE_OLLAMA_API=false", "PYTHONUTF8=1")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	said := func() string {
		text, _ := os.ReadFile(log.Name())
		return string(text[max(0, len(text)-4000):])
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		<-ended
		log.Close()
		if t.Failed() {
			t.Logf("Open WebUI's log:\n%s", said())
		}
	})
	gate.Await(t, "Open WebUI", func() bool {
		select {
		case err := <-ended:
			ended <- err
			t.Fatalf("Open WebUI ended with %v", err)
		default:
		}
		resp, err := http.Get("http://" + address + "/health")
		if err != nil {
			return false
		}
		resp.Body.Close()
		return resp.StatusCode == http.StatusOK
	})
	return "http://" + address
}

// freeAddress is an address of this machine where nobody listens. Its port is below those that systems give to
// servers which take any: no other test's server gets it before the caller's does.
func freeAddress(t *testing.T) string {
	t.Helper()
	const first, count, tries = 20_000, 12_000, 100
	var err error
	for range tries {
		var l net.Listener
		if l, err = net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", first+rand.IntN(count))); err == nil {
			defer l.Close()
			return l.Addr().String()
		}
	}
	t.Fatal(err)
	return ""
}

// webApp is a running Open WebUI, as its own page speaks to it.
type webApp struct{ url, token string }

// webMessage is an answer in a chat of Open WebUI's.
type webMessage struct {
	Content string
	Done    bool
	Output  []webItem
}

// webItem is a part of an answer: a message, a call or its result.
type webItem struct {
	Type, Name, Arguments string
	Output                json.RawMessage
}

// of are the items of a type.
func (m webMessage) of(kind string) (items []webItem) {
	for _, i := range m.Output {
		if i.Type == kind {
			items = append(items, i)
		}
	}
	return items
}

// chat asks in a new chat, with a tool switched on, and returns the answer once it is complete.
func (w *webApp) chat(t *testing.T, question, tool string) (answer webMessage) {
	t.Helper()
	const user, assistant = "6f6f0f6e-0000-4000-8000-000000000001", "6f6f0f6e-0000-4000-8000-000000000002"
	asked := map[string]any{"id": user, "role": "user", "content": question, "parentId": nil, "models": []string{webModel}, "timestamp": 1}
	var chat struct {
		ID string `json:"chat_id"`
	}
	w.ask(t, "/api/chat/completions", map[string]any{"model": webModel, "stream": true, "tool_ids": []string{tool}, "session_id": "s1",
		"messages": []any{map[string]string{"role": "user", "content": question}}, "parent_id": nil, "user_message": asked,
		"message_ids": []any{map[string]string{"model_id": webModel, "message_id": assistant}}}, &chat)
	gate.Await(t, "the answer", func() bool {
		var got struct {
			Chat struct {
				History struct{ Messages map[string]webMessage }
			}
		}
		w.ask(t, "/api/v1/chats/"+chat.ID, nil, &got)
		answer = got.Chat.History.Messages[assistant]
		return answer.Done
	})
	return answer
}

// ask posts a body, or gets where there is none, and reads the answer.
func (w *webApp) ask(t *testing.T, path string, body, answer any) {
	t.Helper()
	method, sent := http.MethodGet, []byte(nil)
	if body != nil {
		method, sent = http.MethodPost, []byte(show(body))
	}
	req, err := http.NewRequestWithContext(t.Context(), method, w.url+path, bytes.NewReader(sent))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Authorization", "Bearer "+w.token)
	client := http.Client{Timeout: time.Minute}
	resp, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err == nil && resp.StatusCode != http.StatusOK {
		err = fmt.Errorf("status %d", resp.StatusCode)
	}
	if err == nil && answer != nil {
		err = json.Unmarshal(text, answer)
	}
	if err != nil {
		t.Fatalf("%s: %v\n%.500s", path, err, text)
	}
}
