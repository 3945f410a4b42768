// What the page uses of zarrita. Its own loaders of blosc, lz4 and zstd are left out (see no_codec.js).
export { Array, BoolArray, get, registry, slice } from "zarrita";
