/** Attempts on the state of a runtime, of which the run has a private copy. All files are the probe's own. */
import * as fs from "node:fs"
import { join } from "node:path"
import type { Attempts } from "./Attempts.ts"

/** Names in the state of the probe. The run sees those of `SETTINGS`, read-only. */
export const SETTINGS = ["settings.json", "hooks"]
const OTHERS = ["history.jsonl", "conversations/other.jsonl", "auth.json"]

/** Makes the user's state. */
export const makeState = (folder: string, write: (path: string, content: string) => void): void => {
  for (const name of ["settings.json", "hooks/start.sh", ...OTHERS]) write(join(folder, name), "kept")
}

/** Attempts that fail in the run. */
export const stateAttempts = (folder: string): Attempts => ({
  "change its settings": () => fs.appendFileSync(join(folder, "settings.json"), "x"),
  "replace its settings": () => {
    fs.writeFileSync(join(folder, "settings.new"), "x")
    fs.renameSync(join(folder, "settings.new"), join(folder, "settings.json"))
  },
  "add a hook": () => fs.writeFileSync(join(folder, "hooks", "stop.sh"), "x"),
  "rename its hooks": () => fs.renameSync(join(folder, "hooks"), join(folder, "old")),
  ...Object.fromEntries(OTHERS.map((name) => [`read ${name}`, () => fs.readFileSync(join(folder, name))]))
})

/** Plants files in the copy, as far as that is possible. The user's state says whether they arrive. */
export const plantState = (folder: string): void => {
  const plants: ReadonlyArray<() => void> = [
    () => fs.writeFileSync(join(folder, "config.toml"), "x"),
    () => fs.writeFileSync(join(folder, "history.jsonl"), "x"),
    () => fs.writeFileSync(join(folder, ".env"), "x"),
    () => fs.mkdirSync(join(folder, "plugins")),
    () => fs.writeFileSync(join(folder, "plugins", "planted.js"), "x"),
    () => fs.symlinkSync("/etc/passwd", join(folder, "conversations")),
    () => fs.linkSync(join(folder, "config.toml"), join(folder, "second.toml"))
  ]
  for (const plant of plants) {
    try {
      plant()
    } catch {
      // The next one.
    }
  }
}
