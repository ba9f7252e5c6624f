/** Programs that an Edge starts beside itself, by file name next to its bundle: the store's thread, and the scripted runtime. */
export const edgeParts: Readonly<Record<string, string>> = {
  "writer.cjs": "packages/edge/src/store/Writer.ts",
  "scripted.mjs": "packages/adapters/runtime/scripted.mjs"
}
