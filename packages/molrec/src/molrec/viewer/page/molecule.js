// What there is to draw of a frame: which columns of which blocks are positions, elements and bonds.

import { RecordError } from "./errors.js";
import { SYMBOLS } from "./elements.js";

const POSITIONS = ["x", "y", "z"];
const ELEMENTS = ["element", "atomic_number"];
// what tells kinds of particles apart where no element does, best first
const KINDS = ["type", "bead_type", "name", "type_id"];
const ORDERS = ["bond_number", "bond_type"];
const ANGSTROMS = {
  angstrom: 1,
  angstroms: 1,
  "\u00c5": 1,
  "\u212b": 1,
  A: 1,
  nm: 10,
  nanometer: 10,
  nanometers: 10,
  nanometre: 10,
  bohr: 0.529177210544,
  pm: 0.01,
  picometer: 0.01,
  m: 1e10,
  meter: 1e10,
  cm: 1e8,
  micrometer: 1e4,
  um: 1e4,
};
const PRESET_LENGTHS = {
  real: "angstrom",
  metal: "angstrom",
  electron: "bohr",
  nano: "nm",
  si: "m",
  cgs: "cm",
  micro: "micrometer",
};

/** What to draw of a record; `at(ordinal)` reads a frame of it. Only the columns that are drawn are read. */
export class Molecule {
  #record;
  #atoms; // sources of the rows that have positions
  #bonds;

  /** Finds what to draw of a record. */
  static async of(record) {
    const molecule = new Molecule(record);
    molecule.unit = await lengthUnit(record);
    return molecule;
  }

  constructor(record) {
    this.#record = record;
    const sources = sourcesOf(record);
    const names = [...new Set(sources.map(({ name }) => name))].sort((one) => (one === "atoms" ? -1 : 1));
    this.block = names.find((name) => POSITIONS.every((column) => holder(sources, name, column)));
    this.#atoms = sources.filter(({ name }) => name === this.block);
    const bonds = sources.filter(({ name }) => name === "bonds");
    if (this.block === "atoms" && ["atomi", "atomj"].every((key) => holder(bonds, "bonds", key))) this.#bonds = bonds;
    this.kindColumn = [...ELEMENTS, ...KINDS].find((column) => holder(this.#atoms, this.block, column));
    this.hasElements = ELEMENTS.includes(this.kindColumn);
  }

  /** Whether the record says which atoms are bonded. */
  get hasBonds() {
    return this.#bonds !== undefined;
  }

  /**
   * What to draw of a frame, in angstrom: `{atoms, bonds, box, hidden}`.
   *
   * An atom is `{x, y, z, row, kind}`, a bond `[place, place, order]` in the list of atoms; `bonds` is undefined where
   * the record has none, and `hidden` counts rows without a finite position.
   */
  async at(ordinal) {
    const box = await this.#box(ordinal);
    if (!this.block) return { atoms: [], bonds: undefined, box, hidden: 0 };
    const columns = await this.#read(this.#atoms, ordinal, [...POSITIONS, this.kindColumn]);
    if (!columns) return { atoms: [], bonds: undefined, box, hidden: 0 };
    const { atoms, places } = this.#place(columns);
    const bonds = this.#bonds && (await this.#read(this.#bonds, ordinal, ["atomi", "atomj", ...ORDERS]));
    return {
      atoms,
      bonds: this.#bonds && (bonds ? bondsBetween(bonds, places) : []),
      box,
      hidden: columns.x.values.length - atoms.length,
    };
  }

  #place(columns) {
    const [x, y, z] = POSITIONS.map((column) => columns[column]);
    const kind = columns[this.kindColumn];
    const atoms = [];
    const places = new Int32Array(x.values.length).fill(-1);
    for (let row = 0; row < x.values.length; row += 1) {
      const shown = [x, y, z].every(({ values, valid }) => valid(row) && Number.isFinite(values[row]));
      if (!shown) continue;
      places[row] = atoms.length;
      const [ax, ay, az] = [x, y, z].map(({ values }) => values[row] * this.unit.angstroms);
      atoms.push({ x: ax, y: ay, z: az, row, kind: kind?.valid(row) ? this.#kind(kind.values[row]) : "" });
    }
    return { atoms, places };
  }

  #kind(value) {
    if (this.kindColumn === "atomic_number") return SYMBOLS[Number(value)] ?? "";
    const text = String(value);
    return this.kindColumn === "element" ? text.slice(0, 1).toUpperCase() + text.slice(1).toLowerCase() : text;
  }

  // Columns by name from the sources that hold them: `{values, valid(row)}`; undefined where the block is absent.
  async #read(sources, ordinal, names) {
    const found = {};
    for (const source of sources) {
      const wanted = names.filter((name) => source.columns.includes(name) && !(name in found));
      const block = wanted.length ? await source.read(ordinal, wanted) : undefined;
      for (const name of block ? wanted : []) {
        const mask = block.validity[name];
        found[name] = { values: block.columns[name], valid: mask ? (row) => Boolean(mask[row]) : () => true };
      }
    }
    const lengths = new Set(Object.values(found).map(({ values }) => values.length));
    if (lengths.size > 1) throw new RecordError(`The columns of ${sources[0].name} have different row counts.`);
    return found.x || found.atomi ? found : undefined;
  }

  async #box(ordinal) {
    const { trajectory, frame, system } = this.#record;
    const box =
      (trajectory && (await trajectory.box(ordinal))) ?? (await (trajectory ? system : (frame ?? system))?.box());
    if (!box?.defined) return undefined;
    const scaled = (values) => values.map((value) => value * this.unit.angstroms);
    return { ...box, vectors: scaled(box.vectors), origin: scaled(box.origin) };
  }
}

