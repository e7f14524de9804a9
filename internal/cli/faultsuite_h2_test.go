package cli

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"io"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

// certified makes a certificate for 127.0.0.1, and a file by which it can be trusted.
func certified(t *testing.T) (tls.Certificate, string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "fault suite"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "roots.pem")
	if err := os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), 0o600); err != nil {
		t.Fatal(err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, file
}

// peer is one connection of an upstream that speaks HTTP/2 frame by frame.
type peer struct {
	*http2.Framer
	conn net.Conn
	buf  bytes.Buffer
}

// header is the block of an answer's header.
func (p *peer) header(pairs ...string) []byte {
	p.buf.Reset()
	e := hpack.NewEncoder(&p.buf)
	for i := 0; i < len(pairs); i += 2 {
		e.WriteField(hpack.HeaderField{Name: pairs[i], Value: pairs[i+1]})
	}
	return p.buf.Bytes()
}

// request reads up to the header of the next request, and returns its stream, 0 if
// there is none.
func (p *peer) request() uint32 {
	for {
		f, err := p.ReadFrame()
		if err != nil {
			return 0
		}
		if h, ok := f.(*http2.HeadersFrame); ok {
			return h.StreamID
		}
	}
}

// drain reads what the gateway sends, so that it is never the one that waits.
func (p *peer) drain() { io.Copy(io.Discard, p.conn) }

// flood writes frames until nobody takes them, or too many were taken.
func (p *peer) flood(write func() error) {
	go p.drain()
	for range 100_000 {
		if write() != nil {
			return
		}
	}
}

// speak serves connections by a script, which begins behind the preface.
func speak(t *testing.T, certificate tls.Certificate, script func(p *peer)) *site {
	t.Helper()
	l, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{Certificates: []tls.Certificate{certificate}, NextProtos: []string{"h2"}, MinVersion: tls.VersionTLS12})
	if err != nil {
		t.Fatal(err)
	}
	s := &site{url: fmt.Sprintf("https://%s/v1", l.Addr())}
	var all sync.WaitGroup
	all.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			s.asked.Add(1)
			all.Go(func() {
				defer c.Close()
				c.SetDeadline(time.Now().Add(patience))
				if _, err := io.ReadFull(c, make([]byte, len(http2.ClientPreface))); err == nil {
					script(&peer{Framer: http2.NewFramer(c, c), conn: c})
				}
			})
		}
	})
	t.Cleanup(func() {
		l.Close()
		all.Wait()
	})
	return s
}

// hostileFrames are upstreams that misuse HTTP/2 (10).
var hostileFrames = map[string]func(p *peer){
	"rapid reset": func(p *peer) {
		p.WriteSettings()
		for id := p.request(); id != 0; id = p.request() {
			p.WriteRSTStream(id, http2.ErrCodeInternal)
		}
	},
	"every stream refused": func(p *peer) { // the one error that net/http repeats a request for by itself
		p.WriteSettings()
		for id := p.request(); id != 0; id = p.request() {
			p.WriteRSTStream(id, http2.ErrCodeRefusedStream)
		}
	},
	"reset behind the header": func(p *peer) {
		p.WriteSettings()
		for id := p.request(); id != 0; id = p.request() {
			p.WriteHeaders(http2.HeadersFrameParam{StreamID: id, BlockFragment: p.header(":status", "200", "content-type", events), EndHeaders: true})
			p.WriteData(id, false, []byte(role))
			p.WriteRSTStream(id, http2.ErrCodeCancel)
		}
	},
	"goaway": func(p *peer) {
		p.WriteSettings()
		p.request()
		p.WriteGoAway(0, http2.ErrCodeNo, nil)
	},
	"goaway, calm down": func(p *peer) {
		p.WriteSettings()
		p.request()
		p.WriteGoAway(1, http2.ErrCodeEnhanceYourCalm, []byte("too_many_pings"))
	},
	"closed behind the settings": func(p *peer) { p.WriteSettings() },
	"no settings":                func(p *peer) { p.drain() },
	"flood of settings": func(p *peer) {
		p.flood(func() error { return p.WriteSettings(http2.Setting{ID: http2.SettingInitialWindowSize, Val: 1 << 16}) })
	},
	"flood of pings": func(p *peer) {
		p.WriteSettings()
		p.flood(func() error { return p.WritePing(false, [8]byte{1}) })
	},
	"flood of continuations": func(p *peer) {
		p.WriteSettings()
		id, block := p.request(), bytes.Clone(p.header(":status", "200"))
		more := bytes.Clone(p.header("x-a", strings.Repeat("a", 8<<10)))
		p.WriteHeaders(http2.HeadersFrameParam{StreamID: id, BlockFragment: block})
		p.flood(func() error { return p.WriteContinuation(id, false, more) })
	},
	"flood of empty continuations": func(p *peer) {
		p.WriteSettings()
		id := p.request()
		p.WriteHeaders(http2.HeadersFrameParam{StreamID: id, BlockFragment: p.header(":status", "200")})
		p.flood(func() error { return p.WriteContinuation(id, false, nil) })
	},
	"flood of empty data": func(p *peer) {
		p.WriteSettings()
		id := p.request()
		p.WriteHeaders(http2.HeadersFrameParam{StreamID: id, BlockFragment: p.header(":status", "200", "content-type", events), EndHeaders: true})
		p.flood(func() error { return p.WriteData(id, false, nil) })
	},
	"a header block that grows": func(p *peer) { // a small frame that refers to a large entry very often
		p.WriteSettings()
		id := p.request()
		e := hpack.NewEncoder(&p.buf)
		e.WriteField(hpack.HeaderField{Name: ":status", Value: "200"})
		for range 10_000 {
			e.WriteField(hpack.HeaderField{Name: "x-a", Value: strings.Repeat("a", 3000)})
		}
		p.WriteHeaders(http2.HeadersFrameParam{StreamID: id, BlockFragment: p.buf.Bytes(), EndHeaders: true, EndStream: true})
		p.drain()
	},
	"frames of no size": func(p *peer) {
		p.WriteSettings(http2.Setting{ID: http2.SettingMaxFrameSize, Val: 0})
		p.drain()
	},
	"no window": func(p *peer) {
		p.WriteSettings(http2.Setting{ID: http2.SettingInitialWindowSize, Val: 0})
		p.drain()
	},
	"no streams": func(p *peer) {
		p.WriteSettings(http2.Setting{ID: http2.SettingMaxConcurrentStreams, Val: 0})
		p.drain()
	},
	"a window that overflows": func(p *peer) {
		p.WriteSettings()
		p.WriteWindowUpdate(0, 1<<31-1)
		p.WriteWindowUpdate(0, 1<<31-1)
		p.drain()
	},
	"bytes that are no frames": func(p *peer) {
		io.WriteString(p.conn, "HTTP/1.1 400 Bad Request\r\n\r\n")
		p.drain()
	},
}

