// The files of a record by name, whatever holds them. Both kinds have `nodes`, `whole`, `range` and `tail`.

import { RecordError } from "./errors.js";
import { fetchRange, fetchTail, fetchWhole } from "./http.js";
import { ZipFiles } from "./zip.js";

const DOCUMENT = "zarr.json";

/** Opens what `description` (the server's record.json) describes. */
export async function openFiles(description) {
  if (description.form === "folder") return new FolderFiles(description.at, description.nodes);
  if (description.form === "packed") return PackedFiles.open(description.at);
  throw new RecordError(`The page does not know how to read a record of the form ${JSON.stringify(description.form)}.`);
}

/** A record folder. HTTP cannot list one, so the server names its groups and arrays. */
class FolderFiles {
  #at;

  constructor(at, nodes) {
    this.#at = at;
    this.nodes = nodes;
  }

  whole(name) {
    return fetchWhole(this.#url(name));
  }

  range(name, start, length) {
    return fetchRange(this.#url(name), start, length);
  }

  async tail(name, length) {
    return (await fetchTail(this.#url(name), length))?.bytes;
  }

  #url(name) {
    return this.#at + name.split("/").map(encodeURIComponent).join("/");
  }
}

/** A packed record, whose directory lists it. */
class PackedFiles {
  static async open(url) {
    const zip = await ZipFiles.open(url);
    const documents = zip.names.filter((name) => name === DOCUMENT || name.endsWith(`/${DOCUMENT}`));
    const files = new PackedFiles();
    files.nodes = documents.map((name) => name.slice(0, -DOCUMENT.length - 1)).sort();
    for (const read of ["whole", "range", "tail"]) files[read] = zip[read].bind(zip);
    return files;
  }
}

/** The document of a node, or undefined where there is none. */
export async function readDocument(files, path) {
  const bytes = await files.whole(path ? `${path}/${DOCUMENT}` : DOCUMENT);
  if (!bytes) return undefined;
  let document;
  try {
    document = JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(bytes));
  } catch (cause) {
    throw new RecordError(`${path || "The root"}: ${DOCUMENT} is no JSON.`, { cause });
  }
  if (document?.zarr_format !== 3 || !["group", "array"].includes(document.node_type)) {
    throw new RecordError(`${path || "The root"}: ${DOCUMENT} describes no group and no array of Zarr V3.`);
  }
  refuseUnknownFields(document, path);
  return document;
}

const FIELDS = {
  group: ["zarr_format", "node_type", "attributes", "consolidated_metadata"],
  array: [
    "zarr_format",
    "node_type",
    "attributes",
    "shape",
    "data_type",
    "chunk_grid",
    "chunk_key_encoding",
    "fill_value",
    "codecs",
    "dimension_names",
    "storage_transformers",
  ],
};

function refuseUnknownFields(document, path) {
  for (const [field, value] of Object.entries(document)) {
    if (!FIELDS[document.node_type].includes(field) && value?.must_understand !== false) {
      throw new RecordError(
        `${path || "The root"}: ${DOCUMENT} has the field ${field}, which this page does not know.`,
      );
    }
  }
}
