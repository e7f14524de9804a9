//! Callgate's ABI for parsers, version 1: the exports, the options and the events. It names no
//! parser, so it can be copied as it is; what it needs is `PLUGIN` in the crate's root.
#![allow(dead_code)] // a parser uses what it needs

use std::cell::RefCell;
use std::slice;

/// Plugin is what the crate's root defines, as `pub static PLUGIN: Plugin`.
pub struct Plugin {
    /// JSON, with the parsers' names, triggers and examples.
    pub manifest: &'static str,
    /// The parsers, in the manifest's order.
    pub parsers: &'static [Kind],
}

/// Kind is one of a plugin's parsers.
pub struct Kind {
    /// Looks at the first 256 bytes of a region at most. Yes and No are for good.
    pub can_parse: fn(head: &[u8]) -> Verdict,
    /// Makes what reads a region.
    pub open: fn(Options) -> Box<dyn Parser>,
}

/// Verdict is what `can_parse` says of the head of a region.
#[derive(Clone, Copy)]
pub enum Verdict {
    No,
    Yes,
    Maybe,
}

/// Types of a parameter, as bits. 0 means that the schema does not say.
pub type Types = u32;
pub const STRING: Types = 1;
pub const INTEGER: Types = 2;
pub const NUMBER: Types = 4;
pub const BOOLEAN: Types = 8;
pub const OBJECT: Types = 16;
pub const ARRAY: Types = 32;
pub const NULL: Types = 64;

/// Options are what a region is opened with.
#[derive(Default)]
pub struct Options {
    pub tools: Vec<Tool>,
    pub fenced: bool,
}

#[derive(Clone)]
pub struct Tool {
    pub name: Vec<u8>,
    pub params: Vec<(Vec<u8>, Types)>,
}

/// Parser reads one region. The joined events must be the same however the text is cut.
pub trait Parser {
    fn feed(&mut self, text: &[u8], out: &mut Out);
    /// The output ended inside the region; a token limit may have cut it.
    fn finish(&mut self, cut: bool, out: &mut Out);
}

/// An instance whose memory has grown is thrown away behind its response, so buffers begin large.
const EVENTS: usize = 64 << 10;
const ARGS: usize = 4 << 10;

/// Out takes the events. A parser has one call open at a time.
pub struct Out {
    events: Vec<u8>,
    args: Vec<u8>, // that have not become an event
    next: usize,   // index of the next call
    ended: bool,
}

impl Out {
    fn new() -> Out {
        Out { events: Vec::with_capacity(EVENTS), args: Vec::with_capacity(2 * ARGS), next: 0, ended: false }
    }

    /// Text of the answer that stands in the region.
    pub fn content(&mut self, text: &[u8]) {
        self.event(1);
        self.bytes(text);
    }

    /// Text of the model's reasoning.
    pub fn reasoning(&mut self, text: &[u8]) {
        self.event(2);
        self.bytes(text);
    }

    /// A call begins. Its name must be sure, because the client may see it from now on.
    pub fn call_start(&mut self, name: &[u8]) {
        self.event(3);
        self.int(self.next);
        self.bytes(name);
        self.bytes(b""); // no id
        self.next += 1;
    }

    /// The next bytes of the open call's arguments, which may never be taken back.
    pub fn args(&mut self, b: &[u8]) {
        self.args.extend_from_slice(b);
        if self.args.len() >= ARGS {
            self.flush();
        }
    }

    /// The next bytes of a string in the arguments.
    pub fn escaped(&mut self, text: &[u8]) {
        const HEX: &[u8; 16] = b"0123456789abcdef";
        for &c in text {
            match c {
                b'"' | b'\\' => self.args(&[b'\\', c]),
                b'\n' => self.args(b"\\n"),
                b'\r' => self.args(b"\\r"),
                b'\t' => self.args(b"\\t"),
                0..=0x1f => self.args(&[b'\\', b'u', b'0', b'0', HEX[c as usize >> 4], HEX[c as usize & 15]]),
                _ => self.args(&[c]),
            }
        }
    }

    /// Says what was changed of what the model wrote, such as `args_json`.
    pub fn repair(&mut self, how: &str) {
        self.event(9);
        self.bytes(how.as_bytes());
    }

    /// The open call is complete: its arguments are a JSON object, with each key once.
    pub fn call_end(&mut self) {
        self.event(5);
        self.int(self.next - 1);
    }

    /// A token limit ended the output inside the open call.
    pub fn cut(&mut self) {
        self.event(8);
        self.int(self.next - 1);
    }

    /// These bytes of the region are not the parser's. An open call is void, and the region ends.
    pub fn malformed(&mut self, from: usize, to: usize) {
        self.event(6);
        self.int(from);
        self.int(to);
        self.ended = true;
    }

    /// The region ends at this byte; what follows is read by others.
    pub fn end(&mut self, to: usize) {
        self.event(7);
        self.int(to);
        self.ended = true;
    }

    pub fn ended(&self) -> bool {
        self.ended
    }

    fn event(&mut self, kind: u8) {
        self.flush();
        self.events.push(kind);
    }

    fn flush(&mut self) {
        if !self.args.is_empty() {
            let args = std::mem::take(&mut self.args);
            self.events.push(4);
            self.int(self.next - 1);
            self.bytes(&args);
            self.args = args; // its memory is used again
            self.args.clear();
        }
    }

