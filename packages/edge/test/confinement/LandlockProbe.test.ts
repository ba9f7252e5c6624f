import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { join } from "node:path"
import { missingLandlock, tryLandlock } from "../../src/confinement/Landlock.ts"
import { openFolder, writeProgram } from "../Folder.ts"

describe("missingLandlock", () => {
  it.each([
    ["setpriv: unrecognized option '--landlock-access=fs:execute'", "util-linux 2.40"],
    ["setpriv: could not parse landlock fs access: truncate", "util-linux 2.40"],
    ["setpriv: landlock_create_ruleset failed: Operation not supported", "Linux 6.2"],
    ["setpriv: landlock_create_ruleset failed: Invalid argument", "Linux 6.2"]
  ])("names what to do about %s", (stderr, hint) => {
    assert.include(missingLandlock(stderr).problem, stderr)
    assert.include(missingLandlock(stderr).hint, hint)
  })
})

/** A folder with a program that takes the place of setpriv. */
const standIn = (script: string): string => {
  const folder = openFolder()
  writeProgram(join(folder, "setpriv"), script)
  return folder
}

const problemWith = (path: string) =>
  Effect.map(tryLandlock({ path, system: [] }), (found) => ("problem" in found ? found.problem : "none"))

describe("tryLandlock", () => {
  it.effect("finds nothing on a PATH without setpriv", () =>
    Effect.gen(function* () {
      assert.include(yield* problemWith("/nowhere"), "not installed")
    })
  )

  it.effect("refuses a program that only says that it limits", () =>
    Effect.gen(function* () {
      assert.include(yield* problemWith(standIn("echo limited")), "does not work")
    })
  )

  it.effect("refuses a program that runs the test without limits", () =>
    Effect.gen(function* () {
      const path = standIn('while [ "$1" != -- ]; do shift; done; shift; exec "$@"')
      assert.include(yield* problemWith(path), "ended with 4")
    })
  )
})
