// What the page refuses, in words for the person who looks at it.

/** A record that cannot be shown; `message` says where, what was found and what to do. */
export class RecordError extends Error {
  constructor(message, options) {
    super(message, options);
    this.name = "RecordError";
  }
}

/** Bytes that fail a check; worth reading once more while a record grows. */
export class DamagedError extends RecordError {}
