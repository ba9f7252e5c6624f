/**
 * Confinement by Landlock, through setpriv of util-linux 2.40 or later: files only, for machines on which bubblewrap may not create namespaces. A probe tries it once on this machine.
 *
 * Landlock is a list of what is allowed: a rule for a folder counts for everything in it, and no rule takes something back. So a folder that hides something is replaced by its entries, and a
 * run that writes a folder also writes what is protected in it (ADR 64).
 *
 * - The rights are those of Linux 6.2. The list is explicit, because each version of setpriv stands for another one by default.
 * - An Edge that runs as root gives the program no capabilities.
 *
 * Does not: limit connections, sockets of this machine, or signals, so it does not count where a confinement is required (ADR 64).
 */
import { Effect } from "effect"
import { readdirSync, statSync } from "node:fs"
import { join } from "node:path"
import { findProgram } from "../process/ChildEnvironment.ts"
import {
  type ConfinementMeans,
  HIDDEN_CHECK,
  type MachineFolders,
  type MeansTrial,
  type MissingMeans,
  runTrial,
  type TrialShell
} from "./Means.ts"
import { type PathRule, pathRules, privateCaches, rulesInside } from "./Mount.ts"

const readFile = ["execute", "read-file"]
const readFolder = [...readFile, "read-dir"]
const writeFile = [...readFile, "write-file", "truncate"]
const writeFolder = [
  ...readFolder,
  "write-file",
  "truncate",
  "remove-dir",
  "remove-file",
  "make-char",
  "make-dir",
  "make-reg",
  "make-sock",
  "make-fifo",
  "make-block",
  "make-sym",
  "refer"
]

/** Devices that every program may use. The rest of `/dev` are disks and memory. */
const DEVICES = ["null", "zero", "full", "random", "urandom", "tty", "ptmx", "pts"].map(
  (name) => `/dev/${name}`
)
const MAX_RULES = 2_000

/** What the command line needs to know about this machine. */
export interface LandlockMachine {
  readonly isRoot: boolean
  /** `undefined` if the path does not exist. */
  readonly kindOf: (path: string) => "file" | "folder" | undefined
  /** Files and folders in a folder, without links. */
  readonly entriesIn: (folder: string) => ReadonlyArray<string>
}

interface LandlockRule {
  readonly rights: ReadonlyArray<string>
  readonly path: string
}

/**
 * The folder, or its entries if something in it is hidden. Names in it can be listed. A link is not an entry: a rule for it would be one for
 * what it leads to.
 */
const readable = (
  path: string,
  hidden: ReadonlyArray<PathRule>,
  machine: LandlockMachine
): ReadonlyArray<LandlockRule> => {
  const kind = machine.kindOf(path)
  if (kind === undefined || hidden.some((rule) => rule.path === path)) return []
  if (kind === "file") return [{ rights: readFile, path }]
  const inside = rulesInside(hidden, path)
  if (inside.length === 0) return [{ rights: readFolder, path }]
  const entries = machine.entriesIn(path).flatMap((name) => readable(join(path, name), inside, machine))
  return [{ rights: ["read-dir"], path }, ...entries]
}

const writable = (
  path: string,
  hidden: ReadonlyArray<PathRule>,
  { kindOf }: LandlockMachine
): ReadonlyArray<LandlockRule> => {
  if (rulesInside(hidden, path).length > 0)
    throw new Error(`Landlock cannot hide files of the Edge in ${path}, which the run writes.`)
  const kind = kindOf(path)
  return kind === undefined ? [] : [{ rights: kind === "file" ? writeFile : writeFolder, path }]
}

const landlockRules = (
  rules: ReadonlyArray<PathRule>,
  machine: LandlockMachine
): ReadonlyArray<LandlockRule> => {
  const hidden = rules.filter(({ access }) => access === "none")
  const found = rules.flatMap(({ access, path }) => {
    if (access === "none") return []
    return (access === "read" ? readable : writable)(path, hidden, machine)
  })
  const devices = DEVICES.flatMap((path) => writable(path, [], machine))
  if (found.length > MAX_RULES)
    throw new Error("Landlock would need too many rules, because of hidden files in large folders.")
  return [{ rights: readFolder, path: "/proc" }, ...devices, ...found]
}

const withoutRights = ["--bounding-set=-all", "--inh-caps=-all"]

export interface LandlockOptions {
  readonly rules: ReadonlyArray<PathRule>
  readonly file: string
  readonly args: ReadonlyArray<string>
}

/** Arguments of setpriv. Throws if Landlock cannot express the rules. */
export const landlockArguments = (
  { args, file, rules }: LandlockOptions,
  machine: LandlockMachine
): ReadonlyArray<string> => [
  "--no-new-privs",
  ...(machine.isRoot ? withoutRights : []),
  `--landlock-access=fs:${writeFolder.join(",")}`,
  ...landlockRules(rules, machine).map(
    ({ path, rights }) => `--landlock-rule=path-beneath:${rights.join(",")}:${path}`
  ),
  "--",
  file,
  ...args
]

// Whether setpriv limits programs with Landlock on this machine, found by trying it once: a shell must start with the rules of a run, write the
// one folder that it may write, fail to write another one, and fail to read a third.

const NOT_INSTALLED: MissingMeans = {
  problem: "setpriv is not installed.",
  hint: "Or install util-linux 2.40 or later, so that Landlock limits the files of runs."
}

/** Why Landlock does not work, by what setpriv printed. */
export const missingLandlock = (stderr: string): MissingMeans => {
  const [line = "no reason given"] = stderr.trim().split("\n")
  const problem = `Landlock does not work here: ${line.slice(0, 200)}.`
  const isOld = line.includes("unrecognized option") || line.includes("could not parse")
  return {
    problem,
    hint: isOld
      ? NOT_INSTALLED.hint
      : "Landlock would limit the files of runs without namespaces. It needs Linux 6.2 or later, and to be on in the kernel."
  }
}

/** Tries setpriv. Gives its path if it works. */
export const probeLandlock = (
  { path, system }: MachineFolders,
  facts: LandlockMachine
): Effect.Effect<string | MissingMeans> =>
  Effect.suspend(() => {
    const program = findProgram("setpriv", path)
    if (program === undefined) return Effect.succeed(NOT_INSTALLED)
    const trial = runTrial(({ readable, writable }) => {
      const rules = pathRules([
        ...system,
        { kind: "write", path: writable },
        { kind: "read", path: readable }
      ])
      const args = (shell: TrialShell) => landlockArguments({ rules, ...shell }, facts)
      return Effect.succeed({ program, args, checks: [HIDDEN_CHECK] })
    })
    return Effect.map(trial, (cause) => (cause === undefined ? program : missingLandlock(cause)))
  })

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
