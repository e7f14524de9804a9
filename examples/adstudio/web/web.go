// Package web is the app that users see: a page, and an API that the page's script and the
// tools use.
package web

import (
	"context"
	"embed"
	"io/fs"
	"log/slog"
	"net"
	"net/http"
	"sync"

	"github.com/callgate/callgate/examples/adstudio/ads"
	"github.com/callgate/callgate/examples/adstudio/studio"
)

// Assistant is who answers; [studio.Studio] is one.
type Assistant interface {
	Turn(ctx context.Context, a *ads.Ad, message string, text func(string)) (studio.Answer, error)
	Title(ctx context.Context, brief string) (title, cache string, err error)
}

// App serves the page and the API.
type App struct {
	store     *ads.Store
	assistant Assistant
	log       *slog.Logger

	mu      sync.Mutex
	running map[string]*live // turns that are under way, by their ads
}

// New returns an app with its ads.
func New(store *ads.Store, assistant Assistant, log *slog.Logger) *App {
	return &App{store: store, assistant: assistant, log: log, running: map[string]*live{}}
}

//go:embed static
var static embed.FS

// Handler serves the app. Other sites' pages cannot use it in a user's browser.
func (a *App) Handler() http.Handler {
	files, err := fs.Sub(static, "static")
	if err != nil {
		panic(err) // the folder is part of the program
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", a.showList)
	mux.HandleFunc("GET /ads/{id}", a.showAd)
	mux.HandleFunc("POST /ads", a.formGenerate)
	mux.HandleFunc("POST /ads/{id}/chat", a.formChat)
	mux.HandleFunc("POST /ads/{id}/activate", a.formActivate)
	mux.HandleFunc("POST /ads/{id}/delete", a.formDelete)
	mux.HandleFunc("POST /api/ai/generate", a.apiGenerate)
	mux.HandleFunc("POST /api/ads/{id}/chat", a.apiChat)
	mux.HandleFunc("GET /api/ads/{id}", a.apiState)
	mux.HandleFunc("POST /api/ads/{id}/drafts", a.apiDraft)
	mux.HandleFunc("POST /api/ads/{id}/activate", a.apiActivate)
	mux.Handle("GET /static/", http.StripPrefix("/static/", http.FileServerFS(files)))
	return http.NewCrossOriginProtection().Handler(guarded(mux))
}

// guarded bounds what is read, says what a page may load, and answers only to the machine's
// own names: a stranger's name that leads here is an attack.
func guarded(next http.Handler) http.Handler {
	const largest = 64 << 10
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		host, _, err := net.SplitHostPort(r.Host)
		if err != nil {
			host = r.Host
		}
		if ip := net.ParseIP(host); host != "localhost" && (ip == nil || !ip.IsLoopback()) {
			http.Error(w, "The studio answers to localhost and 127.0.0.1 only.", http.StatusMisdirectedRequest)
			return
		}
		r.Body = http.MaxBytesReader(w, r.Body, largest)
		h := w.Header()
		h.Set("Content-Security-Policy", "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'")
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("Cache-Control", "no-store")
		next.ServeHTTP(w, r)
	})
}
