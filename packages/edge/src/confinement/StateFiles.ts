/**
 * Files of a runtime's state for one workspace, by patterns (`@corral/domain/run/RuntimeFolders`).
 *
 * Guarantees: no link is followed. Only folders on the way of a pattern are read, and at most a number of entries. A name of a path matches one part of a pattern. Nothing matches `.`, `..` or a
 * slash.
 */
import { capped } from "@corral/domain/text/CappedPattern"
import type { Stats } from "node:fs"
import { lstat, readdir } from "node:fs/promises"
import { isAbsolute, join } from "node:path"
import { statOf } from "../workspace/UntrustedFiles.ts"

/** What the parts of patterns stand for in one run. */
export interface PatternFacts {
  /** Real path of the run's folder. */
  readonly workspace: string
  /** The conversation, if only its files are meant. */
  readonly session?: string | undefined
  readonly sessions?: "uuid" | "token" | undefined
}

/** What `{session}` and `{project}` stand for in a path. */
export interface PatternBindings {
  readonly session?: string | undefined
  readonly project?: string | undefined
}

/** Longest name in a folder. */
const MAX_SEGMENT = 256
const UUID = "[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"
const TOKEN = "(?=[A-Za-z_-]*[0-9])[0-9A-Za-z_-]{8,64}"
/** Longest name of a workspace that a runtime does not shorten. */
const MAX_NAME = 200
const PLACEHOLDER = /(\*|\{[a-z]+(?::[a-z0-9]+)?\})/

/** Whether an id may be a part of a path. */
export const isSessionId = (id: string, sessions: PatternFacts["sessions"]): boolean =>
  capped(MAX_SEGMENT, new RegExp(`^(?:${sessions === "token" ? TOKEN : UUID})$`)).test(id)

const escaped = (text: string): string => text.replaceAll(/[$()*+.?[\\\]^{|}]/g, String.raw`\$&`)

