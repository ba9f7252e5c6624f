/** The examples of clients on packed packages against a live Edge, and the code of their guide. */
import { openEdgeProcess } from "@corral/testing/edge/EdgeProcess"
import { assert, describe, it } from "@effect/vitest"
import { execFile } from "node:child_process"
import { cpSync, mkdtempSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { promisify } from "node:util"
import { inject } from "vitest"

const root = join(import.meta.dirname, "..")
const examples = ["client", "client-effect"]
const sourceOf = (example: string): string => readFileSync(join(root, `examples/${example}/main.ts`), "utf8")

describe("clients", () => {
  it.each(examples)("%s starts a run, follows it, allows its action and prints the diff", async (example) => {
    const edge = await openEdgeProcess()
    const outside = mkdtempSync(join(inject("packages").folder, "clients-"))
    cpSync(join(root, "examples", example), join(outside, example), { recursive: true })
    const { stdout } = await promisify(execFile)(
      process.execPath,
      [`${example}/main.ts`, "ws", "/write hello.txt hi"],
      {
        cwd: outside,
        env: { CORRAL_EDGE_URL: edge.url, CORRAL_EDGE_TOKEN_FILE: join(edge.home, "edge.token") }
      }
    )
    const lines = stdout.trimEnd().split("\n")
    assert.strictEqual(lines[0], "run.created")
    assert.includeMembers(lines, ["run.approval.requested", "run.approval.resolved", "run.completed"])
    assert.strictEqual(lines.at(-1), "hello.txt +1 -0")
  })

  it("have the code of docs/clients.md", () => {
    const blocks = [...readFileSync(join(root, "docs/clients.md"), "utf8").matchAll(/^```ts\n([^]*?)^```$/gm)]
    assert.strictEqual(blocks.length, examples.length)
    for (const [at, example] of examples.entries())
      assert.include(
        sourceOf(example),
        blocks[at]?.[1] ?? "no block",
        `${example} is not what the guide shows`
      )
  })
})
