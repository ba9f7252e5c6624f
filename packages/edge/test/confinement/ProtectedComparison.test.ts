import type { ProtectedChange } from "@corral/domain/run/ProtectedChange"
import { assert, describe, it } from "@effect/vitest"
import { uncovered } from "../../src/confinement/ProtectedRecord.ts"

const left = (
  changes: ReadonlyArray<readonly [string, ProtectedChange["change"]]>,
  covered: ReadonlyArray<string> = []
) =>
  uncovered(
    changes.map(([path, change]) => ({ path, change })),
    (path) => covered.includes(path)
  ).map(({ path }) => path)

describe("uncovered", () => {
  it("leaves out what an approval names, and the folder that was made for it", () => {
    const created = [
      ["a/.vscode", "created"],
      ["a/.vscode/tasks.json", "created"],
      ["package.json", "modified"]
    ] as const
    assert.deepStrictEqual(left(created, ["a/.vscode/tasks.json"]), ["package.json"])
  })

  it("keeps other files of a folder that was made for an approved file", () => {
    const created = [
      [".vscode", "created"],
      [".vscode/settings.json", "created"],
      [".vscode/tasks.json", "created"]
    ] as const
    assert.deepStrictEqual(left(created, [".vscode/settings.json"]), [".vscode/tasks.json"])
  })

  it("names a new or removed folder once", () => {
    const created = [
      ["sub/.git", "created"],
      ["sub/.git/config", "created"],
      ["sub/.git/hooks", "created"]
    ] as const
    assert.deepStrictEqual(left(created), ["sub/.git"])
  })

  it("does not take a name that begins like a folder for its content", () => {
    const created = [
      [".vs", "created"],
      [".vscode", "modified"],
      [".vsx", "created"]
    ] as const
    assert.deepStrictEqual(left(created), [".vs", ".vscode", ".vsx"])
  })
})
