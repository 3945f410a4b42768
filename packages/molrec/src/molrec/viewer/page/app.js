// The page: opens the record beside it, draws a frame, and moves from frame to frame.
//
// `window.molrec` offers scripts the same: `ready` (a promise), `length`, `frame(i)` (every value as stored), `show(i)`
// and `shown`.

import { registerCodecs } from "./codecs.js";
import { RecordError } from "./errors.js";
import { showFrameFacts, showRecordFacts } from "./facts.js";
import { fetchWhole } from "./http.js";
import { Molecule } from "./molecule.js";
import { Record } from "./record.js";
import { Scene } from "./scene.js";
import { count, grouped, say } from "./words.js";

const LEAST_MILLISECONDS = 50; // between two frames that are played
const MOST_KINDS = 12; // in the legend

const part = (id) => document.getElementById(id);
const page = { record: undefined, molecule: undefined, scene: undefined, shown: undefined, playing: false };
let asked = 0;

async function start() {
  registerCodecs();
  page.scene = makeScene();
  listen();
  await open();
  await show(0);
  page.scene?.tilt();
  page.scene?.showAll();
}

/** Open the record anew, as it is now. */
async function open() {
  const bytes = await fetchWhole("record.json");
  if (!bytes) throw new RecordError("There is no record.json beside this page, so it does not know what to show.");
  page.record = await Record.open(JSON.parse(new TextDecoder().decode(bytes)));
  page.molecule = await Molecule.of(page.record);
  const { name, form, length } = page.record;
  document.title = `${name} - molrec`;
  part("name").textContent = name;
  part("summary").textContent = `${form === "packed" ? "packed record" : "record folder"}, ${count(length, "frame")}`;
  part("frame").max = Math.max(0, length - 1);
  for (const id of ["first", "previous", "play", "next", "last", "frame"]) part(id).disabled = length < 2;
  part("again").hidden = form !== "folder";
  await showRecordFacts(part("record-facts"), page.record, page.molecule);
}

/** Show a frame. A folder may have been written to since it was opened, so it is opened anew before giving up. */
async function show(ordinal) {
  try {
    await draw(ordinal);
  } catch (error) {
    if (page.record.form !== "folder" || !(error instanceof RecordError)) throw error;
    await open();
    await draw(Math.min(ordinal, Math.max(0, page.record.length - 1)));
  }
}

/** Draw a frame; an older request that is still under way is dropped. */
async function draw(ordinal) {
  const request = (asked += 1);
  const { record, molecule, scene } = page;
  if (!record.length) throw new RecordError("The record holds no frame to draw; the panel says what it holds.");
  const [drawing, step, time, meta] = await Promise.all([
    molecule.at(ordinal),
    record.trajectory?.step(ordinal),
    record.trajectory?.time?.(ordinal),
    record.trajectory?.meta(ordinal) ?? {},
  ]);
  if (request !== asked) return;
  const first = page.shown === undefined;
  if (first) part("style").value = Scene.styleFor(drawing.atoms.length);
  const byElement = molecule.hasElements;
  part("cell").disabled = !drawing.box;
  const drawn = scene?.draw(drawing, { style: part("style").value, withCell: part("cell").checked, byElement });
  page.shown = ordinal;
  part("frame").value = ordinal;
  part("where").value = whereWords(ordinal, record, step, time);
  part("frame").setAttribute("aria-valuetext", part("where").value);
  showFrameFacts(part("frame-facts"), {
    ordinal,
    drawn: { bonds: 0, across: 0, ...drawn, atoms: drawing.atoms.length, hidden: drawing.hidden },
    legend: legendOf(drawing.atoms, byElement),
    meta,
    box: drawing.box,
    molecule,
  });
  if (scene) untell();
  if (!molecule.block) tell("No block of this record has the columns x, y and z, so there is nothing to draw.");
  else if (!drawing.atoms.length) tell("This frame has no atoms.");
}

function whereWords(ordinal, { length, trajectory }, step, time) {
  if (!trajectory) return "one frame";
  const words = [`${grouped(ordinal + 1)} of ${count(length, "frame")}`, `step ${say(step)}`];
  return (time === undefined ? words : [...words, `time ${say(time)}`]).join(", ");
}

