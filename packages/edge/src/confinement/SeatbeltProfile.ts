/**
 * Seatbelt profile of a run on macOS: what it may do with files, and where it may connect. Pure. Untested on hardware (ADR 64).
 *
 * Guarantees: what no rule allows is refused. The last rule for a path counts, as in the list of the run. A protected path cannot be replaced by
 * renaming a folder around it. A run connects to its proxy, to ports of this machine that its owner lists, and to its own socket files.
 */
import { dirname } from "node:path"
import { isWithin } from "../workspace/PathContainment.ts"
import type { PathRule } from "./PathRules.ts"
import { seatbeltString } from "./SeatbeltStrings.ts"
import { seatbeltFolders, seatbeltSystem } from "./SeatbeltSystem.ts"

const READ = "file-read* file-map-executable"

const subpath = (path: string): string => `(subpath ${seatbeltString(path)})`
const literal = (path: string): string => `(literal ${seatbeltString(path)})`

/** Programs look up the folders around a path. They do not list them. */
const visible = (path: string): string =>
  `(allow file-read-metadata (path-ancestors ${seatbeltString(path)}))`

const fileRules = ({ access, path }: PathRule): ReadonlyArray<string> => {
  switch (access) {
    case "read":
      return [visible(path), `(allow ${READ} ${subpath(path)})`, `(deny file-write* ${subpath(path)})`]
    case "write":
      return [visible(path), `(allow ${READ} file-write* ${subpath(path)})`]
    case "none":
      return [`(deny ${READ} file-write* ${subpath(path)})`]
  }
}

/** Folders between a protected path and the folder around it that the run writes. */
const foldersAround = (path: string, writable: ReadonlyArray<string>): ReadonlyArray<string> => {
  const found: Array<string> = []
  for (
    let folder = dirname(path);
    writable.some((each) => isWithin(each, folder));
    folder = dirname(folder)
  ) {
    found.push(folder)
    if (folder === dirname(folder)) break
  }
  return found
}

/** A folder with something protected in it stays where it is. */
const fixedFolders = (rules: ReadonlyArray<PathRule>): ReadonlyArray<string> => {
  const writable = rules.flatMap(({ access, path }) => (access === "write" ? [path] : []))
  const folders = rules.flatMap(({ access, path }) =>
    access === "write" ? [] : foldersAround(path, writable)
  )
  return [...new Set(folders)].map((folder) => `(deny file-write-unlink ${literal(folder)})`)
}

/** What the profile depends on. All paths are real paths, because Seatbelt compares them. */
export interface SeatbeltFacts {
  readonly rules: ReadonlyArray<PathRule>
  /** Folder in which the run may have socket files. */
  readonly temporary: string
  /** Ports of this machine, with that of the run's proxy. */
  readonly ports: ReadonlyArray<number>
}

const networkRules = ({ ports, temporary }: SeatbeltFacts): ReadonlyArray<string> => [
  ...ports.map((port) => `(allow network-outbound (remote ip "localhost:${port}"))`),
  '(allow network-bind network-inbound (local ip "localhost:*"))',
  "(allow system-socket (socket-domain AF_UNIX))",
  `(allow network-bind (local unix-socket ${subpath(temporary)}))`,
  `(allow network-outbound (remote unix-socket ${subpath(temporary)}))`
]

/** The profile. Throws if a path cannot be in one. */
export const seatbeltProfile = (facts: SeatbeltFacts): string =>
  [
    ...seatbeltSystem,
    ...seatbeltFolders.flatMap((path) => fileRules({ access: "read", path })),
    ...facts.rules.flatMap(fileRules),
    ...fixedFolders(facts.rules),
    ...networkRules(facts),
    ""
  ].join("\n")