    fn int(&mut self, mut n: usize) {
        while n >= 0x80 {
            self.events.push(n as u8 | 0x80); // LEB128
            n >>= 7;
        }
        self.events.push(n as u8);
    }

    fn bytes(&mut self, b: &[u8]) {
        self.int(b.len());
        self.events.extend_from_slice(b);
    }
}

/// Decoder reads an encoding. None is one that ends early.
struct Decoder<'a>(&'a [u8]);

impl<'a> Decoder<'a> {
    fn int(&mut self) -> Option<usize> {
        let mut v = 0;
        for shift in (0..32).step_by(7) {
            let (&c, rest) = self.0.split_first()?;
            self.0 = rest;
            v |= (c as usize & 0x7f) << shift;
            if c < 0x80 {
                return Some(v);
            }
        }
        None
    }

    fn bytes(&mut self) -> Option<&'a [u8]> {
        let n = self.int()?;
        let b = self.0.get(..n)?;
        self.0 = &self.0[n..];
        Some(b)
    }

    fn options(mut self) -> Option<Options> {
        let mut options = Options::default();
        while !self.0.is_empty() {
            let key = self.int()?;
            let field = self.bytes()?;
            match key {
                1 => options.tools = Decoder(field).tools()?,
                3 => options.fenced = field.first().map_or(false, |&b| b != 0),
                _ => {} // of a later gateway, or of no use here
            }
        }
        Some(options)
    }

    fn tools(mut self) -> Option<Vec<Tool>> {
        let mut tools = Vec::new();
        for _ in 0..self.int()? {
            let mut tool = Tool { name: self.bytes()?.to_vec(), params: Vec::new() };
            for _ in 0..self.int()? {
                tool.params.push((self.bytes()?.to_vec(), self.int()? as Types));
                self.int()?; // required
            }
            tools.push(tool);
        }
        Some(tools)
    }
}

const MAX_HANDLES: usize = 16;
const MAX_FEED: usize = 64 << 10;

struct Guest {
    input: Vec<u8>,
    regions: Vec<Option<(Box<dyn Parser>, Out)>>,
}

thread_local! { // there is one thread
    static GUEST: RefCell<Guest> = RefCell::new(Guest { input: Vec::new(), regions: Vec::new() });
}

fn pack(b: &[u8]) -> u64 {
    (b.as_ptr() as u64) << 32 | b.len() as u64
}

/// What the host has written to the buffer.
fn input<'a>(ptr: *const u8, n: usize) -> &'a [u8] {
    // SAFETY: the host points into the buffer of alloc, which nothing changes during a call.
    unsafe { slice::from_raw_parts(ptr, n) }
}

#[no_mangle]
pub extern "C" fn callgate1_manifest() -> u64 {
    pack(crate::PLUGIN.manifest.as_bytes())
}

#[no_mangle]
pub extern "C" fn callgate1_alloc(n: usize) -> *mut u8 {
    GUEST.with(|g| {
        let input = &mut g.borrow_mut().input;
        if n > input.len() || input.is_empty() {
            *input = vec![0; n.max(MAX_FEED)];
        }
        input.as_mut_ptr()
    })
}

#[no_mangle]
pub extern "C" fn callgate1_can_parse(parser: i32, ptr: *const u8, n: usize) -> i32 {
    let kind = crate::PLUGIN.parsers.get(parser as usize);
    kind.map_or(Verdict::No, |k| (k.can_parse)(input(ptr, n))) as i32
}

#[no_mangle]
pub extern "C" fn callgate1_open(parser: i32, ptr: *const u8, n: usize) -> i32 {
    let kind = match crate::PLUGIN.parsers.get(parser as usize) {
        Some(kind) => kind,
        None => return -1,
    };
    let options = match Decoder(input(ptr, n)).options() {
        Some(options) => options,
        None => return -2,
    };
    GUEST.with(|g| {
        let regions = &mut g.borrow_mut().regions;
        let handle = regions.iter().position(Option::is_none).unwrap_or(regions.len());
        if handle == MAX_HANDLES {
            return -3;
        }
        if handle == regions.len() {
            regions.push(None);
        }
        regions[handle] = Some(((kind.open)(options), Out::new()));
        handle as i32
    })
}

/// Runs something on an open region and gives its events.
fn with_region(handle: i32, read: impl FnOnce(&mut dyn Parser, &mut Out)) -> u64 {
    GUEST.with(|g| match g.borrow_mut().regions.get_mut(handle as usize) {
        Some(Some((parser, out))) if !out.ended => {
            out.events.clear();
            read(parser.as_mut(), out);
            out.flush();
            pack(&out.events)
        }
        _ => 0,
    })
}

#[no_mangle]
pub extern "C" fn callgate1_feed(handle: i32, ptr: *const u8, n: usize) -> u64 {
    with_region(handle, |parser, out| parser.feed(input(ptr, n), out))
}

#[no_mangle]
pub extern "C" fn callgate1_finish(handle: i32, reason: i32) -> u64 {
    with_region(handle, |parser, out| parser.finish(reason == 1, out))
}

#[no_mangle]
pub extern "C" fn callgate1_close(handle: i32) {
    GUEST.with(|g| {
        if let Some(region) = g.borrow_mut().regions.get_mut(handle as usize) {
            *region = None;
        }
    })
}
