package observe

import "github.com/callgate/callgate/gateway"

// rateLimit says something of one of the limits of a request's client, as OpenAI's headers do. It says where the text
// is: a text in an interface would be copied there, for each header of each request.
func rateLimit(which func(*gateway.RateLimits) *gateway.RateLimit, say func(*gateway.RateLimit) *string) func(*gateway.Summary) any {
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

func limitText(l *gateway.RateLimit) *string     { return &l.Limit }
func remainingText(l *gateway.RateLimit) *string { return &l.Remaining }
func resetText(l *gateway.RateLimit) *string     { return &l.Reset }
