// A parser of tool calls that a model writes as lines; README.md shows the format.
import { BOOLEAN, Bytes, INTEGER, NULL, NUMBER, Parser, STRING } from "./callgate";

const OPENING = Bytes.of("@@call ");
const CLOSING = Bytes.of("@@end");
const ARGS_JSON = Bytes.of("args_json");
const TRUE = Bytes.of("true");
const FALSE = Bytes.of("false");
const NIL = Bytes.of("null");
const PYTHON_TRUE = Bytes.of("True");
const PYTHON_FALSE = Bytes.of("False");
const PYTHON_NONE = Bytes.of("None");

const MAX_NAME: u32 = 64; // bytes of a tool's name or a key
const MAX_KEYS: u32 = 64; // of a call
const MAX_WORD: u32 = 32; // bytes of a number or a word, a longer value is a string

const NEWLINE: u8 = 0x0a;
const SPACE: u8 = 0x20;
const QUOTE: u8 = 0x22;
const COMMA: u8 = 0x2c;
const COLON: u8 = 0x3a;
const BAR: u8 = 0x7c;

/** What can_parse says: 0 no, 1 yes, 2 more text is needed, until the first line is whole. */
export function verdict(head: usize, n: u32): i32 {
  for (let i: u32 = 0; i < n; i++) {
    const c = load<u8>(head + i);
    if (i < OPENING.length) {
      if (c != OPENING.get(i)) return 0;
    } else if (c == NEWLINE && i > OPENING.length) {
      return 1;
    } else if (!nameByte(c) || i == OPENING.length + MAX_NAME) {
      return 0;
    }
  }
  return 2;
}

function nameByte(c: u8): bool {
  const low = c | 0x20;
  return (low >= 0x61 && low <= 0x7a) || (c >= 0x30 && c <= 0x39) || c == 0x5f || c == 0x2d || c == 0x2e;
}

/** How far the value of a key was read: as text that may be a literal, or passed on as a string. */
enum Value { None, Word, Quote }

/** Lines reads one region. */
export class Lines extends Parser {
  private pos: u32 = 0; // bytes that were read
  private from: u32 = 0; // where the current call begins

  private inValue: bool = false; // the line is past its key
  private head: Bytes = new Bytes(); // the line up to there
  private tool: i32 = -1; // where its parameters are
  private open: bool = false; // a call is
  private mended: bool = false; // something in it was
  private keys: Bytes = new Bytes(); // each behind its length
  private count: u32 = 0; // of keys

  private value: Value = Value.None;
  private types: u32 = 0;
  private fresh: bool = false; // a space here is not the value's
  private word: Bytes = new Bytes();

  reset(): void {
    this.pos = this.from = 0;
    this.inValue = this.open = this.fresh = false;
    this.head.clear();
    this.value = Value.None;
  }

  feed(text: usize, n: u32): void {
    for (let i: u32 = 0; i < n; i++, this.pos++) {
      const c = load<u8>(text + i);
      if (this.inValue) this.readValue(c);
      else if (!this.readHead(c)) this.out.malformed(this.from, max(this.pos, 1)); // the byte may begin something else
      if (this.out.ended) return;
    }
  }

  finish(cut: bool): void {
    if (this.open && cut) {
      this.out.cut();
      this.out.end(this.pos);
    } else {
      this.out.malformed(this.from, this.pos);
    }
  }

  /** Reads a line up to its value, and says whether it can go on like that. */
  private readHead(c: u8): bool {
    if (this.head.length == 0 && c == BAR && this.value != Value.None) {
      this.readValue(NEWLINE);
      return this.inValue = this.fresh = true;
    }
    this.head.push(c);
    if (OPENING.starts(this.head)) {
      if (this.head.length < OPENING.length) return true;
      if (this.open) this.endCall();
      this.from = this.pos + 1 - OPENING.length;
      return true;
    }
    if (this.open && CLOSING.starts(this.head)) {
      if (this.head.length < CLOSING.length) return true;
      this.endCall();
      this.out.end(this.pos + 1);
      return true;
    }
    if (this.head.starts(OPENING)) return this.readName(c);
    return this.open && this.readKey(c);
  }

  /** Looks at the name of a call, up to the end of the line. */
  private readName(c: u8): bool {
    const name = this.head.at + OPENING.length;
    const n = this.head.length - OPENING.length;
    if (c != NEWLINE) return n <= MAX_NAME && nameByte(c);
    this.tool = this.options.find(name, n - 1);
    if (n == 1 || (this.options.fenced && this.tool < 0)) return false;
    this.out.callStart(name, n - 1);
    this.out.args.push(0x7b); // {
    this.open = true;
    this.mended = false;
    this.head.clear();
    this.keys.clear();
    this.count = 0;
    return true;
  }

