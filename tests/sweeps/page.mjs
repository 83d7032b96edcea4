// The page's worker in Node: node page.mjs SOURCE, with [{files: {name: text}, words}] on standard input.
import { readFileSync } from "node:fs";

const source = process.argv[2];
const script = ["build-web/kvplan.js", "packaging/web/worker.js"].map((path) => readFileSync(`${source}/${path}`, "utf8")).join("\n");
const open = "\nreturn { load: async (bytes) => { compiled = await WebAssembly.compile(bytes); await start(); }, put, run };";
const program = new Function("self", script + open)({ location: { href: "" } });
await program.load(readFileSync(`${source}/build-web/kvplan.wasm`));
const replies = JSON.parse(readFileSync(0, "utf8")).map(({ files, words }) => {
  program.put(Object.entries(files).map(([name, text]) => ({ name, text })));
  return program.run(words);
});
process.stdout.write(JSON.stringify(replies));
