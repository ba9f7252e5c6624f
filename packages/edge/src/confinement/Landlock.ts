/**
 * Confinement by Landlock, through setpriv of util-linux: files only. For machines on which bubblewrap may not create namespaces.
 *
 * Does not: limit connections, so it does not count where a confinement is required (ADR 64).
 */
import { Effect } from "effect"
import { readdirSync, statSync } from "node:fs"
import { landlockArguments, type LandlockMachine } from "./LandlockCommand.ts"
import { probeLandlock } from "./LandlockProbe.ts"
import type { ConfinementMeans, MeansTrial } from "./Means.ts"
import { pathRules } from "./PathRules.ts"
import { privateCaches } from "./PrivateCaches.ts"

/** This machine. */
const thisMachine: LandlockMachine = {
  isRoot: process.getuid?.() === 0,
  kindOf: (path) => {
    const stat = statSync(path, { throwIfNoEntry: false })
    if (stat === undefined) return undefined
    return stat.isDirectory() ? "folder" : "file"
  },
  entriesIn: (folder) =>
    readdirSync(folder, { withFileTypes: true }).flatMap((entry) =>
      entry.isDirectory() || entry.isFile() ? [entry.name] : []
    )
}

/** The means with this setpriv. */
const landlockOf = (program: string): ConfinementMeans => ({
  kind: "landlock",
  network: "open",
  isolate: (command, mounts) => ({
    file: program,
    args: landlockArguments({ ...command, rules: pathRules(mounts) }, thisMachine)
  }),
  confine: ({ command, mounts }) =>
    Effect.try({
      try: () => {
        const args = landlockArguments({ ...command, rules: pathRules(mounts) }, thisMachine)
        const env = { ...command.env, ...privateCaches(command.temporary ?? "") }
        return { command: { ...command, file: program, args, env }, ports: undefined }
      },
      catch: (cause) => (cause instanceof Error ? cause.message : String(cause))
    })
})

/** Landlock, if setpriv limits programs with it on this machine. */
export const tryLandlock: MeansTrial = (machine) =>
  Effect.map(probeLandlock(machine, thisMachine), (found) =>
    typeof found === "string" ? landlockOf(found) : found
  )
