/** State of the machine that runs depend on, besides runtimes: disk space and git. */
import type { EdgeReadiness, GitFound } from "@corral/domain/http/Health"
import { Effect, Option } from "effect"
import { statfs } from "node:fs/promises"
import { Programs, versionIn } from "./Programs.ts"

/** Minimum free space, 100 MB. With less, an Edge is degraded. */
export const LOW_DISK_BYTES = 100_000_000

/** Free space of the disk with a folder; `undefined` if it cannot be read. */
export const diskOf = (folder: string): Effect.Effect<EdgeReadiness["disk"]> =>
  Effect.tryPromise(() => statfs(folder)).pipe(
    Effect.map(({ bavail, bsize }) => ({ freeBytes: bavail * bsize })),
    Effect.option,
    Effect.map(Option.getOrUndefined)
  )

const VERSION_TIMEOUT = "1 second"

/** Version of git, within a second. */
export const findGit: Effect.Effect<GitFound, never, Programs> = Effect.gen(function* () {
  const programs = yield* Programs
  const program = programs.find("git")
  if (program === undefined) return { found: false }
  const versionQuery = programs.ask({ program, args: ["--version"], pass: [], holds: Infinity })
  const version = versionIn(Option.getOrUndefined(yield* Effect.timeoutOption(versionQuery, VERSION_TIMEOUT)))
  return { found: true, ...(version === undefined ? {} : { version }) }
})
