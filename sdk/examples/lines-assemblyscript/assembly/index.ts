// A parser plugin. parser.ts reads the format, and callgate.ts is the ABI for any parser.
import { Kind, Parser, plugin } from "./callgate";
import { Lines, verdict } from "./parser";

export {
  callgate1_alloc, callgate1_can_parse, callgate1_close, callgate1_feed, callgate1_finish, callgate1_manifest, callgate1_open,
} from "./callgate";

plugin(
  '{"abi": 1, "name": "my_model", "version": "0.1.0", "parsers": [{"name": "my_model", "version": "0.1.0",' +
  '"priority": 60, "streams": true, "triggers": ["@@call "], "formats": ["@@call NAME, lines KEY: VALUE, @@end"],' +
  '"example": "@@call get_weather\\ncity: Oslo\\n@@end"}]}',
  [new Kind(verdict, (): Parser => new Lines())],
);
