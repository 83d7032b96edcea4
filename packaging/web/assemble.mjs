// The page and the table beside it, around a finished module:
//
//   node assemble.mjs KVPLAN.js KVPLAN.wasm CONFIGS OUT
//
// What the page offers (engines, cards, types, options) and every figure of the table are asked of the module.
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { readFileSync, readdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";

const [glue, wasm, configs, out] = process.argv.slice(2);
const here = dirname(fileURLToPath(import.meta.url));
const beside = (name) => readFileSync(join(here, name), "utf8");
// LZMA with the length in its header; Python has the packer.
const packer = `
import lzma, struct, sys
whole = sys.stdin.buffer.read()
packed = lzma.compress(whole, lzma.FORMAT_ALONE, filters=[{"id": lzma.FILTER_LZMA1, "preset": 9 | lzma.PRESET_EXTREME, "lc": 4, "pb": 0, "dict_size": 1 << 22}])
sys.stdout.buffer.write(packed[:5] + struct.pack("<Q", len(whole)) + packed[13:])`;
const packed = execFileSync("python3", ["-c", packer], { input: readFileSync(wasm), maxBuffer: 1 << 26 });
const workerScript = [readFileSync(glue, "utf8"), beside("unpack.js"), beside("worker.js")].join("\n");

const files = readdirSync(configs).filter((name) => name.endsWith(".json")).sort();
const examples = Object.fromEntries(files.map((name) => [name, readFileSync(join(configs, name), "utf8")]));

// The worker's own functions, here.
const room = new Function("self", workerScript + "\nreturn { compile, start, put, run };");
const program = room({ location: { href: "" } });
await program.compile(packed.toString("base64"));
await program.start();
program.put(Object.entries(examples).map(([name, text]) => ({ name, text })));
function ask(...words) {
  const reply = program.run(words);
  if (!reply.out) throw new Error(`kvplan ${words.join(" ")}: ${reply.err}`);
  return reply.out;
}
const data = (...words) => JSON.parse(ask(...words, "--json"));

// Its shell completion says each option's names, what it takes a value of, and what it chooses from.
const completions = ask("completions", "bash");
const options = [];
for (const [, names, choices] of completions.matchAll(/^ {4}(-\S+)\) (?:COMPREPLY=\(\$\(compgen -W '([^']*)')?/gm))
  options.push({ names: names.split("|"), choices: choices ? choices.split(" ") : [] });
const takesValue = new Set(options.flatMap((option) => option.names));
const all = new Set([...completions.matchAll(/options='([^']*)'/g)].flatMap(([, names]) => names.split(" ")));
const { engines, kvplan_version: version } = data("engines");
const { gpus } = data("gpus");
const catalogue = {
  options: options.map(({ names, choices }) => ({ names, choices: names.includes("--gpu") ? [] : choices })),
  flags: [...all].filter((name) => !takesValue.has(name)),
  commands: ["plan", "help", ...completions.match(/^ {4}(compare\|\S+)\)/m)[1].split("|")],
  engines: engines.map(({ engine }) => ({ engine })),
  gpus: gpus.map(({ vendor, name, memory_bytes }) => ({ vendor, name, memory_bytes })),
  examples,
};

const report = ask(files[0], "--format", "html");
const reportStyle = report.match(/<style>([^]*?)<\/style>/)[1];
const style = reportStyle + beside("page.css");

// A text inside a script element ends at its end tag alone.
const inScript = (text) => text.replaceAll("</script", "<\\/script").replaceAll("<!--", "<\\!--");
const filled = (template, values) => template.replace(/@([A-Z_]+)@/g, (whole, name) => values[name] ?? whole);
const hashed = (text) => "sha256-" + createHash("sha256").update(text).digest("base64");
const pageScript = inScript(beside("page.js"));
const page = filled(beside("page.html"), {
  STYLE: style,
  STYLE_HASH: hashed(style),
  VERSION: version,
  CATALOGUE: JSON.stringify(catalogue).replaceAll("<", "\\u003c"),
  PAGE_JS: pageScript,
  PAGE_JS_HASH: hashed(pageScript),
  WORKER_JS: inScript(workerScript),
  WASM: packed.toString("base64"),
});

// --- the table ---

const shownEngines = ["vllm", "sglang", "llama.cpp"];
const shownCards = [
  { title: "one card", cards: ["rtx-3060", "rtx-4090", "rtx-5090", "l40s", "a100-80gb", "h100-80gb", "h200", "mi300x-192gb"], count: 1 },
  { title: "eight", cards: ["h100-80gb", "h200"], count: 8 },
];
const tokens = 8192;
const escaped = (text) => String(text).replace(/[&<>"']/g, (c) => `&#${c.charCodeAt(0)};`);
const short = (n) => (n >= 1024 ? Math.floor(n / 1024).toLocaleString("en") + "k" : String(n));
const link = (line) => "./#q=" + encodeURIComponent(line).replaceAll("%20", "+");

function cell(row, each, count) {
  const line = `kvplan ${row.source} --engine ${row.engine} --gpu ${each.gpu}${count > 1 ? ` --gpu-count ${count}` : ""} --max-model-len ${tokens}`;
  const said = (text, tone, title) => `<a href="${escaped(link(line))}"${tone ? ` class="${tone}"` : ""}${title ? ` title="${escaped(title)}"` : ""}>${text}</a>`;
  if (each.error) return [said("not planned", "muted", each.error), ""];
  const { verdict } = each;
  if (verdict.refusal) return [said("does not start", "muted", verdict.refusal), ""];
  if (!verdict.starts) return [said(`${(-verdict.headroom_bytes / 2 ** 30).toFixed(1)} GiB short`, "muted", verdict.reason), ""];
  const longest = each.max_model_len === null ? "any" : short(each.max_model_len);
  const sequences = each.max_num_seqs === null ? "any" : each.max_num_seqs.toLocaleString("en");
  return [said(longest, verdict.status === "fits" ? "good" : "warn"), sequences];
}

let tables = "";
let index = "";
for (const { cards, count } of shownCards) {
  const answer = data(...files, "--engine", shownEngines.join(","), "--gpu", cards.join(","), "--gpu-count", String(count), "--max-model-len", String(tokens));
  answer.cards.forEach((card, place) => {
    const title = (count > 1 ? count + " x " : "") + card.gpu;
    const id = title.replaceAll(" ", "");
    index += `<a href="#${id}">${escaped(title)}</a> `;
    const head = ["model", ...shownEngines.flatMap((engine) => [engine + ": longest", engine + ": at 8k"])];
    tables += `<section id="${id}"><h2>${escaped(title)}, ${(card.gpu_memory_bytes / 2 ** 30).toFixed(1)} GiB${count > 1 ? " each" : ""}</h2>\n<div class="scroll"><table>\n<thead><tr>`;
    tables += head.map((text, at) => `<th scope="col"${at ? ' class="n"' : ""}>${escaped(text)}</th>`).join("") + "</tr></thead>\n<tbody>\n";
    for (const source of files) {
      const rows = shownEngines.map((engine) => answer.rows.find((row) => row.source === source && row.engine === engine));
      const cells = [escaped(source.replace(/\.json$/, "")), ...rows.flatMap((row) => (row ? cell(row, row.cells[place], count) : ["", ""]))];
      tables += "<tr>" + cells.map((text, at) => `<td data-name="${escaped(head[at])}" class="${at ? "n" : ""}${text ? "" : " empty"}"><span>${text}</span></td>`).join("") + "</tr>\n";
    }
    tables += "</tbody>\n</table></div></section>\n";
  });
}
const newest = shownEngines.map((engine) => `${engine} ${engines.filter((row) => row.engine === engine).at(-1).release}`).join(", ");
const models = filled(beside("models.html"), { STYLE: style, STYLE_HASH: hashed(style), VERSION: version, INDEX: index, TABLES: tables, NEWEST: newest });

const hash = createHash("sha256").update(page).update(models).digest("hex").slice(0, 16);
const written = { "index.html": page, "models.html": models, "sw.js": filled(beside("sw.js"), { HASH: hash }) };
let total = 0;
for (const [name, text] of Object.entries(written)) {
  writeFileSync(join(out, name), text);
  const size = gzipSync(text, { level: 9 }).length;
  total += size;
  console.log(`${name}: ${text.length} characters, ${size} by gzip`);
}
console.log(`kvplan.wasm: ${readFileSync(wasm).length} bytes, ${packed.length} by LZMA`);
const limit = 800 * 1024;
console.log(`the page: ${total} bytes by gzip, the limit is ${limit}`);
if (total > limit) process.exit(1);
