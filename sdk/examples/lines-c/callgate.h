/* Callgate's ABI for parsers, version 1, in C without a library: memory, events, options and the
 * exports. It names no parser, so it can be copied as it is. One file includes it, and defines
 * callgate_plugin. */
#pragma clang diagnostic push
#pragma clang diagnostic ignored "-Wunused" /* a parser uses what it needs */

typedef unsigned char byte;
typedef unsigned int u32;
typedef unsigned long long u64;

#define EXPORT(name) __attribute__((export_name("callgate1_" #name)))
#define LENGTH(literal) (sizeof(literal) - 1)

enum { PAGE = 65536, MAX_FEED = 65536, MAX_HANDLES = 16 };
enum { STRING = 1, INTEGER = 2, NUMBER = 4, BOOLEAN = 8, OBJECT = 16, ARRAY = 32, NIL = 64 }; /* types */
enum { NO, YES, MAYBE };                                                                      /* can_parse */
enum { UNKNOWN_PARSER = -1, BAD_OPTIONS = -2, TOO_MANY = -3 };                                /* open */
enum { STOP, CUT_OFF };                                                                       /* finish */
enum { CONTENT = 1, REASONING, CALL_START, ARGS, CALL_END, MALFORMED, END, CUT, REPAIR };     /* events */

/* Memory. A buffer that is too small is left behind: every response starts afresh. But an
 * instance whose memory has grown is thrown away behind its response, so buffers begin large. */

static byte *more(u32 n) {
  u32 pages = __builtin_wasm_memory_grow(0, (n + PAGE - 1) / PAGE);
  if (pages == (u32)-1) __builtin_trap();
  return (byte *)(pages * PAGE);
}

/* What a compiler may call without being asked. */
void *memcpy(void *to, const void *from, unsigned long n) {
  byte *t = to;
  for (const byte *f = from; n; n--) *t++ = *f++;
  return to;
}

void *memset(void *at, int c, unsigned long n) {
  for (byte *b = at; n; n--) *b++ = (byte)c;
  return at;
}

static void copy(byte *to, const byte *from, u32 n) {
  while (n--) *to++ = *from++;
}

static int same(const byte *a, const byte *b, u32 n) {
  while (n--)
    if (*a++ != *b++) return 0;
  return 1;
}

/* Events. They are those of one call of the host, so that all regions share the memory. */

typedef struct { /* of a region, which has one call open at a time */
  int next;   /* index of the next call */
  byte ended; /* by end or malformed */
} events;

static byte first[MAX_FEED], *out = first; /* may have to grow: a byte of text gives six at most, as an escape */
static u32 outs, out_size = sizeof first;
static byte args[4096]; /* that have not become an event */
static u32 argss;

static void room_for(u32 n) {
  if (n <= out_size - outs) return;
  out_size = 2 * (outs + n);
  byte *bigger = more(out_size);
  copy(bigger, out, outs);
  out = bigger;
}

static void put(byte c) {
  room_for(1);
  out[outs++] = c;
}

static void put_int(u32 n) { /* LEB128 */
  for (; n >= 0x80; n >>= 7) put((byte)(n | 0x80));
  put((byte)n);
}

static void put_text(const byte *b, u32 n) {
  put_int(n);
  room_for(n);
  copy(out + outs, b, n);
  outs += n;
}

static void flush(events *e) {
  if (!argss) return;
  put(ARGS);
  put_int(e->next - 1);
  put_text(args, argss);
  argss = 0;
}

static void arg(events *e, byte c) {
  if (argss == sizeof args) flush(e);
  args[argss++] = c;
}

static void arg_text(events *e, const char *s) {
  while (*s) arg(e, *s++);
}

static void arg_escaped(events *e, byte c) {
  static const char hex[] = "0123456789abcdef";
  if (c == '"' || c == '\\') arg(e, '\\'), arg(e, c);
  else if (c == '\n') arg_text(e, "\\n");
  else if (c == '\r') arg_text(e, "\\r");
  else if (c == '\t') arg_text(e, "\\t");
  else if (c < 0x20) arg_text(e, "\\u00"), arg(e, hex[c >> 4]), arg(e, hex[c & 15]);
  else arg(e, c);
}

