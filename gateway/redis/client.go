// Package redis is the gateway's way to a Redis that several gateways have in common. It
// is the only importer of go-redis.
//
// A [Client] neither waits for the server nor retries: whoever calls bounds each call by
// its context, and does without when there is an error. It does not believe the server: replies are
// bounded, in bytes, elements and depth, before there is memory for them. Errors are one line and
// hold no password.
package redis

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"

	"github.com/callgate/callgate/internal/redact"
)

// Options are what a Client is made of.
type Options struct {
	// URL is redis://user:password@host:port/db, or rediss:// for TLS.
	URL string
	// KeyPrefix begins every key, and a colon follows it. Empty is DefaultKeyPrefix.
	KeyPrefix string
	// MaxReply is the largest reply that is read, in bytes. 0 is DefaultMaxReply. A server that sends, or announces, a
	// larger one fails the call, before there is memory for it.
	MaxReply int
}

// DefaultKeyPrefix is that of Options.
const DefaultKeyPrefix = "callgate"

// Times for what the URL does not set. The contexts of calls are mostly shorter.
const (
	dialTime = time.Second
	ioTime   = 2 * time.Second
	poolTime = time.Second
)

// Client talks to a Redis, version 5 or later, or what speaks its protocol. All methods
// may be called by many goroutines.
type Client struct {
	redis  *redis.Client
	prefix string
	secret string

	together together
}

// Open makes a client. It does not connect; the first call does. The caller closes it.
func Open(o Options) (*Client, error) {
	options, err := redis.ParseURL(o.URL)
	if err != nil { // it may quote the URL
		return nil, errors.New("the URL of the Redis is not redis://user:password@host:port/db, or has a parameter that is not known")
	}
	options.DialTimeout = cmp.Or(options.DialTimeout, dialTime)
	options.ReadTimeout = cmp.Or(options.ReadTimeout, ioTime)
	options.WriteTimeout = cmp.Or(options.WriteTimeout, ioTime)
	options.PoolTimeout = cmp.Or(options.PoolTimeout, poolTime)
	options.MaxRetries = cmp.Or(options.MaxRetries, -1)
	if options.Protocol = cmp.Or(options.Protocol, 2); options.Protocol != 2 {
		return nil, fmt.Errorf("the URL of the Redis has protocol=%d, and only 2 is spoken; leave it out", options.Protocol)
	}
	options.ClientName = cmp.Or(options.ClientName, "callgate")
	options.ContextTimeoutEnabled = true
	options.DialerRetries = 1
	options.DisableIdentity = true // a version says nothing here, and old servers refuse it
	options.MaintNotificationsConfig = &maintnotifications.Config{Mode: maintnotifications.ModeDisabled}
	options.Dialer = dialer(options, cmp.Or(o.MaxReply, DefaultMaxReply))
	return &Client{redis: redis.NewClient(options), prefix: cmp.Or(o.KeyPrefix, DefaultKeyPrefix), secret: options.Password}, nil
}

// Close ends the connections. Calls under way fail. A nil *Client has none.
func (c *Client) Close() error {
	if c == nil {
		return nil
	}
	return c.clean(c.redis.Close())
}

// Key is the key of something, by the words that name it.
func (c *Client) Key(words ...string) string { return c.prefix + ":" + strings.Join(words, ":") }

// Set writes a value, which is gone after ttl; 0 is never.
func (c *Client) Set(ctx context.Context, key string, value []byte, ttl time.Duration) error {
	return c.clean(c.redis.Set(ctx, key, value, ttl).Err())
}

// maxError is how much of an error is kept, in bytes. What a server answers is its own.
const maxError = 200

// clean makes an error one short line without the password. What it wraps is kept for
// errors.Is where that is a context's end, a reply that was refused, or ErrUnsent.
func (c *Client) clean(err error) error {
	if err == nil {
		return nil
	}
	if err := unwanted(err); err != nil {
		return err
	}
	text := redact.New([]string{c.secret}).Out(err.Error())
	text = strings.Join(strings.Fields(text), " ")
	text = strings.ToValidUTF8(text[:min(len(text), maxError)], "")
	short := errors.New("redis: " + strings.TrimPrefix(text, "redis: "))
	for _, ended := range []error{context.DeadlineExceeded, context.Canceled} {
		if errors.Is(err, ended) {
			short = fmt.Errorf("redis: %w", ended)
		}
	}
	if op, ok := errors.AsType[*net.OpError](err); ok && op.Op == "dial" {
		return unsent{short}
	}
	return short
}

// ErrUnsent is what errors of calls are of which the server has heard nothing for certain: there was no connection.
var ErrUnsent = errors.New("redis: there is no connection")

// unsent is an error that is ErrUnsent as well, and says the same.
type unsent struct{ error }

func (u unsent) Unwrap() error { return u.error }

func (u unsent) Is(target error) bool { return target == ErrUnsent }

// GetUpTo is Get for a value that may be another program's, of any size: of a longer one it
// reads the first so many bytes. An empty value counts as none.
func (c *Client) GetUpTo(ctx context.Context, key string, most int) (value []byte, found bool, err error) {
	value, err = c.redis.GetRange(ctx, key, 0, int64(most)-1).Bytes()
	return value, err == nil && len(value) > 0, c.clean(err)
}

// LogTo leads what the library says for itself, in the whole process, to a log. That is a
// line for each connection that fails, so they are for debugging: whoever calls knows of
// the failure, and says it once.
func LogTo(log *slog.Logger) { redis.SetLogger(library{log}) }

type library struct{ log *slog.Logger }

// Printf implements the library's interface. What a server quotes of a command, which may
// be the password, does not go on.
func (l library) Printf(ctx context.Context, format string, v ...any) {
	if !l.log.Enabled(ctx, slog.LevelDebug) {
		return
	}
	text := fmt.Sprintf(format, v...)
	if quote := strings.IndexAny(text, "\"'`"); quote >= 0 {
		text = text[:quote] + "…"
	}
	l.log.DebugContext(ctx, "redis library", "message", text)
}
