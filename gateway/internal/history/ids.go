package history

import (
	"crypto/sha256"
	"encoding/base32"
	"strconv"
	"strings"

	"github.com/callgate/callgate/gateway/internal/conversation"
	"github.com/callgate/callgate/gateway/wire"
)

// fits says whether an id has the form. Of Kimi's it does not look at name and
// number, which depend on the call.
func (f IDForm) fits(id string) bool {
	switch f {
	case AnthropicID:
		return id != "" && len(id) <= 64 && strings.Trim(id, alphanumeric+"_-") == ""
	case ShortID:
		return id != "" && len(id) <= 40
	case MistralID:
		return len(id) == 9 && strings.Trim(id, alphanumeric) == ""
	default:
		return id != ""
	}
}

const alphanumeric = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"

// encoding writes a hash in letters and digits, five bits each.
var encoding = base32.NewEncoding("abcdefghijklmnopqrstuvwxyz234567").WithPadding(base32.NoPadding)

// stable returns an id of a form that stands for the one whose hash is given. It
// depends on nothing else, so that it is the same in every request. salt tells apart
// ids that are given for the same one.
func (f IDForm) stable(hash [sha256.Size]byte, salt int) string {
	salted := sha256.Sum256(strconv.AppendInt(hash[:], int64(salt), 10))
	if f == MistralID {
		return encoding.EncodeToString(salted[:])[:9]
	}
	return "call_" + encoding.EncodeToString(salted[:])[:24]
}

// known is what is known of a text that is an id: of the client's calls that have
// it, and of the call that has it upstream. Indexes of calls count from 1; 0 is none.
type known struct {
	waiting int  // the client's call of this id that a result is for
	latest  int  // the client's latest call of this id
	salt    int  // of the last id that was given in place of this
	taken   bool // a call has it upstream
}

// call is a call of the conversation.
type call struct {
	id       string // that the client gave it, decoded; may be empty
	upstream string // that the upstream sees
	under    int    // the call that waits under the same id when this one has its result, from 1
	answered bool
}

// addCall gives a call the id that the upstream needs.
func (r *repairer) addCall(e entry) {
	decoded, _ := conversation.Decode(r.text, e.id)
	c := call{id: string(decoded)}
	c.upstream = r.upstreamID(c.id, e)
	if c.upstream != c.id {
		r.set(e.at, e.id, "id", wire.AppendQuoted(nil, c.upstream))
		r.count(KindID)
	}
	r.calls = append(r.calls, c)
	k := r.ids[c.id]
	k.latest = len(r.calls)
	r.ids[c.id] = k
}

// upstreamID is the id for the next call. What it is follows from the calls up to
// this one alone.
func (r *repairer) upstreamID(id string, e entry) string {
	wanted, name := id, []byte(nil)
	if r.needs.IDs == KimiID {
		name = e.name(r.text)
	}
	switch {
	case len(name) > 0:
		wanted = kimiID(string(name), len(r.calls), id)
	case r.needs.IDs != AnyID && r.ids[id].taken:
		wanted = ""
	}
	if !r.needs.IDs.fits(wanted) {
		wanted = r.fresh(id)
	}
	k := r.ids[wanted]
	k.taken = true
	r.ids[wanted] = k
	return wanted
}

// fresh returns an id to stand for another, which no call has yet. It is the same
// until one does.
func (r *repairer) fresh(id string) string {
	hash := sha256.Sum256([]byte(id)) // once: the id may be long and the salts many
	for k := r.ids[id]; ; k.salt++ {
		stable := r.needs.IDs.stable(hash, k.salt)
		if !r.ids[stable].taken {
			r.ids[id] = k
			return stable
		}
	}
}

// kimiID returns Kimi's id for a call, which is the one that it has if that is right.
func kimiID(name string, n int, has string) string {
	if rest, ok := strings.CutPrefix(has, "functions."); ok {
		if rest, ok = strings.CutPrefix(rest, name+":"); ok && rest == strconv.Itoa(n) {
			return has
		}
	}
	return "functions." + name + ":" + strconv.Itoa(n)
}
