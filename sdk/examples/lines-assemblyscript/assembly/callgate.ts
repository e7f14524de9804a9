// The ABI of sdk/README.md for any parser: bytes, options and events. Nothing here is
// collected: what a region has grown the next one uses again, and every response starts
// afresh. But an instance whose memory has grown is thrown away behind its response, so
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

  repair(how: Bytes): void {
    this.event(9);
    this.events.int(how.length);
    this.events.add(how);
  }

  callEnd(): void {
    this.event(5);
    this.events.int(this.next - 1);
  }

  cut(): void {
    this.event(8);
    this.events.int(this.next - 1);
  }

  malformed(from: u32, to: u32): void {
    this.event(6);
    this.events.int(from);
    this.events.int(to);
    this.ended = true;
  }

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
