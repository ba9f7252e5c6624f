import { draft } from "@corral/domain/run/RunEvent"
import { assert, describe, it } from "@effect/vitest"
import { withPathsIn } from "../../src/run/kernel/OutputDispatch.ts"
import { messageInput } from "../Samples.ts"

const root = "/home/one/app"
const pathOf = (path: string) => {
  const event = withPathsIn(root, draft("run.file.read", { path, callId: "c1" }))
  assert.deepInclude(event.payload, { callId: "c1" })
  return (event.payload as { readonly path: string }).path
}

describe("withPathsIn", () => {
  it("names a file by its path in the folder", () => {
    for (const [called, named] of [
      ["a/b.txt", "a/b.txt"],
      ["./a//b.txt", "a/b.txt"],
      ["a/../b.txt", "b.txt"],
      [`${root}/a/b.txt`, "a/b.txt"],
      [`${root}/../app/b.txt`, "b.txt"],
      [root, "."],
      ["..a", "..a"]
    ] as const)
      assert.strictEqual(pathOf(called), named, called)
  })

  it("does not let anything outside look as if it were inside", () => {
    for (const [called, named] of [
      ["/etc/passwd", "../../../etc/passwd"],
      [`${root}2/a.txt`, "../app2/a.txt"],
      ["../a.txt", "../a.txt"]
    ] as const)
      assert.strictEqual(pathOf(called), named, called)
  })

  it("names both ends of a move, and the file of a patch", () => {
    const moved = draft("run.file.changed", { path: `${root}/b`, fromPath: `${root}/a`, change: "renamed" })
    assert.deepStrictEqual(withPathsIn(root, moved), {
      type: "run.file.changed",
      payload: { path: "b", fromPath: "a", change: "renamed" }
    })
    const patch = draft("run.patch.proposed", { path: `${root}/a`, patch: "" })
    assert.deepStrictEqual(withPathsIn(root, patch).payload, { path: "a", patch: "" })
  })

  it("leaves every other event as it is", () => {
    const message = messageInput("/etc/passwd")
    assert(message._tag === "EventEmitted")
    assert.strictEqual(withPathsIn(root, message.event), message.event)
  })
})
