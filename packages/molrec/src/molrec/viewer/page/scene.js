// The picture: atoms, bonds and the cell, drawn with 3Dmol.

import { edges, latticeVector } from "./cell.js";
import { createViewer, elementColors } from "./vendor/3dmol.js";

/** Above this number of atoms bonds are not looked for by distance, and lines take the place of balls and sticks. */
export const MANY_ATOMS = 20000;

const STYLES = {
  "balls-and-sticks": { stick: { radius: 0.13 }, sphere: { scale: 0.27 } },
  spheres: { sphere: { scale: 1 } },
  sticks: { stick: { radius: 0.2 } },
  lines: { line: { linewidth: 2 }, cross: { radius: 0.25 } },
};
const AXIS_COLORS = ["#d1495b", "#3a9a5b", "#3d7dd8"];
// for particles that are no elements; told apart by people who see few colours, too
const KIND_COLORS = ["#4477aa", "#ee6677", "#228833", "#ccbb44", "#66ccee", "#aa3377", "#999999", "#ee8866"];

const UNKNOWN_ELEMENT = 0xff1493;

/** Draws into an element of the page. */
export class Scene {
  #element;
  #viewer;
  #kinds = new Map();

  constructor(element) {
    this.#element = element;
    this.#viewer = createViewer(element, { antialias: true, disableFog: true });
    if (!this.#viewer) throw new Error("no WebGL");
  }

  /** The style that suits a number of atoms. */
  static styleFor(count) {
    return count > MANY_ATOMS ? "lines" : "balls-and-sticks";
  }

  /**
   * Draw a frame in place of the last one; the point of view stays.
   *
   * Returns `{bonds, across}`: how many bonds were drawn, and how many not, since they run across a face of the cell.
   */
  draw({ atoms, bonds, box }, { style, withCell, byElement }) {
    this.#viewer.removeAllModels();
    this.#viewer.removeAllShapes();
    const drawn = { bonds: 0, across: 0 };
    const specs = atoms.map(({ x, y, z, kind }, index) => ({
      x,
      y,
      z,
      index,
      serial: index,
      elem: byElement ? kind : "",
      color: this.color(kind, byElement),
      bonds: [],
      bondOrder: [],
    }));
    for (const [one, other, order] of bonds ?? []) {
      if (box && runsAcross(atoms[one], atoms[other], box)) drawn.across += 1;
      else connect(specs, one, other, order);
    }
    const model = this.#viewer.addModel();
    model.addAtoms(specs);
    if (!bonds && byElement && atoms.length <= MANY_ATOMS) model.assignBonds();
    drawn.bonds = model.selectedAtoms({}).reduce((sum, atom) => sum + atom.bonds.length, 0) / 2;
    this.#viewer.setStyle({}, STYLES[style]);
    if (box && withCell) this.#drawCell(box);
    this.#viewer.render();
    return drawn;
  }

  /** Move back until everything is seen; the direction stays. */
  showAll() {
    this.#viewer.zoomTo(); // fits the height
    const { clientWidth: width, clientHeight: height } = this.#element;
    if (width < height) this.#viewer.zoom(width / height);
    this.#viewer.render();
  }

  /** Look from a little to the side and above, so that no axis points straight at the eye. */
  tilt() {
    this.#viewer.rotate(-22, "y");
    this.#viewer.rotate(14, "x");
  }

  setBackground(color) {
    this.#viewer.setBackgroundColor(color);
    this.#viewer.render();
  }

  resize() {
    this.#viewer.resize();
  }

  /** The colour of a kind of atom, as CSS writes it. */
  color(kind, byElement) {
    if (byElement) return `#${(elementColors.Jmol[kind] ?? UNKNOWN_ELEMENT).toString(16).padStart(6, "0")}`;
    if (!this.#kinds.has(kind)) this.#kinds.set(kind, KIND_COLORS[this.#kinds.size % KIND_COLORS.length]);
    return this.#kinds.get(kind);
  }

  #drawCell(box) {
    const longest = Math.max(...[0, 1, 2].map((axis) => Math.hypot(...latticeVector(box, axis))));
    const radius = Math.min(0.15, 0.004 * longest);
    const point = ([x, y, z]) => ({ x, y, z });
    for (const { axis, start, end, first } of edges(box)) {
      const color = first ? AXIS_COLORS[axis] : "#8a93a0";
      const thickness = first ? 1.6 * radius : radius;
      const line = { start: point(start), end: point(end), radius: thickness, color, fromCap: 2, toCap: 2 };
      this.#viewer.addCylinder(line);
    }
  }
}

function connect(specs, one, other, order) {
  specs[one].bonds.push(other);
  specs[one].bondOrder.push(order);
  specs[other].bonds.push(one);
  specs[other].bondOrder.push(order);
}

/** Whether the nearest image of one atom is not the one in the picture, judged along periodic lattice vectors. */
function runsAcross(one, other, box) {
  const between = [one.x - other.x, one.y - other.y, one.z - other.z];
  return [0, 1, 2].some((axis) => {
    if (!box.boundary[axis]) return false;
    const vector = latticeVector(box, axis);
    const squared = vector.reduce((sum, value) => sum + value * value, 0);
    const along = between.reduce((sum, value, part) => sum + value * vector[part], 0);
    return Math.abs(along) > squared / 2;
  });
}
