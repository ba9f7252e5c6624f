/** Who acts on a local Edge: whoever holds its token. */
export const LOCAL = "local"
