/** Programs and threads that a service starts beside itself, by file name next to its bundle. */

/** Of an Edge: the threads of the store, of external adapters and of searches for processes, the holder of runs, the bridge to OpenCode, and the scripted runtime. */
export const edgeParts: Readonly<Record<string, string>> = {
  "adapter.cjs": "packages/edge/src/runtime/AdapterWorker.ts",
  "search.cjs": "packages/edge/src/process/SearchWorker.ts",
  "writer.cjs": "packages/edge/src/store/Writer.ts",
  "holder.cjs": "packages/edge/src/holder/main.ts",
  "opencode-bridge.mjs": "packages/adapters/runtime/opencode-bridge.mjs",
  "opencode-plugin.mjs": "packages/adapters/runtime/opencode-plugin.mjs",
  "scripted.mjs": "packages/adapters/runtime/scripted.mjs"
}

/** Of the command: those of an Edge, the thread of conformance checks, and the program of `doctor --probe`. */
export const commandParts: Readonly<Record<string, string>> = {
  ...edgeParts,
  "escapes.mjs": "packages/edge/src/confinement/probe/EscapeProgram.ts",
  "checks.cjs": "packages/conformance/src/CheckWorker.ts"
}
