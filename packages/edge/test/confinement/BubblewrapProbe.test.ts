import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { join } from "node:path"
import { missingMeans, probeBubblewrap } from "../../src/confinement/Bubblewrap.ts"
import { openFolder, writeProgram } from "../Folder.ts"

describe("missingMeans", () => {
  it.each([
    ["bwrap: setting up uid map: Permission denied", "AppArmor"],
    ["bwrap: No permissions to create new namespace", "user namespaces"],
    ["bwrap: Creating new namespace failed: Operation not permitted", "user namespaces"],
    ["bwrap: Unknown option --disable-userns", "0.8 or later"],
    ["bwrap: something else", "corral doctor"]
  ])("names what to do about %s", (stderr, hint) => {
    assert.include(missingMeans(stderr).problem, stderr)
    assert.include(missingMeans(stderr).hint, hint)
  })
})

/** A folder with a program that takes the place of bubblewrap. */
const standIn = (script: string): string => {
  const folder = openFolder()
  writeProgram(join(folder, "bwrap"), script)
  return folder
}

describe.skipIf(process.platform !== "linux")("probeBubblewrap", () => {
  it.effect("finds nothing on a PATH without it", () =>
    Effect.gen(function* () {
      const found = yield* probeBubblewrap("/nowhere", [])
      assert.include("problem" in found ? found.problem : "", "not installed")
    })
  )

  it.effect("refuses a program that only says that it confines", () =>
    Effect.gen(function* () {
      assert.property(yield* probeBubblewrap(standIn("echo limited"), []), "problem")
    })
  )

  it.effect("refuses a program that runs the test without limits", () =>
    Effect.gen(function* () {
      const path = standIn('while [ "$1" != -- ]; do shift; done; shift; exec "$@"')
      assert.property(yield* probeBubblewrap(path, []), "problem")
    })
  )
})
