package providertest

import (
	"strings"
	"testing"

	"github.com/callgate/callgate/gateway"
)

func errorCases() []testCase {
	return []testCase{
		{"connection refused", "An upstream that nobody runs is unavailable, and the message says so.", refused},
		{"no TLS", "An upstream that does not speak TLS is unavailable, and the message says so.", noTLS},
		{"key in an answer", "The key is in no error, whatever the upstream quotes.", quoted},
	}
}

func refused(t *testing.T, f Factory) {
	_, err := ask(t, open(t, f, Settings{BaseURL: closedPort(t)}), plainRequest(t))
	wantError(t, err, gateway.Unavailable, "upstream_error", "refused the connection")
}

func noTLS(t *testing.T, f Factory) {
	url := answer(t, 200, nil, wholeAnswer)
	_, err := ask(t, open(t, f, Settings{BaseURL: strings.Replace(url, "http:", "https:", 1)}), plainRequest(t))
	wantError(t, err, gateway.Unavailable, "upstream_error", "TLS")
}

func quoted(t *testing.T, f Factory) {
	for _, text := range []string{
		"garbage " + key + "\r\n\r\n",
		"HTTP/1.1 200 OK\r\nContent-Type: " + key + "\r\n\r\n" + key,
		"HTTP/1.1 200 OK\r\nContent-Encoding: " + key + "\r\n\r\n" + key,
		"HTTP/1.1 200 OK\r\nTransfer-Encoding: " + key + "\r\n\r\n" + key,
		"HTTP/1.1 400 Bad Request\r\nContent-Length: 40\r\n\r\n" + (`{"error":"` + key + strings.Repeat(" ", 40))[:38] + `"}`,
		"HTTP/1.1 429 Too Many Requests\r\nX-Quoted: " + key + "\r\nContent-Length: 0\r\n\r\n",
		"HTTP/1.1 302 Found\r\nLocation: /" + key + "\r\nContent-Length: 0\r\n\r\n",
	} {
		_, err := ask(t, open(t, f, Settings{BaseURL: raw(t, script(text, false))}), plainRequest(t))
		if err == nil {
			t.Fatalf("%q: got no error", text)
		}
		wantError(t, err, gateway.AsError(err).Kind, gateway.AsError(err).CodeOrDefault())
	}
}