/** The text that a part stands for; `undefined` if it stands for several. Throws for one that does not exist. */
const textOf = (part: string, { session, workspace }: PatternFacts): string | undefined => {
  const name = workspace.replaceAll(/[^A-Za-z0-9]/g, "-")
  switch (part) {
    case "*":
    case "{project}":
      return undefined
    case "{session}":
      return session
    case "{session:8}":
      return session?.slice(0, 8)
    case "{workspace}":
      return name.length <= MAX_NAME ? name : undefined
    case "{workspace:slashes}":
      return workspace.replace(/^\//, "").replaceAll(/[/:]/g, "-")
    case "{workspace:uri}":
      return encodeURIComponent(workspace)
    default:
      if (part.startsWith("{")) throw new Error(`A pattern has the unknown part ${part}.`)
      return part
  }
}

/** Source of a regular expression for a part that stands for several texts. */
const sourceOf = (part: string, { sessions, workspace }: PatternFacts): string => {
  switch (part) {
    case "{project}":
      return "(?<project>[^/]+)"
    case "{session}":
      return `(?<session>${sessions === "token" ? TOKEN : UUID})`
    case "{session:8}":
      return "(?<session>[0-9a-f]{8})"
    case "{workspace}":
      return `${workspace.slice(0, MAX_NAME).replaceAll(/[^A-Za-z0-9]/g, "-")}-[0-9a-z]{1,16}`
    default:
      return "[^/]*"
  }
}

const MAX_STARS = 2

type Segment = string | RegExp

const segmentOf = (text: string, facts: PatternFacts): Segment => {
  const parts = text.split(PLACEHOLDER).filter((part) => part !== "")
  if (parts.filter((part) => part === "*").length > MAX_STARS)
    throw new Error(`A pattern has more than ${MAX_STARS} stars in one name.`)
  const texts = parts.map((part) => textOf(part, facts))
  if (texts.every((part) => part !== undefined)) return texts.join("")
  const start = /^(?:\*|\{project\})/.test(text) ? String.raw`(?!\.)` : ""
  const sources = parts.map((part, index) => {
    const exact = texts[index]
    return exact === undefined ? sourceOf(part, facts) : escaped(exact)
  })
  return capped(MAX_SEGMENT, new RegExp(`^${start}${sources.join("")}$`))
}

/** The problem of a pattern, as a clause; `undefined` if it is one. */
export const patternProblem = (pattern: string): string | undefined => {
  const names = pattern.split("/")
  if (isAbsolute(pattern) || names.some((name) => name === "" || name === "." || name === ".."))
    return "it is not a relative path of names"
  try {
    for (const name of names) segmentOf(name, { workspace: "/" })
    return undefined
  } catch (cause) {
    return cause instanceof Error ? cause.message : String(cause)
  }
}

export class StatePattern {
  readonly #segments: ReadonlyArray<Segment>

  constructor(pattern: string, facts: PatternFacts) {
    this.#segments = pattern.split("/").map((name) => segmentOf(name, facts))
  }

  /** Number of names of a path that matches. */
  get length(): number {
    return this.#segments.length
  }

  /** The only name that matches at a depth; `undefined` if several may. */
  nameAt(depth: number): string | undefined {
    const segment = this.#segments[depth]
    return typeof segment === "string" ? segment : undefined
  }

  /** The bindings with those of a name at a depth; `undefined` if it does not match. */
  match(depth: number, name: string, bindings: PatternBindings): PatternBindings | undefined {
    const segment = this.#segments[depth]
    if (segment === undefined || name === "." || name === "..") return undefined
    if (typeof segment === "string") return segment === name ? bindings : undefined
    const found = segment.exec(name)
    if (found === null) return undefined
    const { project = bindings.project, session = bindings.session } = found.groups ?? {}
    const isSame = (a: string | undefined, b: string | undefined) => a === undefined || a === b
    return isSame(bindings.project, project) && isSame(bindings.session, session)
      ? { project, session }
      : undefined
  }

  /** Whether a whole path matches. */
  matches(path: string): boolean {
    const names = path.split("/")
    let bindings: PatternBindings | undefined = {}
    for (const [depth, name] of names.entries())
      bindings = bindings === undefined ? undefined : this.match(depth, name, bindings)
    return names.length === this.length && bindings !== undefined
  }
}

export interface StateEntry {
  /** Relative to the folder. */
  readonly path: string
  readonly stat: Stats
  readonly bindings: PatternBindings
}

/** Bound of the work on a folder that a run filled. */
export const MAX_ENTRIES = 20_000

interface Reached {
  readonly pattern: StatePattern
  readonly bindings: PatternBindings
}

interface Visit {
  readonly path: string
  readonly depth: number
  readonly reached: ReadonlyArray<Reached>
}

/** Names in a folder that may match: without a wildcard the folder is not read. */
const namesIn = async (folder: string, { depth, reached }: Visit): Promise<ReadonlyArray<string>> => {
  const names = reached.map(({ pattern }) => pattern.nameAt(depth))
  const exact = names.filter((name) => name !== undefined)
  if (exact.length === names.length) return [...new Set(exact)]
  return readdir(folder).catch(() => [])
}

/** Number of entries that are looked at without other threads, which cost ten times as much. */
const FEW = 64

const statsOf = (paths: ReadonlyArray<string>): Promise<ReadonlyArray<Stats | undefined>> =>
  paths.length <= FEW
    ? Promise.resolve(paths.map(statOf))
    : Promise.all(paths.map((path) => lstat(path).catch(() => undefined)))

/** The entries that match, each once. Further ones are left out if there are too many. */
export const entriesMatching = async (
  root: string,
  patterns: ReadonlyArray<StatePattern>,
  limit = MAX_ENTRIES
): Promise<ReadonlyArray<StateEntry>> => {
  const found: Array<StateEntry> = []
  const visits: Array<Visit> = [
    { path: "", depth: 0, reached: patterns.map((pattern) => ({ pattern, bindings: {} })) }
  ]
  let seen = 0
  for (let visit = visits.pop(); visit !== undefined; visit = visits.pop()) {
    const { depth, path: around, reached } = visit
    const names = await namesIn(join(root, around), visit)
    seen += names.length
    if (seen > limit) return found
    const matches = names.flatMap((name) => {
      const next = reached.flatMap(({ bindings, pattern }) => {
        const bound = pattern.match(depth, name, bindings)
        return bound === undefined ? [] : [{ pattern, bindings: bound }]
      })
      return next.length === 0 ? [] : [{ name, next }]
    })
    const stats = await statsOf(matches.map(({ name }) => join(root, around, name)))
    for (const [index, { name, next }] of matches.entries()) {
      const stat = stats[index]
      if (stat === undefined) continue
      const path = around === "" ? name : `${around}/${name}`
      const whole = next.find(({ pattern }) => pattern.length === depth + 1)
      if (whole !== undefined) found.push({ path, stat, bindings: whole.bindings })
      const longer = next.filter(({ pattern }) => pattern.length > depth + 1)
      if (longer.length > 0 && stat.isDirectory()) visits.push({ path, depth: depth + 1, reached: longer })
    }
  }
  return found
}

/** Number of entries below a folder that are no folders, up to the bound. */
export const countFiles = async (root: string, isCounted: (path: string) => boolean): Promise<number> => {
  const folders = [""]
  let count = 0
  let seen = 0
  for (let folder = folders.pop(); folder !== undefined; folder = folders.pop()) {
    const entries = await readdir(join(root, folder), { withFileTypes: true }).catch(() => [])
    for (const entry of entries) {
      if (++seen > MAX_ENTRIES) return count
      const path = folder === "" ? entry.name : `${folder}/${entry.name}`
      if (entry.isDirectory()) folders.push(path)
      else if (isCounted(path)) count++
    }
  }
  return count
}