// TestFaultSuiteHTTP2 has upstreams that misuse HTTP/2. Each attempt ends, with an error
// or at its deadline; another target answers; and the gateway stays small and well.
func TestFaultSuiteHTTP2(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "darwin" {
		t.Skip("this system alone says which certificates are good")
	}
	certificate, roots := certified(t)
	var s setup
	names := map[string]string{}
	for name, script := range hostileFrames {
		id := fmt.Sprintf("up%d", len(names))
		names[name] = id
		s.provider(id, speak(t, certificate, script).url, "timeouts: {connect: 2s, first_token: 500ms, total: 500ms}")
		s.model("m_"+id, id, "well")
	}
	s.provider("good", speak(t, certificate, func(p *peer) { // so that it is known that HTTP/2 works at all
		p.WriteSettings()
		for id := p.request(); id != 0; id = p.request() {
			p.WriteHeaders(http2.HeadersFrameParam{StreamID: id, BlockFragment: p.header(":status", "200", "content-type", events), EndHeaders: true})
			p.WriteData(id, true, []byte(role+stream(healthyText)))
		}
	}).url, "")
	s.provider("well", well(t).url, "")
	g, process := spawn(t, s.String(), "SSL_CERT_FILE="+roots)
	healthyAnswer(t, g.chat(prompt("good/m", "hi", true)), true)
	t.Run("all", func(t *testing.T) {
		for name, id := range names {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				var all sync.WaitGroup
				for _, stream := range []bool{true, false} {
					all.Go(func() {
						alone := g.chat(prompt(id+"/m", "hi", stream))
						clean(t, alone)
						if alone.status != 502 && alone.status != 504 || !strings.Contains(alone.body, `"code":"upstream_`) {
							t.Errorf("got status %d and %q, want 502 or 504 of the upstream", alone.status, alone.body)
						}
					})
					all.Go(func() { healthyAnswer(t, g.chat(prompt("m_"+id, "hi", stream)), stream) })
				}
				all.Wait()
				if b := g.breaker(id); b.Totals.Failures != 4 || b.InFlight != 0 {
					t.Errorf("got breaker %+v, want 4 failures", b)
				}
			})
		}
	})
	healthyAnswer(t, g.chat(prompt("good/m", "hi", true)), true)
	if runtime.GOOS == "linux" {
		if peak := memoryOf(t, process.Pid, "VmHWM"); peak > 512<<20 {
			t.Errorf("got a peak of %d MiB, want less than 512", peak>>20)
		}
	}
}
