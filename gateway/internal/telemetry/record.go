// Package telemetry is what the metrics and the traces of the gateway have in common:
// OpenTelemetry's names for generative AI, how a request's end is classed, and text
// made fit to be exported.
package telemetry

import (
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/callgate/callgate/gateway"
)

// ErrorType is how a request failed, in one word, or "" if it did not: the error's
// code, or the status where there is none. A stream that the upstream ended with an
// error has failed, whatever its status was, as its last attempt has.
func ErrorType(r gateway.Record) string {
	switch {
	case r.Code != "":
		return r.Code
	case r.Status >= 400:
		return strconv.Itoa(r.Status)
	case r.Summary != nil && r.Summary.UpstreamError && len(r.Summary.Attempts) > 0:
		return r.Summary.Attempts[len(r.Summary.Attempts)-1].Outcome
	case r.Summary != nil && r.Summary.UpstreamError:
		return "upstream_error"
	}
	return ""
}

// Text is s made fit for a label or an attribute: valid UTF-8 of at most limit bytes.
// Anything else is refused by Prometheus and by OTLP, where one bad string loses all
// spans that are sent with it.
func Text(s string, limit int) string {
	if len(s) > limit {
		cut := limit
		for cut > max(0, limit-utf8.UTFMax) && !utf8.RuneStart(s[cut]) {
			cut--
		}
		s = s[:cut]
	}
	return strings.ToValidUTF8(s, "?")
}
