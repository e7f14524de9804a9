package observe

import (
	"strconv"

	"github.com/callgate/callgate/gateway"
)

// rateLimit says something of one of the limits of a request's client, as OpenAI's headers do.
func rateLimit(which func(*gateway.RateLimits) *gateway.RateLimit, say func(*gateway.RateLimit) string) func(*gateway.Summary) any {
	return func(s *gateway.Summary) any {
		if s.RateLimits == nil {
			return nil
		}
		if l := which(s.RateLimits); l != nil {
			return say(l)
		}
		return nil
	}
}

func requestLimit(r *gateway.RateLimits) *gateway.RateLimit { return r.Requests }
func tokenLimit(r *gateway.RateLimits) *gateway.RateLimit   { return r.Tokens }

func limitText(l *gateway.RateLimit) string     { return strconv.FormatInt(l.Limit, 10) }
func remainingText(l *gateway.RateLimit) string { return strconv.FormatInt(l.Remaining, 10) }

func resetText(l *gateway.RateLimit) string { return l.ResetText() }
