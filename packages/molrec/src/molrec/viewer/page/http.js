// Byte ranges of files behind HTTP.

import { RecordError } from "./errors.js";

/** The whole of a file as a `Uint8Array`, or undefined where there is none. */
export async function fetchWhole(url) {
  const response = await request(url, {});
  return response && new Uint8Array(await response.arrayBuffer());
}

/** Bytes `start` up to `start + length` of a file, fewer where it ends; undefined where there is no file. */
export async function fetchRange(url, start, length) {
  if (length === 0) return new Uint8Array(0);
  const response = await request(url, { Range: `bytes=${start}-${start + length - 1}` });
  return response && partOf(response, url);
}

/** The last `length` bytes of a file, all of them where it is shorter, and its size. */
export async function fetchTail(url, length) {
  const response = await request(url, { Range: `bytes=-${length}` });
  if (!response) return undefined;
  const size = Number(/\/(\d+)$/.exec(response.headers.get("Content-Range") ?? "")?.[1]);
  return { bytes: await partOf(response, url), size };
}

async function request(url, headers) {
  let response;
  try {
    response = await fetch(url, { headers, cache: "no-store" });
  } catch (cause) {
    throw new RecordError(`The server does not answer (${url}). Is \`molrec view\` still running?`, { cause });
  }
  if (response.status === 404) return undefined;
  if (!response.ok && response.status !== 416) {
    throw new RecordError(`The server refuses ${url}: ${response.status} ${response.statusText}.`);
  }
  return response;
}

async function partOf(response, url) {
  if (response.status === 416) return new Uint8Array(0); // the range begins past the end
  if (response.status !== 206) {
    throw new RecordError(`The server of ${url} does not answer range requests, so records cannot be read from it.`);
  }
  return new Uint8Array(await response.arrayBuffer());
}