/* content is text of the answer that stands in the region. */
static void content(events *e, const byte *b, u32 n) {
  flush(e);
  put(CONTENT), put_text(b, n);
}

static void reasoning(events *e, const byte *b, u32 n) {
  flush(e);
  put(REASONING), put_text(b, n);
}

static void call_start(events *e, const byte *name, u32 n) {
  flush(e);
  put(CALL_START), put_int(e->next++), put_text(name, n), put_int(0); /* no id */
}

static void call_end(events *e) {
  flush(e);
  put(CALL_END), put_int(e->next - 1);
}

static void cut(events *e) {
  flush(e);
  put(CUT), put_int(e->next - 1);
}

static void repair(events *e, const char *how, u32 n) {
  flush(e);
  put(REPAIR), put_text((const byte *)how, n);
}

static void malformed(events *e, u32 from, u32 to) {
  flush(e);
  put(MALFORMED), put_int(from), put_int(to);
  e->ended = 1;
}

static void end(events *e, u32 to) {
  flush(e);
  put(END), put_int(to);
  e->ended = 1;
}

/* pack is a pointer and a length in one result. */
static u64 pack(const void *b, u32 n) { return n ? (u64)(u32)b << 32 | n : 0; }

static u64 take(void) {
  u32 n = outs;
  outs = 0;
  return pack(out, n);
}

/* Options. An encoding that ends early sets at to 0. */

typedef struct { const byte *at, *end; } text; /* also an encoding that is being read */

static u32 get_int(text *t) {
  u32 v = 0;
  for (int shift = 0; t->at && t->at < t->end && shift < 32; shift += 7) {
    byte c = *t->at++;
    v |= (u32)(c & 0x7f) << shift;
    if (c < 0x80) return v;
  }
  t->at = 0;
  return 0;
}

static text get_text(text *t) {
  u32 n = get_int(t);
  text s = {t->at, t->at};
  if (!t->at || n > (u32)(t->end - t->at)) s.at = s.end = t->at = 0;
  else s.end = t->at += n;
  return s;
}

static int is(text t, const byte *b, u32 n) { return t.at && (u32)(t.end - t.at) == n && same(t.at, b, n); }

typedef struct {
  text tools; /* encoded, in memory of their own */
  byte fenced;
  byte *room; /* that memory, which the next region uses again, and its size */
  u32 size;
} options;

/* get_options says whether the encoding can be read. */
static int get_options(options *o, const byte *b, u32 n) {
  text all = {b, b + n}, tools = {0, 0};
  o->fenced = 0;
  while (all.at < all.end) {
    byte key = *all.at++;
    text field = get_text(&all);
    if (!all.at) return 0;
    if (key == 1) tools = field;
    if (key == 3) o->fenced = field.at < field.end && *field.at;
  }
  n = tools.end - tools.at;
  if (n > o->size) o->room = more(o->size = n > PAGE ? n : PAGE);
  copy(o->room, tools.at, n);
  o->tools.at = n ? o->room : 0;
  o->tools.end = o->room + n;
  return 1;
}

/* find_tool gives the encoded parameters of a tool and says whether there is such a tool. */
static int find_tool(text tools, const byte *name, u32 n, text *params) {
  for (u32 count = get_int(&tools); count && tools.at; count--) {
    text tool = get_text(&tools);
    *params = tools;
    if (is(tool, name, n)) return 1;
    for (u32 i = get_int(&tools); i && tools.at; i--) get_text(&tools), get_int(&tools), get_int(&tools);
  }
  params->at = params->end = 0;
  return 0;
}

/* find_type is the types of a parameter, 0 if nobody described it. */
static byte find_type(text params, const byte *name, u32 n) {
  for (u32 count = get_int(&params); count && params.at; count--) {
    text param = get_text(&params);
    u32 types = get_int(&params);
    get_int(&params); /* required */
    if (is(param, name, n)) return (byte)types;
  }
  return 0;
}

