/** Every change of a protected name in generated trees is reported, and nothing else. */
import { assert, describe, it } from "@effect/vitest"
import * as fc from "fast-check"
import {
  appendFileSync,
  existsSync,
  linkSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  renameSync,
  rmSync,
  symlinkSync,
  utimesSync
} from "node:fs"
import { dirname } from "node:path"
import { ProtectedCase } from "./ProtectedCase.ts"

const folders = [
  "",
  "src/",
  "src/deep/",
  ".vscode/",
  "lib/.git/",
  "lib/.git/hooks/",
  "scripts/",
  "node_modules/a/"
]
const names = ["a.txt", "package.json", ".envrc", "config", "CLAUDE.md", "index"]
const file = fc.tuple(fc.constantFrom(...folders), fc.constantFrom(...names)).map((parts) => parts.join(""))

/** What is protected, said again: by folder, then by name. */
const isProtected = (path: string): boolean => {
  if (path.includes("node_modules/")) return false
  if (path.includes(".git/hooks/")) return true
  if (path.includes(".git/")) return path.endsWith("/config") || path.split(".git/")[1] === "config"
  if (path.includes(".vscode") || path.includes("scripts/")) return true
  return /(^|\/)(package\.json|\.envrc|CLAUDE\.md)$/.test(path)
}

const operation = fc.oneof(
  ...(["write", "remove", "restore", "mode"] as const).map((kind) =>
    fc.record({ kind: fc.constant(kind), at: file })
  ),
  ...(["rename", "link", "hardlink"] as const).map((kind) =>
    fc.record({ kind: fc.constant(kind), at: file, to: file })
  ),
  fc.record({
    kind: fc.constant("move" as const),
    at: fc.constantFrom("src", "src/deep", ".vscode", "lib", "scripts"),
    to: fc.constantFrom("moved", "src/moved", ".vscode", "src/.vscode")
  })
)
type Operation = typeof operation extends fc.Arbitrary<infer O> ? O : never

const apply = (workspace: ProtectedCase, op: Operation): void => {
  const at = workspace.path(op.at)
  const to = "to" in op ? workspace.path(op.to) : ""
  // An operation on what does not exist, or on itself, changes nothing.
  try {
    if (to !== "") mkdirSync(dirname(to), { recursive: true })
    switch (op.kind) {
      case "write":
        return workspace.write(op.at, "x")
      case "remove":
        return rmSync(at)
      case "restore": {
        const { atime, mtime } = lstatSync(at)
        appendFileSync(at, "")
        return utimesSync(at, atime, mtime)
      }
      case "mode":
        return utimesSync(at, 1, 1)
      case "rename":
        return renameSync(at, to)
      case "move":
        return existsSync(to) ? undefined : renameSync(at, to)
      case "link":
        return symlinkSync(at, to)
      case "hardlink":
        return linkSync(at, to)
    }
  } catch {
    // As above.
  }
}

/** State of every protected file, read without the watch. */
const stateOf = (workspace: ProtectedCase): ReadonlyMap<string, string> => {
  const state = new Map<string, string>()
  const visit = (folder: string): void => {
    for (const entry of readdirSync(workspace.path(folder), { withFileTypes: true })) {
      const path = folder === "" ? entry.name : `${folder}/${entry.name}`
      if (entry.isDirectory()) visit(path)
      else if (isProtected(path)) {
        const { ctimeNs, ino } = lstatSync(workspace.path(path), { bigint: true })
        state.set(path, `${ino} ${ctimeNs}`)
      }
    }
  }
  visit("")
  return state
}

describe("ProtectedTree", () => {
  it("reports every change of a protected file, and no other file", () => {
    fc.assert(
      fc.property(
        fc.array(file, { maxLength: 12 }),
        fc.array(fc.array(operation, { maxLength: 6 }), { maxLength: 4 }),
        (files, rounds) => {
          const workspace = new ProtectedCase(files)
          workspace.changes()
          let before = stateOf(workspace)
          for (const round of rounds) {
            for (const op of round) apply(workspace, op)
            const after = stateOf(workspace)
            const changed = [...new Set([...before.keys(), ...after.keys()])]
              .filter((path) => before.get(path) !== after.get(path))
              .toSorted()
            const isFile = (path: string) => before.has(path) || after.has(path)
            const reported = workspace.changes().map(({ path }) => path)
            assert.deepStrictEqual(reported.filter(isFile), changed)
            // The rest are folders.
            for (const path of reported.filter((each) => !isFile(each)))
              assert.match(path, /(^|\/)(\.vscode|\.git|hooks)/)
            before = after
          }
          rmSync(workspace.root, { recursive: true, force: true })
        }
      ),
      { numRuns: 150 }
    )
  })
})
