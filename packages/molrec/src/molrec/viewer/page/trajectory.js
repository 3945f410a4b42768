// The trajectory of a record: any frame, resolved from the updates of each block (docs/spec/trajectory.md).

import { cell } from "./cell.js";
import { RecordError } from "./errors.js";
import { committedOrdinals, seriesOf, Updates, updatesUpTo } from "./series.js";

const PATH = "trajectory";

/** The committed frames of a run. */
export class Trajectory {
  #record;
  #blocks = new Map();
  #box;

  static async open(record) {
    const document = await record.document(PATH);
    if (!document) return undefined;
    const run = new Trajectory();
    run.#record = record;
    await run.#open(document.attributes ?? {});
    return run;
  }

  /** A frame: `{ordinal, step, time, blocks, box}`. `wanted(block)` names columns to read; all if absent. */
  async frame(ordinal, wanted = () => undefined) {
    this.#refuseOrdinal(ordinal);
    const names = Object.keys(this.schema.blocks);
    const blocks = await Promise.all(names.map((name) => this.block(name, ordinal, wanted(name))));
    return {
      ordinal,
      step: await this.step?.(ordinal),
      time: await this.time?.(ordinal),
      blocks: Object.fromEntries(names.map((name, at) => [name, blocks[at]]).filter(([, block]) => block)),
      box: await this.box(ordinal),
    };
  }

  /** Some columns of a block at a frame: `{rows, update, columns, validity}`; undefined where the block is absent. */
  async block(name, ordinal, wanted = Object.keys(this.schema.blocks[name].columns)) {
    const { updates, arrays, masks } = await this.#opened(name);
    const at = updates.at(ordinal);
    if (!at) return undefined;
    const chosen = wanted.filter((column) => arrays.has(column));
    const read = async (array) => [array, await array.rows(at.start, at.stop)];
    const values = new Map(
      await Promise.all(
        chosen
          .flatMap((column) => [arrays.get(column), masks.get(column)])
          .filter(Boolean)
          .map(read),
      ),
    );
    const found = { rows: at.stop - at.start, update: at.update, columns: {}, validity: {} };
    for (const column of chosen) {
      found.columns[column] = values.get(arrays.get(column));
      const mask = values.get(masks.get(column));
      if (mask && !mask.every(Boolean)) found.validity[column] = mask;
    }
    return found;
  }

  /** Which update of a block a frame resolves to; undefined where the block is absent. */
  async update(name, ordinal) {
    return (await this.#opened(name)).updates.at(ordinal)?.update;
  }

  /** How many updates a block has. */
  async updateCount(name) {
    return (await this.#opened(name)).updates.count;
  }

  /** The cell at a frame; undefined before the first. */
  async box(ordinal) {
    this.#box ??= await this.#openBox();
    return this.#box(ordinal);
  }

  /** The per-step values of a frame by key; a `json` value is its text. */
  async meta(ordinal) {
    const keys = Object.keys(this.schema.meta ?? {});
    const read = async (key) => {
      const array = await this.#required(`${PATH}/meta/${key}`);
      const stored = Array.from(await array.rows(ordinal, ordinal + 1));
      const values = array.dtype === "bool" ? stored.map(Boolean) : stored;
      return [key, array.shape.length > 1 ? values : values[0]];
    };
    return Object.fromEntries(await Promise.all(keys.map(read)));
  }

  async #open({ sequence_schema: schema, nstep, step_progression: steps, time_progression: times }) {
    if (typeof schema?.blocks !== "object") throw new RecordError("The trajectory has no sequence_schema.");
    this.schema = schema;
    const [step, time] = await Promise.all([this.#array(`${PATH}/step`), this.#array(`${PATH}/time`)]);
    if (nstep === undefined && (steps || times))
      throw new RecordError("The trajectory has a progression without nstep.");
    this.length = nstep ?? step?.shape[0] ?? 0;
    if (!Number.isInteger(this.length) || this.length < 0)
      throw new RecordError("nstep of the trajectory is no count.");
    this.step = seriesOf(step, steps, this.length, exactInteger);
    this.time = seriesOf(time, times, this.length, (value) => value);
    if (this.length && !this.step) throw new RecordError("The trajectory has frames, but no steps.");
  }

  #opened(name) {
    if (!this.#blocks.has(name)) this.#blocks.set(name, this.#openBlock(name));
    return this.#blocks.get(name);
  }

  async #openBlock(name) {
    const path = `${PATH}/${name}`;
    const declared = Object.entries(this.schema.blocks[name].columns);
    const document = await this.#record.document(path);
    if (!document && this.length) throw new RecordError(`${path} is declared, but not there.`);
    const open = async ([column, { dtype, nullable }]) => {
      const array = document && (await this.#required(`${path}/${column}`));
      if (array && array.dtype !== dtype)
        throw new RecordError(`${array.path} is ${array.dtype}, but declared ${dtype}.`);
      return [column, array, document && nullable ? await this.#required(`${path}/_validity/${column}`) : undefined];
    };
    const opened = (await Promise.all(declared.map(open))).filter(([, array]) => array);
    const arrays = new Map(opened.map(([column, array]) => [column, array]));
    const masks = new Map(opened.filter(([, , mask]) => mask).map(([column, , mask]) => [column, mask]));
    const [stepIndex, offset] = await Promise.all([this.#array(`${path}/step_index`), this.#array(`${path}/offset`)]);
    const extents = [...arrays.values(), ...masks.values()].map(({ shape }) => shape[0]);
    const updates = await Updates.of(path, document?.attributes ?? {}, extents, { stepIndex, offset }, this.length);
    return { updates, arrays, masks };
  }

  async #openBox() {
    const path = `${PATH}/box`;
    const document = await this.#record.document(path);
    if (!document) return () => undefined;
    const parts = ["step_index", "vectors", "origin", "boundary"].map((name) => this.#array(`${path}/${name}`));
    const [index, vectors, origin, boundary] = await Promise.all(parts);
    const { attributes = {} } = document;
    if (!index || !vectors) {
      const fixed =
        attributes.vectors && cell(attributes, attributes.vectors.flat(), attributes.origin, attributes.boundary);
      return () => fixed;
    }
    const ordinals = await committedOrdinals(index, this.length);
    return async (ordinal) => {
      const update = updatesUpTo(ordinals, ordinal) - 1;
      if (update < 0) return undefined;
      const row = async (array) => array && Array.from(await array.rows(update, update + 1));
      return cell(attributes, await row(vectors), await row(origin), await row(boundary));
    };
  }

  async #required(path) {
    const array = await this.#array(path);
    if (!array) throw new RecordError(`${path} is declared, but not there.`);
    return array;
  }

  #array(path) {
    return this.#record.array(path);
  }

  #refuseOrdinal(ordinal) {
    if (!Number.isInteger(ordinal) || ordinal < 0 || ordinal >= this.length) {
      throw new RecordError(`There is no frame ${ordinal}; there are ${this.length}, the first is 0.`);
    }
  }
}

function exactInteger(value) {
  return Number.isSafeInteger(Number(value)) ? Number(value) : value;
}
