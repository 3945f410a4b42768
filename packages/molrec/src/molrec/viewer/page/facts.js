// The panel beside the picture: what the record holds, and the values of the frame shown.
// Text of a record only ever becomes text of the page, never markup.

import { lengthsAndAngles } from "./cell.js";
import { count, grouped, say } from "./words.js";

const LONGEST = 400;

/** Fill the panel with what is true of the whole record. */
export async function showRecordFacts(panel, record, molecule) {
  const sections = [section("Record", rows(recordRows(record, molecule)))];
  const status = await record.document("status");
  if (status) sections.push(section("Status", rows(Object.entries(status.attributes ?? {}))));
  if (record.trajectory) {
    const { blocks, meta } = record.trajectory.schema;
    const counts = await Promise.all(Object.keys(blocks).map((name) => record.trajectory.updateCount(name)));
    const described = Object.entries(blocks).map(([name, block], at) =>
      blockItem(name, count(counts[at], "update"), columnsOf(block)),
    );
    sections.push(section("Blocks of the trajectory", list(described)));
    const keys = Object.entries(meta ?? {}).map(([key, { dtype }]) => `${key} ${dtype}`);
    if (keys.length) sections.push(section("Values of each frame", paragraph(keys.join(", "))));
  }
  for (const group of [record.system, record.frame].filter(Boolean)) {
    const described = Object.entries(group.blocks).map(([name, { rows: size, columns }]) =>
      blockItem(name, count(size, "row"), columns),
    );
    const parts = [list(described)];
    if (Object.keys(group.meta).length) parts.push(rows(Object.entries(group.meta)));
    sections.push(section(group.path === "system" ? "System" : "Frame section", ...parts));
  }
  if (Object.keys(record.meta).length) sections.push(section("Meta", rows(Object.entries(record.meta))));
  panel.replaceChildren(...sections);
}

/** Fill the panel with what is true of the frame shown. */
export function showFrameFacts(panel, { ordinal, drawn, legend, meta, box, molecule }) {
  const values = [["Ordinal", say(ordinal)]];
  const hidden = drawn.hidden ? `, and ${grouped(drawn.hidden)} without a position` : "";
  values.push(["Atoms", grouped(drawn.atoms) + hidden]);
  values.push(["Bonds", bondWords(drawn, molecule)]);
  if (box) {
    const { lengths, angles } = lengthsAndAngles(box);
    const scaled = lengths.map((length) => length / molecule.unit.angstroms);
    values.push(["Cell", `${say(scaled)}${molecule.unit.name ? ` ${molecule.unit.name}` : ""}, angles ${say(angles)}`]);
    const periodic = ["a", "b", "c"].filter((_, axis) => box.boundary[axis]).join(" ");
    values.push(["Periodic along", periodic || "nothing"]);
  }
  values.push(...Object.entries(meta));
  panel.replaceChildren(section("This frame", legendOf(legend), rows(values)));
}

function recordRows({ name, form, sections, length, trajectory }, molecule) {
  const found = [
    ["Name", name],
    ["Form", form],
    ["Sections", sections.join(", ")],
    ["Frames", trajectory ? grouped(length) : "one, no trajectory"],
    ["Coloured by", molecule.kindColumn ?? "nothing: no column tells kinds apart"],
    ["Length unit", molecule.unit.name ?? "not stated, drawn as angstrom"],
  ];
  if (molecule.block && molecule.block !== "atoms") found.push(["Positions from", molecule.block]);
  return found;
}

function bondWords({ bonds, across }, molecule) {
  if (!molecule.hasBonds) return bonds ? `${grouped(bonds)}, found by distance` : "none stated";
  return grouped(bonds) + (across ? `, and ${grouped(across)} across the cell, not drawn` : "");
}

function columnsOf({ columns, aligned_with: target }) {
  const described = Object.entries(columns).map(([name, { dtype, trailing, precision }]) => {
    const shape = trailing?.length ? `[${trailing.join(", ")}]` : "";
    return `${name} ${dtype}${shape}${precision === undefined ? "" : ` (precision ${say(precision)})`}`;
  });
  return target ? [...described, `aligned with ${target}`] : described;
}

function blockItem(name, size, columns) {
  const item = document.createElement("li");
  item.append(element("strong", name), ` ${size}`, element("p", columns.join(", ")));
  return item;
}

function legendOf(legend) {
  const found = document.createElement("ul");
  found.className = "legend";
  for (const { kind, color, size } of legend) {
    const item = document.createElement("li");
    const patch = document.createElement("span");
    patch.className = "patch";
    patch.style.backgroundColor = color;
    item.append(patch, `${kind || "unnamed"} ${grouped(size)}`);
    found.append(item);
  }
  return found;
}

function section(title, ...content) {
  const found = document.createElement("section");
  found.append(element("h2", title), ...content);
  return found;
}

function rows(entries) {
  const found = document.createElement("dl");
  for (const [name, value] of entries) found.append(element("dt", name), element("dd", cut(say(value))));
  return found;
}

function list(items) {
  const found = document.createElement("ul");
  found.append(...items);
  return found;
}

function paragraph(text) {
  return element("p", text);
}

function element(tag, text) {
  const found = document.createElement(tag);
  found.textContent = text;
  return found;
}

function cut(text) {
  return text.length > LONGEST ? `${text.slice(0, LONGEST)}...` : text;
}
