/** Caches of confined runs of a real Edge: which runs see what another one wrote. */
import { EdgeProcess } from "@corral/testing/edge/EdgeProcess"
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { execFileSync } from "node:child_process"
import { existsSync, mkdirSync } from "node:fs"
import { join } from "node:path"
import { canConfine } from "../confinement/CanConfine.ts"
import { shellOutput } from "./ShellOutput.ts"

const SHOW =
  'for f in .cache/tool .npm/tool .cargo/registry/tool go/pkg/tool; do cat "$HOME/$f" 2>/dev/null || echo none; done'
const write = (text: string) => SHOW.replace("cat", `echo ${text} >`)

const workspaces = (edge: EdgeProcess) =>
  JSON.stringify([
    { id: "ws", path: edge.workspace },
    { id: "other", path: join(edge.folder, "other") }
  ])

/** An Edge with two workspaces. */
class TwoWorkspaces extends EdgeProcess {
  protected override get environment(): Readonly<Record<string, string>> {
    return {
      ...super.environment,
      CORRAL_EDGE_CONFINEMENT: "required",
      CORRAL_EDGE_WORKSPACES: workspaces(this)
    }
  }
}

describe.skipIf(!canConfine)("the caches of confined runs", () => {
  const edge = new TwoWorkspaces()
  /** What a run finds. */
  const seen = async (more = {}) => (await shellOutput(edge, SHOW, "ask", more)).trim().split("\n")

  beforeAll(async () => {
    mkdirSync(join(edge.folder, "other"))
    execFileSync("git", ["init", "-q"], { cwd: edge.workspace })
    const author = ["-c", "user.name=a", "-c", "user.email=a@b.c"]
    execFileSync("git", [...author, "commit", "-qm", "first", "--allow-empty"], { cwd: edge.workspace })
    await edge.start()
    await shellOutput(edge, write("first"))
  })
  afterAll(() => edge.remove())

  it("are seen and changed by later runs of the workspace", async () => {
    assert.deepStrictEqual(await seen(), ["first", "first", "first", "first"])
  })

  it("are not seen by runs of another workspace or in a worktree, and the home has none", async () => {
    assert.deepStrictEqual(await seen({ workspace: "other" }), ["none", "none", "none", "none"])
    assert.deepStrictEqual(await seen({ isolation: "worktree" }), ["none", "none", "none", "none"])
    await shellOutput(edge, write("worktree"), "ask", { isolation: "worktree" })
    assert.deepStrictEqual(await seen(), ["first", "first", "first", "first"])
    for (const name of [".cache", ".npm", ".cargo", "go"])
      assert.isFalse(existsSync(join(edge.folder, name)), name)
  })

  it.each(["read_only", "plan"] as const)("keep nothing of a run in %s", async (mode) => {
    for (const name of [".cache/tool", ".cache/new", ".npm/tool", ".npm/new"]) {
      const { id } = await edge.client.create(`/breach ${join(edge.folder, name)}\n/say done`, mode)
      // It has written its private cache.
      assert.strictEqual((await edge.client.log(id)).at(-1)?.type, "run.completed")
    }
    for (const name of [".cargo/registry/tool", "go/pkg/tool"]) {
      const { id } = await edge.client.create(`/breach ${join(edge.folder, name)}\n/say done`, mode)
      assert.strictEqual((await edge.client.log(id)).at(-1)?.type, "run.failed")
    }
    assert.deepStrictEqual(await seen(), ["first", "first", "first", "first"])
    const names = await shellOutput(edge, 'ls "$HOME/.cache" "$HOME/.npm"')
    assert.notInclude(names, "new")
  })
})
