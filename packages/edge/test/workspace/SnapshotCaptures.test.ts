/** Captures that take longer than a run waits for them. */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { existsSync, readdirSync } from "node:fs"
import { join } from "node:path"
import { temporaryFolder, writeProgram } from "../Folder.ts"
import { newRunId } from "../Samples.ts"
import { put, snapshotsIn } from "./SnapshotPlace.ts"

/** A git whose `add` waits until the file `go` exists. It looks busy meanwhile. */
const slowGit = (folder: string): string => {
  writeProgram(
    join(folder, "git"),
    `case " $* " in *" add "*) while [ ! -e '${folder}/go' ]; do :; done;; esac; exec /usr/bin/git "$@"`
  )
  return folder
}

const indexesIn = (home: string): ReadonlyArray<string> =>
  readdirSync(join(home, "snapshots"), { recursive: true, encoding: "utf8" }).filter((name) =>
    /\/index[^/]*$/.test(name)
  )

describe("A snapshot that takes too long", () => {
  it.live("leaves the changes of its run unknown, and gives its result to the next run", () =>
    Effect.gen(function* () {
      const [home, root, folder] = [yield* temporaryFolder, yield* temporaryFolder, yield* temporaryFolder]
      put(root, "a.txt", "1\n")
      const hurried = yield* snapshotsIn(home, { path: slowGit(folder), wait: 50 })
      const first = newRunId()
      yield* hurried.before(first, root)
      const unknown = { code: "changes_unknown", details: { reason: "too_large" } } as const
      assert.deepInclude(yield* Effect.flip(hurried.after(first, root)), unknown)
      assert.deepInclude(yield* Effect.flip(hurried.diff(first, root, undefined, 10)), unknown)
      assert.deepStrictEqual(indexesIn(home), [])
      put(folder, "go", "")
      // The next capture waits for the one that continues.
      const patient = newRunId()
      while (indexesIn(home).length === 0) yield* Effect.yieldNow
      const next = yield* snapshotsIn(home)
      yield* next.before(patient, root)
      put(root, "a.txt", "2\n")
      assert.deepInclude(yield* next.after(patient, root), { files: 1 })
    }).pipe(Effect.scoped)
  )

  it.live("ends with its run if the run is cancelled, and with the Edge", () =>
    Effect.gen(function* () {
      const [home, root, folder] = [yield* temporaryFolder, yield* temporaryFolder, yield* temporaryFolder]
      yield* Effect.scoped(
        Effect.gen(function* () {
          const snapshots = yield* snapshotsIn(home, { path: slowGit(folder), wait: "1 minute" })
          yield* Effect.timeoutOption(snapshots.before(newRunId(), root), 100)
          const hurried = yield* snapshotsIn(home, { path: slowGit(folder), wait: 50 })
          yield* hurried.before(newRunId(), root)
        })
      )
      assert.deepStrictEqual(indexesIn(home), [])
      const rest = readdirSync(join(home, "snapshots"), { recursive: true, encoding: "utf8" })
      assert.isFalse(rest.some((name) => name.includes("work-")))
      assert.isFalse(existsSync(join(folder, "go")))
    }).pipe(Effect.scoped)
  )
})
