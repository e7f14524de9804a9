// Callgate's ABI for parsers, version 1: bytes, options, events and the exports. It names no
// parser, so it can be copied as it is; index.ts calls plugin and passes the exports on.
//
// Nothing here is collected: what a region has grown the next one uses again, and every response
// starts afresh. But an instance whose memory has grown is thrown away behind its response, so
// buffers begin large.
const EVENTS: u32 = 64 << 10;
const ARGS: u32 = 4 << 10;
const TOOLS: u32 = 16 << 10;

/** Bytes that grow. */
@unmanaged
export class Bytes {
  at: usize = 0;
  length: u32 = 0;
  private room: u32 = 0;

  static of(ascii: string): Bytes {
    const b = new Bytes();
    for (let i = 0; i < ascii.length; i++) b.push(<u8>ascii.charCodeAt(i));
    return b;
  }

  @inline get(i: u32): u8 {
    return load<u8>(this.at + i);
  }

  @inline clear(): void {
    this.length = 0;
  }

  reserve(n: u32): void {
    if (n <= this.room) return;
    const room = max(n, max(2 * this.room, 64));
    const at = heap.alloc(room);
    memory.copy(at, this.at, this.length);
    if (this.at) heap.free(this.at);
    this.at = at;
    this.room = room;
  }

  @inline push(c: u8): void {
    if (this.length == this.room) this.reserve(this.length + 1);
    store<u8>(this.at + this.length++, c);
  }

  append(from: usize, n: u32): void {
    this.reserve(this.length + n);
    memory.copy(this.at + this.length, from, n);
    this.length += n;
  }

  add(b: Bytes): void {
    this.append(b.at, b.length);
  }

  /** Unsigned LEB128. */
  int(n: u32): void {
    for (; n >= 0x80; n >>= 7) this.push(<u8>(n | 0x80));
    this.push(<u8>n);
  }

  equals(from: usize, n: u32): bool {
    return this.length == n && memory.compare(this.at, from, n) == 0;
  }

  /** Whether these bytes begin with those of b. */
  starts(b: Bytes): bool {
    return this.length >= b.length && memory.compare(this.at, b.at, b.length) == 0;
  }

  get packed(): u64 {
    return ((<u64>this.at) << 32) | this.length;
  }
}

// Types of a parameter, as bits. 0 means that the schema does not say.
export const STRING: u32 = 1;
export const INTEGER: u32 = 2;
export const NUMBER: u32 = 4;
export const BOOLEAN: u32 = 8;
export const OBJECT: u32 = 16;
export const ARRAY: u32 = 32;
export const NULL: u32 = 64;

/** An encoding that is read from the front. bad is one that ends early. */
@unmanaged
export class Decoder {
  at: usize = 0;
  end: usize = 0;
  bad: bool = false;
  // The text that was read last.
  text: usize = 0;
  length: u32 = 0;

  over(at: usize, n: u32): Decoder {
    this.at = at;
    this.end = at + n;
    this.bad = false;
    return this;
  }

  get more(): bool {
    return !this.bad && this.at < this.end;
  }

  int(): u32 {
    let v: u32 = 0;
    for (let shift: u32 = 0; shift < 32 && this.more; shift += 7) {
      const c = load<u8>(this.at++);
      v |= (<u32>(c & 0x7f)) << shift;
      if (c < 0x80) return v;
    }
    this.bad = true;
    return 0;
  }

  read(): void {
    this.length = this.int();
    this.text = this.at;
    if (this.bad || this.length > <u32>(this.end - this.at)) {
      this.bad = true;
      this.length = 0;
    }
    this.at += this.length;
  }

  /** Reads the next text and says whether it is that one. */
  is(b: usize, n: u32): bool {
    this.read();
    return !this.bad && this.length == n && memory.compare(this.text, b, n) == 0;
  }
}

const decoder = new Decoder();
const field = new Decoder();

/** What a region is opened with. The tools stay encoded. */
@unmanaged
export class Options {
  tools: Bytes = new Bytes();
  fenced: bool = false;

