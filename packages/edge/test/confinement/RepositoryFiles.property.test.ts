/** Changes of files that git reads in a repository: a part of those that a trace of git names. The soak test has all. */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { mkdirSync } from "node:fs"
import { join } from "node:path"
import { openFolder } from "../Folder.ts"
import { canTrace, FEW_COMMANDS, tracedNames, tracedRepository } from "./GitTrace.ts"
import { assertReported, CHANGES, isCompared } from "./RepositoryFiles.ts"

/** Each name with one of the changes. */
describe.skipIf(!canTrace)("files that git reads in a repository", () => {
  it.effect("are reported by name and put back when a run in place changes them", () =>
    Effect.gen(function* () {
      const folder = openFolder()
      const [home, root] = [join(folder, "home"), join(folder, "work")]
      mkdirSync(root)
      tracedRepository(root)
      const names = tracedNames(folder, FEW_COMMANDS).filter(isCompared)
      assert.includeMembers(
        [...names],
        ["HEAD", "index", "packed-refs", "shallow", "commondir", "info/grafts", "refs/stash", "MERGE_HEAD"]
      )
      let count = 0
      for (const [at, name] of names.entries())
        if (yield* assertReported({ home, root }, name, CHANGES[at % CHANGES.length] ?? "")) count++
      assert.isAbove(count, 40)
    })
  )
})
