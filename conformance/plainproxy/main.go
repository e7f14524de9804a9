// Command plainproxy is a gateway that does nothing: a reverse proxy of the standard
// library. What the conformance suite says of it shows what a proxy gives by itself, and
// that the suite can fail:
//
//	go run ./conformance/plainproxy --listen 127.0.0.1:8081 --upstream http://127.0.0.1:9090 &
//	callgate conformance --target http://127.0.0.1:8081/v1
package main

import (
	"flag"
	"log"
	"net/http"
	"net/http/httputil"
	"net/url"
	"time"
)

func main() {
	listen := flag.String("listen", "127.0.0.1:8081", "address to listen on")
	upstream := flag.String("upstream", "http://127.0.0.1:9090", "server to pass requests on to, without its /v1")
	flag.Parse()
	to, err := url.Parse(*upstream)
	if err != nil {
		log.Fatalf("plainproxy: --upstream: %v", err)
	}
	server := &http.Server{Addr: *listen, Handler: newProxy(to), ReadHeaderTimeout: 10 * time.Second}
	log.Fatal(server.ListenAndServe())
}

// newProxy passes everything on to a server, and each piece of an answer at once.
func newProxy(to *url.URL) http.Handler { return passOn(to, nil) }

// passOn is newProxy with a log of its own; nil is the standard one.
func passOn(to *url.URL, logger *log.Logger) http.Handler {
	proxy := &httputil.ReverseProxy{
		Rewrite:       func(r *httputil.ProxyRequest) { r.SetURL(to) },
		FlushInterval: -1,
		ErrorLog:      logger,
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		// Otherwise the server closes a request's body when the answer begins, and the proxy gives
		// up an answer that is faster than its last look at that body.
		_ = http.NewResponseController(w).EnableFullDuplex() // HTTP/2 has it anyway
		proxy.ServeHTTP(w, r)
	})
}
