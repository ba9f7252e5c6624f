/** All changes of all files that git reads in a repository. */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { mkdirSync } from "node:fs"
import { join } from "node:path"
import { openFolder } from "../Folder.ts"
import { ALL_COMMANDS, canTrace, tracedNames, tracedRepository } from "./GitTrace.ts"
import { assertReported, CHANGES, isCompared } from "./RepositoryFiles.ts"

describe.skipIf(!canTrace)("files that git reads in a repository", () => {
  it.effect("are reported by name and put back, for each change of each of them", () =>
    Effect.gen(function* () {
      const folder = openFolder()
      const [home, root] = [join(folder, "home"), join(folder, "work")]
      mkdirSync(root)
      tracedRepository(root)
      let count = 0
      for (const name of tracedNames(folder, ALL_COMMANDS).filter(isCompared))
        for (const change of CHANGES) if (yield* assertReported({ home, root }, name, change)) count++
      assert.isAbove(count, 300)
    })
  )
})