/* Parsers. */

enum { STATE_ALIGN = 8 };

typedef struct {
  int (*can_parse)(const byte *head, u32 n);                /* NO, YES or MAYBE; YES and NO are for good */
  void (*open)(void *state, events *out, const options *o); /* state is zeros; keep the pointers in it */
  void (*feed)(void *state, const byte *text, u32 n);       /* the next bytes, which are gone afterwards */
  void (*finish)(void *state, int reason);                  /* the output ended: STOP or CUT_OFF */
  u32 size;                                                 /* bytes of the state of a region */
} parser;

typedef struct {
  const char *manifest;  /* JSON, ended by a zero */
  const parser *parsers; /* in the manifest's order */
  u32 count;
} plugin;

extern const plugin callgate_plugin; /* what the includer defines */

/* Regions. What one has taken the next one uses again. */

typedef struct {
  byte used;
  const parser *by;
  events out;
  options options;
  byte *state;
  u32 size; /* of the state's memory */
} region;

static region regions[MAX_HANDLES];

static region *find(int handle) {
  if (handle < 0 || handle >= MAX_HANDLES || !regions[handle].used || regions[handle].out.ended) return 0;
  return &regions[handle];
}

static u32 length(const char *s) {
  u32 n = 0;
  while (s[n]) n++;
  return n;
}

/* room_of_state gives memory of whole words, which are zeros. */
static byte *room_of_state(u32 n) {
  static byte *page;
  static u32 left;
  n = (n + STATE_ALIGN - 1) / STATE_ALIGN * STATE_ALIGN;
  if (n > left) {
    left = n > PAGE ? (n + PAGE - 1) / PAGE * PAGE : PAGE;
    page = more(left);
  }
  byte *b = page;
  page += n, left -= n;
  return b;
}

static void zero(u64 *at, u32 n) {
  for (n = (n + STATE_ALIGN - 1) / STATE_ALIGN; n; n--) *at++ = 0;
}

/* The exports. */

/* The buffer for the host to write to. */
EXPORT(alloc) byte *callgate_alloc(u32 n) {
  static byte *buffer;
  static u32 size;
  if (n > size || !size) {
    size = n > MAX_FEED ? n : MAX_FEED;
    buffer = more(size);
  }
  return buffer;
}

EXPORT(manifest) u64 callgate_manifest(void) { return pack(callgate_plugin.manifest, length(callgate_plugin.manifest)); }

EXPORT(can_parse) int callgate_can_parse(u32 index, const byte *head, u32 n) {
  return index < callgate_plugin.count ? callgate_plugin.parsers[index].can_parse(head, n) : NO;
}

EXPORT(open) int callgate_open(u32 index, const byte *b, u32 n) {
  if (index >= callgate_plugin.count) return UNKNOWN_PARSER;
  int handle = 0;
  while (regions[handle].used)
    if (++handle == MAX_HANDLES) return TOO_MANY;
  region *r = &regions[handle];
  if (!get_options(&r->options, b, n)) return BAD_OPTIONS;
  r->by = &callgate_plugin.parsers[index];
  if (r->by->size > r->size) r->state = room_of_state(r->size = r->by->size);
  zero((u64 *)r->state, r->by->size);
  r->out.next = r->out.ended = 0;
  r->used = 1;
  r->by->open(r->state, &r->out, &r->options);
  return handle;
}

EXPORT(feed) u64 callgate_feed(int handle, const byte *b, u32 n) {
  region *r = find(handle);
  if (!r) return 0;
  r->by->feed(r->state, b, n);
  flush(&r->out);
  return take();
}

EXPORT(finish) u64 callgate_finish(int handle, int reason) {
  region *r = find(handle);
  if (!r) return 0;
  r->by->finish(r->state, reason);
  flush(&r->out);
  return take();
}

EXPORT(close) void callgate_close(int handle) {
  if (handle >= 0 && handle < MAX_HANDLES) regions[handle].used = 0;
}

#pragma clang diagnostic pop
