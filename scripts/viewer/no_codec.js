// Stands in for compressors a record never uses, and for zstd, which fzstd decodes.
export default undefined;