  /** Looks at a key, up to the colon. */
  private readKey(c: u8): bool {
    if (c != COLON) return this.head.length <= MAX_NAME && nameByte(c);
    const key = this.head.at;
    const n = this.head.length - 1;
    if (n == 0 || this.count == MAX_KEYS || this.known(key, n)) return false; // which of two counts nobody can know
    this.endValue();
    if (this.count++ > 0) this.out.args.push(COMMA);
    this.out.args.push(QUOTE);
    this.out.args.append(key, n);
    this.out.args.push(QUOTE);
    this.out.args.push(COLON);
    this.keys.push(<u8>n);
    this.keys.append(key, n);
    this.types = this.options.types(this.tool, key, n);
    this.head.clear();
    this.word.clear();
    this.inValue = this.fresh = true;
    this.value = Value.Word;
    if (this.types == STRING) this.beginString();
    return true;
  }

  private known(key: usize, n: u32): bool {
    for (let i: u32 = 0; i < this.keys.length; i += 1 + this.keys.get(i)) {
      if (this.keys.get(i) == n && memory.compare(this.keys.at + i + 1, key, n) == 0) return true;
    }
    return false;
  }

  /** Reads a value up to the end of the line. */
  private readValue(c: u8): void {
    const fresh = this.fresh;
    this.fresh = false;
    if (c == NEWLINE && this.inValue) this.inValue = false;
    else if (c == SPACE && fresh) return; // markup
    else if (this.value == Value.Word && c != NEWLINE && this.word.length < MAX_WORD) this.word.push(c);
    else {
      if (this.value == Value.Word) this.beginString();
      this.out.escaped(c);
    }
  }

  /** Says that the value is a string whatever follows. */
  private beginString(): void {
    this.value = Value.Quote;
    this.out.args.push(QUOTE);
    for (let i: u32 = 0; i < this.word.length; i++) this.out.escaped(this.word.get(i));
  }

  private endValue(): void {
    if (this.value == Value.Word && !this.literal()) this.beginString();
    if (this.value == Value.Quote) this.out.args.push(QUOTE);
    this.value = Value.None;
  }

  /** Passes the word on as JSON if it is of one of the types. */
  private literal(): bool {
    const w = this.word;
    if (this.is(TRUE) || this.is(FALSE)) return this.fits(BOOLEAN, w);
    if (this.is(NIL)) return this.fits(NULL, w);
    if (this.is(PYTHON_TRUE)) return this.mend(BOOLEAN, TRUE);
    if (this.is(PYTHON_FALSE)) return this.mend(BOOLEAN, FALSE);
    if (this.is(PYTHON_NONE)) return this.mend(NULL, NIL);
    const types = number(w);
    return types != 0 && this.fits(types, w);
  }

  private is(b: Bytes): bool {
    return b.equals(this.word.at, this.word.length);
  }

  /** Types of 0 are all. */
  private fits(types: u32, json: Bytes): bool {
    if (this.types != 0 && (this.types & types) == 0) return false;
    this.out.args.add(json);
    return true;
  }

  /** Takes a word of Python's where the schema has its type. */
  private mend(types: u32, json: Bytes): bool {
    if ((this.types & types) == 0) return false;
    this.mended = true;
    return this.fits(types, json);
  }

  private endCall(): void {
    this.endValue();
    this.out.args.push(0x7d); // }
    if (this.mended) this.out.repair(ARGS_JSON); // never silently: the gateway counts and shows it
    this.out.callEnd();
    this.open = false;
  }
}

/** The types that a text has as a number of JSON, or 0. */
function number(b: Bytes): u32 {
  let i: u32 = b.length > 0 && b.get(0) == 0x2d ? 1 : 0; // -
  const first = i;
  i = digits(b, i);
  if (i == first || (i > first + 1 && b.get(first) == 0x30)) return 0;
  if (i == b.length) return INTEGER | NUMBER;
  if (b.get(i) == 0x2e) { // .
    const from = i + 1;
    i = digits(b, from);
    if (i == from) return 0;
  }
  if (i < b.length && (b.get(i) | 0x20) == 0x65) { // e
    i++;
    if (i < b.length && (b.get(i) == 0x2b || b.get(i) == 0x2d)) i++;
    const from = i;
    i = digits(b, from);
    if (i == from) return 0;
  }
  return i == b.length ? NUMBER : 0;
}

/** Where the digits end that begin there. */
function digits(b: Bytes, i: u32): u32 {
  while (i < b.length && b.get(i) >= 0x30 && b.get(i) <= 0x39) i++;
  return i;
}
