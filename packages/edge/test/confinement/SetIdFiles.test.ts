import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import * as fc from "fast-check"
import { chmodSync, linkSync, mkdirSync, statSync, symlinkSync, writeFileSync } from "node:fs"
import { dirname, join } from "node:path"
import { SetIdFiles } from "../../src/confinement/SetIdFiles.ts"
import { openFolder } from "../Folder.ts"

const isSetId = (path: string): boolean => (statSync(path).mode & 0o6000) !== 0

const names = fc.array(fc.constantFrom("a", "b c", "-d", "é", ".e", "(f"), { minLength: 1, maxLength: 3 })
const file = fc.record({ names, mode: fc.constantFrom(0o755, 0o4755, 0o2755, 0o6711, 0o4000) })

describe("SetIdFiles", () => {
  it.effect("removes the rights of all files that got them during the run, and of no others", () =>
    Effect.promise(() =>
      fc.assert(
        fc.asyncProperty(
          fc.array(file, { maxLength: 6 }),
          fc.array(file, { maxLength: 6 }),
          async (first, second) => {
            const root = openFolder()
            const make = (files: typeof first, folder: string) =>
              files.map(({ mode, names: inside }, at) => {
                const path = join(root, folder, ...inside, `${at}`)
                mkdirSync(dirname(path), { recursive: true })
                writeFileSync(path, "")
                chmodSync(path, mode)
                return { path, mode }
              })
            const before = make(first, "before")
            const files = new SetIdFiles(root)
            await Effect.runPromise(files.start)
            const added = make(second, "added")
            const events = await Effect.runPromise(files.review)
            for (const { mode, path } of before)
              assert.strictEqual(isSetId(path), (mode & 0o6000) !== 0, path)
            for (const { path } of added) assert.isFalse(isSetId(path), path)
            assert.strictEqual(events.length, added.some(({ mode }) => (mode & 0o6000) !== 0) ? 1 : 0)
          }
        ),
        { numRuns: 25 }
      )
    )
  )

  it.effect("names the files, and follows no link", () =>
    Effect.gen(function* () {
      const [root, outside] = [openFolder(), openFolder()]
      writeFileSync(join(outside, "su"), "")
      chmodSync(join(outside, "su"), 0o4755)
      const files = new SetIdFiles(root)
      yield* files.start
      symlinkSync(join(outside, "su"), join(root, "link"))
      symlinkSync(outside, join(root, "folder"))
      writeFileSync(join(root, "program"), "")
      chmodSync(join(root, "program"), 0o4755)
      linkSync(join(root, "program"), join(root, "other"))
      const [event] = yield* files.review
      assert.isTrue(isSetId(join(outside, "su")))
      assert.strictEqual(event?.type, "run.notice")
      assert.match(JSON.stringify(event), /program/)
      assert.deepStrictEqual(yield* files.review, [])
    })
  )
})
