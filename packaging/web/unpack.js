// Decodes LZMA, with the names of its specification. LZMA packs the module a quarter smaller than gzip, which looks back only
// 32 KiB. `input` has the format "alone": one byte of properties, four of the dictionary's size, eight of the result's size, and
// the range coder's bytes.
function unpack(input) {
  const properties = input[0];
  const literalContext = properties % 9;
  const positionMask = (1 << Math.floor(properties / 45)) - 1;
  const literalPositionMask = (1 << Math.floor(properties / 9) % 5) - 1;
  const out = new Uint8Array(new DataView(input.buffer, input.byteOffset).getUint32(5, true));
  let at = 13;
  let range = 0xffffffff;
  let code = 0;
  for (let i = 0; i < 5; ++i) code = ((code << 8) | input[at++]) >>> 0;

  function normalize() {
    if (range < 0x1000000) {
      range = (range << 8) >>> 0;
      code = ((code << 8) | input[at++]) >>> 0;
    }
  }
  function bit(chances, index) {
    const chance = chances[index];
    const bound = (range >>> 11) * chance;
    if (code < bound) {
      range = bound;
      chances[index] = chance + ((2048 - chance) >> 5);
      normalize();
      return 0;
    }
    range -= bound;
    code -= bound;
    chances[index] = chance - (chance >> 5);
    normalize();
    return 1;
  }
  function tree(chances, base, bits) {
    let node = 1;
    for (let i = 0; i < bits; ++i) node = (node << 1) | bit(chances, base + node);
    return node - (1 << bits);
  }
  function reversed(chances, base, bits) {
    let node = 1;
    let value = 0;
    for (let i = 0; i < bits; ++i) {
      const next = bit(chances, base + node);
      node = (node << 1) | next;
      value |= next << i;
    }
    return value;
  }
  function direct(bits) {
    let value = 0;
    for (let i = 0; i < bits; ++i) {
      range >>>= 1;
      const next = code >= range ? 1 : 0;
      if (next) code -= range;
      normalize();
      value = (value << 1) | next;
    }
    return value;
  }

  const even = (count) => new Uint16Array(count).fill(1024);
  const literals = even(0x300 * (literalPositionMask + 1) << literalContext);
  const isMatch = even(12 * 16);
  const isRepeat = even(12);
  const isRepeat0 = even(12);
  const isRepeat1 = even(12);
  const isRepeat2 = even(12);
  const isLongRepeat = even(12 * 16);
  const slots = even(4 * 64);
  const special = even(128);
  const align = even(16);
  const lengths = () => ({ choice: even(2), low: even(16 * 8), middle: even(16 * 8), high: even(256) });
  const matchLengths = lengths();
  const repeatLengths = lengths();
  function length({ choice, low, middle, high }, position) {
    if (bit(choice, 0) === 0) return 2 + tree(low, position * 8, 3);
    if (bit(choice, 1) === 0) return 10 + tree(middle, position * 8, 3);
    return 18 + tree(high, 0, 8);
  }
  function distance(size) {
    const slot = tree(slots, Math.min(size - 2, 3) * 64, 6);
    if (slot < 4) return slot;
    const bits = (slot >> 1) - 1;
    const base = (2 | (slot & 1)) << bits;
    if (slot < 14) return base + reversed(special, base - slot, bits);
    return base + (direct(bits - 4) << 4) + reversed(align, 0, 4);
  }

  let state = 0;
  let [near, second, third, fourth] = [0, 0, 0, 0];
  let end = 0;
  while (end < out.length) {
    const position = end & positionMask;
    if (bit(isMatch, state * 16 + position) === 0) {
      const before = end > 0 ? out[end - 1] : 0;
      const base = 0x300 * (((end & literalPositionMask) << literalContext) + (before >> (8 - literalContext)));
      let symbol = 1;
      if (state >= 7) {
        let like = out[end - near - 1];
        while (symbol < 0x100) {
          const expected = (like >> 7) & 1;
          like <<= 1;
          const next = bit(literals, base + ((1 + expected) << 8) + symbol);
          symbol = (symbol << 1) | next;
          if (next !== expected) break;
        }
      }
      while (symbol < 0x100) symbol = (symbol << 1) | bit(literals, base + symbol);
      out[end++] = symbol;
      state = state < 4 ? 0 : state < 10 ? state - 3 : state - 6;
      continue;
    }
    let size;
    if (bit(isRepeat, state) === 0) {
      size = length(matchLengths, position);
      [near, second, third, fourth] = [distance(size), near, second, third];
      state = state < 7 ? 7 : 10;
    } else {
      if (bit(isRepeat0, state) === 0) {
        if (bit(isLongRepeat, state * 16 + position) === 0) {
          out[end] = out[end - near - 1];
          ++end;
          state = state < 7 ? 9 : 11;
          continue;
        }
      } else if (bit(isRepeat1, state) === 0) {
        [near, second] = [second, near];
      } else if (bit(isRepeat2, state) === 0) {
        [near, second, third] = [third, near, second];
      } else {
        [near, second, third, fourth] = [fourth, near, second, third];
      }
      size = length(repeatLengths, position);
      state = state < 7 ? 8 : 11;
    }
    for (let i = 0; i < size && end < out.length; ++i, ++end) out[end] = out[end - near - 1];
  }
  return out;
}
