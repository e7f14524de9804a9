//! A parser of tool calls that a model writes as lines; README.md shows the format. callgate.rs
//! is the ABI, for any parser.

mod callgate;

use callgate::{Kind, Options, Out, Parser, Plugin, Tool, Types, Verdict, BOOLEAN, INTEGER, NULL, NUMBER, STRING};

pub static PLUGIN: Plugin = Plugin {
    manifest: MANIFEST,
    parsers: &[Kind { can_parse, open: |options| Box::new(Lines::new(options)) }],
};

const MANIFEST: &str = r#"{"abi": 1, "name": "my_model", "version": "0.1.0", "parsers": [{"name": "my_model", "version": "0.1.0",
"priority": 60, "streams": true, "triggers": ["@@call "], "formats": ["@@call NAME, lines KEY: VALUE, @@end"],
"example": "@@call get_weather\ncity: Oslo\n@@end"}]}"#;

const OPENING: &[u8] = b"@@call ";
const CLOSING: &[u8] = b"@@end";

const MAX_NAME: usize = 64; // bytes of a tool's name or a key
const MAX_KEYS: usize = 64; // of a call
const MAX_WORD: usize = 32; // bytes of a number or a word, a longer value is a string

/// can_parse is sure when it has seen the whole first line.
fn can_parse(head: &[u8]) -> Verdict {
    for (i, &c) in head.iter().enumerate() {
        if i < OPENING.len() {
            if c != OPENING[i] {
                return Verdict::No;
            }
        } else if c == b'\n' && i > OPENING.len() {
            return Verdict::Yes;
        } else if !name_byte(c) || i == OPENING.len() + MAX_NAME {
            return Verdict::No;
        }
    }
    Verdict::Maybe
}

fn name_byte(c: u8) -> bool {
    c.is_ascii_alphanumeric() || c == b'_' || c == b'-' || c == b'.'
}

/// Value is how far the value of a key was read.
#[derive(PartialEq)]
enum Value {
    None,
    Word,  // all of it is in Lines.word: it may be a number, true, false or null
    Quote, // a string, passed on as it comes
}

/// Lines reads one region.
struct Lines {
    options: Options,
    pos: usize,  // bytes that were read
    from: usize, // where the current call begins

    in_value: bool, // the line is past its key
    head: Vec<u8>,  // the line up to there
    tool: Option<Tool>,
    open: bool,   // a call is
    mended: bool, // something in it was
    keys: Vec<Vec<u8>>,

    value: Value,
    types: Types,
    fresh: bool, // a space here is not the value's
    word: Vec<u8>,
}

impl Parser for Lines {
    fn feed(&mut self, text: &[u8], out: &mut Out) {
        for &c in text {
            if self.in_value {
                self.read_value(c, out);
            } else if !self.read_head(c, out) {
                out.malformed(self.from, self.pos.max(1)); // the byte may begin something else
            }
            if out.ended() {
                return;
            }
            self.pos += 1;
        }
    }

    fn finish(&mut self, cut: bool, out: &mut Out) {
        if self.open && cut {
            out.cut();
            out.end(self.pos);
        } else {
            out.malformed(self.from, self.pos);
        }
    }
}

impl Lines {
    fn new(options: Options) -> Lines {
        Lines {
            options, pos: 0, from: 0, in_value: false, head: Vec::new(), tool: None, open: false, mended: false,
            keys: Vec::new(), value: Value::None, types: 0, fresh: false, word: Vec::new(),
        }
    }

    /// Reads a line up to its value, and says whether it can go on like that.
    fn read_head(&mut self, c: u8, out: &mut Out) -> bool {
        if self.head.is_empty() && c == b'|' && self.value != Value::None {
            self.read_value(b'\n', out);
            self.in_value = true;
            self.fresh = true;
            return true;
        }
        self.head.push(c);
        if OPENING.starts_with(&self.head) {
            if self.head.len() == OPENING.len() {
                if self.open {
                    self.end_call(out);
                }
                self.from = self.pos + 1 - OPENING.len();
            }
            return true;
        }
        if self.open && CLOSING.starts_with(&self.head) {
            if self.head.len() == CLOSING.len() {
                self.end_call(out);
                out.end(self.pos + 1);
            }
            return true;
        }
        if self.head.starts_with(OPENING) {
            return self.read_name(c, out);
        }
        self.open && self.read_key(c, out)
    }