function legendOf(atoms, byElement) {
  const sizes = new Map();
  for (const { kind } of atoms) sizes.set(kind, (sizes.get(kind) ?? 0) + 1);
  const found = [...sizes].sort(([, one], [, other]) => other - one).slice(0, MOST_KINDS);
  return found.map(([kind, size]) => ({ kind, size, color: page.scene?.color(kind, byElement) ?? "" }));
}

function makeScene() {
  try {
    const scene = new Scene(part("scene"));
    const dark = matchMedia("(prefers-color-scheme: dark)");
    const paint = () => scene.setBackground(getComputedStyle(part("picture")).backgroundColor);
    dark.addEventListener("change", paint);
    paint();
    new ResizeObserver(() => scene.resize()).observe(part("scene"));
    return scene;
  } catch (error) {
    console.error(error);
    tell("This browser cannot draw in 3D (WebGL is missing or switched off). The facts can still be read.");
    return undefined;
  }
}

function listen() {
  const on = (id, event, act) => part(id).addEventListener(event, () => attempt(act));
  const last = () => page.record.length - 1;
  const step = (by) => show(Math.min(last(), Math.max(0, page.shown + by)));
  on("first", "click", () => show(0));
  on("previous", "click", () => step(-1));
  on("next", "click", () => step(1));
  on("last", "click", () => show(last()));
  on("play", "click", togglePlay);
  on("frame", "input", () => show(Number(part("frame").value)));
  on("style", "change", () => show(page.shown));
  on("cell", "change", () => show(page.shown));
  on("all", "click", () => page.scene?.showAll());
  on("again", "click", lookAgain);
  part("controls").addEventListener("submit", (event) => event.preventDefault());
  const keys = {
    ArrowLeft: () => step(-1),
    ArrowRight: () => step(1),
    Home: () => show(0),
    End: () => show(last()),
    " ": togglePlay,
  };
  document.addEventListener("keydown", (event) => {
    const act = keys[event.key];
    const busy = event.target.closest("input, select, button, textarea") && event.target !== document.body;
    if (!act || busy || event.ctrlKey || event.metaKey || event.altKey || page.record === undefined) return;
    event.preventDefault();
    attempt(act);
  });
}

async function togglePlay() {
  page.playing = !page.playing;
  const button = part("play");
  button.textContent = page.playing ? "Pause" : "Play";
  button.setAttribute("aria-pressed", page.playing);
  try {
    while (page.playing) {
      const pause = new Promise((resolve) => setTimeout(resolve, LEAST_MILLISECONDS));
      await show((page.shown + 1) % page.record.length);
      await pause;
    }
  } catch (error) {
    page.playing = false;
    button.textContent = "Play";
    button.setAttribute("aria-pressed", false);
    throw error;
  }
}

/** Open the record again; who stood at its end goes to the new end. */
async function lookAgain() {
  const atEnd = page.shown === page.record.length - 1;
  await open();
  const end = page.record.length - 1;
  await show(atEnd ? end : Math.min(page.shown, end));
}

/** Do what was asked for and say in the page what went wrong. */
async function guarded(act) {
  try {
    await act();
  } catch (error) {
    if (!(error instanceof RecordError)) console.error(error);
    tell(error instanceof RecordError ? error.message : `Something went wrong in the page itself: ${error.message}`);
    throw error;
  }
}

/** The same for what nobody waits for: the page has said it. */
function attempt(act) {
  guarded(act).catch(() => undefined);
}

function tell(text) {
  part("message").textContent = text;
  part("message").hidden = false;
}

function untell() {
  part("message").hidden = true;
}

const ready = guarded(start);
ready.catch(() => {
  part("summary").textContent = "The record could not be shown.";
});
window.molrec = {
  ready,
  show: (ordinal) => guarded(() => show(ordinal)),
  frame: (ordinal, wanted) => page.record.values(ordinal, wanted),
  get length() {
    return page.record?.length ?? 0;
  },
  get shown() {
    return page.shown;
  },
};
