// A record: its sections, its frames, and nothing read before it is asked for (docs/spec/record.md, frame.md).

import { ChunkCache, openArray } from "./arrays.js";
import { cell } from "./cell.js";
import { RecordError } from "./errors.js";
import { openFiles, readDocument } from "./files.js";
import { Trajectory } from "./trajectory.js";

const NEWEST_VERSION = 1;
const SECTIONS = ["meta", "system", "frame", "trajectory", "forcefield", "observables", "method", "status", "metrics"];

/** An open record. */
export class Record {
  #arrays = new Map();
  #cache = new ChunkCache();
  #files;
  #nodes;

  /** Opens what the server's `record.json` describes. */
  static async open(description) {
    const record = new Record();
    record.name = description.name;
    record.form = description.form;
    record.#files = await openFiles(description);
    record.#nodes = new Set(record.#files.nodes);
    const root = await readDocument(record.#files, "");
    if (root?.node_type !== "group") throw new RecordError(`${record.name} is no record: it has no Zarr V3 group.`);
    record.meta = (await record.document("meta"))?.attributes ?? {};
    refuseVersion(record.meta);
    record.sections = record.#sections();
    for (const name of ["system", "frame"]) record[name] = await FrameGroup.open(record, name);
    record.trajectory = await Trajectory.open(record);
    return record;
  }

  /** How many frames can be shown: those of the trajectory, else one where a section holds a frame. */
  get length() {
    return this.trajectory ? this.trajectory.length : Number(Boolean(this.frame ?? this.system));
  }

  /**
   * All values of a frame, as stored: `{blocks, box}` and, of a trajectory, `ordinal`, `step`, `time` and `meta`.
   *
   * @param wanted - names the columns to read of a block it is given; all if absent
   */
  async values(ordinal, wanted) {
    const { trajectory } = this;
    if (trajectory) return { ...(await trajectory.frame(ordinal, wanted)), meta: await trajectory.meta(ordinal) };
    const group = this.frame ?? this.system;
    if (!group || ordinal !== 0) throw new RecordError(`There is no frame ${ordinal}; there are ${this.length}.`);
    return group.values(wanted);
  }

  /** The `zarr.json` of a node; undefined where there is none. The list of nodes says what is there. */
  async document(path) {
    return this.#nodes.has(path) ? readDocument(this.#files, path) : undefined;
  }

  /** The array at a path, opened once; undefined where there is none. */
  async array(path) {
    if (!this.#nodes.has(path)) return undefined;
    if (!this.#arrays.has(path)) this.#arrays.set(path, openArray(this.#files, path, this.#cache));
    return this.#arrays.get(path);
  }

  /** Names of the groups and arrays directly below a path. */
  children(path) {
    const prefix = path ? `${path}/` : "";
    const below = [...this.#nodes].filter((node) => node.startsWith(prefix) && node.length > prefix.length);
    return [...new Set(below.map((node) => node.slice(prefix.length).split("/")[0]))];
  }

  #sections() {
    const found = this.children("");
    return [...SECTIONS.filter((name) => found.includes(name)), ...found.filter((name) => !SECTIONS.includes(name))];
  }
}

/** A frame-shaped section: blocks, a meta document, a box. */
class FrameGroup {
  static async open(record, path) {
    const document = await record.document(path);
    if (!document) return undefined;
    const group = new FrameGroup();
    group.path = path;
    group.record = record;
    const { _meta_types: _, ...meta } = document.attributes ?? {};
    group.meta = meta;
    group.blocks = {};
    for (const name of record.children(path)) {
      const block = name === "box" ? undefined : await record.document(`${path}/${name}`);
      if (block?.node_type !== "group") continue;
      const rows = block.attributes?.count;
      if (!Number.isInteger(rows) || rows < 0)
        throw new RecordError(`${path}/${name} does not say how many rows it has.`);
      group.blocks[name] = { rows, columns: await columnsIn(record, `${path}/${name}`) };
    }
    return group;
  }

  /** All values, as stored: `{blocks, box}`. `wanted(block)` names the columns to read; all if absent. */
  async values(wanted) {
    const names = Object.keys(this.blocks);
    const blocks = await Promise.all(names.map((name) => this.read(name, wanted?.(name))));
    return { blocks: Object.fromEntries(names.map((name, at) => [name, blocks[at]])), box: await this.box() };
  }

  /** Some columns of a block, all where none are named: `{rows, columns, validity}`. */
  async read(name, wanted = this.blocks[name].columns) {
    const { rows, columns } = this.blocks[name];
    const path = `${this.path}/${name}`;
    const found = { rows, columns: {}, validity: {} };
    for (const column of wanted.filter((each) => columns.includes(each))) {
      const array = await this.record.array(`${path}/${column}`);
      if (array.shape[0] !== rows) throw new RecordError(`${array.path} has not the ${rows} rows of its block.`);
      found.columns[column] = await array.all();
      const mask = await this.record.array(`${path}/_validity/${column}`);
      const flags = await mask?.all();
      if (flags && !flags.every(Boolean)) found.validity[column] = flags;
    }
    return found;
  }

  /** The cell (cell.js); undefined where the section has none. */
  async box() {
    const path = `${this.path}/box`;
    const document = await this.record.document(path);
    if (!document) return undefined;
    const part = async (name) => {
      const array = await this.record.array(`${path}/${name}`);
      return array && Array.from(await array.all());
    };
    return cell(document.attributes, await part("vectors"), await part("origin"), await part("boundary"));
  }
}

/** Names of the arrays in a block; a group there is no column. */
async function columnsIn(record, path) {
  const names = record.children(path);
  const documents = await Promise.all(names.map((name) => record.document(`${path}/${name}`)));
  return names.filter((_, at) => documents[at]?.node_type === "array");
}

function refuseVersion({ molrec_version: version }) {
  if (version !== undefined && !(Number.isInteger(version) && version >= 1 && version <= NEWEST_VERSION)) {
    throw new RecordError(
      `The record has version ${JSON.stringify(version)}; this page reads up to ${NEWEST_VERSION}. Use a newer molrec.`,
    );
  }
}
