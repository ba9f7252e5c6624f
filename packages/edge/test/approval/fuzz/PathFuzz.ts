/** Generated writes: each is judged in `auto_edit`, and what is allowed is really written. */
import { assert } from "@effect/vitest"
import { mkdirSync, writeFileSync } from "node:fs"
import { isAbsolute, resolve } from "node:path"
import { workspacePathsAt } from "../../../src/approval/PathTarget.ts"
import type { Seeded } from "../../harness/Seeded.ts"
import { request } from "../../Samples.ts"
import { policyOf, verdictOn } from "../RunPolicies.ts"
import { pathOf } from "./GeneratedPaths.ts"
import { GeneratedTree } from "./GeneratedTree.ts"

/** Paths of one tree. */
const PER_TREE = 400
const CHECKED_TOGETHER = 25

/** Writes as tools do: some as the path is named, some normalized; folders on the way are made. Failing is fine. */
const write = (root: string, path: string, normalizes: boolean): boolean => {
  const named = isAbsolute(path) ? path : `${root}/${path}`
  const at = normalizes ? resolve(root, path) : named
  try {
    mkdirSync(at.slice(0, at.lastIndexOf("/")), { recursive: true })
    writeFileSync(at, "written\n")
    return true
  } catch {
    return false
  }
}

/** Judges paths and carries out allowed writes. */
export const fuzzPaths = (
  random: Seeded,
  wanted: { readonly judgedCount: number; readonly written: number }
) => {
  let judgedCount = 0
  let allowed = 0
  let written = 0
  while (judgedCount < wanted.judgedCount || written < wanted.written) {
    const tree = new GeneratedTree(random)
    const policy = policyOf({ mode: "auto_edit", place: workspacePathsAt(tree.root) })
    let recent: Array<string> = []
    const check = (): void => {
      assert.deepStrictEqual(tree.violations(), [], `after writing ${JSON.stringify(recent)}`)
      recent = []
    }
    check()
    for (let left = PER_TREE; left > 0; left--) {
      const files = Array.from({ length: random.whole(1, 8) === 1 ? 2 : 1 }, () => pathOf(random, tree))
      judgedCount++
      if (verdictOn(policy, request({ files }))._tag !== "Allow") continue
      allowed++
      if (written >= wanted.written) continue
      for (const file of files) {
        if (write(tree.root, file, random.whole(0, 1) === 1)) written++
        recent.push(file)
      }
      if (recent.length >= CHECKED_TOGETHER) check()
    }
    check()
    tree.remove()
  }
  return { judged: judgedCount, allowed, written }
}
