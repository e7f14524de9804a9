// Package relaxed reads JSON as language models write it and gives strict JSON.
//
// Valid JSON comes out byte for byte: digits, escapes and white space are the
// model's. Slips with one possible meaning are repaired and reported (see Repairs);
// everything else is an error, because a guess would put words into the model's
// mouth. The reader takes its input in pieces, cut anywhere, in linear time and
// without recursion, and never writes a byte that it might have to take back:
//
//	r := relaxed.NewReader(0)
//	for len(src) > 0 {
//		n, tok := r.Feed(src)
//		src = src[n:]
//		switch tok {
//		case relaxed.Key:         // r.Key() is the member's name, its value follows
//		case relaxed.ObjectClose: // complete if r.Depth() == 0
//		case relaxed.Bad:         // src[0] cannot be read
//		}
//	}
//
// The package imports no reflection and no JSON package, so that parsers compiled
// to WebAssembly stay small.
package relaxed
