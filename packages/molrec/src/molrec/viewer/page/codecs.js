// The codecs a record uses that zarrita lacks, or that a record needs done more strictly (docs/spec/zarr.md, codecs).
// zarrita itself decodes `bytes`, `gzip`, `transpose` and `sharding_indexed`.

import { DamagedError, RecordError } from "./errors.js";
import { decompress } from "./vendor/fzstd.js";
import { registry } from "./vendor/zarrita.js";

const CRC32C = new Uint32Array(256).map((_, byte) => {
  let remainder = byte;
  for (let bit = 0; bit < 8; bit += 1) remainder = remainder & 1 ? (remainder >>> 1) ^ 0x82f63b78 : remainder >>> 1;
  return remainder;
});

/** The CRC-32C (Castagnoli) of bytes. */
export function crc32c(bytes) {
  let remainder = 0xffffffff;
  for (let at = 0; at < bytes.length; at += 1) remainder = CRC32C[(remainder ^ bytes[at]) & 0xff] ^ (remainder >>> 8);
  return (remainder ^ 0xffffffff) >>> 0;
}

/** Byte 0 of every element, then byte 1 of every element, and so on, back in order; a rest stays at the end. */
export function unshuffle(bytes, size) {
  const count = Math.floor(bytes.length / size);
  const ordered = new Uint8Array(bytes.length);
  for (let plane = 0; plane < size; plane += 1) {
    for (let row = 0, at = plane * count; row < count; row += 1, at += 1) ordered[row * size + plane] = bytes[at];
  }
  ordered.set(bytes.subarray(count * size), count * size);
  return ordered;
}

const shuffle = (configuration) => {
  const size = configuration?.elementsize;
  if (!Number.isInteger(size) || size < 1) throw new RecordError(`a shuffle of ${JSON.stringify(size)}-byte elements`);
  return { kind: "bytes_to_bytes", decode: (bytes) => unshuffle(bytes, size) };
};

const checksum = () => ({
  kind: "bytes_to_bytes",
  decode(bytes) {
    const end = bytes.length - 4;
    const stored = end < 0 ? NaN : new DataView(bytes.buffer, bytes.byteOffset + end, 4).getUint32(0, true);
    const content = bytes.slice(0, Math.max(0, end)); // its own buffer: what decodes it may look at all of it
    if (crc32c(content) !== stored) throw new DamagedError("a checksum does not match: the file is damaged");
    return content;
  },
  computeEncodedSize: (size) => size + 4,
});

const zstd = () => ({
  kind: "bytes_to_bytes",
  decode(bytes) {
    try {
      return decompress(bytes);
    } catch (cause) {
      throw new DamagedError("zstd bytes cannot be decompressed: the file is damaged", { cause });
    }
  },
});

/** Strings: how many, then each with its length before it. */
const strings = (_, { shape }) => ({
  kind: "array_to_bytes",
  decode(bytes) {
    const utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    const data = [];
    try {
      for (let at = 4, left = view.getUint32(0, true); left > 0; left -= 1) {
        const end = at + 4 + view.getUint32(at, true);
        if (end > bytes.length) throw new RangeError("a string ends past its chunk");
        data.push(utf8.decode(bytes.subarray(at + 4, end)));
        at = end;
      }
    } catch (cause) {
      throw new DamagedError("a chunk of strings cannot be read: the file is damaged", { cause });
    }
    const stride = shape.map((_, axis) => shape.slice(axis + 1).reduce((product, extent) => product * extent, 1));
    return { data, shape, stride };
  },
});

/** Make zarrita decode by these. */
export function registerCodecs() {
  const codecs = { "numcodecs.shuffle": shuffle, crc32c: checksum, zstd, "vlen-utf8": strings };
  for (const [name, fromConfig] of Object.entries(codecs)) registry.set(name, () => ({ fromConfig }));
}