  /** Reads the options and says whether they can be read. */
  decode(at: usize, n: u32): bool {
    this.tools.clear();
    this.tools.reserve(TOOLS);
    this.fenced = false;
    decoder.over(at, n);
    while (decoder.more) {
      const key = decoder.int();
      decoder.read();
      if (key == 1) this.tools.append(decoder.text, decoder.length);
      if (key == 3) this.fenced = decoder.length > 0 && load<u8>(decoder.text) != 0;
    }
    return !decoder.bad;
  }

  /** Where the parameters of a tool are in tools, or -1 if nobody offers it. */
  find(name: usize, n: u32): i32 {
    field.over(this.tools.at, this.tools.length);
    for (let count = field.int(); count > 0 && field.more; count--) {
      if (field.is(name, n)) return <i32>(field.at - this.tools.at);
      for (let params = field.int(); params > 0 && field.more; params--) {
        field.read();
        field.int();
        field.int();
      }
    }
    return -1;
  }

  /** The types of a parameter of the tool at that place. */
  types(tool: i32, name: usize, n: u32): u32 {
    if (tool < 0) return 0;
    field.over(this.tools.at + tool, this.tools.length - tool);
    for (let count = field.int(); count > 0 && field.more; count--) {
      const found = field.is(name, n);
      const types = field.int();
      field.int(); // required
      if (found) return types;
    }
    return 0;
  }
}

const HEX = Bytes.of("0123456789abcdef");

/** The events of a region. It has one call open at a time. */
@unmanaged
export class Out {
  events: Bytes = new Bytes();
  args: Bytes = new Bytes(); // that have not become an event
  next: u32 = 0; // index of the next call
  ended: bool = false;

  reset(): void {
    this.events.reserve(EVENTS);
    this.args.reserve(2 * ARGS);
    this.args.clear();
    this.next = 0;
    this.ended = false;
  }

  /** Text of the answer that stands in the region. */
  content(text: usize, n: u32): void {
    this.event(1);
    this.events.int(n);
    this.events.append(text, n);
  }

  /** Text of the model's reasoning. */
  reasoning(text: usize, n: u32): void {
    this.event(2);
    this.events.int(n);
    this.events.append(text, n);
  }

  /** A call begins. Its name must be sure, because the client may see it from now on. */
  callStart(name: usize, n: u32): void {
    this.event(3);
    this.events.int(this.next++);
    this.events.int(n);
    this.events.append(name, n);
    this.events.int(0); // no id
  }

  /** The next byte of a string in the arguments. */
  escaped(c: u8): void {
    if (this.args.length >= ARGS) this.flush();
    if (c >= 0x20 && c != 0x22 && c != 0x5c) {
      this.args.push(c);
      return;
    }
    this.args.push(0x5c); // backslash
    if (c == 0x0a) this.args.push(0x6e);
    else if (c == 0x0d) this.args.push(0x72);
    else if (c == 0x09) this.args.push(0x74);
    else if (c >= 0x20) this.args.push(c);
    else {
      this.args.push(0x75); // u
      this.args.push(0x30);
      this.args.push(0x30);
      this.args.push(HEX.get(c >> 4));
      this.args.push(HEX.get(c & 15));
    }
  }

  /** Says what was changed of what the model wrote, such as args_json. */
  repair(how: Bytes): void {
    this.event(9);
    this.events.int(how.length);
    this.events.add(how);
  }

  /** The open call is complete: its arguments are a JSON object, with each key once. */
  callEnd(): void {
    this.event(5);
    this.events.int(this.next - 1);
  }

  /** A token limit ended the output inside the open call. */
  cut(): void {
    this.event(8);
    this.events.int(this.next - 1);
  }

  /** These bytes of the region are not the parser's. An open call is void, and the region ends. */
  malformed(from: u32, to: u32): void {
    this.event(6);
    this.events.int(from);
    this.events.int(to);
    this.ended = true;
  }

