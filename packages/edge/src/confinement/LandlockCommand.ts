/**
 * Command line of setpriv (util-linux 2.40 or later) for a program whose files are limited by Landlock. Pure.
 *
 * Landlock is a list of what is allowed: a rule for a folder counts for everything in it, and no rule takes something back. So a folder that
 * hides something is replaced by its entries, and a run that writes a folder also writes what is protected in it (ADR 64).
 *
 * - The rights are those of Linux 6.2. The list is explicit, because each version of setpriv stands for another one by default.
 * - An Edge that runs as root gives the program no capabilities.
 *
 * Does not: limit the network, sockets of this machine, or signals.
 */
import { join } from "node:path"
import { type PathRule, rulesInside } from "./PathRules.ts"

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
