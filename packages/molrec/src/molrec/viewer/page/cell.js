// The cell of a frame (docs/spec/frame.md, box): lattice vectors stand in the columns of `vectors`.

import { RecordError } from "./errors.js";

const IDENTITY = [1, 0, 0, 0, 1, 0, 0, 0, 1];

/** `{vectors, origin, boundary, defined}` with the defaults of the format; an undefined cell is the identity. */
export function cell(attributes, vectors, origin = [0, 0, 0], boundary = [true, true, true]) {
  if (attributes?.cell_defined === false) {
    return { vectors: IDENTITY, origin: [0, 0, 0], boundary: [false, false, false], defined: false };
  }
  if (vectors?.length !== 9) throw new RecordError("A box of the record has no 3 by 3 vectors.");
  return { vectors, origin, boundary: boundary.map(Boolean), defined: true };
}

/** Lattice vector `axis` of a cell. */
export function latticeVector({ vectors }, axis) {
  return [vectors[axis], vectors[3 + axis], vectors[6 + axis]];
}

/** The twelve edges of a cell, `{axis, start, end, first}`; `first` are the three that leave the origin. */
export function edges(box) {
  const lattice = [0, 1, 2].map((axis) => latticeVector(box, axis));
  const corner = (counts) =>
    box.origin.map((value, part) => counts.reduce((sum, count, axis) => sum + count * lattice[axis][part], value));
  const found = [];
  for (const axis of [0, 1, 2]) {
    for (const one of [0, 1]) {
      for (const other of [0, 1]) {
        const counts = [0, 0, 0];
        counts[(axis + 1) % 3] = one;
        counts[(axis + 2) % 3] = other;
        const start = corner(counts);
        counts[axis] = 1;
        found.push({ axis, start, end: corner(counts), first: !one && !other });
      }
    }
  }
  return found;
}

/** Lengths of the lattice vectors and the angles between them in degrees: `alpha` between b and c, and so on. */
export function lengthsAndAngles(box) {
  const lattice = [0, 1, 2].map((axis) => latticeVector(box, axis));
  const lengths = lattice.map((vector) => Math.hypot(...vector));
  const angle = (one, other) => {
    const product = lattice[one].reduce((sum, value, part) => sum + value * lattice[other][part], 0);
    return (Math.acos(product / (lengths[one] * lengths[other])) * 180) / Math.PI;
  };
  return { lengths, angles: [angle(1, 2), angle(0, 2), angle(0, 1)] };
}
