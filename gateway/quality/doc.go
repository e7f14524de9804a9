// Package quality keeps how well targets call tools, and says how much of a route's new
// conversations each of them is to get. A target is a model of a provider, read by a parser.
//
// A [Book] is told of every turn of a model that had to do with a call, and of what became of it.
// It keeps the last 200 of each target, by tool, in buckets of ten seconds. From those follow:
//
//   - a score of each target and each tool, 0 to 1;
//   - a tool whose calls fail at every target: its schema is to blame, and no target is for it;
//   - the shares of a route's targets ([Group]). They follow the scores slowly: an arm loses some only
//     where its interval lies wholly below another's on the same tools, in steps, never all of it, and
//     new conversations alone are sent elsewhere.
//
// Gateways tell each other what they have counted, not what they make of it ([Sharer]). A Book has
// no goroutine: who records a turn, or chooses an arm, evaluates when it is time.
//
// All is bounded: see the constants beside [Book].
package quality