  /** The region ends at this byte; what follows is read by others. */
  end(to: u32): void {
    this.event(7);
    this.events.int(to);
    this.ended = true;
  }

  private event(kind: u8): void {
    this.flush();
    this.events.push(kind);
  }

  flush(): void {
    if (this.args.length == 0) return;
    this.events.push(4);
    this.events.int(this.next - 1);
    this.events.int(this.args.length);
    this.events.add(this.args);
    this.args.clear();
  }
}

/** What reads a region; when it is closed the next one has it. */
export abstract class Parser {
  options: Options = new Options();
  out: Out = new Out();
  used: bool = false;

  /** A region begins: nothing of the one before may be left. */
  abstract reset(): void;

  /** The next bytes, which are gone afterwards. */
  abstract feed(text: usize, n: u32): void;

  /** The output ended inside the region; a token limit may have cut it. */
  abstract finish(cut: bool): void;
}

/** One of a plugin's parsers. */
export class Kind {
  regions: StaticArray<Parser | null> = new StaticArray<Parser | null>(MAX_HANDLES);

  constructor(
    /** Looks at the first 256 bytes of a region at most: 0 no, 1 yes, 2 more text is needed. No and yes are for good. */
    public canParse: (head: usize, n: u32) => i32,
    public make: () => Parser,
  ) {}

  parser(i: i32): Parser {
    const there = this.regions[i];
    if (there != null) return there;
    const made = this.make();
    this.regions[i] = made;
    return made;
  }
}

const MAX_HANDLES = 16; // of each parser
const MAX_FEED: u32 = 64 << 10;

let manifest = new Bytes();
let kinds = new StaticArray<Kind>(0);
const input = new Bytes();

/** Says what is in the plugin: the manifest, JSON, and its parsers in the manifest's order. */
export function plugin(json: string, parsers: StaticArray<Kind>): void {
  const n = String.UTF8.byteLength(json);
  manifest.reserve(n);
  manifest.length = n;
  String.UTF8.encodeUnsafe(changetype<usize>(json), json.length, manifest.at);
  kinds = parsers;
}

function find(handle: i32): Parser | null {
  if (handle < 0 || handle >= kinds.length * MAX_HANDLES) return null;
  const region = kinds[handle / MAX_HANDLES].regions[handle % MAX_HANDLES];
  if (region == null || !region.used || region.out.ended) return null;
  region.out.events.clear();
  return region;
}

function take(region: Parser): u64 {
  region.out.flush();
  return region.out.events.packed;
}

export function callgate1_manifest(): u64 {
  return manifest.packed;
}

export function callgate1_alloc(n: u32): usize {
  input.reserve(max(n, MAX_FEED));
  return input.at;
}

export function callgate1_can_parse(parser: i32, at: usize, n: u32): i32 {
  return <u32>parser < <u32>kinds.length ? kinds[parser].canParse(at, n) : 0;
}

export function callgate1_open(parser: i32, at: usize, n: u32): i32 {
  if (<u32>parser >= <u32>kinds.length) return -1;
  for (let i = 0; i < MAX_HANDLES; i++) {
    const region = kinds[parser].parser(i);
    if (region.used) continue;
    if (!region.options.decode(at, n)) return -2;
    region.used = true;
    region.out.reset();
    region.reset();
    return parser * MAX_HANDLES + i;
  }
  return -3;
}

export function callgate1_feed(handle: i32, at: usize, n: u32): u64 {
  const region = find(handle);
  if (region == null) return 0;
  region.feed(at, n);
  return take(region);
}

export function callgate1_finish(handle: i32, reason: i32): u64 {
  const region = find(handle);
  if (region == null) return 0;
  region.finish(reason == 1);
  return take(region);
}

export function callgate1_close(handle: i32): void {
  if (handle < 0 || handle >= kinds.length * MAX_HANDLES) return;
  const region = kinds[handle / MAX_HANDLES].regions[handle % MAX_HANDLES];
  if (region != null) region.used = false;
}
