// Numbers and counts as people write them.

/** A number with at most six digits, or any other value as text. */
export function say(value) {
  if (typeof value === "bigint") return value.toString();
  if (typeof value === "number" && Number.isFinite(value)) {
    if (Number.isInteger(value) && Math.abs(value) < 1e15) return value.toString();
    return Number(value.toPrecision(6)).toString();
  }
  if (Array.isArray(value)) return value.map(say).join(" ");
  return typeof value === "object" && value !== null ? JSON.stringify(value) : String(value);
}

/** A count with its thousands set apart. */
export function grouped(number) {
  return number.toLocaleString("en");
}

/** `1 frame`, `12,000 frames`. */
export function count(number, noun) {
  return `${grouped(number)} ${noun}${number === 1 ? "" : "s"}`;
}
