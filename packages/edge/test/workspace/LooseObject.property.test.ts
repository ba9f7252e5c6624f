/** Trees that the Edge stores without git are those that git writes. */
import { assert, describe, it } from "@effect/vitest"
import { tries } from "@corral/testing/time/Effort"
import { Schema } from "effect"
import { mkdirSync, mkdtempSync, realpathSync, rmSync, truncateSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import {
  FILE_MODE,
  LINK_MODE,
  plainEntry,
  PROGRAM_MODE,
  REPOSITORY_MODE,
  writeIndex
} from "../../src/workspace/IndexFile.ts"
import { storeObject, storeSmallTree, treeRecord } from "../../src/workspace/LooseObject.ts"
import { git, repository } from "./Repository.ts"

const MODES = [FILE_MODE, PROGRAM_MODE, LINK_MODE, REPOSITORY_MODE]
/** Names that are sorted differently as files and as folders, and one that is not UTF-8. */
const NAMES = ["a", "a.b", "a-b", "a0", "A", "é", "\xff"]

const inRepository = (use: (root: string, objects: string) => void): void => {
  const root = realpathSync(mkdtempSync(join(tmpdir(), "corral-objects-")))
  try {
    repository(root)
    use(root, join(root, ".git/objects"))
  } finally {
    rmSync(root, { recursive: true, force: true })
  }
}

/** Paths without one that is a file and a folder. */
const pathsOf = (choices: ReadonlyArray<ReadonlyArray<number>>): ReadonlyArray<string> => {
  const paths = new Set<string>()
  for (const choice of choices) {
    const names = choice.slice(0, 4).map((at) => NAMES[Math.abs(at) % NAMES.length] ?? "a")
    const path = names.join("/")
    const isTaken = [...paths].some(
      (other) => `${other}/`.startsWith(`${path}/`) || path.startsWith(`${other}/`)
    )
    if (path !== "" && !isTaken) paths.add(path)
  }
  return [...paths]
}

describe("storeSmallTree", () => {
  it.prop(
    "stores the tree that git writes",
    [Schema.Array(Schema.NonEmptyArray(Schema.Int))],
    ([choices]) =>
      inRepository((root, objects) => {
        const entries = pathsOf(choices).map((path, at) => {
          const oid = storeObject(objects, "blob", Buffer.from(String(at)))
          return plainEntry(Buffer.from(path, "latin1"), MODES[at % MODES.length] ?? FILE_MODE, oid)
        })
        const index = join(root, ".git/index")
        writeFileSync(index, writeIndex(entries))
        const stored = storeSmallTree(objects, index)
        assert.strictEqual(stored, git(root, "write-tree").trim())
        git(root, "fsck", "--strict", "--no-dangling")
      }),
    tries(20)
  )

  it("leaves a large index to git", () =>
    inRepository((root, objects) => {
      const index = join(root, ".git/index")
      writeFileSync(index, "")
      truncateSync(index, 1_000_000)
      assert.isUndefined(storeSmallTree(objects, index))
    }))
})

describe("storeObject", () => {
  it("stores contents and trees that git reads", () =>
    inRepository((root, objects) => {
      mkdirSync(join(root, "folder"))
      const content = storeObject(objects, "blob", Buffer.from("text\n"))
      const tree = storeObject(objects, "tree", treeRecord("100644", Buffer.from("a.txt"), content))
      assert.strictEqual(git(root, "cat-file", "blob", `${tree.toString("hex")}:a.txt`), "text\n")
      assert.deepStrictEqual(storeObject(objects, "blob", Buffer.from("text\n")), content)
    }))
})