// Every block a frame consists of, those of the trajectory first: `{name, columns, read(ordinal, columns)}`. An aligned
// block has the name of its target, whose rows it describes.
function sourcesOf({ trajectory, frame, system }) {
  const sources = [];
  for (const [name, { columns, aligned_with: target }] of Object.entries(trajectory?.schema.blocks ?? {})) {
    const read = (ordinal, wanted) => trajectory.block(name, ordinal, wanted);
    sources.push({ name: target ?? name, columns: Object.keys(columns), read });
  }
  const group = trajectory ? system : (frame ?? system);
  for (const [name, { columns }] of Object.entries(group?.blocks ?? {})) {
    sources.push({ name, columns, read: (_, wanted) => group.read(name, wanted) });
  }
  return sources;
}

function holder(sources, name, column) {
  return sources.find((source) => source.name === name && source.columns.includes(column));
}

function bondsBetween({ atomi, atomj, bond_number: number, bond_type: type }, places) {
  const bonds = [];
  for (let row = 0; row < atomi.values.length; row += 1) {
    if (!atomi.valid(row) || !atomj.valid(row)) continue;
    const [one, other] = [places[Number(atomi.values[row])], places[Number(atomj.values[row])]];
    if (one === undefined || other === undefined)
      throw new RecordError(`Row ${row} of bonds names an atom that is not there.`);
    if (one >= 0 && other >= 0) bonds.push([one, other, order(number, row) || order(type, row) || 1]);
  }
  return bonds;
}

/** Single, double or triple; 0 for what is unknown or, as an aromatic bond, has no one order. */
function order(column, row) {
  const value = column?.valid(row) ? Number(column.values[row]) : 0;
  return value <= 3 ? value : 0;
}

/** `{name, angstroms}`: the unit of length the record states; angstrom, and no name, where it states none we know. */
async function lengthUnit({ trajectory, frame, system }) {
  let units = (trajectory ? system : (frame ?? system))?.meta.units;
  if (units === undefined && trajectory?.length && trajectory.schema.meta?.units) {
    const stated = (await trajectory.meta(0)).units; // one unit for all frames
    units = trajectory.schema.meta.units.dtype === "json" ? JSON.parse(stated) : stated;
  }
  if (typeof units === "string") units = { preset: units };
  const name = units?.length ?? PRESET_LENGTHS[units?.preset];
  return name in ANGSTROMS ? { name, angstroms: ANGSTROMS[name] } : { name: undefined, angstroms: 1 };
}
