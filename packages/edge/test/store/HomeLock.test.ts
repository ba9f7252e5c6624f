import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { spawn } from "node:child_process"
import { once } from "node:events"
import { chmodSync, mkdirSync, statSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { holdHome } from "../../src/store/HomeLock.ts"
import { temporaryFolder } from "../Folder.ts"

const newHome = Effect.map(temporaryFolder, (folder) => join(folder, "home"))

describe("HomeLock", () => {
  it.effect("refuses a home that another scope holds, and takes it when that scope has closed", () =>
    Effect.gen(function* () {
      const home = yield* newHome
      yield* Effect.scoped(
        Effect.gen(function* () {
          yield* holdHome(home)
          const failure = yield* Effect.flip(Effect.scoped(holdHome(home)))
          assert.deepInclude(failure, {
            _tag: "HomeInUse",
            message: `${home} is in use by another Edge. Stop it, or choose another home.`
          })
        })
      )
      yield* holdHome(home)
      assert.strictEqual(statSync(home).mode & 0o777, 0o700)
      assert.strictEqual(statSync(join(home, "edge.db.lock")).mode & 0o777, 0o600)
    })
  )

  it.effect("takes the permission to write it away from other users", () =>
    Effect.gen(function* () {
      for (const [before, after] of [
        [0o777, 0o755],
        [0o1777, 0o1755],
        [0o720, 0o700],
        [0o702, 0o700],
        [0o755, 0o755],
        [0o750, 0o750]
      ] as const) {
        const home = yield* newHome
        mkdirSync(home)
        chmodSync(home, before)
        yield* Effect.scoped(holdHome(home))
        assert.strictEqual(statSync(home).mode & 0o7777, after)
      }
    })
  )

  it.live("refuses a home that another process holds, until that process is killed", () =>
    Effect.gen(function* () {
      const home = yield* newHome
      const holder = yield* Effect.acquireRelease(
        Effect.sync(() =>
          spawn(process.execPath, [join(import.meta.dirname, "HoldHome.ts"), home], {
            stdio: ["pipe", "pipe", "inherit"]
          })
        ),
        (child) => Effect.sync(() => child.kill("SIGKILL"))
      )
      yield* Effect.promise(() => once(holder.stdout, "data"))
      const failure = yield* Effect.flip(Effect.scoped(holdHome(home)))
      assert.strictEqual(failure._tag, "HomeInUse")
      const exited = once(holder, "exit")
      holder.kill("SIGKILL")
      yield* Effect.promise(() => exited)
      yield* holdHome(home)
    })
  )

  it.effect("refuses a home that is a file, in one sentence", () =>
    Effect.gen(function* () {
      const home = yield* newHome
      writeFileSync(home, "")
      const failure = yield* Effect.flip(Effect.scoped(holdHome(home)))
      assert.strictEqual(failure._tag, "HomeUnusable")
      assert.include(failure.message, `${home} cannot be used as a home: `)
    })
  )
})
