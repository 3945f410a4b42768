// Rows of one array, through zarrita, with the checks a record asks for (docs/spec/zarr.md, checksums, missing chunks).

import { DamagedError, RecordError } from "./errors.js";
import { readDocument } from "./files.js";
import * as zarr from "./vendor/zarrita.js";

const CACHED_BYTES = 128 << 20;
const DTYPES = {
  float64: "f64",
  int8: "i8",
  int16: "i16",
  int32: "i32",
  int64: "i64",
  uint8: "u8",
  uint16: "u16",
  uint32: "u32",
  uint64: "u64",
  bool: "bool",
  string: "string",
  complex64: "c64",
  complex128: "c128",
};
const REAL_PARTS = { complex64: "float32", complex128: "float64" };

/** Decoded chunks of all arrays of a record, the least recently used dropped first. */
export class ChunkCache {
  #chunks = new Map();
  #bytes = 0;

  async get(key, load) {
    let found = this.#chunks.get(key);
    if (found) {
      this.#chunks.delete(key);
    } else {
      found = { chunk: load(), bytes: 0 };
      found.chunk.then(
        ({ data }) => this.#grow(found, data.byteLength ?? 64 * data.length),
        () => this.#chunks.delete(key),
      );
    }
    this.#chunks.set(key, found);
    return found.chunk;
  }

  #grow(found, bytes) {
    found.bytes = bytes;
    this.#bytes += bytes;
    for (const [key, oldest] of this.#chunks) {
      if (this.#bytes <= CACHED_BYTES || oldest === found) break;
      if (oldest.bytes === 0) continue; // still being read
      this.#chunks.delete(key);
      this.#bytes -= oldest.bytes;
    }
  }
}

/** Opens the array at a path; undefined where there is none. */
export async function openArray(files, path, cache) {
  const document = await readDocument(files, path);
  if (!document) return undefined;
  if (document.node_type !== "array") throw new RecordError(`${path} is a group where an array belongs.`);
  const dtype = DTYPES[document.data_type];
  if (!dtype) throw new RecordError(`${path} holds ${JSON.stringify(document.data_type)}, which no record may.`);
  return new RecordArray(files, path, document, dtype, cache);
}

class RecordArray {
  #array;

  constructor(files, path, document, dtype, cache) {
    this.path = path;
    this.dtype = dtype;
    this.shape = document.shape;
    this.attributes = document.attributes ?? {};
    this.codecs = codecNames(document.codecs);
    this.#array = this.#open(files, document, cache);
  }

