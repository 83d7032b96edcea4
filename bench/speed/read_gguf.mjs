// Reads the header of a GGUF file with one of npm's readers, as its page says.
// It is copied to the folder where npm installed them, from where node looks for them.
// usage: node read_gguf.mjs PACKAGE FILE BYTES; BYTES is the header's length, for the one that wants it in memory.
import fs from 'node:fs';

const [reader, file, bytes] = process.argv.slice(2);
let context;
if (reader === '@huggingface/gguf') {
  const { gguf } = await import(reader);
  context = (await gguf(file, { allowLocalFile: true })).metadata['llama.context_length'];
} else if (reader === 'gguf') {
  const { metadata, error } = await (await import(reader)).default.default(file);
  if (error) throw error;
  context = metadata.llama.context_length;
} else {
  const { ggufMetadata } = await import(reader);
  const head = new Uint8Array(Number(bytes));
  fs.readSync(fs.openSync(file, 'r'), head, 0, head.length, 0);
  context = ggufMetadata(head.buffer).metadata['llama.context_length'];
}
if (Number(context) !== 131072) throw new Error(`${reader} read a context of ${context}`);
console.log(context);
