package httpapi

import (
	"fmt"
	"net/http"
)

// maxHeader is how long a request's header may be, in bytes; net/http adds 4 KiB to it.
const maxHeader = 64 << 10

// net/http answers a header that is too long by itself, before any handler, in one write and in plain text, which no
// client's library reads as an error of the API. The connection puts our own answer in its place.
const goTooLarge = "HTTP/1.1 431 Request Header Fields Too Large\r\nContent-Type: text/plain; charset=utf-8\r\nConnection: close\r\n\r\n431 Request Header Fields Too Large"

// headerTooLarge has a form that the clients of all three APIs read: Messages' "type" beside OpenAI's members.
var headerTooLarge = func() string { //nolint:gochecknoglobals // a constant
	body := fmt.Sprintf(`{"type":"error","error":{"message":"The request's header is longer than %d KiB.","type":"invalid_request_error","param":null,"code":"header_too_large"}}`+"\n", maxHeader>>10)
	return fmt.Sprintf("HTTP/1.1 %d %s\r\nContent-Type: application/json\r\nCache-Control: no-store\r\nX-Content-Type-Options: nosniff\r\nX-Should-Retry: false\r\nContent-Length: %d\r\nConnection: close\r\n\r\n%s",
		http.StatusRequestHeaderFieldsTooLarge, http.StatusText(http.StatusRequestHeaderFieldsTooLarge), len(body), body)
}()