  /** Rows `start` up to `stop` along the first axis: C order; strings in an array, bool as bytes, complex as pairs. */
  async rows(start, stop) {
    if (stop > this.shape[0]) throw new RecordError(`${this.path} is too short: ${this.shape[0]} rows, not ${stop}.`);
    const trailing = this.#array.shape.slice(1);
    const size = trailing.reduce((product, extent) => product * extent, stop - start);
    if (size === 0) return this.dtype === "string" ? [] : typed(this.#array.dtype, 0);
    const read = () => zarr.get(this.#array, [zarr.slice(start, stop), ...trailing.map(() => null)]);
    let found;
    try {
      found = await read().catch((error) => {
        if (!isDamage(error)) throw error;
        return read(); // a writer may have been in the middle of rewriting it
      });
    } catch (error) {
      throw this.#inWords(error);
    }
    return inRowOrder(found);
  }

  /** All rows up to `stop`. */
  all(stop = this.shape[0]) {
    return this.rows(0, stop);
  }

  #open(files, document, cache) {
    const sharding = document.codecs.find(({ name }) => name === "sharding_indexed");
    if (sharding && document.codecs.length > 1) {
      throw new RecordError(`${this.path} has codecs around its shards, which this page cannot read.`);
    }
    const metadata = withRealParts(document);
    const array = new zarr.Array(this.#store(files, document, sharding), "/", metadata);
    const everyChunkWritten = document.attributes?._molrec?.every_chunk_written === true;
    const getChunk = array.getChunk.bind(array);
    const extents = array.chunks.reduce((product, extent) => product * extent, 1);
    const load = async (position, options, more) => {
      const request = { ...options, found: false };
      const chunk = await getChunk(position, request, more);
      if (everyChunkWritten && !request.found) {
        throw new DamagedError(`chunk ${position} is missing, though the array states that all are written`);
      }
      if (chunk.data.length !== extents) throw new DamagedError(`chunk ${position} decodes to a wrong size`);
      return chunk;
    };
    array.getChunk = (position, options, more) =>
      cache.get(`${this.path} ${position}`, () => load(position, options, more));
    return array;
  }

  // zarrita asks for a shard's index as the end of the file. It may be at the start, and only there it asks for an end.
  #store(files, document, sharding) {
    const atStart = sharding?.configuration.index_location === "start";
    const pairs = document.data_type in REAL_PARTS; // the axis added for them is no part of a chunk's name
    const named = (key) => this.path + (pairs ? key.replace(/[/.]0$/, "") : key);
    return {
      async get(key, options) {
        const bytes = await files.whole(named(key));
        if (options && bytes) options.found = true;
        return bytes;
      },
      async getRange(key, range, options) {
        if ("suffixLength" in range) {
          const length = range.suffixLength;
          return atStart ? files.range(named(key), 0, length) : files.tail(named(key), length);
        }
        const bytes = await files.range(named(key), range.offset, range.length);
        if (bytes?.length !== range.length) throw new DamagedError("a chunk lies outside its file");
        options.found = true;
        return bytes;
      },
    };
  }

  #inWords(error) {
    if (error instanceof RecordError && !(error instanceof DamagedError)) return error;
    const said = error.cause instanceof Error ? error.cause.message : error.message;
    return new RecordError(`${this.path} cannot be read: ${said}.`, { cause: error });
  }
}

function isDamage(error) {
  return error instanceof DamagedError || error.cause instanceof DamagedError;
}

/** Codec names, those inside shards included. */
function codecNames(codecs) {
  return codecs.flatMap(({ name, configuration }) => [name, ...codecNames(configuration?.codecs ?? [])]);
}

// zarrita knows no complex numbers: read them as pairs of real ones, which is how they are stored.
function withRealParts(document) {
  const real = REAL_PARTS[document.data_type];
  if (!real) return document;
  const [re, im] = document.fill_value;
  if (re !== im) throw new RecordError("A complex array with an unusual fill value cannot be shown.");
  const wider = structuredClone({ ...document, data_type: real, fill_value: re, shape: [...document.shape, 2] });
  wider.chunk_grid.configuration.chunk_shape.push(2);
  for (const codec of wider.codecs) widen(codec, document.shape.length);
  return wider;
}

function widen({ name, configuration }, rank) {
  if (name === "transpose") configuration.order.push(rank);
  if (name !== "sharding_indexed") return;
  configuration.chunk_shape.push(2);
  for (const codec of configuration.codecs) widen(codec, rank);
}

function typed(dtype, size) {
  const constructors = {
    float64: Float64Array,
    float32: Float32Array,
    int8: Int8Array,
    int16: Int16Array,
    int32: Int32Array,
    int64: BigInt64Array,
    uint8: Uint8Array,
    uint16: Uint16Array,
    uint32: Uint32Array,
    uint64: BigUint64Array,
    bool: Uint8Array,
  };
  return new constructors[dtype](size);
}

// zarrita keeps the order of a transposed array; rows here are always in C order.
function inRowOrder({ data, shape, stride }) {
  const plain = data instanceof zarr.BoolArray ? new Uint8Array(data.buffer, data.byteOffset, data.length) : data;
  const wanted = shape.map((_, axis) => shape.slice(axis + 1).reduce((product, extent) => product * extent, 1));
  if (wanted.every((step, axis) => step === stride[axis] || shape[axis] === 1)) return plain;
  const ordered = plain.slice();
  for (let at = 0; at < ordered.length; at += 1) {
    const from = wanted.reduce((sum, step, axis) => sum + (Math.floor(at / step) % shape[axis]) * stride[axis], 0);
    ordered[at] = plain[from];
  }
  return ordered;
}