    /// Looks at the name of a call, up to the end of the line.
    fn read_name(&mut self, c: u8, out: &mut Out) -> bool {
        let line = &self.head[OPENING.len()..];
        if c != b'\n' {
            return line.len() <= MAX_NAME && name_byte(c);
        }
        let name = &line[..line.len() - 1];
        self.tool = self.options.tools.iter().find(|t| t.name == name).cloned();
        if name.is_empty() || self.options.fenced && self.tool.is_none() {
            return false;
        }
        out.call_start(name);
        out.args(b"{");
        self.open = true;
        self.mended = false;
        self.head.clear();
        self.keys.clear();
        true
    }

    /// Looks at a key, up to the colon.
    fn read_key(&mut self, c: u8, out: &mut Out) -> bool {
        if c != b':' {
            return self.head.len() <= MAX_NAME && name_byte(c);
        }
        let key = self.head[..self.head.len() - 1].to_vec();
        if key.is_empty() || self.keys.len() == MAX_KEYS || self.keys.contains(&key) {
            return false; // which of two counts nobody can know
        }
        self.end_value(out);
        if !self.keys.is_empty() {
            out.args(b",");
        }
        out.args(b"\"");
        out.args(&key);
        out.args(b"\":");
        let param = self.tool.iter().flat_map(|t| &t.params).find(|p| p.0 == key);
        self.types = param.map_or(0, |p| p.1);
        self.keys.push(key);
        self.head.clear();
        self.word.clear();
        self.in_value = true;
        self.fresh = true;
        self.value = Value::Word;
        if self.types == STRING {
            self.begin_string(out);
        }
        true
    }

    /// Reads a value up to the end of the line.
    fn read_value(&mut self, c: u8, out: &mut Out) {
        let fresh = std::mem::replace(&mut self.fresh, false);
        if c == b'\n' && self.in_value {
            self.in_value = false;
        } else if c == b' ' && fresh {
            // markup
        } else if self.value == Value::Word && c != b'\n' && self.word.len() < MAX_WORD {
            self.word.push(c);
        } else {
            if self.value == Value::Word {
                self.begin_string(out);
            }
            out.escaped(&[c]);
        }
    }

    /// Says that the value is a string whatever follows.
    fn begin_string(&mut self, out: &mut Out) {
        self.value = Value::Quote;
        out.args(b"\"");
        out.escaped(&self.word);
    }

    fn end_value(&mut self, out: &mut Out) {
        if self.value == Value::Word && !self.literal(out) {
            self.begin_string(out);
        }
        if self.value == Value::Quote {
            out.args(b"\"");
        }
        self.value = Value::None;
    }

    /// Passes the word on as JSON if it is of one of the types. Types of 0 are all.
    fn literal(&mut self, out: &mut Out) -> bool {
        let (json, types, mended): (&[u8], Types, bool) = match &self.word[..] {
            b"true" | b"false" => (&self.word, BOOLEAN, false),
            b"null" => (&self.word, NULL, false),
            b"True" => (b"true", BOOLEAN, true),
            b"False" => (b"false", BOOLEAN, true),
            b"None" => (b"null", NULL, true),
            word => (word, number(word), false),
        };
        if types == 0 || self.types & types == 0 && (self.types != 0 || mended) {
            return false;
        }
        self.mended |= mended;
        out.args(json);
        true
    }

    fn end_call(&mut self, out: &mut Out) {
        self.end_value(out);
        out.args(b"}");
        if self.mended {
            out.repair("args_json"); // never silently: the gateway counts and shows it
        }
        out.call_end();
        self.open = false;
    }
}

/// The types that a text has as a number of JSON, or 0.
fn number(b: &[u8]) -> Types {
    let b = b.strip_prefix(b"-").unwrap_or(b);
    let (n, mut rest) = digits(b);
    if n == 0 || n > 1 && b[0] == b'0' {
        return 0;
    }
    if rest.is_empty() {
        return INTEGER | NUMBER;
    }
    if rest[0] == b'.' {
        let (n, r) = digits(&rest[1..]);
        if n == 0 {
            return 0;
        }
        rest = r;
    }
    if let Some(b'e' | b'E') = rest.first() {
        let exponent = &rest[1..];
        let exponent = exponent.strip_prefix(b"+").or_else(|| exponent.strip_prefix(b"-")).unwrap_or(exponent);
        let (n, r) = digits(exponent);
        if n == 0 {
            return 0;
        }
        rest = r;
    }
    if rest.is_empty() { NUMBER } else { 0 }
}

/// How many digits a text begins with, and what follows them.
fn digits(b: &[u8]) -> (usize, &[u8]) {
    let n = b.iter().take_while(|c| c.is_ascii_digit()).count();
    (n, &b[n..])
}
