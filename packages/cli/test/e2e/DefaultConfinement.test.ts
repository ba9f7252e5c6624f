/** The confinement of Corral as users start it: no setting, on a machine with bubblewrap and on one without. */
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { probeBubblewrap } from "@corral/edge/confinement/Bubblewrap"
import { systemMounts } from "@corral/edge/confinement/SystemFolders"
import { Effect } from "effect"
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs"
import { dirname, join } from "node:path"
import { Corral, program } from "./Corral.ts"

const canConfine =
  "program" in (await Effect.runPromise(probeBubblewrap(process.env["PATH"], systemMounts(false))))

/** Programs of a PATH without bubblewrap. */
const FEW = dirname(process.execPath)

const started = async (corral: Corral, env: NodeJS.ProcessEnv = {}) => {
  const edge = corral.spawn(process.execPath, [program, "up", "--edge-only"], env)
  await edge.line(/^\{.*\}$/)
  return edge
}

const run = (corral: Corral, ...args: ReadonlyArray<string>) =>
  corral.run("run", "--agent", "scripted", "--workspace", "sample", "--yes", ...args)

describe.skipIf(!canConfine)("corral up without a setting, with bubblewrap", () => {
  const corral = new Corral({ hasDefaultConfinement: true })
  const sample = (name: string): string => join(corral.home, "sample", name)
  beforeAll(() => started(corral))
  afterAll(() => corral.close())

  it("confines the first run of the documentation, which works as before", async () => {
    const { exit, out, stderr } = await run(corral, "Read the notes and write a summary")
    assert.strictEqual(exit, 0, stderr)
    assert.match(out[0] ?? "", /^run_\w+ · scripted in sample · ask · confined by bubblewrap$/)
    assert.include(readFileSync(sample("NOTES.md"), "utf8"), "I read README.md")
  })

  it("refuses what an approval does not cover: a write outside of the workspace", async () => {
    const outside = join(dirname(corral.home), "outside.txt")
    const { exit, out } = await run(
      corral,
      `/shell echo x > made.txt; echo x > ${outside}; cat ${corral.home}/edge.token\n/say done`
    )
    assert.strictEqual(exit, 0, out.join("\n"))
    assert.isTrue(existsSync(sample("made.txt")))
    assert.isFalse(existsSync(outside))
  })

  it("refuses a change in read_only", async () => {
    const { exit } = await run(corral, "--mode", "read_only", "/breach broken.txt\n/say done")
    assert.strictEqual(exit, 1)
    assert.isFalse(existsSync(sample("broken.txt")))
  })

  it("is shown by doctor", async () => {
    const { exit, out } = await corral.run("doctor")
    assert.strictEqual(exit, 0)
    assert.include(out, "✓ Confinement bubblewrap, the network is closed")
  })
})

describe("corral up without a setting, where runs can't be confined", () => {
  it.each([
    ["without bubblewrap", { PATH: FEW }, "bubblewrap is not installed."],
    [
      "behind a proxy",
      { HTTPS_PROXY: "http://127.0.0.1:9" },
      "HTTPS_PROXY names a proxy, which confined runs cannot use."
    ]
  ])("%s runs work, and the run, the log and doctor say why", async (_, env, reason) => {
    const corral = new Corral({ hasDefaultConfinement: true })
    try {
      mkdirSync(join(corral.home, "sample"), { recursive: true, mode: 0o700 })
      writeFileSync(join(corral.home, "sample", "README.md"), "Notes\n")
      const edge = await started(corral, env)
      assert.strictEqual(edge.stderr.split("runs are not confined").length, 2, edge.stderr)
      const { exit, out, stderr } = await run(corral, "/write made.txt x\n/say done")
      assert.strictEqual(exit, 0, stderr)
      assert.match(out[0] ?? "", / · ask · not confined: /)
      assert.strictEqual(out.join("\n").split(reason).length, 2, "it is said once")
      const doctor = await corral.run("doctor")
      assert.strictEqual(doctor.exit, 0)
      assert.match(
        doctor.out.join("\n"),
        new RegExp(
          `– Confinement none\\. ${reason} (Install the packages bubblewrap and socat|If this machine)`
        )
      )
    } finally {
      await corral.close()
    }
  })
})

describe("corral run where confinement is required and missing", () => {
  it("is refused with one sentence, except in full_access", async () => {
    const corral = new Corral({ hasDefaultConfinement: true })
    try {
      const folder = join(dirname(corral.home), "folder")
      mkdirSync(folder)
      const workspaces = JSON.stringify([{ id: "sample", path: folder, grants: ["full_access"] }])
      await started(corral, {
        PATH: FEW,
        CORRAL_EDGE_CONFINEMENT: "required",
        CORRAL_EDGE_WORKSPACES: workspaces
      })
      const { exit, out, stderr } = await run(corral, "/say done")
      assert.deepStrictEqual({ exit, out }, { exit: 2, out: [] })
      assert.match(
        stderr,
        /^This Edge runs agents in this mode only if it can confine them\. bubblewrap is not installed\. .*\(permission_denied req_\w+\)\n$/
      )
      assert.strictEqual((await run(corral, "--mode", "full_access", "/say done")).exit, 0)
      const doctor = await corral.run("doctor")
      assert.match(doctor.out.join("\n"), /✗ Confinement none\. bubblewrap is not installed\./)
    } finally {
      await corral.close()
    }
  })
})
