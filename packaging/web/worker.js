// Runs the program in a worker. A request has arguments and files; the answer has the output and the exit status. assemble.mjs
// joins this file, emscripten's module (Kvplan) and unpack.js into one script.
"use strict";
const folder = "/files"; // not the home folder: a link's files are no cache and no settings
let compiled = null;
let program = null;
let has = 0; // the version of the files that the program has
let out = [];
let err = [];

async function compile(base64) {
  compiled = await WebAssembly.compile(unpack(Uint8Array.from(atob(base64), (c) => c.charCodeAt(0))));
}

async function start() {
  program = await Kvplan({
    instantiateWasm: (imports, done) => {
      WebAssembly.instantiate(compiled, imports).then((instance) => done(instance));
      return {};
    },
    stdin: () => null,
    stdout: (byte) => byte !== null && out.push(byte),
    stderr: (byte) => byte !== null && err.push(byte),
  });
  const { FS, WORKERFS } = program;
  // To map a file, copies the requested part.
  WORKERFS.stream_ops.mmap = (stream, address, length, position, protection, flags) => {
    const contents = new Uint8Array(new FileReaderSync().readAsArrayBuffer(stream.node.contents.slice(position, position + length)));
    return FS.filesystems.MEMFS.stream_ops.mmap({ node: { mode: stream.node.mode, contents } }, address, length, 0, protection, flags);
  };
  FS.mkdirTree(folder);
  FS.chdir(folder);
  has = 0;
}

function remove(path) {
  if (program.FS.analyzePath(path, true).exists) program.FS.unlink(path);
}

// Small files come as texts. Of a large file, the program reads only the header, through WORKERFS.
function put(files) {
  const { FS, WORKERFS } = program;
  const place = "/large" + ++put.mounts;
  const blobs = files.filter((file) => file.blob).map((file, index) => ({ name: String(index), data: file.blob }));
  if (blobs.length) {
    FS.mkdir(place);
    FS.mount(WORKERFS, { blobs }, place);
  }
  let index = 0;
  for (const { name, text } of files) {
    const path = folder + "/" + name;
    FS.mkdirTree(path.slice(0, path.lastIndexOf("/")));
    remove(path);
    if (text !== undefined) FS.writeFile(path, text);
    else FS.symlink(place + "/" + index++, path);
  }
}
put.mounts = 0;

const text = (bytes) => new TextDecoder().decode(new Uint8Array(bytes));

function run(words, output) {
  out = [];
  err = [];
  if (output) remove(folder + "/" + output);
  const exit = program.callMain(words);
  const written = output && program.FS.analyzePath(folder + "/" + output).exists;
  return { exit, out: written ? program.FS.readFile(output, { encoding: "utf8" }) : text(out), err: text(err) };
}

async function answer({ id, packed, files, version, words, output }) {
  if (packed) await compile(packed);
  if (!program) await start();
  if (files && version !== has) {
    put(files);
    has = version;
  }
  try {
    postMessage({ id, ...(words ? run(words, output) : { ready: true }) });
  } catch (error) {
    program = null; // what a fault left behind is not asked again
    throw error;
  }
}

// Handles one request after the other; a request before the module has loaded waits.
let last = Promise.resolve();
if (typeof WorkerGlobalScope !== "undefined")
  onmessage = ({ data }) => {
    const failed = (error) => postMessage({ id: data.id, exit: 2, out: "", err: "kvplan: internal error (" + error + "); please report it" });
    last = last.then(() => answer(data)).catch(failed);
  };
