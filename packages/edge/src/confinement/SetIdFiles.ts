/**
 * Programs of a workspace that run with the user or the group of their file, for a means of confinement that does not refuse such files.
 * Those that appear during a run lose these rights at its end, and are reported.
 *
 * Does not: change a file that was there when the run started, or a folder. Limited to what one search can list.
 */
import { draft } from "@corral/domain/run/RunEvent"
import type { AdapterEvent } from "@corral/domain/run/RuntimeAdapter"
import { Effect } from "effect"
import { closeSync, constants, fchmodSync, fstatSync, openSync } from "node:fs"
import { relative } from "node:path"
import { findProgram } from "../process/ChildEnvironment.ts"
import { callProgram } from "../process/ProgramCall.ts"

const PATH = "/usr/bin:/bin"
const SET_ID = ["-xdev", "-type", "f", "(", "-perm", "-4000", "-o", "-perm", "-2000", ")", "-print0"]
/** Files that are named in the event. */
const LISTED = 5
const { O_NOFOLLOW, O_NONBLOCK, O_RDONLY } = constants

const setIdFiles = (root: string): Effect.Effect<ReadonlySet<string>> => {
  const program = findProgram("find", PATH)
  if (program === undefined) return Effect.succeed(new Set())
  return Effect.map(
    callProgram({ program, args: [root, ...SET_ID], env: {}, cwd: "/" }),
    (found) => new Set((found?.stdout ?? "").split("\0").slice(0, -1))
  )
}

/** Takes the rights away. `false` if the file is no longer there, or belongs to another user. */
const removeSetId = (path: string): boolean => {
  try {
    const fd = openSync(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK)
    try {
      fchmodSync(fd, fstatSync(fd).mode & 0o777)
      return true
    } finally {
      closeSync(fd)
    }
  } catch {
    return false
  }
}

const namesOf = (root: string, paths: ReadonlyArray<string>): string => {
  const rest = paths.length > LISTED ? `, and ${paths.length - LISTED} more` : ""
  return (
    paths
      .slice(0, LISTED)
      .map((path) => relative(root, path))
      .join(", ") + rest
  )
}

const eventOf = (root: string, removed: ReadonlyArray<string>, left: ReadonlyArray<string>): AdapterEvent => {
  const texts = [
    ...(removed.length === 0
      ? []
      : [
          `Corral removed the rights of another user or group from programs of the workspace: ${namesOf(root, removed)}.`
        ]),
    ...(left.length === 0
      ? []
      : [
          `These programs of the workspace run with the rights of another user or group: ${namesOf(root, left)}. Remove these rights.`
        ])
  ]
  return draft("run.notice", { kind: "warning", text: texts.join(" ") })
}

export class SetIdFiles {
  readonly #root: string
  #before: ReadonlySet<string> | undefined

  /** `root`: a real path. */
  constructor(root: string) {
    this.#root = root
  }

  /** Records those that exist. */
  readonly start: Effect.Effect<void> = Effect.suspend(() =>
    Effect.map(setIdFiles(this.#root), (found) => void (this.#before ??= found))
  )

  /** Removes the others, when no process of the run is alive. */
  readonly review: Effect.Effect<ReadonlyArray<AdapterEvent>> = Effect.suspend(() =>
    Effect.map(setIdFiles(this.#root), (found) => {
      const before = this.#before
      const added = before === undefined ? [] : [...found].filter((path) => !before.has(path))
      if (added.length === 0) return []
      const removed = new Set(added.filter(removeSetId))
      return [
        eventOf(
          this.#root,
          [...removed],
          added.filter((path) => !removed.has(path))
        )
      ]
    })
  )
}
