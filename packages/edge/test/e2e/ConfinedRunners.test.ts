/** Programs that never ask: the modes in which an Edge that confines runs offers them, and what the kernel holds them to. */
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { EdgeProcess } from "@corral/testing/edge/EdgeProcess"
import { spawnSync } from "node:child_process"
import { existsSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { canConfine } from "../confinement/CanConfine.ts"

const WRITES = 'echo x > made.txt; echo y > "$HOME/outside.txt"; echo done'
/** A program whose settings are in the machine's `/tmp`. */
const BROKEN = "echo starting >&2; cat /tmp/corral-broken/settings.json || exit 3"
const MODES = ["read_only", "plan", "ask", "auto_edit", "full_access"]

const folder = realpathSync(mkdtempSync(join(tmpdir(), "corral-runners-")))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const makeEdge = (env: Readonly<Record<string, string>>): EdgeProcess => {
  const file = join(folder, "edge.config.json")
  const runners = [
    { id: "writer", label: "Writer", runtime: "text", command: ["sh", "-c", WRITES, "{prompt}"] },
    { id: "broken", label: "Broken", runtime: "text", command: ["sh", "-c", BROKEN, "{prompt}"] }
  ]
  writeFileSync(file, JSON.stringify({ runners }), { mode: 0o600 })
  return new EdgeProcess({ grants: ["full_access"], env: { CORRAL_EDGE_CONFIG_FILE: file, ...env } })
}

const modesOf = async ({ client }: EdgeProcess): Promise<unknown> => {
  const { body } = await client.ask("GET", "/v1/runners")
  const { items } = body as {
    readonly items: ReadonlyArray<{ readonly id: string; readonly modes: unknown }>
  }
  return items.find(({ id }) => id === "writer")?.modes
}

describe.skipIf(!canConfine)("a program that never asks, confined", () => {
  let edge: EdgeProcess
  beforeAll(async () => {
    edge = makeEdge({ CORRAL_EDGE_CONFINEMENT: "required" })
    await edge.start()
  })
  afterAll(() => edge.remove())

  const madePath = () => join(edge.workspace, "made.txt")
  const endOf = async (mode: "read_only" | "plan" | "ask" | "auto_edit", more = {}) => {
    const run = await edge.client.create("go", mode, { agentId: "writer", ...more })
    assert.deepStrictEqual(run.confinement, { kind: "bubblewrap" })
    const log = await edge.client.log(run.id)
    return log.at(-1)?.type
  }

  it("is offered in every mode", async () => {
    assert.deepStrictEqual(await modesOf(edge), MODES)
  })

  it("says why it did not start, in its last words and with a hint", async () => {
    const run = await edge.client.create("go", "read_only", { agentId: "broken" })
    const end = (await edge.client.log(run.id)).at(-1)
    assert.strictEqual(end?.type, "run.failed")
    const error = end?.payload["error"] as { readonly details: Readonly<Record<string, unknown>> } | undefined
    assert.match(String(error?.details["said"]), /^starting\ncat: .*No such file or directory$/)
    assert.strictEqual(error?.details["confined"], "temporary")
  })

  it.each(["read_only", "plan"] as const)("writes nothing in %s", async (mode) => {
    assert.strictEqual(await endOf(mode), "run.completed")
    assert.isFalse(existsSync(madePath()))
    assert.isFalse(existsSync(join(edge.folder, "outside.txt")))
  })

  it("is refused in ask without an isolation, and changes a worktree with one", async () => {
    const { body, status } = await edge.client.tryCreate("go", "ask", { agentId: "writer" })
    assert.strictEqual(status, 403)
    assert.include(JSON.stringify(body), "only in a worktree")
    for (const args of [
      ["init", "-q"],
      ["-c", "user.name=a", "-c", "user.email=a@b.c", "commit", "-qm", "a", "--allow-empty"]
    ])
      assert.strictEqual(spawnSync("git", args, { cwd: edge.workspace }).status, 0)
    assert.strictEqual(await endOf("ask", { isolation: "worktree" }), "run.completed")
    assert.isFalse(existsSync(madePath()))
  })

  it("writes the workspace and nothing else in auto_edit", async () => {
    assert.strictEqual(await endOf("auto_edit"), "run.completed")
    assert.strictEqual(readFileSync(madePath(), "utf8"), "x\n")
    assert.isFalse(existsSync(join(edge.folder, "outside.txt")))
  })
})

describe("a program that never asks, not confined", () => {
  it.each([{}, { CORRAL_EDGE_CONFINEMENT: "preferred", PATH: "/nowhere" }])(
    "runs in full_access only",
    async (env: Readonly<Record<string, string>>) => {
      const edge = makeEdge(env)
      try {
        await edge.start()
        assert.deepStrictEqual(await modesOf(edge), ["full_access"])
        for (const mode of ["read_only", "plan", "ask", "auto_edit"] as const)
          assert.strictEqual((await edge.client.tryCreate("go", mode, { agentId: "writer" })).status, 403)
      } finally {
        await edge.remove()
      }
    }
  )
})
