// The directory of a packed record (docs/spec/record.md, packed form): stored entries, found from the end of the file.

import { RecordError } from "./errors.js";
import { fetchRange, fetchTail } from "./http.js";

const END = 0x06054b50;
const END_64 = 0x06064b50;
const LOCATOR_64 = 0x07064b50;
const ENTRY = 0x02014b50;
const LOCAL = 0x04034b50;
const LONGEST_TAIL = 22 + 20 + 0xffff; // the end record, its ZIP64 locator, and the longest comment
const IN_ONE_REQUEST = 1 << 16;
const UTF8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/** The files of a packed record, read by range and never as a whole. */
export class ZipFiles {
  #url;
  #entries;

  /** Reads the directory of the archive at `url`. */
  static async open(url) {
    const tail = await fetchTail(url, LONGEST_TAIL);
    if (!tail) throw new RecordError("The packed record is gone.");
    const files = new ZipFiles();
    files.#url = url;
    files.#entries = await readDirectory(url, tail);
    return files;
  }

  /** Names of the files, sorted. */
  get names() {
    return [...this.#entries.keys()].sort();
  }

  /** The whole of a file; undefined where there is none. */
  async whole(name) {
    const entry = this.#entries.get(name);
    return entry && this.#read(entry, 0, entry.size);
  }

  /** Part of a file, fewer bytes where it ends; undefined where there is none. */
  async range(name, start, length) {
    const entry = this.#entries.get(name);
    return entry && this.#read(entry, start, Math.min(length, Math.max(0, entry.size - start)));
  }

  /** The last bytes of a file; undefined where there is none. */
  async tail(name, length) {
    const entry = this.#entries.get(name);
    return entry && this.#read(entry, Math.max(0, entry.size - length), Math.min(length, entry.size));
  }

  async #read(entry, start, length) {
    if (entry.data === undefined && start + length <= IN_ONE_REQUEST) {
      // The local header is as long as this or differs by a little: ask for header and bytes at once.
      const bytes = await fetchRange(this.#url, entry.header, entry.expected + start + length + 64);
      entry.data = entry.header + localHeaderSize(bytes, entry);
      const from = entry.data - entry.header + start;
      if (from + length <= bytes.length) return bytes.slice(from, from + length);
    }
    entry.data ??= entry.header + localHeaderSize(await fetchRange(this.#url, entry.header, 30), entry);
    const bytes = await fetchRange(this.#url, entry.data + start, length);
    if (bytes?.length !== length) throw new RecordError(`${entry.name} reaches past the end of the packed record.`);
    return bytes;
  }
}

function localHeaderSize(bytes, entry) {
  if (!(bytes?.length >= 30) || view(bytes).getUint32(0, true) !== LOCAL) {
    throw new RecordError(`The packed record is damaged: ${entry.name} is not where its directory says.`);
  }
  return 30 + view(bytes).getUint16(26, true) + view(bytes).getUint16(28, true);
}

async function readDirectory(url, { bytes, size }) {
  const { offset, length, count } = await findDirectory(url, bytes, size);
  const inTail = offset - (size - bytes.length);
  const directory = inTail >= 0 ? bytes.subarray(inTail, inTail + length) : await fetchRange(url, offset, length);
  if (directory?.length !== length) throw new RecordError("The packed record is cut off: its directory is incomplete.");
  const entries = new Map();
  for (let at = 0; at < length;) {
    const entry = readEntry(directory, at);
    at = entry.next;
    if (entry.name.endsWith("/") && entry.size === 0) continue;
    refuseName(entry.name, entries);
    entries.set(entry.name, entry);
  }
  if (entries.size > count) throw new RecordError("The packed record is damaged: its directory has too many entries.");
  return entries;
}

async function findDirectory(url, bytes, size) {
  const data = view(bytes);
  for (let at = bytes.length - 22; at >= 0; at -= 1) {
    if (data.getUint32(at, true) !== END || at + 22 + data.getUint16(at + 20, true) !== bytes.length) continue;
    const found = {
      count: data.getUint16(at + 10, true),
      length: data.getUint32(at + 12, true),
      offset: data.getUint32(at + 16, true),
    };
    const locator = at - 20;
    if (locator < 0 || data.getUint32(locator, true) !== LOCATOR_64) return found;
    const end = await fetchRange(url, wide(data, locator + 8), 56);
    if (end?.length !== 56 || view(end).getUint32(0, true) !== END_64) break;
    return { count: wide(view(end), 32), length: wide(view(end), 40), offset: wide(view(end), 48) };
  }
  throw new RecordError(`This is no packed record: no ZIP directory at the end of its ${size} bytes.`);
}

function readEntry(directory, at) {
  const data = view(directory);
  if (at + 46 > directory.length || data.getUint32(at, true) !== ENTRY) {
    throw new RecordError("The packed record is damaged: its directory cannot be read.");
  }
  const [nameLength, extraLength, commentLength] = [28, 30, 32].map((field) => data.getUint16(at + field, true));
  const next = at + 46 + nameLength + extraLength + commentLength;
  if (next > directory.length) throw new RecordError("The packed record is damaged: its directory is cut off.");
  const name = UTF8.decode(directory.subarray(at + 46, at + 46 + nameLength));
  if (data.getUint16(at + 10, true) !== 0 || data.getUint16(at + 8, true) & 1) {
    throw new RecordError(
      `${name} is compressed or encrypted in the archive; a packed record stores its files as they are.`,
    );
  }
  const entry = { name, next, size: data.getUint32(at + 24, true), header: data.getUint32(at + 42, true) };
  let stored = data.getUint32(at + 20, true);
  // ZIP64: the fields that do not fit stand in extra field 1, in this order
  const large = extraField(directory, at + 46 + nameLength, extraLength);
  let from = 0;
  const widen = (value) => (value === 0xffffffff && large ? wide(large, (from += 8) - 8) : value);
  entry.size = widen(entry.size);
  stored = widen(stored);
  entry.header = widen(entry.header);
  if (stored !== entry.size) throw new RecordError(`The packed record is damaged: ${name} has two sizes.`);
  entry.expected = 30 + nameLength + extraLength;
  return entry;
}

function extraField(directory, start, length) {
  const data = view(directory);
  for (let at = start; at + 4 <= start + length; at += 4 + data.getUint16(at + 2, true)) {
    if (data.getUint16(at, true) === 1) return view(directory.subarray(at + 4, at + 4 + data.getUint16(at + 2, true)));
  }
  return undefined;
}

function refuseName(name, entries) {
  const parts = name.split("/");
  if (name.includes("\\") || parts.some((part) => part === "" || part === "." || part === "..") || entries.has(name)) {
    throw new RecordError(
      `The packed record has a file name that is forbidden or there twice: ${JSON.stringify(name)}.`,
    );
  }
}

function view(bytes) {
  return new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

function wide(data, at) {
  return Number(data.getBigUint64(at, true));
}
