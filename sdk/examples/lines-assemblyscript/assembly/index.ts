// A parser plugin in AssemblyScript. The format is described in README.md beside this folder;
// lines.ts reads it, and callgate.ts is the ABI for any parser.
import { Bytes } from "./callgate";
import { Lines, verdict } from "./lines";

const MAX_HANDLES = 16;
const MAX_FEED: u32 = 64 << 10;

const manifest = Bytes.of(
  '{"abi": 1, "name": "lines", "version": "1.0.0", "parsers": [{"name": "lines", "version": "1.0.0",' +
  '"priority": 60, "streams": true, "triggers": ["@@call "], "formats": ["@@call NAME, lines KEY: VALUE, @@end"],' +
  '"example": "@@call get_weather\\ncity: Oslo\\n@@end"}]}',
);
const input = new Bytes();
const regions = new StaticArray<Lines | null>(MAX_HANDLES);

function slot(handle: i32): Lines {
  const there = regions[handle];
  if (there != null) return there;
  const made = new Lines();
  regions[handle] = made;
  return made;
}

function find(handle: i32): Lines | null {
  if (<u32>handle >= <u32>MAX_HANDLES) return null;
  const region = regions[handle];
  if (region == null || !region.used || region.out.ended) return null;
  region.out.events.clear();
  return region;
}

function take(region: Lines): u64 {
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
  return parser == 0 ? verdict(at, n) : 0;
}

export function callgate1_open(parser: i32, at: usize, n: u32): i32 {
  if (parser != 0) return -1;
  for (let handle = 0; handle < MAX_HANDLES; handle++) {
    const region = slot(handle);
    if (region.used) continue;
    if (!region.options.decode(at, n)) return -2;
    region.reset();
    return handle;
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
  if (<u32>handle >= <u32>MAX_HANDLES) return;
  const region = regions[handle];
  if (region != null) region.used = false;
}
