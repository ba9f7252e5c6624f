import { assert, it } from "@effect/vitest"
import { Effect } from "effect"
import { writeFileSync } from "node:fs"
import { join } from "node:path"
import { readProc } from "../../src/process/MarkSearch.ts"
import { temporaryFolder } from "../Folder.ts"

it.effect("reads a file that is longer than its buffer, byte by byte", () =>
  Effect.gen(function* () {
    const file = join(yield* temporaryFolder, "environ")
    const bytes = Buffer.from("NAME=é\0".repeat(30_000))
    writeFileSync(file, bytes)
    assert.strictEqual(readProc(file), bytes.toString("latin1"))
  })
)

it.effect("gives nothing for a process that has ended, and for what is not a file", () =>
  Effect.gen(function* () {
    const folder = yield* temporaryFolder
    assert.isUndefined(readProc(join(folder, "stat")))
    assert.isUndefined(readProc(folder))
  })
)
