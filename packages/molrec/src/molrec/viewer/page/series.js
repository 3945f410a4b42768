// Where the rows of a frame lie (docs/spec/trajectory.md): updates of a block, and values that may be a progression.

import { RecordError } from "./errors.js";

/** How many of the leading, ascending ordinals are at or below `ordinal`. */
export function updatesUpTo(ordinals, ordinal) {
  let [least, most] = [0, ordinals.length];
  while (least < most) {
    const middle = (least + most) >> 1;
    if (ordinals[middle] <= ordinal) least = middle + 1;
    else most = middle;
  }
  return least;
}

/** The committed entries of a `step_index`: those below `nstep`, as numbers. */
export async function committedOrdinals(array, nstep) {
  const stored = await array.all();
  const found = [];
  for (const ordinal of stored) {
    if (ordinal >= nstep) break;
    if (found.length && ordinal <= found.at(-1)) throw new RecordError(`${array.path} does not ascend.`);
    found.push(Number(ordinal));
  }
  return found;
}

/** The updates of one block of a trajectory. */
export class Updates {
  #find;

  /**
   * Reads where the updates of the block at `path` are.
   *
   * @param attributes - of the block's group, with `uniform_rows` and `dense_updates` while it is regular
   * @param extents - first extents of its columns and masks
   * @param index - arrays `stepIndex` and `offset`, undefined where absent
   */
  static async of(path, attributes, extents, { stepIndex, offset }, nstep) {
    const updates = new Updates();
    const { uniform_rows: rows, dense_updates: dense } = attributes;
    if ((rows === undefined) !== (dense === undefined)) {
      throw new RecordError(`${path} has one of the attributes uniform_rows and dense_updates without the other.`);
    }
    if (stepIndex && offset) await updates.#ragged(stepIndex, offset, nstep);
    else if (rows !== undefined) updates.#regular(path, rows, dense, extents, nstep);
    else await updates.#none(path, stepIndex, offset, extents, nstep);
    return updates;
  }

  /** The update a frame resolves to and its rows, `{update, start, stop}`; undefined where the block is absent. */
  at(ordinal) {
    return this.#find(ordinal);
  }

  async #ragged(stepIndex, offset, nstep) {
    const ordinals = await committedOrdinals(stepIndex, nstep);
    this.count = ordinals.length;
    if (this.count && offset.shape[0] < this.count + 1)
      throw new RecordError(`${offset.path} is shorter than its index.`);
    const bounds = this.count ? Array.from(await offset.all(this.count + 1), Number) : [0];
    if (bounds[0] !== 0 || bounds.some((bound, at) => at && bound < bounds[at - 1])) {
      throw new RecordError(`${offset.path} does not begin at 0, or descends.`);
    }
    this.#find = (ordinal) => {
      const update = updatesUpTo(ordinals, ordinal) - 1;
      return update < 0 ? undefined : { update, start: bounds[update], stop: bounds[update + 1] };
    };
  }

  #regular(path, rows, dense, extents, nstep) {
    if (!Number.isInteger(rows) || rows < 1 || dense !== true || extents.length === 0) {
      throw new RecordError(`${path} has the attributes of a regular block, but cannot be one.`);
    }
    this.count = Math.min(Math.floor(Math.min(...extents) / rows), nstep);
    if (this.count < nstep && extents.some((extent) => extent !== this.count * rows)) {
      throw new RecordError(`${path}: its columns do not end with an update.`);
    }
    this.#find = (ordinal) => {
      const update = Math.min(ordinal, this.count - 1);
      return update < 0 ? undefined : { update, start: update * rows, stop: (update + 1) * rows };
    };
  }

  async #none(path, stepIndex, offset, extents, nstep) {
    const indexed = stepIndex ? (await committedOrdinals(stepIndex, nstep)).length : 0;
    if (offset || indexed || (nstep && extents.some((extent) => extent > 0))) {
      throw new RecordError(`${path} has rows, but nothing says to which frames they belong.`);
    }
    this.count = 0;
    this.#find = () => undefined;
  }
}

/** The value of `step` or `time` at an ordinal, as a function; undefined where the run has none. */
export function seriesOf(array, progression, nstep, convert) {
  if (progression) {
    const { start, stride } = progression;
    if (nstep > 1 && stride === undefined) throw new RecordError("A progression of the trajectory lacks its stride.");
    // product and sum are rounded one after the other, as the format asks
    return async (ordinal) => (ordinal === 0 ? start : start + ordinal * stride);
  }
  if (!array) return undefined;
  if (array.shape[0] < nstep) throw new RecordError(`${array.path} has fewer values than there are frames.`);
  return async (ordinal) => convert((await array.rows(ordinal, ordinal + 1))[0]);
}
